/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical value codec. Invariants: a text is either refused with QS_INVALID and a place, or decodes to a value
 * whose canonical text decodes to an equal value and encodes to the same text; a text is a canonical leaf exactly if it
 * decodes to a leaf and equals that value's canonical text; and eight bytes taken as a real read back bit for bit.
 */
#include "fuzz/fuzz.h"
#include "store/value.h"

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
    MUST(value_is_canonical_leaf(text.data, text.len));
    json_decref(value);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = NULL, *again = NULL;
    struct buf text = {0}, twice = {0};
    struct qs_error err = {0};
    if (size == sizeof(double))
        check_real(data);
    bool canonical = value_is_canonical_leaf(data, size);
    enum qs_status status = value_decode(data, size, &value, &err);
    if (status != QS_OK) {
        MUST(status == QS_INVALID && err.line && err.column && err.message[0] && !canonical);
        return 0;
    }
    MUST(value_encode(value, &text, NULL) == QS_OK);
    MUST(value_decode(text.data, text.len, &again, NULL) == QS_OK && value_equal(value, again));
    MUST(value_encode(again, &twice, NULL) == QS_OK);
    MUST(text.len == twice.len && memcmp(text.data, twice.data, text.len) == 0);
    bool leaf = !json_is_object(value) || json_object_size(value) == 0;
    MUST(canonical == (leaf && text.len == size && memcmp(text.data, data, size) == 0));
    MUST(!leaf || value_is_canonical_leaf(text.data, text.len));
    json_decref(value);
    json_decref(again);
    buf_release(&text);
    buf_release(&twice);
    return 0;
}
