/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and host facts built by hand, for the tests of what is pure. Nothing here touches the host. */
#ifndef TESTS_SUPPORT_POLICY_FIXTURE_H
#define TESTS_SUPPORT_POLICY_FIXTURE_H

#include "sandbox/host/facts.h"

/* A list of literals; the arrays are static and are not to be freed. At most 16. */
struct qs_list fixture_list(const char *first, ...) __attribute__((sentinel));

/* workspace-write, network closed, sockets blocked, no caches, a few names passed; to be changed by the test. */
struct qs_policy fixture_policy(void);

/*
 * User 1000 "ann", home /home/ann, workspace /home/ann/work with a normal checkout, Landlock ABI 6. Every fact owns its
 * memory; host_facts_release frees it. Inodes count from 100 up, descriptors from 40 up (and are none).
 */
/* What git is shown, at `shown`; over: what it is put over, or NULL. */
void fixture_shown(struct host_facts *facts, const char *source, const char *shown, bool writable, const char *over);
void fixture_facts(struct host_facts *facts);
void fixture_facts_release(struct host_facts *facts); /* forgets the descriptors first */

/* Appends a fact of this kind at path to a list. */
void fixture_add(struct path_facts *facts, const char *path, enum path_kind kind);
/* Appends a writable root; returns it (valid until the next call). */
struct root_fact *fixture_root(struct host_facts *facts, const char *path);
struct path_fact fixture_fact(const char *path, enum path_kind kind);

#endif
