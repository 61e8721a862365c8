/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that all sides hold, and the places that hold them. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include "bench/bench.h"
#include "qsettings/qsettings.h"

#include <stdlib.h>

/* Settings in groups of ten ("services.service-00007.command"), some hundred bytes each with their key. */
struct corpus {
    size_t count;
    char **texts;        /* key paths as people type them */
    struct qs_key *keys; /* encoded */
    char **values;       /* canonical JSON */
    size_t *order;       /* indexes, shuffled by a fixed seed */
    char *json;          /* all of it as one document */
    size_t json_len;
    struct qs_key subtree; /* one group */
    char group[32];        /* its name */
    size_t group_first;    /* index of its first entry */
};
#define CORPUS_GROUP 10u

struct corpus *corpus_make(size_t count);
void corpus_free(struct corpus *corpus);

/* A system store below a new root, holding the corpus as generation 2. Returns an open handle. */
struct qs_store *world_store(const char *root, const struct corpus *corpus);
/* One more store below the root, of another scope. */
struct qs_store *world_store_of(const char *root, enum qs_scope scope, const struct corpus *corpus);

/* Sets an execution policy in the store, and closes the handle. */
void world_policy(struct qs_store *store);

/* One durable set of setting number index to a number, the whole way: begin, set, commit. */
void world_set(struct qs_store *store, const char *key, unsigned long number);

/* ---- LMDB as it comes ---- */
struct bare_lmdb;
void bare_lmdb_fill(const char *dir, const struct corpus *corpus); /* makes dir */
struct bare_lmdb *bare_lmdb_open(const char *dir, bool read_only,
                                 size_t entries); /* environment and read transaction */
void bare_lmdb_close(struct bare_lmdb *lmdb);
size_t bare_lmdb_get(struct bare_lmdb *lmdb, const void *key, size_t len); /* length of the value */
size_t bare_lmdb_subtree(struct bare_lmdb *lmdb, const struct qs_key *prefix);
void bare_lmdb_set(const char *dir, size_t entries, const struct qs_key *key,
                   const char *value); /* open, commit, close */
const char *bare_lmdb_version(void);

/* ---- SQLite ---- */
struct bare_sqlite;
void bare_sqlite_fill(const char *file, bool wal, const struct corpus *corpus);
struct bare_sqlite *bare_sqlite_open(const char *file);                               /* synchronous=FULL */
void bare_sqlite_set(struct bare_sqlite *sqlite, const char *key, const char *value); /* one durable transaction */
void bare_sqlite_close(struct bare_sqlite *sqlite);
const char *bare_sqlite_version(void);

/* ---- plain files ---- */
/* Reads and parses the JSON file, and looks at each setting of the group; returns how many. */
size_t plain_json_read(const char *file, const char *group);
/* temp, fsync, rename, fsync of the directory. */
void plain_replace(const char *dir, const char *name, const void *data, size_t len);
/* The JSON file read with jansson, a number in the group set, and the file replaced as above. */
void plain_json_set(const char *dir, const char *name, const char *group, const char *member, unsigned long number);
/* For git and dconf: the corpus as a configuration file, and as a directory of key files. */
void plain_git_config(const char *file, const struct corpus *corpus);
void plain_dconf_keys(const char *dir, const struct corpus *corpus);

#endif
