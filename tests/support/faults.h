/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults at the seam of base/os.h: the n-th call fails, or is made and then reported as failed, or transfers less, or
 * something else happens just before it.
 *
 *     for (unsigned n = 1; n <= calls; n++) {
 *         faults_start(&(struct fault){.at = n, .code = EIO});
 *         ... call the library ...
 *         unsigned seen = faults_stop();
 *     }
 *
 * One thread. Each test process has one seam, so runs must not nest.
 */
#ifndef TESTS_SUPPORT_FAULTS_H
#define TESTS_SUPPORT_FAULTS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_FAIL = 0,  /* the call is not made */
    FAULT_AFTER = 1, /* it is made, and then reported as failed (if it had succeeded); opens and transfers just fail */
    FAULT_SHORT = 2, /* reads and writes transfer one byte; other calls are made as usual */
    FAULT_NONE = 3,  /* only before is called */
};

struct fault {
    unsigned at;      /* 1-based number of the call; 0: every call */
    unsigned last;    /* up to this one; 0: only at */
    const char *only; /* count only calls of this name; NULL: all */
    enum fault_kind kind;
    int code;
    void (*before)(unsigned number, const char *call, void *context); /* may be NULL; runs before the call(s) */
    void *context;
};

void faults_start(const struct fault *fault);
unsigned faults_stop(void);        /* puts the real calls back; how many calls were counted */
bool faults_were_hit(void);        /* in the last run */
const char *faults_call_hit(void); /* the name of the call that was hit last, or "" */

#endif
