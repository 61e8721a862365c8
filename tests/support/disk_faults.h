/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults below liblmdb: a test that uses this puts itself between LMDB (and the library) and libc's pwrite, write,
 * writev, fdatasync and fsync, as far as they concern regular files. Link with -rdynamic, as the Makefile does.
 */
#ifndef TESTS_SUPPORT_DISK_FAULTS_H
#define TESTS_SUPPORT_DISK_FAULTS_H

#include <stdbool.h>

enum disk_fault {
    DISK_FAIL,        /* the call fails and nothing of it happened */
    DISK_FAIL_AFTER,  /* it happened, and is reported as failed */
    DISK_HALF,        /* writes: half of it happened, then it is reported as failed; flushes: as DISK_FAIL */
    DISK_SHORT,       /* writes: half of it happened, and that much is reported; no failure */
    DISK_INTERRUPTED, /* EINTR once, nothing happened; no failure */
    DISK_COUNT_ONLY,
};

/* The at-th call from now (1-based) meets kind with errno code; with onwards every later one too. */
void disk_faults_start(unsigned at, bool onwards, enum disk_fault kind, int code);
unsigned disk_faults_stop(void); /* calls seen */
bool disk_faults_hit(void);

#endif
