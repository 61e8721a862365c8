/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer lock: one writer per store.
 *
 * An OFD write lock on byte 0 of writer.lock; byte 1 is the gate at which those who wait stand one behind the other. It
 * goes with the open file, so the kernel drops it when its process dies, however it dies. The holder leaves its name in
 * the file for those who wait. A forked child closes its copy at once, so that a child that lives on does not keep the
 * lock.
 */
#ifndef WRITER_LOCK_H
#define WRITER_LOCK_H

#include "store/store_dir.h"

struct writer_lock {
    int fd; /* -1: not held */
    struct writer_lock *next;
};

/* Waits up to wait_ms. lock->fd is -1 before. Errors: QS_BUSY naming the holder, QS_ABSENT where the directory was
 * removed meanwhile, QS_UNTRUSTED, QS_IO. */
enum qs_status writer_lock_take(struct writer_lock *lock, int dir_fd, unsigned wait_ms,
                                struct qs_error *err) QS_MUST_USE;
/* Gives it back; nothing happens when it is not held. */
void writer_lock_drop(struct writer_lock *lock);

#endif
