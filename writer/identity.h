/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes a change: what the history says of this process. */
#ifndef WRITER_ACTOR_H
#define WRITER_ACTOR_H

#include "qsettings/history.h"

struct actor {
    uint32_t uid, login_uid, pid;
    char user[QS_NAME_MAX_BYTES + 1];
    char program[QS_NAME_MAX_BYTES + 1];
    int64_t time_s;
    uint32_t time_ns;
};

/* program NULL: this process's name. What cannot be found out is "?" or UINT32_MAX. */
void actor_now(const char *program, struct actor *ret_actor);

#endif
