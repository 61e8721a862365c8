/* SPDX-License-Identifier: Apache-2.0 */
/* Plain YAML scalars: which type one is (core schema, YAML 1.2.2 section 10.3.2), and which strings may stand plain. */
#include "base/clocale.h"
#include "text/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static size_t span_digits(const char *text)
{
    return strspn(text, "0123456789");
}

static const char *skip_sign(const char *text)
{
    return *text == '-' || *text == '+' ? text + 1 : text;
}

static bool is_decimal_integer(const char *text)
{
    const char *digits = skip_sign(text);
    size_t count = span_digits(digits);
    return count && !digits[count];
}

/* 0o17 and 0xff; no sign. Returns the base, 0 where text is neither. */
static int prefixed_base(const char *text)
{
    if (text[0] != '0' || !text[1] || !text[2])
        return 0;
    if (text[1] == 'o' && !text[2 + strspn(text + 2, "01234567")])
        return 8;
    if (text[1] == 'x' && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
        return 16;
    return 0;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_float(const char *text)
{
    text = skip_sign(text);
    size_t before = span_digits(text), after = 0;
    text += before;
    if (*text == '.') {
        after = span_digits(++text);
        text += after;
    }
    if (!before && !after)
        return false;
    if (*text == 'e' || *text == 'E') {
        text = skip_sign(text + 1);
        size_t digits = span_digits(text);
        if (!digits)
            return false;
        text += digits;
    }
    return !*text;
}

static bool is_not_finite(const char *text)
{
    static const char *const words[] = {".inf", ".Inf", ".INF", NULL}, *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    return one_of(skip_sign(text), words) || one_of(text, nans);
}

static json_t *resolve_integer(const char *digits, int base, const char **ret_fault)
{
    errno = 0;
    long long integer = strtoll(digits, NULL, base);
    if (errno == ERANGE) {
        *ret_fault = "an integer does not fit in 64 bits";
        return NULL;
    }
    return json_integer(integer);
}

static json_t *resolve_float(const char *text, const char **ret_fault)
{
    double real = strtod_l(text, NULL, clocale());
    if (!isfinite(real)) {
        *ret_fault = "a number is too large for a 64-bit real";
        return NULL;
    }
    return json_real(real);
}

json_t *yamltext_resolve(const char *text, size_t len, const char **ret_fault)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    *ret_fault = NULL;
    if (*text && !strchr("~nNtTfF+-.0123456789", *text))
        return json_stringn(text, len);
    if (one_of(text, nulls))
        return json_null();
    if (one_of(text, trues))
        return json_true();
    if (one_of(text, falses))
        return json_false();
    if (is_decimal_integer(text))
        return resolve_integer(text, 10, ret_fault);
    int base = prefixed_base(text);
    if (base)
        return resolve_integer(text + 2, base, ret_fault);
    if (is_float(text))
        return resolve_float(text, ret_fault);
    if (is_not_finite(text)) {
        *ret_fault = "an infinite number or NaN cannot be stored";
        return NULL;
    }
    return json_stringn(text, len);
}

/* YAML 1.1 readers (https://yaml.org/type/bool.html, null.html) take these for booleans and null, in some cases of
 * letters; all cases are quoted. */
static bool is_reserved_word(const char *text, size_t len)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", NULL};
    for (const char *const *word = words; *word; word++)
        if (strlen(*word) == len && strncasecmp(text, *word, len) == 0)
            return true;
    return false;
}

/* Begins with a letter, '_', '/' or '$', so it is no number, date, indicator or merge key; and goes on with characters
 * that mean nothing special anywhere in a plain scalar. Anything else stands in quotes. */
bool yamltext_is_plain_string(const char *text, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/$";
    static const char others[] = "0123456789.-+*@()~=;%^<>";
    if (!len || !text[0] || !strchr(letters, text[0]) || is_reserved_word(text, len))
        return false;
    for (size_t i = 1; i < len; i++) {
        char c = text[i];
        bool fits = c && (strchr(letters, c) || strchr(others, c));
        if (c == ' ' || c == ':') /* neither at the end nor before a space */
            fits = i + 1 < len && text[i + 1] != ' ' && text[i + 1] != ':';
        if (!fits)
            return false;
    }
    return true;
}
