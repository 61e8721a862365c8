/* SPDX-License-Identifier: Apache-2.0 */
/* The crossing, step by step. */
#include "sandbox/crossing/crossing.h"

#include "base/cleanup.h"
#include "sandbox/crossing/apply.h"
#include "sandbox/crossing/files.h"
#include "sandbox/crossing/names.h"
#include "sandbox/host/host_path.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EMPTY_BLOB_SHA1   "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define EMPTY_BLOB_SHA256 "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
#define MARK              "crossing" /* in the state, while a crossing changes the host */
#define HEAD_NAME_MAX     4096

void crossing_line(struct crossing_lines *lines, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (lines->count == CROSSING_LINES_MAX || vasprintf(&text, format, args) < 0)
        lines->more++;
    else
        lines->items[lines->count++] = text;
    va_end(args);
}

void crossing_report_release(struct crossing_report *report)
{
    struct crossing_lines *const all[] = {&report->crossed, &report->stayed};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < all[i]->count; k++)
            free(all[i]->items[k]);
    *report = (struct crossing_report){0};
}

struct crossing {
    struct repository *repository;
    const struct crossing_options *options;
    struct sides sides;
    struct names checked_out; /* branches that another worktree of the host is on; its texts: */
    char *branches[2 * REPOSITORY_CHECKOUTS_MAX + 256];
    size_t branch_count;
    struct names held;
    struct checkout_plan checkouts[REPOSITORY_CHECKOUTS_MAX];
    const char *blocked[REPOSITORY_CHECKOUTS_MAX]; /* why the host's side could not be changed */
    struct ref_plan refs;
    struct wanted wanted;
    size_t asking; /* the checkout that is being decided */
};

static void forget_plans(struct crossing *crossing)
{
    for (size_t i = 0; i < REPOSITORY_CHECKOUTS_MAX; i++)
        checkout_plan_release(&crossing->checkouts[i]);
    ref_plan_release(&crossing->refs);
    wanted_release(&crossing->wanted);
    names_release(&crossing->held);
    names_release(&crossing->checked_out);
    for (size_t i = 0; i < crossing->branch_count; i++)
        free(crossing->branches[i]);
    crossing->branch_count = 0;
}

static void release(struct crossing **crossing)
{
    if (!*crossing)
        return;
    forget_plans(*crossing);
    sides_release(&(*crossing)->sides);
    free(*crossing);
}

/* ---- branches that are checked out elsewhere ---- */

static void add_branch(struct crossing *crossing, const char *branch)
{
    enum { MAX = sizeof crossing->branches / sizeof crossing->branches[0] };
    char *copy = crossing->branch_count < MAX ? strdup(branch) : NULL;
    if (!copy)
        return;
    copy[strcspn(copy, "\n")] = '\0';
    crossing->branches[crossing->branch_count++] = copy;
    (void)names_add(&crossing->checked_out, copy);
}

/* The HEAD of a worktree, and what a rebase or a bisect in it comes back to. */
static void add_branches_of(struct crossing *crossing, int dir, bool own)
{
    static const char *const names[] = {"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START", "HEAD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] - own; i++) {
        AUTO_FREE char *text = NULL;
        if (files_read_text(dir, names[i], HEAD_NAME_MAX, &text, NULL) != QS_OK || !text)
            continue;
        const char *branch = i == 3 ? SIDE_HEAD_BRANCH(text) : text;
        char whole[HEAD_NAME_MAX + 16];
        (void)snprintf(whole, sizeof whole, "refs/heads/%s", i == 2 ? text : "");
        if (branch)
            add_branch(crossing, i == 2 ? whole : branch);
    }
}

static bool crosses_here(const struct crossing *crossing, const char *name)
{
    const struct repository *repository = crossing->repository;
    for (size_t i = 0; i < repository->checkout_count; i++)
        if (strcmp(repository->checkouts[i].name, name) == 0)
            return !crossing->sides.checkouts[i].gone;
    return false;
}

