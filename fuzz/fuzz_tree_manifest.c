/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest. Invariants: what is decoded encodes to the same bytes; every entry is found by its path. The trailer is
 * made right first, so that the fuzzer reaches what lies behind it. */
#include "approval/tree.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf again = {0};
    AUTO(tree_release) struct tree tree = {0};
    struct qs_error err = {0};
    uint8_t digest[QS_DIGEST_BYTES];
    if (tree_manifest_decode(data, size, &tree, NULL) == QS_OK)
        MUST(size > sizeof digest);
    tree_release(&tree);
    buf_add(&text, data, size);
    digest_of(data, size, digest);
    buf_add(&text, digest, sizeof digest);
    MUST(!text.failed);
    if (tree_manifest_decode(text.data, text.len, &tree, &err)) {
        MUST(err.message[0]);
        return 0;
    }
    for (size_t i = 0; i < tree.count; i++)
        MUST(tree_find(&tree, tree.entries[i].path) == &tree.entries[i]);
    tree_digest(&tree, digest);
    MUST(tree_manifest_encode(&tree, &again, NULL) == QS_OK);
    AUTO(tree_release) struct tree twice = {0};
    MUST(tree_manifest_decode(again.data, again.len, &twice, NULL) == QS_OK && twice.count == tree.count);
    return 0;
}
