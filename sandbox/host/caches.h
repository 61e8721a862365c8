/* SPDX-License-Identifier: Apache-2.0 */
/* Build caches: which ones there are, and the private directories that stand in for them, one set for each workspace.
 */
#ifndef SANDBOX_CACHES_H
#define SANDBOX_CACHES_H

#include "sandbox/host/facts.h"

/* Where the private caches appear inside, for those that the home has no directory for. */
#define CACHE_MOUNT "/tmp/.qsandbox-caches"

/* Fills facts->caches and cache_base; facts->roots[0] and home are known by then. With request->make_caches the private
 * directories are made; without, those that do not exist yet are absent. Errors: QS_UNTRUSTED, QS_IO. */
enum qs_status caches_look(const struct facts_request *request, struct host_facts *facts,
                           struct qs_error *err) QS_MUST_USE;

struct state_base;
struct seed_count;
/* Copies what the tools have in the home's caches into a workspace's private ones. Errors: QS_UNTRUSTED, QS_IO. */
enum qs_status caches_seed(const struct state_base *base, const char *workspace, struct seed_count *count,
                           struct qs_error *err) QS_MUST_USE;

#endif
