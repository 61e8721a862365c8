/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A healthy store of some 64 KiB with its pages changed; the mutator knows pages and nodes. Input: steps of six bytes:
 * page, field, node, way of changing, and a number of two bytes. The first byte's lowest bit says whether a writer then
 * has a go.
 *
 * Invariants: a reader gets exactly what was stored, or QS_DAMAGED with a reason; a writer is refused with a reason, or
 * makes the next generation, which reads back as what was stored with its change in it.
 */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "qsettings/txn.h"
#include "store/page.h"
#include "tests/support/store_fixture.h"

#include <string.h>

#define PAGE       4096u
#define STEP_BYTES 6u
#define STEPS_MAX  16u

static struct fixture fixture;
static uint8_t *healthy;
static size_t healthy_len;
static struct qs_snapshot *stored;
static char *stored_next; /* the whole document after the writer's change, as JSON */
static uint8_t *work;

static void clean_up(void)
{
    qs_snapshot_unref(stored);
    fixture_release(&fixture);
    free(healthy);
    free(stored_next);
    free(work);
}

/* The only change that the writer makes. */
static enum qs_status change(struct qs_commit_info *ret_info, struct qs_error *err)
{
    struct qs_txn *txn = NULL;
    enum qs_status status = qs_txn_begin(fixture.store, 1000, &txn, err);
    if (!status)
        status = qs_txn_set(txn, "fuzz.was.here", "true", 4, err);
    if (!status)
        status = qs_txn_commit(txn, NULL, ret_info, err);
    qs_txn_free(txn);
    return status;
}

static void set_up(void)
{
    struct qs_commit_info info = {.size = sizeof info};
    struct qs_snapshot *next = NULL;
    fixture_init(&fixture, true);
    fixture_fill(&fixture);
    (void)atexit(clean_up);
    fixture_fake_clock();
    healthy = fixture_bytes(&fixture, &healthy_len);
    work = malloc(healthy_len);
    MUST(work && healthy_len % PAGE == 0);
    MUST(qs_snapshot_take(fixture.store, &stored, NULL) == QS_OK);
    MUST(change(&info, NULL) == QS_OK && qs_snapshot_take(fixture.store, &next, NULL) == QS_OK);
    MUST(qs_snapshot_json(next, NULL, &stored_next, NULL, NULL) == QS_OK);
    qs_snapshot_unref(next);
}

struct field {
    size_t at;
    unsigned bytes;
};

/* Where a field lies in a page: of the header, of the metas, an offset, of a node's head, its key, its data. */
static struct field find_field(const uint8_t *page, unsigned which, unsigned node, unsigned number)
{
    static const struct field header[] = {{0, 8}, {8, 2}, {10, 2}, {12, 2}, {14, 2}, {12, 4}};
    static const size_t in_node[] = {0, 2, 4, 6};
    unsigned lower = load_u16(page + 12);
    unsigned count = lower >= PAGE_HEADER_BYTES + 2 && lower < PAGE ? (lower - PAGE_HEADER_BYTES) / 2 : 1;
    size_t offset_at = PAGE_HEADER_BYTES + 2u * (node % count);
    size_t node_at = load_u16(page + offset_at);
    if (node_at > PAGE - NODE_HEADER_BYTES)
        node_at = PAGE - NODE_HEADER_BYTES;
    switch (which % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        return header[which % 16];
    case 6:
        return (struct field){offset_at, 2};
    case 7:
    case 8:
    case 9:
    case 10:
        return (struct field){node_at + in_node[which % 16 - 7], 2};
    case 11:
        return (struct field){(node_at + NODE_HEADER_BYTES + number % 64) % PAGE, 1};
    case 12: /* of a meta: its databases, last page, transaction */
        return (struct field){META_OFFSET + 8u * (node % 17), 8};
    case 13: /* of a database record as a leaf's data: depth, pages, entries, root */
        return (struct field){(node_at + NODE_HEADER_BYTES + load_u16(page + node_at + 6) + 2u * (number % 24)) %
                                  (PAGE - 8),
                              8};
    default:
        return (struct field){number % PAGE, 1};
    }
}

static void change_field(uint8_t *page, struct field field, unsigned way, unsigned number)
{
    uint64_t old = 0;
    if (field.at + field.bytes > PAGE)
        return;
    memcpy(&old, page + field.at, field.bytes); /* the store is little-endian, and so is every machine it runs on */
    uint64_t pages = healthy_len / PAGE;
    const uint64_t values[] = {number,
                               old ^ (UINT64_C(1) << number % 64),
                               old + 1,
                               old - 1,
                               0,
                               UINT64_MAX,
                               number % pages,
                               pages + number % 3};
    uint64_t new = values[way % 8];
    memcpy(page + field.at, &new, field.bytes);
}

static size_t mutate(const uint8_t *data, size_t size)
{
    size_t len = healthy_len;
    size_t pages = healthy_len / PAGE;
    memcpy(work, healthy, healthy_len);
    for (size_t step = 0; step < STEPS_MAX && (step + 1) * STEP_BYTES <= size; step++) {
        const uint8_t *at = data + step * STEP_BYTES;
        uint8_t *page = work + PAGE * (at[0] % pages);
        unsigned number = load_u16(at + 4);
        if (at[1] == 0xff) /* another page over it */
            memcpy(page, work + PAGE * (number % pages), PAGE);
        else if (at[1] == 0xfe) /* the file cut */
            len = number * 16u < healthy_len ? number * 16u : healthy_len;
        else if (at[1] == 0xfd && number % pages) /* pages exchanged */
            for (size_t i = 0; i < PAGE; i++) {
                uint8_t byte = page[i];
                page[i] = work[PAGE * (number % pages) + i];
                work[PAGE * (number % pages) + i] = byte;
            }
        else
            change_field(page, find_field(page, at[1], at[2], number), at[3], number);
    }
    return len;
}

static void check_reader(void)
{
    struct qs_snapshot *snapshot = NULL;
    struct qs_error err = {0};
    enum qs_status status = qs_snapshot_take(fixture.store, &snapshot, &err);
    if (!status)
        MUST(fixture_same(snapshot, stored));
    else
        MUST(status == QS_DAMAGED && err.message[0] && !snapshot);
    qs_snapshot_unref(snapshot);
}

static void check_writer(void)
{
    struct qs_commit_info info = {.size = sizeof info};
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    char *text = NULL;
    enum qs_status status = change(&info, &err);
    if (status) {
        MUST(status == QS_DAMAGED && err.message[0]);
        check_reader(); /* what a refused writer leaves is no worse */
        return;
    }
    MUST(info.changed && info.generation == qs_snapshot_generation(stored) + 1);
    MUST(qs_snapshot_take(fixture.store, &snapshot, NULL) == QS_OK);
    MUST(qs_snapshot_generation(snapshot) == info.generation);
    MUST(qs_snapshot_json(snapshot, NULL, &text, NULL, NULL) == QS_OK && strcmp(text, stored_next) == 0);
    MUST(qs_snapshot_lock_count(snapshot) == qs_snapshot_lock_count(stored));
    MUST(qs_snapshot_requires_policy(snapshot) == qs_snapshot_requires_policy(stored));
    qs_snapshot_unref(snapshot);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!healthy)
        set_up();
    if (!size)
        return 0;
    size_t len = mutate(data + 1, size - 1);
    fixture_write_bytes(&fixture, work, len);
    check_reader();
    if (data[0] & 1)
        check_writer();
    return 0;
}
