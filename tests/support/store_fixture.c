/* SPDX-License-Identifier: Apache-2.0 */
/* Stores for tests. */
#include "tests/support/store_fixture.h"

#include "base/os.h"
#include "tests/support/scratch.h"
#include "tests/support/stores.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *joined(const char *a, const char *b)
{
    char *out = NULL;
    assert_true(asprintf(&out, "%s%s", a, b) >= 0);
    return out;
}

static void must(enum qs_status status, const struct qs_error *err)
{
    if (status)
        fail_msg("%s: %s [%s] %s", qs_status_name(status), err->message, err->file, err->advice);
}

void fixture_init(struct fixture *f, bool in_memory)
{
    struct qs_error err = {0};
    const char *base = in_memory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    f->root = joined(base ? base : "/tmp", "/qs-store-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    f->data = joined(f->root, "/system/data.mdb");
    f->backup = joined(f->root, "/backup");
    must(qs_store_open(QS_SCOPE_SYSTEM,
                       &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f->root}, &f->store,
                       &err),
         &err);
    must(qs_store_init(f->store, NULL, &err), &err);
}

void fixture_release(struct fixture *f)
{
    qs_store_close(f->store);
    struct scratch scratch;
    assert_true(strlen(f->root) < sizeof scratch.dir);
    memcpy(scratch.dir, f->root, strlen(f->root) + 1);
    scratch_remove(&scratch);
    free(f->root);
    free(f->data);
    free(f->backup);
    *f = (struct fixture){0};
}

void fixture_set(struct fixture *f, const char *key, const char *json)
{
    stores_set(f->store, key, json);
}

static void fill_once(struct fixture *f)
{
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    must(qs_txn_begin(f->store, QS_DEFAULT_WAIT_MS, &txn, &err), &err);
    for (int i = 0; i < 60; i++) {
        char key[64];
        char json[128];
        (void)snprintf(key, sizeof key, "group%d.setting%03d", i % 7, i);
        (void)snprintf(json, sizeof json, i % 3 ? "\"the value of setting %d\"" : "[%d,true,null,0.5]", i);
        must(qs_txn_set(txn, key, json, strlen(json), &err), &err);
    }
    char large[2500];
    memset(large, 'x', sizeof large);
    large[0] = large[sizeof large - 1] = '"';
    must(qs_txn_set(txn, "large.value", large, sizeof large, &err), &err);
    must(qs_txn_lock(txn, "group1", &err), &err);
    must(qs_txn_lock(txn, "group2.setting002", &err), &err);
    must(qs_txn_require_policy(txn, true, &err), &err);
    must(qs_txn_commit(txn, &(struct qs_commit_options){.size = sizeof(struct qs_commit_options), .message = "filled"},
                       NULL, &err),
         &err);
    qs_txn_free(txn);
}

void fixture_fill(struct fixture *f)
{
    struct qs_error err = {0};
    fill_once(f);
    must(qs_store_compact(f->store, QS_DEFAULT_WAIT_MS, &err), &err); /* small again; what follows frees pages */
    fixture_set(f, "group0.setting000", "0");
}

struct qs_snapshot *fixture_read(struct fixture *f)
{
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    must(qs_snapshot_take(f->store, &snapshot, &err), &err);
    return snapshot;
}

uint8_t *fixture_bytes(const struct fixture *f, size_t *ret_len)
{
    char *data = NULL;
    struct qs_error err = {0};
    int fd = open(f->data, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    must(os_read_all(fd, f->data, (size_t)1 << 30, &data, ret_len, &err), &err);
    close(fd);
    return (uint8_t *)data;
}

void fixture_write_bytes(const struct fixture *f, const void *bytes, size_t len)
{
    int fd = open(f->data, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)len), 0);
    assert_int_equal(os_pwrite_full(fd, bytes, len, 0), 0);
    close(fd);
}

static bool same_bytes(struct qs_bytes a, struct qs_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

bool fixture_same(const struct qs_snapshot *a, const struct qs_snapshot *b)
{
    if (a->record.generation != b->record.generation || a->record.flags != b->record.flags ||
        a->record.scope != b->record.scope || memcmp(a->record.store_id, b->record.store_id, QS_STORE_ID_BYTES) != 0)
        return false;
    for (int area = 0; area < AREA_COUNT; area++) {
        if (a->areas[area].count != b->areas[area].count)
            return false;
        for (size_t i = 0; i < a->areas[area].count; i++)
            if (!same_bytes(a->areas[area].items[i].key, b->areas[area].items[i].key) ||
                !same_bytes(a->areas[area].items[i].value, b->areas[area].items[i].value))
                return false;
    }
    return true;
}

static uint64_t fake_now = 1;

static uint64_t fake_ms(void)
{
    return fake_now;
}

static void fake_sleep(unsigned ms)
{
    fake_now += ms;
}

static struct os_calls fake;

void fixture_fake_clock(void)
{
    fake = os_real;
    fake.monotonic_ms = fake_ms;
    fake.sleep_ms = fake_sleep;
    qs_os = &fake;
}

void fixture_real_clock(void)
{
    qs_os = &os_real;
}
