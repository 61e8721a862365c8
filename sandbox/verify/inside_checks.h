/* SPDX-License-Identifier: Apache-2.0 */
/* What each check of the probe is given, what it says, and what the checks share. */
#ifndef SANDBOX_VERIFY_INSIDE_CHECKS_H
#define SANDBOX_VERIFY_INSIDE_CHECKS_H

#include "qsettings/policy.h"
#include "sandbox/verify/checks.h"

#include <stdint.h>
#include <sys/types.h>

/* What the probe is told, one JSON object; everything in it is borrowed from root. */
struct inside_brief {
    json_t *root;
    const char *workspace, *outside; /* outside "": no place that the runner could write on the host is visible */
    bool writable, closed, checkout;
    enum qs_unix_sockets unix_sockets;
    const json_t *hidden, *stores, *devices; /* arrays of paths */
    const char *run_log;                     /* "": there is none */
    const char *socket, *abstract;
    int port, dns_port;
    pid_t victim;
    const char *victim_name;
    uint64_t pid_namespace;
    const char *secret; /* the value of every planted secret */
    const char *marker; /* a word that stands only in the policy */
};

/* One write each; both ends are the same program. */
struct inside_record {
    uint32_t check, result;
    int32_t error;
    char detail[VERIFY_DETAIL_BYTES];
};

#define INSIDE_WALL_SECONDS 5 /* the life of a process that does not end by itself soon */

void inside_pass(struct inside_record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));
void inside_fail(struct inside_record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));
void inside_skip(struct inside_record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ignores SIGTERM and stays for INSIDE_WALL_SECONDS. */
_Noreturn void inside_linger(void);

/* "EROFS"; "success" for 0. */
const char *inside_errno(int error);

/* Calls each for the content of /proc/PID/name of every process, until it returns true; the name of that process is
 * then left in ret_pid. */
bool inside_each_process(const char *name, bool (*each)(const char *data, size_t len, const void *context),
                         const void *context, int *ret_pid);

#define INSIDE_PROTOTYPE(name, text, scene, function) \
    void function(const struct inside_brief *brief, struct inside_record *record);
VERIFY_CHECKS(INSIDE_PROTOTYPE)
#undef INSIDE_PROTOTYPE

#endif