static void find_checked_out(struct crossing *crossing)
{
    const struct repository *repository = crossing->repository;
    AUTO_FD int worktrees = files_open_dir(repository->fd, "worktrees");
    int fd = worktrees < 0 ? -1 : files_open_dir(worktrees, ".");
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    if (!repository->bare)
        add_branches_of(crossing, repository->fd, crosses_here(crossing, ""));
    while (list && (entry = readdir(list))) {
        AUTO_FD int dir = entry->d_name[0] == '.' ? -1 : files_open_dir(worktrees, entry->d_name);
        if (dir >= 0)
            add_branches_of(crossing, dir, crosses_here(crossing, entry->d_name));
    }
    if (list)
        (void)closedir(list);
}

/* ---- deciding ---- */

static bool gitlink_known(void *context, const char *name)
{
    const struct crossing *crossing = context;
    const char *tree = crossing->repository->checkouts[crossing->asking].tree;
    AUTO_FREE char *path = tree ? path_join(tree, name) : NULL;
    return path && crossing->options->known_git(crossing->options->context, path);
}

static bool has_empty(const struct git_checkout *private, const struct git_checkout *base)
{
    for (size_t i = 0; i < private->entry_count; i++) {
        const struct git_entry *entry = &private->entries[i];
        if (strcmp(entry->id, EMPTY_BLOB_SHA1) != 0 && strcmp(entry->id, EMPTY_BLOB_SHA256) != 0)
            continue;
        size_t at = git_entries_find(base, entry->name);
        if (!git_entries_same(private, i, 1, base, at, git_entries_of(base, at)))
            return true;
    }
    return false;
}

static enum qs_status decide_checkouts(struct crossing *crossing, struct qs_error *err)
{
    const struct repository *repository = crossing->repository;
    const struct three_refs refs = {&crossing->sides.private, &crossing->sides.base, &crossing->sides.host};
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < repository->checkout_count && !status; i++) {
        struct git_checkout *private = &crossing->sides.checkouts[i].private;
        const struct three_checkouts three = {private, &crossing->sides.checkouts[i].base,
                                              &crossing->sides.checkouts[i].host};
        const struct checkout_facts facts = {.sparse = repository_sparse(repository, &repository->checkouts[i]),
                                             .gitlink_known = gitlink_known,
                                             .context = crossing,
                                             .checked_out = &crossing->checked_out};
        struct checkout_plan *plan = &crossing->checkouts[i];
        crossing->asking = i;
        if (has_empty(private, three.base))
            status = look_intents(repository, &repository->checkouts[i], private, err);
        if (!status)
            status = decide_checkout(&three, &refs, &facts, plan, err);
        if (!status && plan->crosses && crossing->blocked[i]) {
            plan->crosses = false;
            plan->what = "the index";
            plan->why = crossing->blocked[i];
        }
        const char *branches[2] = {SIDE_HEAD_BRANCH(private->head), SIDE_HEAD_BRANCH(three.host->head)};
        for (size_t k = 0; k < 2 && !status && plan->changed && !plan->crosses; k++)
            if (branches[k] && !names_add(&crossing->held, branches[k]))
                status = error_memory(err);
    }
    return status;
}

/* A new name that abbreviates an object of the host's would be read as either. */
static enum qs_status refuse_abbreviations(struct crossing *crossing, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < crossing->refs.count && !status; i++) {
        struct ref_change *change = &crossing->refs.items[i];
        const char *short_name = name_ref_short(change->name);
        bool have = false;
        if (change->verdict != REF_TAKE || change->old_id || !name_abbreviates(short_name))
            continue;
        status = objects_have_prefix(crossing->repository, short_name, &have, err);
        if (!status && have) {
            change->verdict = REF_ASIDE;
            change->why = "has a name that abbreviates an object";
        }
    }
    return status;
}

