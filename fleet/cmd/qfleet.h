/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room fleet/cmd/: What did the person ask qfleet for?
 *
 * One invocation of qfleet: what its options store, and its commands.
 */
#ifndef FLEET_QFLEET_H
#define FLEET_QFLEET_H

#include "base/cleanup.h"
#include "fleet/machine/machine.h"
#include "fleet/operator/work.h"
#include "terminal/voice.h"

struct cli {
    struct command_line line;
    const char *work, *message, *keys, *rings, *locks, *rollout, *battery, *label, *group, *html;
    uint64_t wait, hours, open, days, to, need;
    bool adopt, once, end, force;
    struct buf out;
    int exit_status; /* of a command that did its work */
};

command_function cmd_enrol, cmd_fetch, cmd_apply, cmd_state, cmd_doctor, cmd_break_glass, cmd_leave;
command_function cmd_build, cmd_promote, cmd_pause, cmd_rollback, cmd_verify, cmd_push, cmd_status, cmd_admit;

extern const struct program qfleet_program;

/* status as a page for a browser (fleet/cmd/status_page.c). */
void status_page(const struct work *work, const struct standings *standings, struct buf *out);

/* Appends value, pretty, with a newline; takes the reference over. */
void out_json(struct cli *cli, json_t *value);
json_t *order_json(struct fleet_order order);

#endif
