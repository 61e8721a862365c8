/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores of a later version, one kind each: what this version does not know is refused as that, by every command, is
 * never called damage, and is left byte for byte as it is. And the reverse: a flipped bit is damage, not a version.
 */
#include "base/digest.h"
#include "base/os.h"
#include "qsettings/qsettings.h"
#include "store/history_read.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"

#include <string.h>
#include <unistd.h>

static uint8_t *bytes;
static size_t len;

static int newer_set_up(void **state)
{
    (void)set_up(state);
    fixture_set(&f, "a.b", "1");
    fixture_set(&f, "a.b", "2");
    bytes = fixture_bytes(&f, &len);
    fixture_fake_clock();
    return 0;
}

static int newer_tear_down(void **state)
{
    free(bytes);
    return tear_down(state);
}

static void store(void)
{
    fixture_write_bytes(&f, bytes, len);
}

/* Every meta record of the file, those in free pages too: changed, and hashed again. */
static void each_record(void (*change)(uint8_t *record))
{
    size_t count = 0;
    uint8_t *at = bytes;
    for (; (at = memmem(at, len - (size_t)(at - bytes), META_RECORD_MAGIC, META_RECORD_MAGIC_BYTES)); at += 8) {
        change(at);
        digest_of(at, 168, at + 168);
        count++;
    }
    assert_true(count >= 2);
    store();
}

/* ---- what is refused, and how ---- */

static void newer(enum qs_status status, const char *what)
{
    if (status != QS_NEWER || !err.message[0] || !strstr(err.advice, QS_VERSION))
        fail_msg("%s: %s (%s; %s)", what, qs_status_name(status), err.message, err.advice);
    memset(&err, 0, sizeof err);
}

static enum qs_status policy(void)
{
    struct qs_policy_result *result = NULL;
    enum qs_status status =
        qs_policy_read(&(struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = f.root}, &result,
                       &err);
    assert_int_equal(qs_policy_status(result), status);
    qs_policy_free(result);
    return status;
}

static void every_command_leaves_it_alone(void)
{
    struct qs_snapshot *snapshot = NULL;
    struct qs_history *history = NULL;
    struct qs_watch *watch = NULL;
    struct qs_txn *txn = NULL;
    struct qs_repair_report *repaired = NULL;
    size_t now = 0;
    newer(qs_snapshot_take(f.store, &snapshot, &err), "get");
    newer(qs_history_open(f.store, &history, &err), "log");
    newer(qs_watch_open(f.store, 0, &watch, &err), "watch");
    newer(qs_txn_begin(f.store, 0, &txn, &err), "set");
    newer(policy(), "policy");
    newer(qs_store_fsck(f.store, NULL, &err), "fsck");
    newer(qs_store_repair(f.store, true, 0, &repaired, &err), "repair");
    newer(qs_store_compact(f.store, 0, &err), "compact");
    newer(qs_store_purge(f.store, "a.b", NULL, 0, NULL, &err), "purge");
    newer(qs_store_backup(f.store, f.backup, false, &err), "backup");
    assert_false(scratch_exists(f.backup));
    newer(qs_store_restore(f.store, f.data, 0, NULL, &err), "restore of it");
    uint8_t *after = fixture_bytes(&f, &now);
    assert_int_equal(now, len);
    assert_memory_equal(after, bytes, len);
    free(after);
}

static void restore_over_it_is_refused(void)
{
    struct fixture other;
    fixture_init(&other, true);
    fixture_real_clock();
    ok(qs_store_backup(other.store, f.backup, false, &err));
    fixture_fake_clock();
    newer(qs_store_restore(f.store, f.backup, 0, NULL, &err), "restore over it");
    fixture_release(&other);
    assert_int_equal(unlink(f.backup), 0);
}

static void refused_by_all(void)
{
    every_command_leaves_it_alone();
    restore_over_it_is_refused();
}

/* ---- the meta record ---- */

static void feature(uint8_t *record)
{
    record[12] |= 2;
}

static void last_feature(uint8_t *record)
{
    record[15] |= 0x80;
}

static void version(uint8_t *record)
{
    record[8] = 2;
}

static void first_zeros(uint8_t *record)
{
    record[20] = 7;
}

static void last_zeros(uint8_t *record)
{
    record[71] = 1;
}

static void scope(uint8_t *record)
{
    record[16] = 4;
}

static void what_a_record_may_have_in_a_later_version_is_refused(void **state)
{
    (void)state;
    static void (*const changes[])(uint8_t *) = {feature, last_feature, version, first_zeros, last_zeros, scope};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint8_t *sound = bytes;
        bytes = malloc(len);
        assert_non_null(bytes);
        memcpy(bytes, sound, len);
        each_record(changes[i]);
        refused_by_all();
        free(bytes);
        bytes = sound;
    }
}

/* A record of another length is found by its magic, its version, and the hash at its end. */
static void a_longer_record_of_a_later_version_is_refused(void **state)
{
    (void)state;
    struct meta_record record;
    uint8_t longer[300] = META_RECORD_MAGIC;
    longer[8] = 3;
    digest_of(longer, sizeof longer - QS_DIGEST_BYTES, longer + sizeof longer - QS_DIGEST_BYTES);
    newer(meta_record_decode(longer, sizeof longer, &record, &err), "longer");
    longer[8] = META_RECORD_VERSION;
    digest_of(longer, sizeof longer - QS_DIGEST_BYTES, longer + sizeof longer - QS_DIGEST_BYTES);
    assert_int_equal(meta_record_decode(longer, sizeof longer, &record, &err), QS_DAMAGED);
    longer[8] = 3;
    assert_int_equal(meta_record_decode(longer, sizeof longer, &record, &err), QS_DAMAGED); /* its hash does not hold */
}

