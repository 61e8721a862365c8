/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/sessions/: Does a session ever start without its policy?
 *
 * Session starts while the policy is being saved. A start asks for the policy as a program does, and is
 *
 *   confined    it got a policy that confines
 *   refused     it was told that the policy cannot be had, and does not run
 *   unconfined  it runs without one: it was told that there is none, or that it allows everything
 *
 * The policy that is saved always confines, so unconfined is never right.
 */
#ifndef STRESS_SESSIONS_H
#define STRESS_SESSIONS_H

#include "stress/ways/backend.h"

enum start {
    START_CONFINED,
    START_REFUSED,
    START_UNCONFINED,
    START_COUNT,
};

enum start_reader {
    READER_ONCE,    /* one read decides */
    READER_TWICE,   /* looks for existence, or reads, and then reads again: both count */
    READER_SANDBOX, /* qsandbox runs a command that tries to write outside its workspace */
};

struct sessions_config {
    const char *dir; /* scratch */
    enum start_reader reader;
    const char *qsandbox;
};

struct session_way {
    bool (*prepare)(const struct sessions_config *config, char *reason);
    /* Saves a policy; number makes it another one each time. */
    bool (*save)(const struct sessions_config *config, uint64_t number, char *reason);
    enum start (*start)(const struct sessions_config *config, uint64_t number, char *reason);
};

const struct session_way *session_way_file(enum file_way way);
extern const struct session_way session_way_store;

#define STARTERS_MAX 256u

int stress_cmd_sessions(const struct cli *cli);

#endif
