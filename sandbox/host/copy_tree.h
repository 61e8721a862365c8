/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that a confined command has made: removing and copying them, by descriptor, without following a link. */
#ifndef SANDBOX_COPY_TREE_H
#define SANDBOX_COPY_TREE_H

#include "base/error.h"

/* A copy that would need more is refused. */
#define COPY_TREE_MAX_BYTES   ((int64_t)256 << 20)
#define COPY_TREE_MAX_ENTRIES 20000u
#define COPY_TREE_MAX_DEPTH   64u

/* Removes everything in the directory fd, which it takes over; no other file system is entered. Directories that may
 * not be read or written are made so first. Errors: QS_IO. */
enum qs_status empty_tree(int fd, struct qs_error *err) QS_MUST_USE;

/* Removes name of the directory parent, whatever it is. Errors: QS_IO. */
enum qs_status remove_tree(int parent, const char *name, struct qs_error *err) QS_MUST_USE;

/*
 * Copies name of the directory from to the directory to, under as_name, which must be free: files, directories and
 * symbolic links, with their permissions but no set-id bits; sockets, devices and pipes are left out. What was copied
 * before an error stays. Errors: QS_INVALID (over one of the bounds), QS_IO.
 */
enum qs_status copy_tree(int from, const char *name, int to, const char *as_name, struct qs_error *err) QS_MUST_USE;

#endif