static void first_generation_that_cannot_be(uint8_t *record)
{
    memset(record + 40, 0, 8);
}

static void last_generation_that_cannot_be(uint8_t *record)
{
    record[47] = 0x80;
}

static void a_generation_that_cannot_be_is_damage(void **state)
{
    (void)state;
    struct qs_snapshot *snapshot = NULL;
    each_record(first_generation_that_cannot_be);
    assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED);
    each_record(last_generation_that_cannot_be);
    assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED);
    assert_non_null(strstr(err.message, "impossible"));
}

/* ---- the names of databases ---- */

/* One database under another name: damage, but where the record says that a later version made it. */
static void a_database_of_another_name_is_damage_only_in_a_record_of_this_version(void **state)
{
    (void)state;
    struct qs_snapshot *snapshot = NULL;
    for (uint8_t *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), "targets", 7)); at++)
        memcpy(at, "tarpits", 7);
    store();
    assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED);
    each_record(version);
    refused_by_all();
}

/* ---- LMDB's format ---- */

static void lmdb(unsigned slot, unsigned of)
{
    uint8_t *at = bytes + 4096 * (size_t)slot + META_OFFSET + 4;
    at[0] = (uint8_t)of;
    at[1] = (uint8_t)(of >> 8);
}

static void a_file_of_a_later_lmdb_is_refused(void **state)
{
    (void)state;
    static const unsigned versions[] = {2, 3, 77, 999};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        lmdb(0, versions[i]);
        lmdb(1, versions[i]);
        store();
        refused_by_all();
    }
}

/* LMDB 1.0: a header of 24 bytes, and the metas behind it. */
static void a_file_laid_out_by_lmdb_1_0_is_refused(void **state)
{
    (void)state;
    for (size_t slot = 0; slot < 2; slot++) {
        uint8_t *page = bytes + 4096 * slot;
        memmove(page + META_OFFSET + 8, page + META_OFFSET, META_BYTES);
        lmdb((unsigned)slot, 1); /* where nothing is now */
        memset(page + 8, 0, 16);
        page[18] = PAGE_META;
        page[28] = 2;
    }
    store();
    refused_by_all();
}

static void a_flipped_bit_in_one_version_is_damage(void **state)
{
    (void)state;
    struct qs_snapshot *snapshot = NULL;
    for (unsigned slot = 0; slot < 2; slot++) {
        for (unsigned bit = 0; bit < 16; bit++) {
            lmdb(slot, META_VERSION ^ 1u << bit);
            store();
            assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED);
        }
        lmdb(slot, META_VERSION);
    }
    lmdb(0, 0x5858); /* what nobody's version is */
    lmdb(1, 0x5858);
    store();
    assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED);
}

/* ---- history records ---- */

static void encoded(struct history_record *record, struct buf *out)
{
    record->facts.generation = 7;
    record->facts.user = record->facts.program = record->facts.message = "";
    out->len = 0;
    ok(history_record_encode(record, out, &err));
}

static enum qs_status decoded(const struct buf *from)
{
    struct history_record record;
    enum qs_status status = history_record_decode(from->data, from->len, &record, &err);
    if (!status)
        history_record_release(&record);
    return status;
}

static void a_history_record_of_a_later_version_is_told_from_a_damaged_one(void **state)
{
    (void)state;
    struct history_change change = {.area = QS_AREA_HISTORY, .key = {"k", 1}, .old_value = {true, .bytes = {"1", 1}}};
    struct history_record record = {.action = HISTORY_SET};
    struct buf text = {0};
    encoded(&record, &text);
    ok(decoded(&text));
    text.data[0] = 2; /* only the version differs: a flipped bit */
    assert_int_equal(decoded(&text), QS_DAMAGED);
    buf_add_u32(&text, 0); /* another form, too: a later version's */
    newer(decoded(&text), "version 2");
    text.data[1] = 1; /* no version that there will be */
    assert_int_equal(decoded(&text), QS_DAMAGED);

    encoded(&record, &text);
    text.data[3] = 1; /* where zero belongs */
    assert_int_equal(decoded(&text), QS_DAMAGED);
    struct digest digest;
    digest_init(&digest);
    digest_add_field(&digest, text.data, text.len - QS_DIGEST_BYTES);
    digest_finish(&digest, (uint8_t *)text.data + text.len - QS_DIGEST_BYTES);
    newer(decoded(&text), "what was zero");

    record.action = 99;
    encoded(&record, &text);
    newer(decoded(&text), "an action");
    text.data[2] = 98;
    assert_int_equal(decoded(&text), QS_DAMAGED);

    free(record.changes); /* spread out of none */
    record.action = HISTORY_SET;
    record.changes = &change;
    record.facts.change_count = 1;
    encoded(&record, &text);
    ok(decoded(&text));
    change.area = HISTORY_AREA_LAST + 1;
    encoded(&record, &text);
    newer(decoded(&text), "an area");
    buf_release(&text);
}

#define NEWER(name) cmocka_unit_test_setup_teardown(name, newer_set_up, newer_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NEWER(what_a_record_may_have_in_a_later_version_is_refused),
        NEWER(a_longer_record_of_a_later_version_is_refused),
        NEWER(a_generation_that_cannot_be_is_damage),
        NEWER(a_database_of_another_name_is_damage_only_in_a_record_of_this_version),
        NEWER(a_file_of_a_later_lmdb_is_refused),
        NEWER(a_file_laid_out_by_lmdb_1_0_is_refused),
        NEWER(a_flipped_bit_in_one_version_is_damage),
        NEWER(a_history_record_of_a_later_version_is_told_from_a_damaged_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
