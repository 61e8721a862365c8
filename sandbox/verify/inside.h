/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The half of `verify` which runs inside: `qsandbox --probe SCENE`, a brief on standard input, records on
 * standard output. Each check has a process of its own, so that one that dies takes nothing with it.
 */
#ifndef SANDBOX_VERIFY_INSIDE_H
#define SANDBOX_VERIFY_INSIDE_H

#include "sandbox/verify/inside_checks.h"

int inside_main(int argc, char **argv);

/* Runs one check in this process. Tests call it where there is no sandbox at all. */
void inside_check(enum verify_check check, const struct inside_brief *brief, struct inside_record *ret_record);

#endif
