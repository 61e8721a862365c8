/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process tree under ptrace(2) that goes from one system-call stop to the next: before each call and after it.
 * Threads and children of the process are followed, also through exec; all are killed when the tracer ends.
 *
 *     struct trace trace;
 *     if (trace_start(&trace, work, arg))
 *         while (trace_step(&trace) == TRACE_CALL && trace.stops < wanted) { the tree is stopped }
 *     trace_kill(&trace);
 *
 * Between two steps the process that stopped last does nothing, as after SIGSTOP; with one process, so does the tree.
 */
#ifndef STRESS_TRACE_H
#define STRESS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct trace {
    pid_t pid;      /* the first process, leader of a process group that the tree lives in */
    pid_t at;       /* who is in the last stop */
    uint64_t stops; /* system-call stops so far */
    bool ended;
    int wait_status; /* of the first process, once ended */
};

enum trace_event {
    TRACE_CALL,   /* a stop before or after a system call */
    TRACE_END,    /* the first process has ended; wait_status says how */
    TRACE_FAILED, /* ptrace or wait failed; errno */
};

/* Forks a child that runs work(arg) and exits with its result; it is stopped before its first instruction of interest.
 * Start-up is not stepped. False with errno. */
bool trace_start(struct trace *trace, int (*work)(void *arg), void *arg);

/* On to the next system-call stop of any process of the tree. */
enum trace_event trace_step(struct trace *trace);

/* SIGKILL to the whole tree, and waits until the first process is gone. A call that it was about to make is not made.
 */
void trace_kill(struct trace *trace);

#endif
