/* SPDX-License-Identifier: Apache-2.0 */
/* The barriers, each of which the negative controls can leave out. Only tests set `without`. */
#ifndef SANDBOX_BARRIERS_H
#define SANDBOX_BARRIERS_H

#define BARRIERS(X) \
    X(READ_ONLY, "the host is read-only") \
    X(GUARDS, "hooks, configuration and protected paths are read-only") \
    X(PINS, ".git is pinned") \
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
    X(NO_NEW_PRIVS, "no new privileges") \
    X(USERNS_LIMIT, "no further user namespaces") \
    X(DESCRIPTORS, "descriptors above 2 are closed") \
    X(WALL, "the wall limit")
enum barrier {
#define BARRIER_ENUM(name, text) BARRIER_##name,
    BARRIERS(BARRIER_ENUM)
#undef BARRIER_ENUM
        BARRIER_COUNT
};
#define WITHOUT(name) (1u << BARRIER_##name)

#endif
