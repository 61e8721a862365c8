/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key grammar. Invariants: a text is either refused with QS_INVALID and a column within it, or gives a valid key whose
 * formatted text parses to the same key; an encoded key is valid exactly if its segments can be pushed one by one, and
 * then its formatted text parses to it, too, and popping its segments gives shorter and shorter prefixes that cover it;
 * the order of keys is an order.
 */
#include "fuzz/fuzz.h"
#include "text/key_path.h"

#include <string.h>

static void formats_and_parses_back(const unsigned char *bytes, size_t len)
{
    char text[QS_KEY_TEXT_BYTES];
    struct qs_key again;
    MUST(qs_key_parse(qs_key_format(bytes, len, text, sizeof text), &again, NULL) == QS_OK);
    MUST(again.len == len && memcmp(again.bytes, bytes, len) == 0);
}

static void check_text(const char *text)
{
    struct qs_key key;
    struct qs_error err = {0};
    enum qs_status status = qs_key_parse(text, &key, &err);
    if (status) {
        MUST(status == QS_INVALID && err.line == 1 && err.column >= 1 && err.column <= strlen(text) + 1);
        MUST(err.message[0]);
        return;
    }
    MUST(key.len >= 1 && key_valid(key.bytes, key.len) && key.bytes[key.len] == 0);
    formats_and_parses_back(key.bytes, key.len);
}

static void check_encoded(const uint8_t *data, size_t size)
{
    struct qs_key key = {0};
    struct qs_bytes segment;
    bool pushed = size > 0 && data[size - 1] != 0;
    for (size_t at = 0; pushed && key_next_segment(data, size, &at, &segment);)
        pushed = qs_key_push(&key, segment.data, segment.len, NULL) == QS_OK;
    MUST(pushed == key_valid(data, size));
    char small[16];
    MUST(strlen(qs_key_format(data, size, small, sizeof small)) < sizeof small); /* any bytes, any room */
    if (!pushed)
        return;
    MUST(key.len == size && memcmp(key.bytes, data, size) == 0);
    formats_and_parses_back(data, size);
    for (size_t before = key.len; key.len; before = key.len) {
        qs_key_pop(&key);
        MUST(key.len < before && key.bytes[key.len] == 0);
        MUST(!key.len || (key_valid(key.bytes, key.len) && key_covers(key.bytes, key.len, data, size)));
    }
}

/* Any two byte strings, the halves of the input: the order is one, and a prefix comes no later than what it covers. */
static void check_order(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    int order = key_compare(a, a_len, b, b_len);
    int reverse = key_compare(b, b_len, a, a_len);
    MUST((order < 0) == (reverse > 0) && (order == 0) == (reverse == 0));
    MUST((order == 0) == (a_len == b_len && (!a_len || memcmp(a, b, a_len) == 0)));
    MUST(key_covers(a, a_len, a, a_len) && key_covers(NULL, 0, b, b_len));
    if (key_covers(a, a_len, b, b_len))
        MUST(order <= 0 && (order == 0 || !key_covers(b, b_len, a, a_len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    MUST(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_text(text);
    check_encoded(data, size);
    check_order(data, size / 2, data + size / 2, size - size / 2);
    free(text);
    return 0;
}
