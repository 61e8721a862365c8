/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves. The input is a JSON document, or, behind a first byte of 0, a list of leaves as a damaged store might hold it
 * (length byte, key, length byte, value, and so on). Invariants: what a document splits into is sorted, valid and
 * canonical and joins to an equal document; a list is refused with QS_DAMAGED, or joins to a document that splits into
 * the same keys and, where they were canonical, the same values.
 */
#include "fuzz/fuzz.h"
#include "tests/support/canonical.h"
#include "text/doc.h"
#include "text/key_path.h"

#include <string.h>

static void are_well_formed(const struct leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; i++) {
        struct qs_bytes key = leaves->items[i].key, value = leaves->items[i].value;
        MUST(key_valid(key.data, key.len) && is_canonical_leaf(value.data, value.len));
        if (i) {
            struct qs_bytes last = leaves->items[i - 1].key;
            MUST(key_compare(last.data, last.len, key.data, key.len) < 0);
            MUST(!key_covers(last.data, last.len, key.data, key.len));
        }
    }
}

/* The same below a prefix: every key is covered by it, and what is joined below it is the same value. */
static void check_prefix(const struct doc *doc)
{
    struct qs_key prefix;
    struct leaves leaves = {0};
    struct qs_error err = {0};
    json_t *again = NULL;
    MUST(qs_key_parse("above.\"all of.it\"", &prefix, NULL) == QS_OK);
    if (flatten_value(doc_root(doc), &prefix, NULL, &leaves, &err) == QS_OK) {
        are_well_formed(&leaves);
        for (size_t i = 0; i < leaves.count; i++)
            MUST(key_covers(prefix.bytes, prefix.len, leaves.items[i].key.data, leaves.items[i].key.len));
        MUST(unflatten_leaves(leaves.items, leaves.count, &prefix, &again, NULL) == QS_OK);
        MUST(value_equal(doc_root(doc), again));
        prefix.bytes[0] ^= 1; /* another subtree: none of it is there */
        json_t *none = NULL;
        enum qs_status status = unflatten_leaves(leaves.items, leaves.count, &prefix, &none, NULL);
        MUST(leaves.count ? status == QS_DAMAGED && !none : status == QS_OK);
        json_decref(none);
    } else {
        MUST(err.status == QS_INVALID);
    }
    json_decref(again);
    leaves_release(&leaves);
}

/* Inside an array the document is one leaf, which may stand anywhere but at the root. */
static void check_leaf(const struct doc *doc)
{
    struct qs_key prefix, root = {0};
    struct leaves leaves = {0};
    json_t *array = json_pack("[O]", doc_root(doc)), *again = NULL;
    MUST(array && qs_key_parse("one", &prefix, NULL) == QS_OK);
    MUST(flatten_value(array, &root, NULL, &leaves, NULL) == QS_INVALID && !leaves.count);
    if (flatten_value(array, &prefix, NULL, &leaves, NULL) == QS_OK) {
        MUST(leaves.count == 1 && leaves.items[0].key.len == prefix.len);
        MUST(unflatten_leaves(leaves.items, 1, &prefix, &again, NULL) == QS_OK && value_equal(array, again));
    }
    leaves_release(&leaves);
    json_decref(array);
    json_decref(again);
}

static void check_document(const uint8_t *data, size_t size)
{
    struct doc *doc = NULL;
    struct leaves leaves = {0};
    struct qs_error err = {0};
    json_t *again = NULL;
    if (doc_parse("input", data, size, DOC_JSON, &doc, NULL) != QS_OK)
        return;
    check_prefix(doc);
    check_leaf(doc);
    enum qs_status status = flatten_value(doc_root(doc), NULL, doc, &leaves, &err);
    if (status) {
        MUST(status == QS_INVALID && err.line && strcmp(err.file, "input") == 0);
    } else {
        are_well_formed(&leaves);
        MUST(unflatten_leaves(leaves.items, leaves.count, NULL, &again, NULL) == QS_OK);
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
    enum qs_status status = unflatten_leaves(items, count, NULL, &value, NULL);
    if (status) {
        MUST(status == QS_DAMAGED && !value);
        return;
    }
    status = flatten_value(value, NULL, NULL, &again, NULL);
    MUST(status == QS_OK || status == QS_INVALID); /* key and value may together be too deep */
    MUST(status != QS_OK || again.count == count);
    for (size_t i = 0; i < again.count; i++) {
        MUST(same(items[i].key, again.items[i].key));
        MUST(!is_canonical_leaf(items[i].value.data, items[i].value.len) || same(items[i].value, again.items[i].value));
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
