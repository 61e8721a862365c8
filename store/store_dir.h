/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a store is, and whether the way there can be trusted.
 *
 * Every directory on the way down belongs to root or the store's owner and is not writable by group or others, sticky
 * ones excepted; links above the store are followed only where nobody else could have placed them; the store itself has
 * none. Directories are opened one by one, and the descriptor that was verified is the one that is used.
 *
 * Absence is ENOENT for a step in a directory that could be opened. Everything else is an error with its own name.
 */
#ifndef STORE_STORE_DIR_H
#define STORE_STORE_DIR_H

#include "qsettings/store.h"

#include <stdint.h>
#include <sys/stat.h>

struct store_dir {
    enum qs_scope scope;
    char *path;  /* absolute */
    uid_t owner; /* trusted beside root */
    char *root;  /* as the caller named it; NULL: a fixed place */
    char *home;  /* user scope at its fixed place: the home of the password database */
};

#define STORE_DATA_FILE    "data.mdb"
#define STORE_LOCK_FILE    "writer.lock"
#define STORE_TEMP_FILE    "data.mdb.tmp"
#define STORE_REQUIRE_FILE "require-system"
#define STORE_INIT_PREFIX  ".qsettings-init-" /* of a store that is being made, beside its place */

enum qs_status store_dir_init(enum qs_scope scope, const char *root, struct store_dir *ret_dir,
                              struct qs_error *err) QS_MUST_USE;
enum qs_status store_dir_copy(const struct store_dir *from, struct store_dir *ret_dir,
                              struct qs_error *err) QS_MUST_USE;
void store_dir_release(struct store_dir *dir);

/* Opens the store's directory (O_PATH) after verifying the way down. Errors: QS_ABSENT, QS_UNTRUSTED, QS_IO. */
enum qs_status store_dir_open(const struct store_dir *dir, int *ret_fd, struct qs_error *err) QS_MUST_USE;

/* Opens the directory that holds the scopes, or with create makes what is missing of it. */
enum qs_status store_dir_open_parent(const struct store_dir *dir, bool create, int *ret_fd,
                                     struct qs_error *err) QS_MUST_USE;

/* Opens data.mdb in a directory opened by store_dir_open_dir, read-only or read-write, and verifies it.
 * Errors: QS_DAMAGED (missing, empty, a link, no regular file), QS_UNTRUSTED (owner, mode, not permitted), QS_IO. */
enum qs_status store_dir_open_data(const struct store_dir *dir, int dir_fd, bool writable, int *ret_fd,
                                   struct stat *ret_stat, struct qs_error *err) QS_MUST_USE;

/* Both at once, for readers. */
enum qs_status store_dir_open_to_read(const struct store_dir *dir, int *ret_fd, struct stat *ret_stat,
                                      struct qs_error *err) QS_MUST_USE;

/* May the effective user write here? Refuses network file systems, and a user scope whose home (by the password
 * database, or by HOME where that is another one) is not the effective user's. */
enum qs_status store_dir_check_writable(const struct store_dir *dir, int dir_fd, struct qs_error *err) QS_MUST_USE;

/* Where err is that another user's directory may not be written: adds whose it is, and what to do. */
void store_dir_advise_owner(int dir_fd, struct qs_error *err);

/* The name of a network file system by its number (statfs(2)); NULL for any other. */
const char *store_dir_network_name(uint32_t magic);

/* Modes of a new store: directory and data file. */
mode_t store_dir_mode(const struct store_dir *dir);
mode_t store_dir_data_mode(const struct store_dir *dir);

#endif
