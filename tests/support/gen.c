/* SPDX-License-Identifier: Apache-2.0 */
/* Generated documents. The random numbers are SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014): one word of state, any seed is good. */
#include "tests/support/gen.h"

#include "base/utf8.h"
#include "qsettings/limits.h"

#include <math.h>
#include <string.h>

void gen_init(struct gen *gen, uint64_t seed)
{
    *gen = (struct gen){.state = seed};
}

uint64_t gen_next(struct gen *gen)
{
    uint64_t z = gen->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t gen_below(struct gen *gen, uint64_t bound)
{
    return gen_next(gen) % bound;
}

static const char *const texts[] = {
    "00215e6",
    "1e3",
    "1E3",
    "014",
    "0o14",
    "0x1F",
    "0b101",
    "no",
    "No",
    "yes",
    "y",
    "n",
    "on",
    "off",
    "true",
    "True",
    "false",
    "~",
    "null",
    "Null",
    "NULL",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "12:30:45",
    "190:20:30",
    "1_000",
    ".5",
    "5.",
    "+1",
    "-1",
    "-",
    "+",
    ".",
    "..",
    "...",
    "---",
    "--- a",
    "=",
    "<<",
    "1.0",
    "1",
    "0",
    "-0",
    "-0.0",
    ".inf",
    "-.inf",
    ".nan",
    ".NaN",
    "Infinity",
    "NaN",
    "- a",
    "-",
    "? a",
    "?",
    ": a",
    ":",
    "a: b",
    "a:",
    ":a",
    "a #b",
    "#a",
    "# a",
    "#",
    "&a",
    "*a",
    "!a",
    "!!str a",
    "|",
    ">",
    "|-",
    "%a",
    "%YAML 1.1",
    "@a",
    "`a",
    "'a'",
    "\"a\"",
    "'",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "{}",
    "[]",
    "{a: b}",
    ",",
    "a,b",
    "a, b",
    " a",
    "a ",
    " ",
    "  ",
    "\t",
    "a\tb",
    "\ta",
    "a\t",
    "\n",
    "a\n",
    "\na",
    "a\nb",
    "a\n\nb",
    " a\n b\n",
    "\r",
    "a\r\nb",
    "\r\n",
    "\x01",
    "\x1b[31m",
    "\x7f",
    "\xc2\x80",
    "\xc2\x85",
    "a\xc2\x85"
    "b",
    "\xc2\xa0",
    "\xe2\x80\xa8",
    "\xe2\x80\xa9",
    "a\xe2\x80\xa8"
    "b",
    "\xef\xbb\xbf",
    "a\xef\xbb\xbf"
    "b",
    "\xef\xbf\xbd",
    "\xef\xbf\xbe",
    "\xef\xbf\xbf",
    "\xf0\x9f\x98\x80",
    "\xf4\x8f\xbf\xbf",
    "\xee\x80\x80",
    "\xe2\x80\xae"
    "abc",
    "caf\xc3\xa9",
    "\\",
    "\\n",
    "\\u0000",
    "a\\",
    "/",
    "//",
    "/* a */",
    "a//b",
    "$HOME",
    "a.b",
    "a..b",
    ".a",
    "a.",
    "\"a.b\"",
    "~/.ssh/**",
    "Bash(git push *)",
    "docs.local",
    "it's",
    "__proto__",
    "$version",
    "\xd7\x90\xd7\x91",
    "e\xcc\x81",
    "0",
    "00",
    "a b c",
    "key with: colon",
    "x\xc2\x85",
    "\xe2\x80\xa9x",
};

static void add_code_point(struct gen *gen, struct buf *out)
{
    static const uint32_t below[] = {0x80, 0x800, 0x10000, 0x110000};
    char bytes[4];
    size_t len = 0;
    while (!len) { /* surrogates and zero give nothing */
        uint32_t code = (uint32_t)gen_below(gen, below[gen_below(gen, 4)]);
        len = code ? utf8_put(code, bytes) : 0;
    }
    buf_add(out, bytes, len);
}

/* Words and spaces, so that an emitter has places to fold. */
static void add_long(struct gen *gen, struct buf *out, size_t len)
{
    static const char letters[] = "abcdefgh  :#-\n'\"";
    while (len--)
        buf_add_char(out, letters[gen_below(gen, sizeof letters - 1)]);
}

void gen_text(struct gen *gen, struct buf *out)
{
    switch (gen_below(gen, 8)) {
    case 0:
        for (uint64_t left = 1 + gen_below(gen, 12); left; left--)
            add_code_point(gen, out);
        break;
    case 1:
        add_long(gen, out, 1 + gen_below(gen, gen_below(gen, 8) ? 40 : 300));
        break;
    case 2:
    case 3:
        buf_printf(out, "key%u", (unsigned)gen_below(gen, 100));
        break;
    default:
        buf_add_str(out, texts[gen_below(gen, sizeof texts / sizeof *texts)]);
        break;
    }
}

double gen_real(struct gen *gen)
{
    static const double simple[] = {0.0,
                                    -0.0,
                                    1.0,
                                    0.1,
                                    0.5,
                                    -1.5,
                                    1e22,
                                    1e23,
                                    1e16,
                                    1e15,
                                    123456.789,
                                    5e-324,
                                    2.2250738585072014e-308,
                                    1.7976931348623157e308,
                                    9007199254740993.0,
                                    1e-4,
                                    1e-5};
    double real = NAN;
    if (gen_below(gen, 2))
        return simple[gen_below(gen, sizeof simple / sizeof *simple)];
    while (!isfinite(real)) {
        uint64_t bits = gen_next(gen);
        memcpy(&real, &bits, sizeof real);
    }
    return real;
}

static json_int_t gen_integer(struct gen *gen)
{
    static const json_int_t simple[] = {0, 1, -1, 9007199254740993, INT64_MAX, INT64_MIN, 8, 10, 100000};
    if (gen_below(gen, 2))
        return simple[gen_below(gen, sizeof simple / sizeof *simple)];
    return (json_int_t)(gen_next(gen) >> gen_below(gen, 64));
}

static json_t *gen_string(struct gen *gen)
{
    struct buf text = {0};
    if (gen_below(gen, 16))
        gen_text(gen, &text);
    if (!gen_below(gen, 200))
        add_long(gen, &text, 5000);
    json_t *string = json_stringn(text.data ? text.data : "", text.len);
    buf_release(&text);
    return string;
}

static json_t *gen_scalar(struct gen *gen)
{
    switch (gen_below(gen, 8)) {
    case 0:
        return json_integer(gen_integer(gen));
    case 1:
        return json_real(gen_real(gen));
    case 2:
        return json_boolean(gen_below(gen, 2));
    case 3:
        return json_null();
    default:
        return gen_string(gen);
    }
}

/* key_room: bytes that keys below may still use; 0 within arrays, where they are not bounded and may be empty. */
static json_t *gen_object(struct gen *gen, unsigned depth, size_t key_room);
static json_t *gen_any(struct gen *gen, unsigned depth, size_t key_room);

static json_t *gen_array(struct gen *gen, unsigned depth)
{
    json_t *array = json_array();
    for (uint64_t left = gen_below(gen, 5); left; left--)
        json_array_append_new(array, gen_any(gen, depth - 1, 0));
    return array;
}

static json_t *gen_any(struct gen *gen, unsigned depth, size_t key_room)
{
    uint64_t kind = gen_below(gen, 10);
    if (!depth || !gen->values_left || kind < 5)
        return gen_scalar(gen);
    gen->values_left--;
    return kind < 7 ? gen_array(gen, depth) : gen_object(gen, depth, key_room);
}

json_t *gen_value(struct gen *gen, unsigned depth)
{
    if (!gen->values_left)
        gen->values_left = 100;
    return gen_any(gen, depth, 0);
}

static json_t *gen_object(struct gen *gen, unsigned depth, size_t key_room)
{
    json_t *object = json_object();
    struct buf key = {0};
    for (uint64_t left = gen_below(gen, 7); left; left--) {
        buf_clear(&key);
        buf_add(&key, "", 0);
        if (key_room || gen_below(gen, 10))
            gen_text(gen, &key);
        if (key_room && key.len + 2 > key_room)
            continue;
        json_t *value = gen_any(gen, key_room ? (key_room - key.len > 2 ? depth - 1 : 0) : depth - 1,
                                key_room ? key_room - key.len - 1 : 0);
        json_object_setn_new(object, key.data, key.len, value);
    }
    buf_release(&key);
    return object;
}

json_t *gen_document(struct gen *gen)
{
    json_t *document = NULL;
    unsigned depth = gen_below(gen, 20) ? 6 : QS_DOCUMENT_MAX_DEPTH;
    do {
        json_decref(document);
        gen->values_left = 200;
        document = gen_object(gen, depth, QS_KEY_MAX_BYTES + 1);
    } while (!json_object_size(document));
    return document;
}
