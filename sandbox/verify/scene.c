/* SPDX-License-Identifier: Apache-2.0 */
/* The executor of a scene: plants the decoys' names, plans as `run` does, briefs the probe, runs it. */
#include "sandbox/verify/scene.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/run/run_log.h"
#include "sandbox/verify/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SCENE_MAX_SECONDS 120 /* the longest check has its own limit; this is for a run that never comes to them */
#define COPY_STEP_BYTES   ((size_t)1 << 20)
#define WALL_SECONDS      1
#define LEAKED_FD         200 /* of the descriptor that the caller "forgets" to close */

#ifdef QS_SANDBOX_CONTROLS
void (*verify_alter)(struct plan *plan);
#endif

struct stage {
    const struct verify_request *request;
    const struct decoys *decoys;
    enum verify_scene kind;
    bool scratch; /* the workspace is ours */
    struct run_options options;
    struct prepared prepared;
    struct qs_list hidden;
    char *run_log;
    int records;
};

static const char *workspace_of(const struct stage *stage)
{
    switch (stage->kind) {
    case SCENE_MAIN:
        return stage->request->options->workspace ? stage->request->options->workspace : stage->decoys->checkout;
    case SCENE_WORKTREE:
        return stage->decoys->worktree;
    case SCENE_WALL:
    case SCENE_COUNT:
        return stage->decoys->wall;
    }
    return stage->decoys->wall;
}

/* ---- the plan ---- */

/* Two more hidden paths, so that there is something to try in every home; a policy only gets narrower by that. */
static enum qs_status hide_decoys(struct stage *stage, struct qs_error *err)
{
    const struct qs_list *given = &stage->prepared.policy.hidden_paths;
    stage->hidden.items = calloc(given->count + 2, sizeof *stage->hidden.items);
    if (!stage->hidden.items)
        return error_memory(err);
    for (size_t i = 0; i < given->count; i++)
        stage->hidden.items[i] = given->items[i];
    stage->hidden.items[given->count] = stage->decoys->hidden_dir;
    stage->hidden.items[given->count + 1] = stage->decoys->hidden_file;
    stage->hidden.count = given->count + 2;
    stage->prepared.policy.hidden_paths = stage->hidden;
    return QS_OK;
}

/* The run log must be there to be tried. */
static enum qs_status make_log(struct stage *stage, struct qs_error *err)
{
    const struct state_base *base = &stage->prepared.facts.state;
    struct run_log log = {.fd = -1};
    AUTO_FREE char *dir = NULL;
    AUTO_FD int fd = -1;
    if (stage->prepared.policy.audit == QS_AUDIT_OFF || stage->kind != SCENE_MAIN)
        return QS_OK;
    enum qs_status status = run_log_open(base, &log, err);
    run_log_close(&log);
    if (!status)
        status = state_open(base, "journal", false, &fd, &dir, err);
    if (!status && !(stage->run_log = path_join(dir, "journal")))
        status = error_memory(err);
    return status;
}

static enum qs_status plan(struct stage *stage, struct qs_error *err)
{
    stage->options = *stage->request->options;
    stage->options.workspace = workspace_of(stage);
    stage->scratch = stage->options.workspace != stage->request->options->workspace;
    if (stage->scratch)
        stage->options.cwd = NULL;
    stage->options.git_state = stage->scratch ? stage->decoys->base : NULL;
    if (!decoys_plant(stage->decoys))
        return error_memory(err);
    struct prepared *prepared = &stage->prepared;
    enum qs_status status = prepare_run(&stage->options, true, prepared, err);
    if (!status)
        status = hide_decoys(stage, err);
    if (!status)
        status = make_log(stage, err);
    if (!status && stage->kind == SCENE_WALL && prepared->policy.limits.wall_seconds)
        prepared->policy.limits.wall_seconds = WALL_SECONDS;
    if (!status)
        status = prepare_plan(&stage->options, true, prepared, err);
#ifdef QS_SANDBOX_CONTROLS
    if (!status && verify_alter)
        verify_alter(&prepared->plan);
#endif
    return status;
}

/* ---- the brief ---- */

static json_t *paths(const struct path_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->count; i++)
        (void)json_array_append_new(list, json_string(facts->items[i].path));
    return list;
}

/* Visible inside, and not by a writable root of the policy. */
static bool outside_is_outside(const struct stage *stage)
{
    const struct plan *plan = &stage->prepared.plan;
    for (size_t i = 0; i < plan->count; i++)
        if (path_within(stage->decoys->outside, plan->mounts[i].dest))
            return false;
    return !plan_private(plan, stage->decoys->outside);
}

static bool has_checkout(const struct stage *stage)
{
    struct stat st;
    AUTO_FREE char *dot_git = path_join(stage->prepared.facts.roots[0].dir.path, ".git");
    return dot_git && lstat(dot_git, &st) == 0 && S_ISDIR(st.st_mode);
}

