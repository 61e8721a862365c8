/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The battery's other half, which runs inside: `qsandbox --battery SCENE`, a brief on standard input, records on
 * standard output. Each check has a process of its own, so that one that dies takes nothing with it.
 */
#ifndef SANDBOX_BATTERY_INSIDE_H
#define SANDBOX_BATTERY_INSIDE_H

#include "sandbox/verify/verify.h"

/* What the probe is told, one JSON object; everything in it is borrowed from root. */
struct inside_brief {
    json_t *root;
    const char *workspace, *outside; /* outside "": no place that the runner could write on the host is visible */
    bool writable, closed, checkout;
    enum qs_unix_sockets unix_sockets;
    const json_t *hidden, *stores, *devices; /* arrays of paths */
    const char *journal;                     /* "": there is none */
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
    char detail[BATTERY_DETAIL_BYTES];
};

#define INSIDE_WALL_SECONDS 5 /* the life of a process that does not end by itself soon */

int inside_main(int argc, char **argv);

/* Runs one check in this process. Tests call it where there is no sandbox at all. */
void inside_check(enum battery_check check, const struct inside_brief *brief, struct inside_record *ret_record);

/* ---- for the checks ---- */

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
BATTERY_CHECKS(INSIDE_PROTOTYPE)
#undef INSIDE_PROTOTYPE

#endif
