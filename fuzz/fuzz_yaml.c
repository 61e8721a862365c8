/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML documents. Invariants: a text is either refused with QS_INVALID, a message, the file and a place within it, or
 * its value comes back equal from YAML and from canonical JSON; canonical JSON read as YAML is refused or equal, never
 * something else; and locating the members of the root stays within the text.
 */
#include "fuzz/fuzz.h"
#include "text/doc.h"

#include <string.h>

static void place_is_within(const uint8_t *data, size_t size, unsigned at_line, unsigned column)
{
    const uint8_t *start = data, *end = data + size;
    MUST(at_line >= 1 && column >= 1);
    for (unsigned line = 1; line < at_line; line++) {
        start = size ? memchr(start, '\n', (size_t)(end - start)) : NULL;
        MUST(start);
        start++;
    }
    MUST(column <= (size_t)(end - start) + 1);
}

static void comes_back(const json_t *value)
{
    struct buf yaml = {0}, json = {0};
    struct doc *again = NULL;
    MUST(value_encode_yaml(value, &yaml, NULL) == QS_OK);
    MUST(doc_parse_value("again", yaml.data, yaml.len, DOC_YAML, &again, NULL) == QS_OK);
    MUST(value_equal(value, doc_root(again)));
    doc_release(&again);
    MUST(value_encode(value, &json, NULL) == QS_OK);
    MUST(doc_parse_value("again", json.data, json.len, DOC_JSON, &again, NULL) == QS_OK);
    MUST(value_equal(value, doc_root(again)));
    doc_release(&again);
    if (doc_parse_value("again", json.data, json.len, DOC_YAML, &again, NULL) == QS_OK)
        MUST(value_equal(value, doc_root(again)));
    doc_free(again);
    buf_release(&yaml);
    buf_release(&json);
}

static void members_are_found(const struct doc *doc, const uint8_t *data, size_t size)
{
    const char *name;
    json_t *value;
    unsigned line, column, left = 8; /* locating reads the text again */
    if (!json_is_object(doc_root(doc)))
        return;
    json_object_foreach((json_t *)doc_root(doc), name, value)
    {
        struct qs_key key = {0};
        if (!left-- || qs_key_push(&key, name, strlen(name), NULL) != QS_OK)
            break;
        doc_locate(doc, &key, left % 2, &line, &column);
        place_is_within(data, size, line, column);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doc *doc = NULL;
    struct qs_error err = {0};
    enum qs_status status = doc_parse_value("input", data, size, DOC_YAML, &doc, &err);
    if (status) {
        MUST(status == QS_INVALID && err.message[0] && strcmp(err.file, "input") == 0);
        place_is_within(data, size, err.line, err.column);
        return 0;
    }
    comes_back(doc_root(doc));
    members_are_found(doc, data, size);
    doc_free(doc);
    return 0;
}
