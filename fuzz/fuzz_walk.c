/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as data.mdb. Invariants: refused with QS_DAMAGED (or as a later version's) and a message; or
 * accepted, and then accepted again with the same digest, with keys that are valid and sorted; what the stricter walk
 * of a writer accepts, a reader accepts too. Inputs are padded with zeros to whole pages, so that small ones reach far.
 */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "store/snapshot.h"
#include "tests/support/canonical.h"
#include "text/key_path.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE     4096u
#define FILE_MAX (1u << 18)

static int file = -1;

static void check_content(const struct qs_snapshot *snapshot)
{
    const struct entry_list *settings = &snapshot->areas[AREA_SETTINGS];
    uint8_t digest[QS_DIGEST_BYTES];
    content_digest(snapshot->areas, digest);
    MUST(memcmp(digest, snapshot->record.content, sizeof digest) == 0);
    MUST(settings->count == snapshot->record.counts[AREA_SETTINGS]);
    for (size_t i = 0; i < settings->count; i++) {
        const struct leaf *leaf = &settings->items[i];
        MUST(key_valid(leaf->key.data, leaf->key.len) && is_canonical_leaf(leaf->value.data, leaf->value.len));
        MUST(!i || key_compare(leaf[-1].key.data, leaf[-1].key.len, leaf->key.data, leaf->key.len) < 0);
    }
}

/* One walk; the digest of what it accepts. */
static bool walk(int slot, unsigned flags, uint8_t digest[QS_DIGEST_BYTES])
{
    struct qs_snapshot *snapshot = NULL;
    struct qs_error err = {0};
    enum qs_status status = verified_read(file, &(struct verified_read){.slot = slot, .flags = flags}, &snapshot, &err);
    if (status) {
        MUST((status == QS_DAMAGED || status == QS_NEWER) && err.message[0] && !snapshot);
        return false;
    }
    check_content(snapshot);
    memcpy(digest, snapshot->record.content, QS_DIGEST_BYTES);
    qs_snapshot_unref(snapshot);
    return true;
}

/* The file that an input stands for. Returns its length. */
static size_t unfold(const uint8_t *data, size_t size, uint8_t *out)
{
    struct cursor input;
    size_t end = 0;
    cursor_init(&input, data, size);
    memset(out, 0, FILE_MAX);
    while (cursor_left(&input) > 3) {
        size_t at = (size_t)(cursor_u16(&input) % (FILE_MAX / 16 - 16)) * 16;
        size_t len = cursor_u8(&input);
        if (len > cursor_left(&input))
            len = cursor_left(&input);
        memcpy(out + at, cursor_bytes(&input, len), len);
        end = at + len > end ? at + len : end;
    }
    return end;
}

static void put_file(const uint8_t *data, size_t size)
{
    static uint8_t bytes[FILE_MAX];
    bool raw = size && data[0] == 1;
    size_t len = raw ? size - 1 : unfold(data + (size > 0), size - (size > 0), bytes);
    MUST(ftruncate(file, 0) == 0);
    MUST(pwrite(file, raw ? data + 1 : bytes, len, 0) == (ssize_t)len);
    MUST(ftruncate(file, (off_t)((len + PAGE - 1) / PAGE * PAGE)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t first[QS_DIGEST_BYTES];
    uint8_t again[QS_DIGEST_BYTES];
    if (file < 0)
        file = memfd_create("walk", MFD_CLOEXEC);
    MUST(file >= 0);
    put_file(data, size);
    bool reads = walk(-1, 0, first);
    MUST(!reads || (walk(-1, 0, again) && memcmp(first, again, sizeof first) == 0));
    bool writes = walk(-1, SNAPSHOT_WRITER | SNAPSHOT_HISTORY, again);
    MUST(!writes || (reads && memcmp(first, again, sizeof first) == 0));
    (void)walk(0, 0, again);
    (void)walk(1, 0, again);
    return 0;
}
