/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a piece of a test in a child process, as another user or in a mount namespace of its own. */
#ifndef TESTS_SUPPORT_AS_USER_H
#define TESTS_SUPPORT_AS_USER_H

#include <sys/types.h>

/* Calls work(context) in a child with this uid and gid (no supplementary groups); returns what it returned (0 to 255),
 * or -1 if the child died or could not become that user. Needs root. */
int as_user(uid_t uid, gid_t gid, int (*work)(void *context), void *context);

/* The same in a new mount namespace, as the present user. Needs root. */
int in_mount_namespace(int (*work)(void *context), void *context);

#endif
