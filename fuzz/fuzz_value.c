/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical value codec. Invariants: a text is either refused with QS_INVALID and a place, or decodes to a value
 * whose canonical text decodes to an equal value and encodes to the same text; a text is a canonical leaf exactly if it
 * decodes to a leaf and equals that value's canonical text; eight bytes taken as a real read back bit for bit; indented
 * text reads back equal; and what was changed is not equal.
 */
#include "fuzz/fuzz.h"
#include "tests/support/canonical.h"
#include "text/value.h"

#include <math.h>
#include <string.h>

static void check_real(const uint8_t *data)
{
    double real;
    struct buf text = {0};
    json_t *value = NULL;
    memcpy(&real, data, sizeof real);
    if (!isfinite(real))
        return;
    value_encode_real(real, &text);
    MUST(strpbrk(text.data, ".e"));
    MUST(value_decode(text.data, text.len, &value, NULL) == QS_OK && json_is_real(value));
    double again = json_real_value(value);
    MUST(memcmp(&again, &real, sizeof real) == 0);
    MUST(is_canonical_leaf(text.data, text.len));
    json_decref(value);
    buf_release(&text);
}

static void check_type(const json_t *value)
{
    const char *name = value_type_name(value);
    MUST((strcmp(name, "object") == 0) == json_is_object(value) &&
         (strcmp(name, "array") == 0) == json_is_array(value));
    MUST((strcmp(name, "string") == 0) == json_is_string(value) && (strcmp(name, "null") == 0) == json_is_null(value));
    MUST((strcmp(name, "integer") == 0) == json_is_integer(value) &&
         (strcmp(name, "real") == 0) == json_is_real(value));
    MUST((strcmp(name, "boolean") == 0) == json_is_boolean(value));
}

/* Indented text is the same value; and a value with something taken out, or another thing in its place, is not. */
static void check_other(json_t *value)
{
    struct buf text = {0};
    json_t *again = NULL, *less = json_copy(value), *other = json_copy(value);
    MUST(value_encode_pretty(value, &text, NULL) == QS_OK);
    MUST(value_decode(text.data, text.len, &again, NULL) == QS_OK && value_equal(value, again));
    if (json_array_size(value)) {
        MUST(json_array_remove(less, json_array_size(less) - 1) == 0 && !value_equal(value, less));
        MUST(json_array_set_new(other, 0, json_pack("[[]]")) == 0 && json_array_append(other, value) == 0);
        MUST(!value_equal(value, other));
    }
    for (void *iter = json_object_iter(other); iter; iter = NULL) {
        MUST(json_object_iter_set_new(other, iter, json_pack("[[], i]", 0)) == 0);
        MUST(value_equal(value, other) == value_equal(json_object_iter_value(json_object_iter(value)),
                                                      json_object_iter_value(json_object_iter(other))));
        MUST(json_object_deln(less, json_object_iter_key(iter), json_object_iter_key_len(iter)) == 0);
        MUST(!value_equal(value, less));
    }
    MUST(!value_equal(value, NULL));
    json_decref(again);
    json_decref(less);
    json_decref(other);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = NULL, *again = NULL;
    struct buf text = {0}, twice = {0};
    struct qs_error err = {0};
    if (size == sizeof(double))
        check_real(data);
    enum qs_status status = value_decode(data, size, &value, &err);
    if (status) {
        MUST(status == QS_INVALID && err.line && err.column && err.message[0]);
        return 0;
    }
    MUST(value_encode(value, &text, NULL) == QS_OK);
    MUST(value_decode(text.data, text.len, &again, NULL) == QS_OK && value_equal(value, again));
    MUST(value_encode(again, &twice, NULL) == QS_OK);
    MUST(text.len == twice.len && memcmp(text.data, twice.data, text.len) == 0);
    bool leaf = !json_is_object(value) || json_object_size(value) == 0;
    MUST(!leaf || is_canonical_leaf(text.data, text.len));
    check_type(value);
    check_other(value);
    json_decref(value);
    json_decref(again);
    buf_release(&text);
    buf_release(&twice);
    return 0;
}
