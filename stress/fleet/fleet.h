/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/fleet/: Does a fleet ever give a machine a policy that it may not have?
 *
 * Machines are processes with roots of their own; the
 * operator signs, and an adversary has the carrier: it replays, forges, lies, stops and kills servers. Machines are
 * killed and their clocks jump. Each machine reads its policy all the while and judges it by the list of what was
 * signed, which it shares with the operator:
 *
 *   the policy is there from its first moment on; it is the bundle's own or its base's, whichever the rings give this
 *   machine; settings and the key fleet are of one commit; and nothing goes back
 *
 * In the end, when the carrier is well, all machines have the newest bundle.
 */
#ifndef STRESS_FLEET_H
#define STRESS_FLEET_H

#include "fleet/carrier/carrier.h"
#include "fleet/machine/machine.h"
#include "stress/harness/measures.h"
#include "stress/harness/stress.h"

#include <stdatomic.h>

#define FLEET_SIGNED_MAX 8192u
#define FLEET_TEXTS      8u
#define FLEET_OPERATORS  2u /* both must sign */

struct fleet_options {
    uint64_t hosts, seed;
    double seconds;
    const char *carrier, *control; /* control NULL: none */
    bool json;
};

/* What was signed, as machines may have it. */
struct signed_bundle {
    struct fleet_order order, base;
    bool has_base;
    uint8_t content[QS_DIGEST_BYTES], base_content[QS_DIGEST_BYTES];
    struct bundle rule; /* fleet, rollout, rings, open alone */
    uint64_t pushed_ns;
};

struct host_state {
    atomic_uint_fast64_t serial, commits, reads;
    struct histogram latency_us; /* from a push to the first read that has it, while the carrier is well */
};

/* Shared with all machines. */
struct fleet_board {
    atomic_bool stop, well;
    atomic_uint signed_count;
    struct signed_bundle list[FLEET_SIGNED_MAX];
    atomic_uint violations, text_count;
    char texts[FLEET_TEXTS][256];
    struct host_state hosts[];
};

struct fleet_run {
    const struct fleet_options *options;
    char *scratch; /* owned */
    struct fleet_board *board;
    json_t *carrier_config;
};

/* Notes a violation. */
void fleet_violation(struct fleet_board *board, unsigned host, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- fleet_host.c ---- */

/* Enrols, then fetches, applies, reads and judges until the board says stop. Never returns. */
void fleet_host_run(const struct fleet_run *run, unsigned host) __attribute__((noreturn));
/* Is this control's fault in how a machine works? Then it is made there. */
bool fleet_control_is(const struct fleet_run *run, const char *name);

/* ---- fleet_side.c: the operator and the adversary ---- */

struct fleet_side;
struct fleet_side *fleet_side_new(struct fleet_run *run, char reason[256]); /* NULL: reason */
void fleet_side_free(struct fleet_side *side);
/* One step: something is signed and pushed, or the carrier misbehaves for a while. */
void fleet_side_step(struct fleet_side *side);
/* Everything is well, and one more bundle is for all. False: it could not be pushed. */
bool fleet_side_settle(struct fleet_side *side, struct fleet_order *ret_order);

/* ---- fleet_servers.c ---- */

struct fleet_servers;
/* Starts what the carrier needs and gives its configuration. NULL: reason. */
struct fleet_servers *fleet_servers_start(struct fleet_run *run, char reason[256]);
void fleet_servers_disturb(struct fleet_servers *servers, struct stress_rng *rng); /* stops or kills one */
void fleet_servers_mend(struct fleet_servers *servers);
void fleet_servers_end(struct fleet_servers *servers);

#endif
