/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores for tests: a scratch root, a store with settings of every shape, and its bytes for damaging.
 */
#ifndef TESTS_SUPPORT_STORE_FIXTURE_H
#define TESTS_SUPPORT_STORE_FIXTURE_H

#include "qsettings/maintenance.h"
#include "store/snapshot.h"

#include <stdint.h>

struct fixture {
    char *root;             /* a directory of its own */
    char *data;             /* ROOT/system/data.mdb */
    char *backup;           /* ROOT/backup; nothing is there yet */
    struct qs_store *store; /* the system scope */
};

/* in_memory: on tmpfs where there is one (for tests that flush a hundred thousand times). */
void fixture_init(struct fixture *f, bool in_memory);
void fixture_release(struct fixture *f); /* removes the directory */

/* One transaction that sets key to json. Fails the test on an error. */
void fixture_set(struct fixture *f, const char *key, const char *json);

/* A store of some 64 KiB: about 60 settings, one with overflow pages, locks, flags, free pages, three generations. */
void fixture_fill(struct fixture *f);

struct qs_snapshot *fixture_read(struct fixture *f); /* fails the test on an error */

/* The whole file. Heap memory. */
uint8_t *fixture_bytes(const struct fixture *f, size_t *ret_len);
void fixture_write_bytes(const struct fixture *f, const void *bytes, size_t len); /* in place, the length too */

/* Are settings, locks, targets, generation, store id and flags the same, byte for byte? */
bool fixture_same(const struct qs_snapshot *a, const struct qs_snapshot *b);

/* A clock that stands still but for sleeping, so that the damage rule's 200 ms cost nothing. */
void fixture_fake_clock(void);
void fixture_real_clock(void);

#endif
