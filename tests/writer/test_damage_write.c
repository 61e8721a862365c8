/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing onto damage: a set over a store with any one bit flipped is refused, or makes a new generation
 * that reads back exactly. Bare LMDB crashes on some of these, or writes stores that cannot be read.
 *
 * Every 7th bit only, which meets each bit of a byte; with QS_THOROUGH=1, as in .ci/run, every bit. QS_DAMAGE_STRIDE=N
 * says another one.
 */
#include "base/os.h"
#include "tests/support/store_fixture.h"

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void must(enum qs_status status, const struct qs_error *err, size_t bit)
{
    if (status)
        fail_msg("bit %zu: %s: %s", bit, qs_status_name(status), err->message);
}

/* Sets one key; whether the writer accepted the store. */
static bool try_set(struct fixture *f, size_t bit)
{
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    enum qs_status status = qs_txn_begin(f->store, 0, &txn, &err);
    if (status == QS_OK) {
        must(qs_txn_set(txn, "group3.setting003", "\"written over damage\"", 21, &err), &err, bit);
        status = qs_txn_commit(txn, NULL, NULL, &err);
    }
    qs_txn_free(txn);
    if (status != QS_OK && status != QS_DAMAGED)
        fail_msg("bit %zu: %s: %s", bit, qs_status_name(status), err.message);
    return status == QS_OK;
}

static void a_set_over_any_flipped_bit_is_refused_or_reads_back_exactly(void **state)
{
    (void)state;
    struct fixture f = {0};
    size_t len = 0;
    size_t accepted = 0;
    size_t refused = 0;
    const char *text = getenv("QS_DAMAGE_STRIDE");
    size_t stride = text && atoi(text) > 0 ? (size_t)atoi(text) : getenv("QS_THOROUGH") ? 1 : 7;
    /* LMDB asks for 2 MiB of zeros at each open: fresh pages are cheaper than clearing used ones. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    fixture_init(&f, true);
    fixture_fill(&f);
    uint8_t *bytes = fixture_bytes(&f, &len);
    assert_true(try_set(&f, 0));
    struct qs_snapshot *expected = fixture_read(&f);
    fixture_write_bytes(&f, bytes, len);
    fixture_fake_clock();
    int fd = open(f.data, O_RDWR | O_CLOEXEC);
    for (size_t bit = 0; bit < len * 8; bit += stride) {
        uint8_t flipped = bytes[bit / 8] ^ (uint8_t)(1u << bit % 8);
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)(bit / 8)), 1);
        if (!try_set(&f, bit)) {
            refused++;
            assert_int_equal(pwrite(fd, bytes + bit / 8, 1, (off_t)(bit / 8)), 1);
            continue;
        }
        struct qs_error err = {0};
        struct qs_snapshot *after = NULL;
        must(qs_snapshot_take(f.store, &after, &err), &err, bit);
        if (!fixture_same(after, expected))
            fail_msg("bit %zu: the new generation reads back otherwise", bit);
        qs_snapshot_unref(after);
        accepted++;
        fixture_write_bytes(&f, bytes, len);
    }
    fixture_real_clock();
    printf("# %zu bits: %zu accepted and read back exactly, %zu refused\n", len * 8 / stride, accepted, refused);
    assert_true(accepted > 0 && refused > 0);
    close(fd);
    free(bytes);
    qs_snapshot_unref(expected);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_over_any_flipped_bit_is_refused_or_reads_back_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