static json_t *brief(const struct stage *stage)
{
    const struct decoys *decoys = stage->decoys;
    const struct prepared *prepared = &stage->prepared;
    struct stat namespace = {0};
    (void)stat("/proc/self/ns/pid", &namespace);
    json_t *places =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:s}", "workspace", prepared->facts.roots[0].dir.path, "outside",
                  outside_is_outside(stage) ? decoys->outside : "", "hidden", paths(&prepared->facts.hidden), "stores",
                  paths(&prepared->facts.stores), "devices", paths(&prepared->facts.devices), "runLog",
                  stage->run_log ? stage->run_log : "", "socket", decoys->socket, "abstract", decoys->abstract);
    json_t *rest =
        json_pack("{s:b, s:b, s:b, s:i, s:i, s:i, s:i, s:s, s:I, s:s, s:s}", "writable", (int)prepared->plan.writable,
                  "closed", (int)prepared->plan.network_closed, "checkout", (int)has_checkout(stage), "unixSockets",
                  (int)prepared->plan.unix_sockets, "port", decoys->port, "dnsPort", decoys->dns_port, "victim",
                  (int)decoys->victim, "victimName", decoys->victim_name, "pidNamespace", (json_int_t) namespace.st_ino,
                  "secret", decoys->secret, "marker", decoys->marker);
    if (!places || !rest || json_object_update(places, rest) != 0) {
        json_decref(places);
        places = NULL;
    }
    json_decref(rest);
    return places;
}

/* Standard input: the brief; standard output: the records. */
static enum qs_status set_stdio(const struct stage *stage, struct qs_error *err)
{
    json_t *root = brief(stage);
    AUTO_FREE char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    AUTO_FD int fd = memfd_create("brief", MFD_CLOEXEC);
    if (!text)
        return error_set(err, QS_INVALID,
                         "the probe cannot be briefed: the path of the workspace or of the home "
                         "directory is not UTF-8");
    if (fd < 0 || os_write_full(fd, text, strlen(text)) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
        dup2(fd, STDIN_FILENO) < 0 || dup2(stage->records, STDOUT_FILENO) < 0)
        return error_sys(err, QS_IO, errno, "cannot brief the probe");
    return QS_OK;
}

/* ---- the program ---- */

/* Can a program at path be found inside under that name? */
static bool is_visible(const struct plan *plan, const char *path)
{
    const struct plan_mount *best = NULL;
    for (size_t i = 0; i < plan->count; i++)
        if (path_within(path, plan->mounts[i].dest))
            best = &plan->mounts[i];
    return best ? best->kind != MOUNT_HIDDEN && best->kind != MOUNT_CACHE : !plan_private(plan, path);
}

static enum qs_status copy_self(const char *path, struct qs_error *err)
{
    AUTO_FD int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    AUTO_FD int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    ssize_t len = -1;
    while (from >= 0 && to >= 0 && (len = sendfile(to, from, NULL, COPY_STEP_BYTES)) > 0)
        continue;
    return len == 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot copy this program to %s", path);
}

/* This program's own file or, where that cannot be seen inside (it lies in /tmp, say), a copy among the decoys. */
static enum qs_status choose_program(const struct stage *stage, char **ret_path, struct qs_error *err)
{
    const struct plan *plan = &stage->prepared.plan;
    const char *const dirs[] = {stage->decoys->base, stage->scratch ? workspace_of(stage) : stage->decoys->base};
    char name[32];
    (void)snprintf(name, sizeof name, "qsandbox-%d", (int)stage->kind);
    /* Who gave up rights since the program started may not reach it by its name any more. */
    if (is_visible(plan, stage->prepared.facts.executable) && access(stage->prepared.facts.executable, X_OK) == 0) {
        *ret_path = strdup(stage->prepared.facts.executable);
        return *ret_path ? QS_OK : error_memory(err);
    }
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        AUTO_FREE char *path = path_join(dirs[i], name);
        if (!path || !is_visible(plan, path))
            continue;
        enum qs_status status = copy_self(path, err);
        if (!status)
            *ret_path = STEAL(path);
        return status;
    }
    return error_set(err, QS_USAGE, "neither this program, %s, nor a copy of it can be seen inside",
                     stage->prepared.facts.executable);
}

/* ---- the run ---- */

/* As `run` does it. */
static enum qs_status run_probe(struct stage *stage, struct run_result *result, struct qs_error *err)
{
    char kind[16];
    (void)snprintf(kind, sizeof kind, "%d", (int)stage->kind);
    AUTO_FREE char *program = NULL;
    enum qs_status status = choose_program(stage, &program, err);
    if (status)
        return status;
    char *argv[] = {program, (char *)"--probe", kind, NULL};
    struct run_request request = {.plan = &stage->prepared.plan, .env = &stage->prepared.env, .argv = argv};
    status = run_plan(&request, &stage->prepared.facts, result, err);
    if (status)
        return status;
    if (result->not_run)
        return error_set(err, QS_USAGE, "%s cannot be executed inside: %s", argv[0], strerrordesc_np(result->not_run));
    return QS_OK;
}

