/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The barriers of a run, each of which a negative control leaves out to show that its check can fail.
 *
 * Only the build for those tests (-DQS_SANDBOX_CONTROLS, make's controls) can leave one out. In the programs that are
 * installed no structure and no message has a place for it, and LEFT_OUT is false when it is compiled.
 */
#ifndef SANDBOX_BARRIERS_H
#define SANDBOX_BARRIERS_H

#include <stdbool.h>

#ifdef QS_SANDBOX_CONTROLS

#define BARRIERS(X) \
    X(READ_ONLY, "the host is read-only") \
    X(GUARDS, "hooks, configuration and protected paths are read-only") \
    X(PINS, "directories on the way to what is guarded are pinned") \
    X(PRIVATE_GIT, "git directories are private") \
    X(MASKS, "hidden paths are masked") \
    X(STORE_MASKS, "stores and the run log are masked") \
    X(ENVIRONMENT, "the environment is built from nothing") \
    X(NETWORK, "a network namespace of its own") \
    X(PID, "a PID namespace of its own") \
    X(GROUP, "a process group of its own") \
    X(DEV, "a /dev of its own") \
    X(SECCOMP, "the system call filter") \
    X(LANDLOCK, "Landlock") \
    X(CAPABILITIES, "no capabilities") \
    X(USERNS_LIMIT, "no further user namespaces") \
    X(KEYRING, "a session keyring of its own") \
    X(DESCRIPTORS, "descriptors above 2 are closed") \
    X(WALL, "the wall limit")
enum barrier {
#define BARRIER_ENUM(name, text) BARRIER_##name,
    BARRIERS(BARRIER_ENUM)
#undef BARRIER_ENUM
        BARRIER_COUNT
};
#define WITHOUT(name)         (1u << BARRIER_##name)
#define LEFT_OUT(owner, name) (((owner)->left_out & WITHOUT(name)) != 0)

extern unsigned barriers_left_out; /* of the plans that this process makes */

#else

#define LEFT_OUT(owner, name) ((void)(owner), false)

#endif

#endif
