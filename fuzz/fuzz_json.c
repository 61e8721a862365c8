/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON documents. Invariants: a text is either refused with QS_INVALID, a message, the file and a place within it, or
 * its value comes back equal from canonical and from indented text; every member of the root is found again in the
 * text, at a quote; and a text that this parser takes as it is, jansson alone takes for the same value.
 */
#include "fuzz/fuzz.h"
#include "text/doc.h"

#include <string.h>

static void place_is_within(const uint8_t *data, size_t size, const struct qs_error *err)
{
    unsigned line = 1;
    const uint8_t *start = data, *end = data + size;
    MUST(err->line >= 1 && err->column >= 1);
    for (; line < err->line; line++) {
        start = size ? memchr(start, '\n', (size_t)(end - start)) : NULL;
        MUST(start);
        start++;
    }
    MUST(err->column <= (size_t)(end - start) + 1);
}

static void comes_back(const json_t *value, enum qs_status (*encode)(const json_t *, struct buf *, struct qs_error *))
{
    struct buf text = {0};
    struct doc *again = NULL;
    MUST(encode(value, &text, NULL) == QS_OK);
    MUST(doc_parse("again", text.data, text.len, DOC_JSON, &again, NULL) == QS_OK);
    MUST(value_equal(value, doc_root(again)));
    doc_free(again);
    buf_release(&text);
}

static void members_are_found(const struct doc *doc, const uint8_t *data, size_t size)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)doc_root(doc), name, value)
    {
        struct qs_key key = {0};
        struct qs_error err = {0};
        if (qs_key_push(&key, name, strlen(name), NULL) != QS_OK)
            continue;
        doc_locate(doc, &key, true, &err.line, &err.column);
        place_is_within(data, size, &err);
        size_t at = 0;
        for (unsigned line = 1; line < err.line; line++)
            at = (size_t)((const uint8_t *)memchr(data + at, '\n', size - at) - data) + 1;
        if (err.line == 1 && size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
            at += 3;
        MUST(data[at + err.column - 1] == '"');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doc *doc = NULL;
    struct qs_error err = {0};
    enum qs_status status = doc_parse("input", data, size, DOC_JSON, &doc, &err);
    json_t *plain = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (status) {
        MUST(status == QS_INVALID && err.message[0] && strcmp(err.file, "input") == 0);
        place_is_within(data, size, &err);
    } else {
        comes_back(doc_root(doc), value_encode);
        comes_back(doc_root(doc), value_encode_pretty);
        members_are_found(doc, data, size);
        MUST(!plain || value_equal(plain, doc_root(doc)));
    }
    json_decref(plain);
    doc_free(doc);
    return 0;
}