/* All checks of the scene. */
static void skip(const struct stage *stage, const char *why, struct scene_outcome *outcome)
{
    for (int i = 0; i < CHECK_COUNT; i++) {
        struct inside_record record = {.check = (uint32_t)i};
        if (verify_check_scene((enum verify_check)i) != stage->kind)
            continue;
        inside_skip(&record, "%s", why);
        outcome->skipped = write(stage->records, &record, sizeof record) == (ssize_t)sizeof record;
    }
}

static void run_stage(struct stage *stage, struct scene_outcome *outcome)
{
    outcome->status = plan(stage, &outcome->err);
    if (outcome->status)
        return;
    if (stage->kind == SCENE_WORKTREE && !stage->prepared.plan.writable)
        skip(stage, "the policy is read-only", outcome);
    else if (stage->kind == SCENE_WALL && stage->prepared.plan.wall_seconds == 0)
        skip(stage, "the policy sets no wall limit", outcome);
    if (outcome->skipped)
        return;
    AUTO_FD int leaked = open(stage->decoys->hidden_file, O_RDONLY | O_CLOEXEC);
    if (leaked < 0 || dup2(leaked, LEAKED_FD) < 0)
        outcome->status = error_sys(&outcome->err, QS_IO, errno, "cannot open the descriptor to leak");
    if (!outcome->status)
        outcome->status = set_stdio(stage, &outcome->err);
    if (!outcome->status)
        outcome->status = run_probe(stage, &outcome->result, &outcome->err);
}

/* The private caches of a workspace that is gone soon. */
static void remove_caches(const struct stage *stage)
{
    if (stage->scratch && stage->prepared.facts.cache_base.path)
        decoys_remove_dir(stage->prepared.facts.cache_base.path);
}

static _Noreturn void be_executor(struct stage *stage, const sigset_t *mask, int outcome_fd)
{
    struct scene_outcome outcome = {.status = QS_OK};
    /* A group of its own, with the victim as its other member: what a signal to the executor's group would reach. */
    pid_t group = stage->kind == SCENE_MAIN ? stage->decoys->victim : 0;
    (void)setpgid(0, group);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)alarm(SCENE_MAX_SECONDS);
    run_stage(stage, &outcome);
    run_git_end(&stage->prepared.git); /* what crossed is judged outside */
    remove_caches(stage);
    _exit(os_write_full(outcome_fd, &outcome, sizeof outcome) == 0 ? 0 : 1);
}

/* ---- from outside ---- */

enum qs_status scene_start(const struct verify_request *request, const struct decoys *decoys, const sigset_t *mask,
                           enum verify_scene kind, struct scene *ret_scene, struct qs_error *err)
{
    int records[2] = {-1, -1}, outcome[2] = {-1, -1};
    if (pipe2(records, O_CLOEXEC) != 0 || pipe2(outcome, O_CLOEXEC) != 0) {
        cleanup_fd(&records[0]);
        cleanup_fd(&records[1]);
        return error_sys(err, QS_IO, errno, "cannot make a pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        struct stage stage = {.request = request, .decoys = decoys, .kind = kind, .records = records[1]};
        be_executor(&stage, mask, outcome[1]);
    }
    int error = errno;
    (void)close(records[1]);
    (void)close(outcome[1]);
    *ret_scene = (struct scene){.kind = kind, .pid = pid, .records = records[0], .outcome_fd = outcome[0]};
    return pid < 0 ? error_sys(err, QS_IO, error, "cannot start a process") : QS_OK;
}

static void take_records(int fd, struct verify_report *report, bool *ret_held_open)
{
    struct inside_record record;
    ssize_t len;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((len = read(fd, &record, sizeof record)) == (ssize_t)sizeof record) {
        if (record.check >= CHECK_COUNT || record.result > VERIFY_NOT_APPLICABLE)
            continue;
        struct verify_entry *entry = &report->checks[record.check];
        *entry = (struct verify_entry){.result = (enum verify_result)record.result, .error = record.error};
        record.detail[sizeof record.detail - 1] = '\0';
        (void)snprintf(entry->detail, sizeof entry->detail, "%s", record.detail);
    }
    *ret_held_open = len < 0 && errno == EAGAIN;
}

void scene_finish(struct scene *scene, struct verify_report *report, struct scene_outcome *ret_outcome,
                  bool *ret_held_open)
{
    struct scene_outcome outcome;
    size_t len = 0;
    ssize_t got;
    while (len < sizeof outcome && (got = read(scene->outcome_fd, (char *)&outcome + len, sizeof outcome - len)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        len += got > 0 ? (size_t)got : 0;
    }
    if (len != sizeof outcome) {
        outcome = (struct scene_outcome){.status = QS_IO};
        (void)error_set(&outcome.err, QS_IO, "a process of verify ended early");
    }
    while (waitpid(scene->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    take_records(scene->records, report, ret_held_open);
    cleanup_fd(&scene->records);
    cleanup_fd(&scene->outcome_fd);
    scene->pid = 0;
    *ret_outcome = outcome;
}
