/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the power-cut and the kill harness do to a scratch store, and how they look at it: each save writes a whole
 * document (test_document.h) in which every value has its number, so a reader finds one of the documents written, or a
 * torn one. All of it concerns the system store below a root directory.
 */
#ifndef STRESS_STORE_STEPS_H
#define STRESS_STORE_STEPS_H

#include "stress/ways/test_document.h"

#include "qsettings/maintenance.h"

/* Some 4 KiB of values: a tree of several pages. */
#define STEPS_SHAPE ((struct document_shape){.writers = 1, .values = 64})

/* The calls return the library's status; err is filled on failure. */
enum qs_status steps_init(const char *root, struct qs_error *err) QS_MUST_USE;
enum qs_status steps_apply(const char *root, uint64_t number, unsigned wait_ms, struct qs_error *err) QS_MUST_USE;
enum qs_status steps_set(const char *root, uint64_t number, unsigned wait_ms, struct qs_error *err) QS_MUST_USE;
enum qs_status steps_rollback(const char *root, uint64_t generation, struct qs_error *err) QS_MUST_USE;
enum qs_status steps_compact(const char *root, struct qs_error *err) QS_MUST_USE;
enum qs_status steps_backup(const char *root, const char *file, struct qs_error *err) QS_MUST_USE;
enum qs_status steps_restore(const char *root, const char *file, struct qs_error *err) QS_MUST_USE;

/* Appends document number as text, for the file ways. */
void steps_document(uint64_t number, struct buf *out);

/* Every leaf of a snapshot into a document. The keys are "counters", zero, "w0" and the like; the values JSON strings
 * that need no escapes. False: it is torn, and reader->reason says why. */
bool steps_read_document(const struct qs_snapshot *snapshot, struct document_shape shape,
                         struct document_reader *reader);

struct steps_look {
    enum qs_status status; /* of the read, and of fsck if that was asked for */
    bool torn;             /* read, and no complete document */
    uint64_t generation;   /* of the store */
    uint64_t number;       /* of the document, 0: the store is empty */
    char why[256];         /* what is wrong; unless status is QS_OK and torn is false */
};

enum steps_depth {
    STEPS_READ,    /* as any reader does */
    STEPS_FSCK,    /* and qs_store_fsck */
    STEPS_HISTORY, /* and one history record for each generation; a repair may have lost some */
};
void steps_look(const char *root, enum steps_depth depth, struct steps_look *ret_look);

#endif
