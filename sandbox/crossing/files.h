/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of git directories by descriptor: a name is resolved beneath a directory, through no link, and what is not a
 * regular file is not read. So it makes no difference who writes the directory meanwhile.
 */
#ifndef SANDBOX_CROSSING_FILES_H
#define SANDBOX_CROSSING_FILES_H

#include "base/error.h"
#include "qsettings/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A directory beneath dir; -1 with errno. */
int files_open_dir(int dir, const char *name);

/* The content, ended by a zero byte. *ret_text NULL: there is no such file. Errors: QS_INVALID (not a regular file,
 * longer than max_bytes), QS_IO. */
enum qs_status files_read(int dir, const char *name, size_t max_bytes, char **ret_text, size_t *ret_len,
                          struct qs_error *err) QS_MUST_USE;
/* A text: the same, and QS_INVALID where it has a zero byte. */
enum qs_status files_read_text(int dir, const char *name, size_t max_bytes, char **ret_text,
                               struct qs_error *err) QS_MUST_USE;

/* A new file, put in place by a rename; with durable, both are on the disk after return. Directories on the way must be
 * there. Errors: QS_IO. */
enum qs_status files_write(int dir, const char *name, const void *data, size_t len, bool durable,
                           struct qs_error *err) QS_MUST_USE;
/* No such file is no error. */
enum qs_status files_remove(int dir, const char *name, struct qs_error *err) QS_MUST_USE;

/* Regular files and directories of from into to, which exist already or are made; links, sockets, pipes, devices and
 * *.lock are left out. Errors: QS_INVALID (over FILES_COPY_MAX_...), QS_IO. */
#define FILES_COPY_MAX_BYTES   ((int64_t)1 << 30)
#define FILES_COPY_MAX_ENTRIES 400000u
enum qs_status files_copy(int from, const char *name, int to, struct qs_error *err) QS_MUST_USE;
enum qs_status files_copy_dir(int from, const char *name, int to, struct qs_error *err) QS_MUST_USE;

/* Removes *.lock of the directory, and below it as deep as git puts them. */
void files_remove_locks(int dir, const char *name);
/* Removes pipes, sockets and devices, for which a git that reads them would wait. */
void files_remove_special(int dir, const char *name);
bool files_have_lock(int dir, const char *name);

/* Digest of device, inode, size and time of each of these names, and of all beneath the directories among them: what
 * changes when git changes anything. Above FILES_SIGN_MAX names the digest is a new one each time. */
#define FILES_SIGN_MAX 20000u
enum qs_status files_sign(int dir, const char *const *names, uint8_t ret_sign[QS_DIGEST_BYTES],
                          struct qs_error *err) QS_MUST_USE;

#endif
