/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage: every truncation, every flipped bit, every byte set to 0x00 and to 0xff of a store of some 64
 * KiB either reads exactly what was stored or is refused as damaged, with a reason. Never other content, never an older
 * generation, never a crash.
 *
 * Every 7th place only, which meets each bit of a byte; with QS_THOROUGH=1, as in .ci/run, every place.
 * QS_DAMAGE_STRIDE=N says another one.
 */
#include "base/os.h"
#include "tests/support/store_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct damage {
    struct fixture f;
    struct qs_snapshot *expected;
    uint8_t *bytes;
    size_t len, stride;
    int fd;
    size_t exact, refused;
};

static struct damage d;

static int set_up(void **state)
{
    (void)state;
    const char *stride = getenv("QS_DAMAGE_STRIDE");
    d.stride = stride && atoi(stride) > 0 ? (size_t)atoi(stride) : getenv("QS_THOROUGH") ? 1 : 7;
    fixture_init(&d.f, true);
    fixture_fill(&d.f);
    d.expected = fixture_read(&d.f);
    d.bytes = fixture_bytes(&d.f, &d.len);
    d.fd = open(d.f.data, O_RDWR | O_CLOEXEC);
    assert_true(d.fd >= 0);
    fixture_fake_clock();
    printf("# a store of %zu bytes, generation %llu, looking at every %zu. place\n", d.len,
           (unsigned long long)qs_snapshot_generation(d.expected), d.stride);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_real_clock();
    qs_snapshot_unref(d.expected);
    free(d.bytes);
    close(d.fd);
    fixture_release(&d.f);
    return 0;
}

/* The one rule. where and what are for the message. */
static void exact_or_refused(const char *what, size_t where)
{
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_snapshot_take(d.f.store, &snapshot, &err);
    if (status == QS_OK) {
        if (!fixture_same(snapshot, d.expected))
            fail_msg("%s at %zu: read as generation %llu with other content", what, where,
                     (unsigned long long)qs_snapshot_generation(snapshot));
        d.exact++;
    } else {
        if (status != QS_DAMAGED || !err.message[0])
            fail_msg("%s at %zu: %s (%s)", what, where, qs_status_name(status), err.message);
        d.refused++;
    }
    qs_snapshot_unref(snapshot);
}

static void report(const char *what)
{
    printf("# %s: %zu read exactly, %zu refused\n", what, d.exact, d.refused);
    assert_true(d.refused > 0);
    d.exact = d.refused = 0;
}

static void put(size_t at, uint8_t byte)
{
    assert_int_equal(pwrite(d.fd, &byte, 1, (off_t)at), 1);
}

static void every_truncation_is_refused_or_exact(void **state)
{
    (void)state;
    for (size_t len = d.len; len-- > 0;) {
        if (len % d.stride)
            continue;
        assert_int_equal(ftruncate(d.fd, (off_t)len), 0);
        exact_or_refused("truncated", len);
    }
    fixture_write_bytes(&d.f, d.bytes, d.len);
    report("truncations");
}

static void every_flipped_bit_is_refused_or_exact(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < d.len * 8; bit += d.stride) {
        put(bit / 8, d.bytes[bit / 8] ^ (uint8_t)(1u << bit % 8));
        exact_or_refused("bit flipped", bit);
        put(bit / 8, d.bytes[bit / 8]);
    }
    assert_true(d.exact > 0);
    report("flipped bits");
}

static void every_byte_set_to_zero_or_ones_is_refused_or_exact(void **state)
{
    (void)state;
    for (size_t at = 0; at < d.len; at += d.stride) {
        put(at, 0x00);
        exact_or_refused("byte zeroed", at);
        put(at, 0xff);
        exact_or_refused("byte set", at);
        put(at, d.bytes[at]);
    }
    report("bytes set");
}

static void the_undamaged_store_reads_again(void **state)
{
    (void)state;
    exact_or_refused("nothing", 0);
    assert_int_equal(d.exact, 1);
}

static void two_metas_exchanged_are_refused(void **state)
{
    (void)state;
    assert_int_equal(pwrite(d.fd, d.bytes + 4096, 4096, 0), 4096);
    assert_int_equal(pwrite(d.fd, d.bytes, 4096, 4096), 4096);
    d.exact = d.refused = 0;
    exact_or_refused("metas exchanged", 0);
    fixture_write_bytes(&d.f, d.bytes, d.len);
    assert_int_equal(d.refused, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_refused_or_exact),
        cmocka_unit_test(every_flipped_bit_is_refused_or_exact),
        cmocka_unit_test(every_byte_set_to_zero_or_ones_is_refused_or_exact),
        cmocka_unit_test(the_undamaged_store_reads_again),
        cmocka_unit_test(two_metas_exchanged_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
