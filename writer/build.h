/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a whole store file from verified content, and putting it in the place of the old one.
 *
 * init, compact, restore, repair, purge and backup all do the same: a new file is built under a temporary name,
 * flushed, and renamed over; the old file is never changed, so a crash leaves the one or the other.
 */
#ifndef WRITER_BUILD_H
#define WRITER_BUILD_H

#include "store/history_read.h"
#include "writer/history_build.h"
#include "writer/writer_open.h"

struct build {
    struct meta_record record;      /* counts, txn_id and history_count are set by build_file */
    const struct entry_list *areas; /* AREA_COUNT of them, borrowed */
    struct qs_history *history;     /* records to keep, borrowed; NULL: none */
    uint64_t first, last;           /* the generations whose records are kept; last 0: to the newest */
    /* NULL, or what is done to each record that is kept */
    enum qs_status (*rewrite)(void *context, struct history_record *record, struct qs_error *err);
    void *context;
    const struct history_chunks *newest; /* one record more, borrowed; NULL: none */
};

/* Writes a store into the empty file at fd and flushes it. */
enum qs_status build_file(int fd, struct build *build, struct qs_error *err) QS_MUST_USE;

/* Builds under STORE_TEMP_FILE in the held directory with the store's owner and mode, then renames it over data.mdb and
 * flushes the directory. keep_aside (may be NULL): a name the former file keeps, by link. */
enum qs_status build_replace(const struct store_dir *dir, struct writer *writer, struct build *build,
                             const char *keep_aside, struct qs_error *err) QS_MUST_USE;

/* build_replace with one history record more: entry's. Sets the record's content digest and build->newest. */
enum qs_status build_next(const struct store_dir *dir, struct writer *writer, struct build *build,
                          const struct history_entry *entry, const char *keep_aside, struct qs_error *err) QS_MUST_USE;

#endif
