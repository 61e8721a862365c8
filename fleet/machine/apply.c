/* SPDX-License-Identifier: Apache-2.0 */
/* apply: the steps in order. What a kill leaves undone, the next run does. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/machine/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TRIES_MAX 3u

struct run {
    struct machine *machine;
    struct apply_outcome *outcome;
    bool held;
};

static void outcome_is(struct apply_outcome *outcome, enum machine_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void outcome_is(struct apply_outcome *outcome, enum machine_state state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    outcome->state = state;
    (void)vsnprintf(outcome->reason, sizeof outcome->reason, format, args);
    va_end(args);
}

/* Step 5. NULL: no change. */
static const struct bundle *choose(const struct machine *machine, enum target *ret_target)
{
    char id[FLEET_ID_TEXT_BYTES];
    struct draw_subject subject = machine_subject(machine, id);
    bool stale = fleet_check_stale(&machine->demanded, &machine->mark, NULL) != QS_OK;
    *ret_target = TARGET_NONE;
    if (!machine->bundle.document)
        return NULL;
    *ret_target = decide_target(&machine->bundle, &subject, machine->has_applied ? machine->applied : NULL);
    const struct bundle *content = *ret_target == TARGET_OWN    ? &machine->bundle
                                   : *ret_target == TARGET_BASE ? &machine->base
                                                                : NULL;
    if (!content || !content->document)
        return NULL;
    bool same = machine->has_applied && !memcmp(machine->applied, content->content, QS_DIGEST_BYTES) &&
                !strcmp(machine->mark.fleet, machine->config.fleet);
    return same && !stale && !(machine->drift && machine->config.restore) ? NULL : content;
}

/* Steps 5 to 9, on the store as it was read. */
static enum qs_status bring_about(struct run *run, struct qs_error *err)
{
    struct machine *machine = run->machine;
    enum target target;
    const struct bundle *content = choose(machine, &target);
    outcome_is(run->outcome, target == TARGET_OWN ? MACHINE_CURRENT : MACHINE_WAITING, "%s",
               target == TARGET_OWN        ? ""
               : !machine->bundle.document ? "no bundle has come yet"
               : machine->bundle.open == 0 ? "the rollout is paused"
                                           : "no open ring has this machine");
    if (!content || break_glass_holds(&machine->glass, machine->clock))
        return QS_OK;
    enum qs_status status = machine_battery(machine, content, &run->held, err);
    if (status || run->held)
        return status;
    status = machine_commit(machine, content, err);
    run->outcome->changed = run->outcome->changed || !status;
    return status ? status : machine_raise(machine, err);
}

/* What stands over the target: in this order. */
static void judge(const struct run *run)
{
    const struct machine *machine = run->machine;
    if (run->held)
        outcome_is(run->outcome, MACHINE_HELD, "the battery fails where the present policy passes");
    else if (machine->refusal)
        outcome_is(run->outcome, MACHINE_REFUSED, "%s", machine->why.message);
    else if (machine->bundle.document && decide_expired(&machine->seen, &machine->bundle, machine->clock))
        outcome_is(run->outcome, MACHINE_EXPIRED, "bundle %llu-%llu has expired; it stays in force",
                   (unsigned long long)machine->seen.order.keys, (unsigned long long)machine->seen.order.serial);
    if (break_glass_holds(&machine->glass, machine->clock))
        outcome_is(run->outcome, MACHINE_BROKEN_GLASS, "until %llu, by uid %llu: %s",
                   (unsigned long long)machine->glass.end, (unsigned long long)machine->glass.uid,
                   machine->glass.reason);
    run->outcome->applied = machine->mark.order;
}

/* Files and report, each tried whatever the other gave. */
static enum qs_status follow_up(const struct run *run, struct qs_error *err)
{
    struct qs_error ignored;
    enum qs_status published = qs_publish_registered(run->machine->store, NULL, err);
    enum qs_status reported =
        machine_report(run->machine, run->outcome->state, run->outcome->reason, published ? &ignored : err);
    return published ? published : reported;
}

enum qs_status fleet_apply(const char *root, unsigned wait_ms, struct apply_outcome *ret_outcome, struct qs_error *err)
{
    AUTO(machine_close) struct machine machine = {0};
    struct run run = {.machine = &machine, .outcome = ret_outcome};
    struct qs_error later = {0};
    *ret_outcome = (struct apply_outcome){0};
    enum qs_status status = machine_open(&machine, root, wait_ms, err);
    if (!status)
        status = machine_raise(&machine, err);
    if (!status)
        (void)!qs_publish_registered(machine.store, NULL, NULL); /* tried again, and told, at the end */
    if (!status)
        status = machine_take(&machine, err);
    for (unsigned i = 0; i < TRIES_MAX && !status; i++) {
        status = bring_about(&run, err);
        if (status != QS_CONFLICT || i + 1 == TRIES_MAX)
            break;
        status = machine_read_store(&machine, err);
    }
    if (!machine.snapshot)
        return status;
    if (status && !machine.refusal) { /* the content is what is wrong: schema, or the store */
        machine.refusal = status;
        if (err)
            machine.why = *err;
    }
    judge(&run);
    if (follow_up(&run, &later) && !status) {
        status = ret_outcome->changed ? QS_FOLLOW_UP : later.status;
        later.status = status;
        if (err)
            *err = later;
    }
    if (!status && machine.refusal) {
        status = machine.refusal;
        if (err)
            *err = machine.why;
    }
    return status;
}
