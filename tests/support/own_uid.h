/* SPDX-License-Identifier: Apache-2.0 */
/* A user that nothing on this machine is: other checkouts may be testing at the same time, and tests count, signal and
 * limit the processes of a user. */
#ifndef TESTS_SUPPORT_OWN_UID_H
#define TESTS_SUPPORT_OWN_UID_H

#include <sys/types.h>

/* A uid without a name and without a process, this process's until it ends; tests/support/sandbox.bash takes its uids
 * in the same way. The descriptor that keeps it goes to children, and not through exec. Needs root; ends the test on an
 * error. */
uid_t own_uid(void);

#endif
