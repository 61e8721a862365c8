/* SPDX-License-Identifier: Apache-2.0 */
/* The host's pathname sockets, as the kernel lists them for this network namespace. */
#ifndef SANDBOX_HOSTSOCKET_H
#define SANDBOX_HOSTSOCKET_H

#include "sandbox/host/host_path.h"

/* Adds each socket that table (proc(5), /proc/net/unix) names and that exists. Errors: QS_IO (the table cannot be read:
 * then nobody can tell which sockets to hide). */
enum qs_status host_sockets_look(const char *table, struct path_facts *facts, struct qs_error *err) QS_MUST_USE;

#endif
