/* SPDX-License-Identifier: Apache-2.0 */
/* The decision between three sides. */
#include "sandbox/crossing/decide.h"

#include "base/cleanup.h"
#include "sandbox/crossing/names.h"

#include <ctype.h>
#include <string.h>

void ref_plan_release(struct ref_plan *plan)
{
    free(plan->items);
    *plan = (struct ref_plan){0};
}

void checkout_plan_release(struct checkout_plan *plan)
{
    free(plan->items);
    names_release(&plan->omitted);
    *plan = (struct checkout_plan){0};
}

bool names_add(struct names *names, const char *name)
{
    if (names->count == names->cap) {
        size_t cap = names->cap ? 2 * names->cap : 16;
        const char **grown = reallocarray(names->items, cap, sizeof *grown);
        if (!grown)
            return false;
        names->items = grown;
        names->cap = cap;
    }
    names->items[names->count++] = name;
    return true;
}

bool names_have(const struct names *names, const char *name)
{
    for (size_t i = 0; names && i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

void names_release(struct names *names)
{
    free(names->items);
    *names = (struct names){0};
}

/* ---- refs ---- */

struct three {
    const struct git_ref *private, *base, *host;
};

static struct three three_of(const struct three_refs *refs, const char *name)
{
    return (struct three){git_refs_find(refs->private, name), git_refs_find(refs->base, name),
                          git_refs_find(refs->host, name)};
}

/* A name that is new to the host must not change what a name means there. Of two new ones the first in order counts. */
static bool shadows(const struct three_refs *refs, const char *name)
{
    char rival[REF_RIVAL_BYTES];
    for (unsigned i = 0; name_ref_rival(name, i, rival); i++)
        if (strcmp(rival, name) != 0 &&
            (git_refs_find(refs->host, rival) || (strcmp(rival, name) < 0 && git_refs_find(refs->private, rival))))
            return true;
    return false;
}

/* Will the host have this ref afterwards, though a name that the command made stands in its way? */
static bool stays_there(const struct three_refs *refs, const char *name)
{
    const struct three ref = three_of(refs, name);
    return ref.host && (ref.private || !git_ref_same(ref.host, ref.base));
}

/* A ref cannot be a directory of others too. */
static bool collides(const struct three_refs *refs, const char *name)
{
    char above[REF_NAME_MAX_BYTES + 1];
    size_t len = strlen(name), low = 0, high = refs->host->count;
    for (const char *slash = strchr(name + 5, '/'); slash; slash = strchr(slash + 1, '/')) {
        memcpy(above, name, (size_t)(slash - name));
        above[slash - name] = '\0';
        if (stays_there(refs, above))
            return true;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(refs->host->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < refs->host->count && strncmp(refs->host->items[low].name, name, len) == 0; low++)
        if (refs->host->items[low].name[len] == '/' && stays_there(refs, refs->host->items[low].name))
            return true;
    return false;
}

/* Why the private value of this ref is not taken over; NULL where it may be. */
static const char *refused(const struct three_refs *refs, const struct three *ref, const char *name,
                           const struct names *checked_out)
{
    const char *why = name_ref_refused(name);
    if (why)
        return why;
    if (names_have(checked_out, name))
        return "is checked out in another worktree of the host";
    if ((ref->private && ref->private->symbolic) || (ref->host && ref->host->symbolic))
        return "is a symbolic ref";
    if (!ref->host && shadows(refs, name))
        return "has a name that would mean something else on the host";
    if (!ref->host && collides(refs, name))
        return "has a name that the host's refs leave no room for";
    return NULL;
}

static struct ref_change judge(const struct three_refs *refs, const struct three *ref, const char *name,
                               const struct names *checked_out, const struct names *held)
{
    struct ref_change change = {.name = name};
    change.new_id = ref->private && !ref->private->symbolic ? ref->private->value : NULL;
    change.old_id = ref->host && !ref->host->symbolic ? ref->host->value : NULL;
    change.why = refused(refs, ref, name, checked_out);
    if (!change.why && !ref->private && refs->private->partial)
        change.why = "is not readable there";
    else if (!change.why && names_have(held, name))
        change.why = "belongs to a checkout that stays inside";
    else if (!change.why && !git_ref_same(ref->host, ref->base))
        change.why = "was changed on both sides";
    if (!change.why)
        change.verdict = REF_TAKE;
    else if (change.new_id && name_ref_valid(name) && name_ref_short(name))
        change.verdict = REF_ASIDE;
    else
        change.verdict = REF_STAYS;
    return change;
}

static const char *next_ref(const struct git_refs *private, size_t p, const struct git_refs *base, size_t b)
{
    if (p == private->count)
        return b < base->count ? base->items[b].name : NULL;
    if (b == base->count || strcmp(private->items[p].name, base->items[b].name) < 0)
        return private->items[p].name;
    return base->items[b].name;
}

enum qs_status decide_refs(const struct three_refs *refs, const struct names *checked_out, const struct names *held,
                           struct ref_plan *ret_plan, struct qs_error *err)
{
    struct ref_plan plan = {.items = calloc(DECIDE_REFS_MAX, sizeof *plan.items)};
    if (!plan.items)
        return error_memory(err);
    const struct git_refs *private = refs->private, *base = refs->base;
    const char *name;
    for (size_t p = 0, b = 0; (name = next_ref(private, p, base, b));) {
        const struct three ref = three_of(refs, name);
        p += p < private->count && strcmp(private->items[p].name, name) == 0;
        b += b < base->count && strcmp(base->items[b].name, name) == 0;
        if (git_ref_same(ref.private, ref.base) || git_ref_same(ref.private, ref.host) ||
            strcmp(name, "refs/stash") == 0)
            continue;
        if (plan.count == DECIDE_REFS_MAX) {
            ref_plan_release(&plan);
            return error_set(err, QS_INVALID, "more than %u refs changed", DECIDE_REFS_MAX);
        }
        plan.items[plan.count++] = judge(refs, &ref, name, checked_out, held);
    }
    *ret_plan = plan;
    return QS_OK;
}

/* ---- a checkout ---- */

static bool settled(const struct git_ref *host, const struct git_ref *base, const struct git_ref *private)
{
    return git_ref_same(host, base) || git_ref_same(host, private);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* May the branch be as the private HEAD wants it? */
static const char *branch_refused(const struct three_refs *refs, const char *branch, const struct names *checked_out)
{
    const struct three ref = three_of(refs, branch);
    if (!settled(ref.host, ref.base, ref.private))
        return "was changed on both sides";
    if (strncmp(branch, "refs/heads/", 11) != 0)
        return "is no branch";
    if (names_have(checked_out, branch))
        return "is checked out in another worktree of the host";
    if (!git_ref_same(ref.private, ref.host))
        return refused(refs, &ref, branch, checked_out);
    return ref.private ? NULL : name_ref_refused(branch);
}

static bool head_crosses(const struct three_checkouts *checkouts, const struct three_refs *refs,
                         const struct checkout_facts *facts, struct checkout_plan *plan)
{
    const char *private = checkouts->private->head, *base = checkouts->base->head, *host = checkouts->host->head;
    const char *branches[2] = {SIDE_HEAD_BRANCH(private), SIDE_HEAD_BRANCH(host)};
    plan->what = "HEAD";
    if (!private || !host)
        plan->why = "is not of git's form";
    else if (!same_text(host, base) && !same_text(host, private))
        plan->why = "was changed on both sides";
    for (size_t i = 0; i < 2 && !plan->why; i++)
        if (branches[i] && (i == 0 || !branches[0] || strcmp(branches[0], branches[1]) != 0)) {
            const struct three ref = three_of(refs, branches[i]);
            plan->what = branches[i];
            if (i == 0)
                plan->why = branch_refused(refs, branches[0], facts->checked_out);
            else if (!settled(ref.host, ref.base, ref.private))
                plan->why = "was changed on both sides";
        }
    return !plan->why;
}

static bool states_cross(const struct three_checkouts *checkouts, struct checkout_plan *plan)
{
    for (size_t i = 0; i < SIDE_STATE_COUNT; i++) {
        const char *private = checkouts->private->states[i], *host = checkouts->host->states[i];
        if (same_text(private, host))
            continue;
        plan->what = side_state_names[i];
        if (!same_text(host, checkouts->base->states[i]))
            plan->why = "was changed on both sides";
        else if (private && !side_state_valid((enum side_state)i, private))
            plan->why = "is not of git's form";
        if (plan->why)
            return false;
    }
    return true;
}

enum entry_verdict { ENTRY_TAKE, ENTRY_OMITTED, ENTRY_REFUSED };

static enum entry_verdict judge_entry(const struct git_entry *entry, const struct checkout_facts *facts,
                                      struct checkout_plan *plan)
{
    if (!name_mode_valid(entry->mode))
        plan->why = "has a mode that git does not write";
    else if (!name_index_valid(entry->name, entry->mode))
        plan->why = "has a name that leads out of the work tree or into a git directory";
    else if (strcmp(entry->mode, "160000") == 0 && !facts->gitlink_known(facts->context, entry->name))
        plan->why = "is a repository that the host does not know";
    if (plan->why)
        return ENTRY_REFUSED;
    plan->sparse_inside |= entry->flag == 'S' && !facts->sparse;
    return entry->flag == 'I' || islower((unsigned char)entry->flag) ? ENTRY_OMITTED : ENTRY_TAKE;
}

/* A changed name, with all its stages. */
static bool name_crosses(const struct git_checkout *private, size_t at, size_t count, const char *name,
                         const struct checkout_facts *facts, struct checkout_plan *plan)
{
    plan->what = name;
    for (size_t i = 0; i < count; i++) {
        enum entry_verdict verdict = judge_entry(&private->entries[at + i], facts, plan);
        if (verdict == ENTRY_REFUSED)
            return false;
        if (verdict == ENTRY_OMITTED)
            return names_add(&plan->omitted, name);
    }
    plan->items[plan->count++] =
        (struct index_change){.name = name,
                              .at = at,
                              .count = count,
                              .skip = count == 1 && private->entries[at].flag == 'S' && facts->sparse};
    return true;
}

static bool index_crosses(const struct three_checkouts *checkouts, const struct checkout_facts *facts,
                          struct checkout_plan *plan)
{
    const struct git_checkout *sides[3] = {checkouts->private, checkouts->base, checkouts->host};
    size_t at[3] = {0}, count[3];
    const char *name;
    while ((name = git_entries_next(sides, at, 3))) {
        for (size_t i = 0; i < 3; i++) {
            bool here = at[i] < sides[i]->entry_count && strcmp(sides[i]->entries[at[i]].name, name) == 0;
            count[i] = here ? git_entries_of(sides[i], at[i]) : 0;
        }
        if (!git_entries_same(sides[0], at[0], count[0], sides[2], at[2], count[2]) &&
            !git_entries_same(sides[0], at[0], count[0], sides[1], at[1], count[1])) {
            plan->what = name;
            if (!git_entries_same(sides[2], at[2], count[2], sides[1], at[1], count[1]))
                plan->why = "was changed on both sides";
            if (plan->why || !name_crosses(sides[0], at[0], count[0], name, facts, plan))
                return false;
        }
        for (size_t i = 0; i < 3; i++)
            at[i] += count[i];
    }
    return true;
}

static bool checkout_changed(const struct three_checkouts *checkouts, const struct three_refs *refs)
{
    const char *branch = SIDE_HEAD_BRANCH(checkouts->private->head);
    if (!git_checkout_same(checkouts->private, checkouts->base))
        return true;
    return branch && !git_ref_same(git_refs_find(refs->private, branch), git_refs_find(refs->base, branch));
}

enum qs_status decide_checkout(const struct three_checkouts *checkouts, const struct three_refs *refs,
                               const struct checkout_facts *facts, struct checkout_plan *ret_plan, struct qs_error *err)
{
    struct checkout_plan plan = {.changed = checkout_changed(checkouts, refs)};
    if (plan.changed) {
        plan.items = calloc(checkouts->private->entry_count + checkouts->base->entry_count + 1, sizeof *plan.items);
        if (!plan.items)
            return error_memory(err);
        plan.crosses = head_crosses(checkouts, refs, facts, &plan) && states_cross(checkouts, &plan) &&
                       index_crosses(checkouts, facts, &plan);
    }
    *ret_plan = plan;
    return QS_OK;
}

/* ---- the base afterwards ---- */

static void add_ref(struct buf *out, const struct git_ref *ref)
{
    if (!ref)
        return;
    if (ref->symbolic) /* the id counts for nothing here, but is part of the form */
        buf_printf(out, "%040d %s %s\n", 0, ref->name, ref->value);
    else
        buf_printf(out, "%s %s \n", ref->value, ref->name);
}

static const struct ref_change *change_of(const struct ref_plan *plan, const char *name)
{
    size_t low = 0, high = plan->count; /* by name, as the sides are */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(plan->items[middle].name, name);
        if (order == 0)
            return &plan->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void settle_ref(const struct three_refs *refs, const struct ref_plan *plan, const char *name, struct buf *out)
{
    const struct three ref = three_of(refs, name);
    const struct ref_change *change = change_of(plan, name);
    bool agreed = git_ref_same(ref.private, ref.host) || (change && change->verdict == REF_TAKE);
    add_ref(out, agreed ? ref.private : ref.base);
}

void settle_refs(const struct three_refs *refs, const struct ref_plan *plan, struct buf *out)
{
    const char *name;
    for (size_t p = 0, b = 0; (name = next_ref(refs->private, p, refs->base, b));) {
        p += p < refs->private->count && strcmp(refs->private->items[p].name, name) == 0;
        b += b < refs->base->count && strcmp(refs->base->items[b].name, name) == 0;
        settle_ref(refs, plan, name, out);
    }
}

static void add_entries(struct buf *out, const struct git_checkout *checkout, size_t at, size_t count)
{
    for (size_t i = at; i < at + count; i++) {
        const struct git_entry *entry = &checkout->entries[i];
        buf_printf(out, "H %s %s %c\t%s", entry->mode, entry->id, entry->stage, entry->name);
        buf_add_char(out, '\0');
    }
}

void settle_index(const struct three_checkouts *checkouts, const struct checkout_plan *plan, struct buf *out)
{
    const struct git_checkout *sides[3] = {checkouts->private, checkouts->base, checkouts->host};
    size_t at[3] = {0}, count[3], change = 0;
    const char *name;
    while ((name = git_entries_next(sides, at, 3))) {
        for (size_t i = 0; i < 3; i++) {
            bool here = at[i] < sides[i]->entry_count && strcmp(sides[i]->entries[at[i]].name, name) == 0;
            count[i] = here ? git_entries_of(sides[i], at[i]) : 0;
        }
        bool taken = plan->crosses && change < plan->count && strcmp(plan->items[change].name, name) == 0;
        change += taken;
        bool agreed = taken || git_entries_same(sides[0], at[0], count[0], sides[2], at[2], count[2]);
        size_t from = agreed ? 0 : 1;
        add_entries(out, sides[from], at[from], count[from]);
        for (size_t i = 0; i < 3; i++)
            at[i] += count[i];
    }
}
