/* SPDX-License-Identifier: Apache-2.0 */
/* What fsck and the commands that rebuild a store share. */
#ifndef WRITER_MAINTENANCE_INTERNAL_H
#define WRITER_MAINTENANCE_INTERNAL_H

#include "store/history_read.h"
#include "writer/writer_open.h"

/* Reads and verifies all of an open store file that nobody writes now. Errors: as qs_history_check. */
enum qs_status maintenance_read(int fd, struct qs_history **ret_history, struct qs_error *err) QS_MUST_USE;

/* Takes the lock and reads all of the store. The caller closes writer, whatever the result. */
enum qs_status maintenance_begin(struct qs_store *store, unsigned wait_ms, struct writer *writer,
                                 struct qs_history **ret_history, struct qs_error *err) QS_MUST_USE;

/* The highest generation that any whole meta record in the file names, reachable or not; 0: none is left.
 * Errors: QS_IO. */
enum qs_status highest_generation(int fd, enum qs_scope scope, uint64_t *ret_generation,
                                  struct qs_error *err) QS_MUST_USE;

#endif
