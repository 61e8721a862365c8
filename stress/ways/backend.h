/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/ways/: Which ways of saving are put under stress?
 *
 * Ways of saving, behind one interface: the store of this project, the four ways with files, and other programs.
 *
 * prepare runs once, before anything is forked; open, look, save and close run in each process.
 */
#ifndef STRESS_BACKEND_H
#define STRESS_BACKEND_H

#include "stress/harness/stress.h"
#include "stress/ways/test_document.h"

enum verdict {
    VERDICT_FINE = 0,
    VERDICT_ABSENT, /* there is nothing */
    VERDICT_TORN,   /* there is something, and it is no complete document */
    VERDICT_STALE,  /* an older generation after a newer one, or than the last one acknowledged before the read began */
    VERDICT_LOST,   /* an acknowledged change is gone */
    VERDICT_ERROR,  /* the read or the save failed */
    VERDICT_COUNT,
};
const char *verdict_name(enum verdict verdict);

struct backend_config {
    const char *dir; /* scratch */
    struct document_shape shape;
    /* foreign programs */
    const char *path, *writer_command, *reader_command, *must_have;
};

/* What one read saw. */
struct backend_look {
    enum verdict verdict;
    bool has_document; /* document is filled: generations and counters can be judged */
    struct document document;
    unsigned retries;
    char reason[STRESS_REASON_BYTES];
};

/* What one read-modify-write of a writer did. */
struct backend_save {
    bool has_seen; /* seen: its own counter as it found it */
    uint64_t seen;
    bool acknowledged; /* the save returned success: generation is stored, the counter is seen + 1 */
    uint64_t generation;
    char reason[STRESS_REASON_BYTES]; /* why not */
};

struct backend {
    const char *name;
    const char *summary;
    bool (*prepare)(const struct backend_config *config, char *reason);
    void *(*open)(const struct backend_config *config, char *reason);
    void (*look)(void *client, struct backend_look *ret_look);
    void (*save)(void *client, unsigned writer, struct backend_save *ret_save);
    void (*close)(void *client);
    void (*watched)(const struct backend_config *config, char *path, size_t size); /* its absence is a gap */
};

extern const struct backend backend_qsettings, backend_rename_away, backend_in_place, backend_copy_backup,
    backend_rename_over, backend_foreign;
#define BACKEND_CHOICES "qsettings|rename-away|in-place|copy-backup|rename-over"
const struct backend *backend_find(const char *name); /* of the choices; NULL: none */

/* The file ways by themselves, for other harnesses. */
enum file_way {
    FILE_RENAME_AWAY, /* temp under a shared name; target to backup; temp to target; unlink the backup */
    FILE_IN_PLACE,    /* truncate and write */
    FILE_COPY_BACKUP, /* copy to the backup; temp of its own; rename over */
    FILE_RENAME_OVER, /* temp of its own; rename over */
};
/* None of them locks. flush: fsync of the temp before the rename, and of the directory after it (in place: of the
 * file). */
bool file_save(enum file_way way, bool flush, const char *path, const void *data, size_t len, char *reason);
/* Whole file to heap memory, zero-terminated. NULL with errno. */
char *file_load(const char *path, size_t *ret_len);

#endif
