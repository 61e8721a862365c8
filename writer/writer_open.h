/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer holds of a store, from its lock on. */
#ifndef WRITER_WRITER_OPEN_H
#define WRITER_WRITER_OPEN_H

#include "store/snapshot.h"
#include "writer/lock.h"

/* The store opened for writing: the lock, the verified directory and file, and the generation in it. */
struct writer {
    struct writer_lock lock;
    int dir_fd, data_fd;
    uint64_t deadline_ms; /* of reading very large ones */
};
#define WRITER_NONE ((struct writer){.lock = {.fd = -1}, .dir_fd = -1, .data_fd = -1})

/* Takes the lock of a store whose place is verified; removes what a killed writer left over. data_fd stays -1.
 * Errors: as qs_txn_begin but for damage. */
enum qs_status writer_open(const struct store_dir *dir, unsigned wait_ms, struct writer *writer,
                           struct qs_error *err) QS_MUST_USE;
/* Opens the data file read-write and verifies it with a writer's strictness. */
enum qs_status writer_read(const struct store_dir *dir, struct writer *writer, struct qs_snapshot **ret_base,
                           struct qs_error *err) QS_MUST_USE;
void writer_close(struct writer *writer);

#endif
