/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer holds of a store, from its lock on. */
#ifndef WRITER_HOLD_H
#define WRITER_HOLD_H

#include "store/snapshot.h"
#include "writer/lock.h"

/* The store opened for writing: the lock, the verified directory and file, and the generation in it. */
struct hold {
    struct writer_lock lock;
    int dir_fd, data_fd;
};
#define HOLD_NONE ((struct hold){.lock = {.fd = -1}, .dir_fd = -1, .data_fd = -1})

/* Takes the lock of a store whose place is verified; removes what a killed writer left over. data_fd stays -1.
 * Errors: as qs_txn_begin but for damage. */
enum qs_status hold_take(const struct place *place, unsigned wait_ms, struct hold *hold,
                         struct qs_error *err) QS_MUST_USE;
/* Opens the data file read-write and verifies it with a writer's strictness. */
enum qs_status hold_read(const struct place *place, struct hold *hold, struct qs_snapshot **ret_base,
                         struct qs_error *err) QS_MUST_USE;
void hold_drop(struct hold *hold);

#endif