static enum qs_status decide(struct crossing *crossing, struct qs_error *err)
{
    const struct three_refs refs = {&crossing->sides.private, &crossing->sides.base, &crossing->sides.host};
    forget_plans(crossing);
    find_checked_out(crossing);
    enum qs_status status = decide_checkouts(crossing, err);
    if (!status)
        status = decide_refs(&refs, &crossing->checked_out, &crossing->held, &crossing->refs, err);
    return status ? status : refuse_abbreviations(crossing, err);
}

/* ---- what is wanted ---- */

static bool want_checkout(struct crossing *crossing, size_t which)
{
    const struct git_checkout *private = &crossing->sides.checkouts[which].private;
    const struct checkout_plan *plan = &crossing->checkouts[which];
    bool good = true;
    if (!plan->crosses)
        return true;
    if (name_is_id(private->head))
        good = wanted_add(&crossing->wanted, private->head, WANTED_COMMIT);
    for (size_t i = 0; i < plan->count && good; i++)
        for (size_t k = 0; k < plan->items[i].count && good; k++) {
            const struct git_entry *entry = &private->entries[plan->items[i].at + k];
            if (strcmp(entry->mode, "160000") != 0)
                good = wanted_add(&crossing->wanted, entry->id, WANTED_BLOB);
        }
    return good;
}

/* The ids in the files of a merge: the last text of each line is taken as it stands, one id a line. */
static bool want_states(struct crossing *crossing, size_t which, char **texts, size_t *count)
{
    for (size_t i = 0; i <= SIDE_ORIG_HEAD; i++) {
        const char *text = crossing->sides.checkouts[which].private.states[i];
        char *more = NULL;
        if (!text || !crossing->checkouts[which].crosses)
            continue;
        char *copy = strdup(text);
        if (!copy)
            return false;
        texts[(*count)++] = copy;
        for (char *id = strtok_r(copy, "\n", &more); id; id = strtok_r(NULL, "\n", &more))
            if (!wanted_add(&crossing->wanted, id, WANTED_COMMIT))
                return false;
    }
    return true;
}

static bool want_refs(struct crossing *crossing)
{
    bool good = true;
    for (size_t i = 0; i < crossing->refs.count && good; i++) {
        const struct ref_change *change = &crossing->refs.items[i];
        bool branch = strncmp(change->name, "refs/heads/", 11) == 0;
        if (change->verdict != REF_STAYS && change->new_id)
            good = wanted_add(&crossing->wanted, change->new_id, branch ? WANTED_COMMIT : WANTED_ANY);
    }
    const struct git_refs *private = &crossing->sides.private;
    for (size_t i = 0; i < private->stash_count && good && !git_stashes_same(private, &crossing->sides.base); i++)
        good = wanted_add(&crossing->wanted, private->stashes[i].id, WANTED_STASH);
    return good;
}

static enum qs_status bring_objects(struct crossing *crossing, struct qs_error *err)
{
    char *texts[REPOSITORY_CHECKOUTS_MAX * (SIDE_ORIG_HEAD + 1)];
    size_t count = 0;
    bool good = want_refs(crossing);
    for (size_t i = 0; i < crossing->repository->checkout_count && good; i++)
        good = want_checkout(crossing, i) && want_states(crossing, i, texts, &count);
    enum qs_status status =
        good ? objects_bring(crossing->repository, &crossing->sides, &crossing->wanted, &crossing->options->limits, err)
             : error_memory(err);
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    return status;
}

/* ---- applying ---- */

