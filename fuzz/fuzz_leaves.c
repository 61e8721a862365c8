/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves. The input is a JSON document, or, behind a first byte of 0, a list of leaves as a damaged store might hold it
 * (length byte, key, length byte, value, and so on). Invariants: what a document splits into is sorted, valid and
 * canonical and joins to an equal document; a list is refused with QS_DAMAGED, or joins to a document that splits into
 * the same keys and, where they were canonical, the same values.
 */
#include "fuzz/fuzz.h"
#include "store/doc.h"
#include "store/key.h"

#include <string.h>

static void are_well_formed(const struct leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; i++) {
        struct qs_bytes key = leaves->items[i].key, value = leaves->items[i].value;
        MUST(key_valid(key.data, key.len) && value_is_canonical_leaf(value.data, value.len));
        if (i) {
            struct qs_bytes last = leaves->items[i - 1].key;
            MUST(key_compare(last.data, last.len, key.data, key.len) < 0);
            MUST(!key_covers(last.data, last.len, key.data, key.len));
        }
    }
}

static void check_document(const uint8_t *data, size_t size)
{
    struct doc *doc = NULL;
    struct leaves leaves = {0};
    struct qs_error err = {0};
    json_t *again = NULL;
    if (doc_parse("input", data, size, DOC_JSON, &doc, NULL) != QS_OK)
        return;
    enum qs_status status = leaves_from_value(doc_root(doc), NULL, doc, &leaves, &err);
    if (status != QS_OK) {
        MUST(status == QS_INVALID && err.line && strcmp(err.file, "input") == 0);
    } else {
        are_well_formed(&leaves);
        MUST(leaves_to_value(leaves.items, leaves.count, NULL, &again, NULL) == QS_OK);
        MUST(value_equal(doc_root(doc), again));
    }
    json_decref(again);
    leaves_release(&leaves);
    doc_free(doc);
}

#define LEAVES_MAX 64

static struct qs_bytes take(const uint8_t **at, const uint8_t *end)
{
    size_t len = *at < end ? *(*at)++ : 0;
    if (len > (size_t)(end - *at))
        len = (size_t)(end - *at);
    struct qs_bytes bytes = {.data = *at, .len = len};
    *at += len;
    return bytes;
}

static bool same(struct qs_bytes a, struct qs_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static void check_list(const uint8_t *data, size_t size)
{
    struct leaf items[LEAVES_MAX];
    struct leaves again = {0};
    size_t count = 0;
    json_t *value = NULL;
    for (const uint8_t *at = data, *end = data + size; at < end && count < LEAVES_MAX; count++) {
        items[count].key = take(&at, end);
        items[count].value = take(&at, end);
    }
    enum qs_status status = leaves_to_value(items, count, NULL, &value, NULL);
    if (status != QS_OK) {
        MUST(status == QS_DAMAGED && !value);
        return;
    }
    status = leaves_from_value(value, NULL, NULL, &again, NULL);
    MUST(status == QS_OK || status == QS_INVALID); /* key and value may together be too deep */
    MUST(status != QS_OK || again.count == count);
    for (size_t i = 0; i < again.count; i++) {
        MUST(same(items[i].key, again.items[i].key));
        MUST(!value_is_canonical_leaf(items[i].value.data, items[i].value.len) ||
             same(items[i].value, again.items[i].value));
    }
    are_well_formed(&again);
    leaves_release(&again);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == 0)
        check_list(data + 1, size - 1);
    else
        check_document(data, size);
    return 0;
}