/* QS_CONFLICT: the plan is to be made once more, since the host changed or an index stays as it is. */
static enum qs_status apply(struct crossing *crossing, bool *ret_stashes, struct qs_error *err)
{
    const struct repository *repository = crossing->repository;
    const struct applying applying = {repository, &crossing->sides, crossing->options->run};
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        if (crossing->checkouts[i].crosses) {
            status = apply_index(&applying, i, &crossing->checkouts[i], err);
            if (status == QS_BUSY || status == QS_CONFLICT) {
                crossing->blocked[i] =
                    status == QS_BUSY ? "is in use on the host" : "would not be the same on the host";
                return QS_CONFLICT;
            }
        }
    if (!status)
        status = apply_refs(&applying, &crossing->refs, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        if (crossing->checkouts[i].crosses) {
            status = apply_head(&applying, i, err);
            if (!status)
                status = apply_states(&applying, i, err);
        }
    return status ? status : apply_stashes(&applying, ret_stashes, err);
}

static enum qs_status sign_host(struct crossing *crossing, struct qs_error *err)
{
    const struct repository *repository = crossing->repository;
    enum qs_status status = sign_refs(repository->fd, crossing->sides.signs.host, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        status = sign_checkout(repository->checkouts[i].fd, crossing->sides.checkouts[i].signs.host, err);
    return status;
}

/* ---- the report ---- */

static void report_refs(const struct crossing *crossing, struct crossing_report *report)
{
    for (size_t i = 0; i < crossing->refs.count; i++) {
        const struct ref_change *change = &crossing->refs.items[i];
        if (change->verdict == REF_TAKE)
            crossing_line(&report->crossed, "%s %s %s", change->name, change->old_id ? change->old_id : "-",
                          change->new_id ? change->new_id : "-");
        else if (change->verdict == REF_ASIDE)
            crossing_line(&report->stayed, "%s %s: the command's is refs/qsandbox/%s/%s", change->name, change->why,
                          crossing->options->run, change->name + 5);
        else
            crossing_line(&report->stayed, "%s %s", change->name, change->why);
    }
}

static void report_checkouts(const struct crossing *crossing, struct crossing_report *report)
{
    for (size_t i = 0; i < crossing->repository->checkout_count; i++) {
        const struct checkout_plan *plan = &crossing->checkouts[i];
        const char *tree = crossing->repository->checkouts[i].tree;
        if (crossing->sides.checkouts[i].gone)
            crossing_line(&report->stayed, "the worktree %s was removed inside: git worktree prune removes its entry",
                          tree ? tree : "");
        if (!plan->changed)
            continue;
        if (plan->crosses && (plan->count || strcmp(crossing->sides.checkouts[i].private.head,
                                                    crossing->sides.checkouts[i].host.head) != 0))
            crossing_line(&report->crossed, "%s: HEAD and %zu names of the index", tree ? tree : "", plan->count);
        else if (!plan->crosses)
            crossing_line(&report->stayed, "%s: HEAD, its branch and the index, for %s %s", tree ? tree : "",
                          plan->what, plan->why);
        for (size_t k = 0; k < plan->omitted.count; k++)
            crossing_line(&report->stayed, "%s is marked intent-to-add or assume-unchanged", plan->omitted.items[k]);
        if (plan->sparse_inside)
            crossing_line(&report->stayed, "%s: sparse checkout is on inside and not on the host", tree ? tree : "");
    }
}

/* Configuration that the command changed: it never crosses by itself. */
static void report_copied(const struct crossing *crossing, struct crossing_report *report)
{
    for (size_t i = 0; i < LOOK_COPIED_COUNT; i++) {
        uint8_t now[QS_DIGEST_BYTES];
        if (!sign_copied(crossing->repository->private, i, now) ||
            memcmp(now, crossing->sides.copied[i] + QS_DIGEST_BYTES, sizeof now) != 0)
            crossing_line(&report->stayed, "%s was changed inside", look_copied[i]);
    }
}

static void report_all(const struct crossing *crossing, struct crossing_report *report)
{
    report_refs(crossing, report);
    report_checkouts(crossing, report);
    report_copied(crossing, report);
}

/* ---- the walk ---- */

static enum qs_status begin(struct repository *repository, const struct crossing_options *options,
                            struct crossing **ret_crossing, struct qs_error *err)
{
    AUTO(release) struct crossing *crossing = calloc(1, sizeof *crossing);
    if (!crossing)
        return error_memory(err);
    crossing->repository = repository;
    crossing->options = options;
    enum qs_status status = look_base(repository, &crossing->sides, err);
    if (!status)
        status = look_private(repository, &crossing->sides, err);
    if (!status)
        *ret_crossing = STEAL(crossing);
    return status;
}

/* What was to be put aside stays inside: it is not to keep the rest from crossing. */
static bool keep_asides(struct crossing *crossing)
{
    bool any = false;
    for (size_t i = 0; i < crossing->refs.count; i++)
        if (crossing->refs.items[i].verdict == REF_ASIDE) {
            crossing->refs.items[i].verdict = REF_STAYS;
            any = true;
        }
    wanted_release(&crossing->wanted);
    return any;
}

/* Takes over once what the plan says, as the host is now. */
static enum qs_status cross_once(struct crossing *crossing, bool *ret_stashes, struct qs_error *err)
{
    enum qs_status status = look_host(crossing->repository, &crossing->sides, err);
    if (!status)
        status = objects_scratch(crossing->repository, err);
    if (!status)
        status = decide(crossing, err);
    if (!status)
        status = bring_objects(crossing, err);
    if (status == QS_INVALID && keep_asides(crossing)) {
        status = objects_scratch(crossing->repository, err);
        if (!status)
            status = bring_objects(crossing, err);
    }
    return status ? status : apply(crossing, ret_stashes, err);
}

static bool was_cut_off(const struct repository *repository)
{
    AUTO_FREE char *mark = NULL;
    return files_read_text(repository->state, MARK, HEAD_NAME_MAX, &mark, NULL) != QS_OK || mark;
}

static enum qs_status cross(struct repository *repository, const struct crossing_options *options,
                            struct crossing_report *report, struct qs_error *err)
{
    AUTO(release) struct crossing *crossing = NULL;
    struct moved moved = {0};
    bool stashes = false;
    enum qs_status status = look_moved(repository, &moved, err);
    if (status || (!moved.private && !was_cut_off(repository)))
        return status;
    for (size_t i = 0; i < repository->checkout_count; i++)
        apply_clean(&repository->checkouts[i]);
    status = begin(repository, options, &crossing, err);
    if (!status)
        status = files_write(repository->state, MARK, options->run, strlen(options->run), true, err);
    if (status)
        return status;
    int tries = 0;
    do
        status = cross_once(crossing, &stashes, err);
    while (status == QS_CONFLICT && ++tries < CROSSING_TRIES);
    if (!status)
        status = sign_host(crossing, err);
    const struct settled settled = {&crossing->refs, crossing->checkouts, stashes};
    if (!status) /* before it is settled: the names are those of the former base */
        report_all(crossing, report);
    if (!status)
        status = settle(repository, &crossing->sides, &settled, err);
    objects_finish(repository);
    if (!status)
        status = files_remove(repository->state, MARK, err);
    return status;
}

enum qs_status crossing_cross(struct repository *repository, const struct crossing_options *options,
                              struct crossing_report *report, struct qs_error *err)
{
    enum qs_status status = repository_lock(repository, err);
    if (!status && repository->private >= 0)
        status = cross(repository, options, report, err);
    repository_unlock(repository);
    return status;
}

enum qs_status crossing_preview(struct repository *repository, const struct crossing_options *options,
                                struct crossing_report *report, struct qs_error *err)
{
    AUTO(release) struct crossing *crossing = NULL;
    enum qs_status status = repository_lock(repository, err);
    if (!status && repository->private >= 0)
        status = begin(repository, options, &crossing, err);
    if (!status && crossing)
        status = look_host(repository, &crossing->sides, err);
    if (!status && crossing)
        status = objects_scratch(repository, err);
    if (!status && crossing)
        status = decide(crossing, err);
    if (!status && crossing)
        report_all(crossing, report);
    repository_unlock(repository);
    return status;
}
