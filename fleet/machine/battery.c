/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step 7: does the boundary hold under the candidate? qsandbox verify says so, over a scratch store, as a user of its
 * own with an empty home. What the present policy fails as well is the machine's fault, not the candidate's.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "fleet/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define BATTERY_MS        60000u
#define BATTERY_MAX_BYTES ((size_t)1 << 20)
#define HELD_DAY_S        (24u * 3600u)
#define HELD_FILE         "held" /* DIGEST TIME; gone with the next start */

/* ---- the scratch stores ---- */

static void store_release(struct qs_store **store)
{
    qs_store_close(*store);
}
static void txn_release(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

static enum qs_status make_store(enum qs_scope scope, const char *root, struct qs_store **ret_store,
                                 struct qs_error *err)
{
    enum qs_status status =
        qs_store_open(scope, &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root},
                      ret_store, err);
    if (!status)
        status =
            qs_store_init(*ret_store,
                          &(struct qs_init_options){.size = sizeof(struct qs_init_options), .no_require_store = true},
                          err);
    return status;
}

static enum qs_status fill_system(const char *root, const char *document, size_t len, struct qs_error *err)
{
    AUTO(store_release) struct qs_store *store = NULL;
    AUTO(txn_release) struct qs_txn *txn = NULL;
    enum qs_status status = make_store(QS_SCOPE_SYSTEM, root, &store, err);
    if (!status)
        status = qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, err);
    if (!status)
        status = qs_txn_apply(txn, "bundle", document, len, QS_FORMAT_JSON, true, err);
    return status ? status : qs_txn_commit(txn, NULL, NULL, err);
}

/* Those of the machine, since they complete or narrow a policy. An absent store stays absent. */
static enum qs_status copy_defaults(const struct machine *machine, const char *root, struct qs_error *err)
{
    AUTO(store_release) struct qs_store *from = NULL;
    AUTO(store_release) struct qs_store *to = NULL;
    char backup[QS_PATH_MAX_BYTES + 64];
    (void)snprintf(backup, sizeof backup, "%s/defaults.backup", root);
    enum qs_status status =
        qs_store_open(QS_SCOPE_DEFAULTS,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = machine->site.root},
                      &from, err);
    if (!status)
        status = qs_store_backup(from, backup, true, err);
    if (status)
        return status == QS_ABSENT ? QS_OK : status;
    status = make_store(QS_SCOPE_DEFAULTS, root, &to, err);
    return status ? status : qs_store_restore(to, backup, QS_DEFAULT_WAIT_MS, NULL, err);
}

static void remove_tree(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        (void)execl("/bin/rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- the program ---- */

const char *site_battery_user = "qfleet-battery";

/* Root runs it as somebody else, or not at all. */
static bool may_run(const struct passwd **ret_user)
{
    bool is_root = qs_os->geteuid() == 0;
    *ret_user = is_root && site_battery_user ? getpwnam(site_battery_user) : NULL;
    return !is_root || *ret_user;
}

/* In the child: another user, nothing of ours but its standard output. */
static void become_battery(const struct passwd *user, const char *root, int out_fd)
{
    char program[QS_PATH_MAX_BYTES + 16] = "/usr/bin/qsandbox";
    const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", NULL, NULL};
    const char *command[] = {"qsandbox", "--root", root, "verify", "--json", NULL};
    AUTO_FREE char *home = NULL;
    ssize_t len = readlink("/proc/self/exe", program, QS_PATH_MAX_BYTES);
    char *slash = len > 0 ? memrchr(program, '/', (size_t)len) : NULL;
    (void)snprintf(slash ? slash : program, slash ? 16 : sizeof program, "%s",
                   slash ? "/qsandbox" : "/usr/bin/qsandbox");
    int null_fd = open("/dev/null", O_RDWR);
    (void)setpgid(0, 0);
    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
        dup2(null_fd, STDERR_FILENO) < 0)
        _exit(126);
    if (user && (initgroups(user->pw_name, user->pw_gid) || setgid(user->pw_gid) || setuid(user->pw_uid) ||
                 chdir(user->pw_dir) || asprintf(&home, "HOME=%s", user->pw_dir) < 0))
        _exit(126);
    env[2] = home;
    (void)execve(program, (char *const *)command, (char *const *)env);
    _exit(127);
}

static void hear(int fd, struct buf *out)
{
    char piece[4096];
    uint64_t deadline = qs_os->monotonic_ms() + BATTERY_MS;
    for (;;) {
        uint64_t now = qs_os->monotonic_ms();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int got = now < deadline ? poll(&ready, 1, (int)(deadline - now)) : 0;
        ssize_t len = got > 0 ? read(fd, piece, sizeof piece) : 0;
        if ((got < 0 || len < 0) && errno == EINTR)
            continue;
        if (len <= 0 || out->len > BATTERY_MAX_BYTES)
            return;
        buf_add(out, piece, (size_t)len);
    }
}

/* The names of the checks that fail; NULL: it could not be run. */
static json_t *failures_of(const struct buf *text)
{
    AUTO(value_release) json_t *root = NULL;
    size_t i;
    json_t *checks = NULL, *check, *failed = json_array();
    if (!text->failed && !value_decode(text->data ? text->data : "", text->len, &root, NULL))
        checks = json_object_get(root, "checks");
    if (!json_is_array(checks) || !json_array_size(checks)) {
        json_decref(failed);
        return NULL;
    }
    json_array_foreach(checks, i, check)
    {
        const char *name = json_string_value(json_object_get(check, "name"));
        const char *result = json_string_value(json_object_get(check, "result"));
        if (name && (!result || !strcmp(result, "fail")))
            (void)json_array_append_new(failed, json_string(name));
    }
    return failed;
}

static json_t *run_verify(const char *root)
{
    AUTO(buf_release) struct buf text = {.max_bytes = 2 * BATTERY_MAX_BYTES};
    const struct passwd *user = NULL;
    int ends[2], code = 0;
    if (!may_run(&user) || pipe2(ends, O_CLOEXEC))
        return NULL;
    pid_t child = fork();
    if (child == 0)
        become_battery(user, root, ends[1]);
    (void)close(ends[1]);
    if (child > 0) {
        hear(ends[0], &text);
        (void)kill(-child, SIGKILL);
        while (waitpid(child, &code, 0) < 0 && errno == EINTR)
            ;
    }
    (void)close(ends[0]);
    return child > 0 ? failures_of(&text) : NULL;
}

/* QS_OK with *ret_failed NULL: it could not be run here. */
static enum qs_status try_document(const struct machine *machine, const json_t *document, json_t **ret_failed,
                                   struct qs_error *err)
{
    char root[QS_PATH_MAX_BYTES + 24];
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    const struct passwd *user;
    *ret_failed = NULL;
    if (!may_run(&user))
        return QS_OK;
    enum qs_status status = site_make(&machine->site, SITE_RUN, 0755, NULL, err);
    (void)snprintf(root, sizeof root, "%s/battery-XXXXXX", machine->site.dirs[SITE_RUN]);
    if (!status && (!mkdtemp(root) || chmod(root, 0755)))
        return error_sys(err, QS_IO, errno, "a scratch store for the battery cannot be made");
    if (!status)
        status = value_encode_text(document, &text, &len, err);
    if (!status)
        status = fill_system(root, text, len, err);
    if (!status)
        status = copy_defaults(machine, root, err);
    if (!status)
        *ret_failed = run_verify(root);
    remove_tree(root);
    return status;
}

/* ---- what follows ---- */

static bool has_policy(const json_t *document)
{
    return json_object_get(json_object_get(document, "tools"), "executionSandbox") != NULL;
}

static bool names(const json_t *list, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) if (!strcmp(json_string_value(item), name)) return true;
    return false;
}

/* Does the candidate fail anything that the present policy does not? */
static bool is_worse(const json_t *candidate, const json_t *present)
{
    size_t i;
    json_t *item;
    json_array_foreach(candidate, i, item) if (!names(present, json_string_value(item))) return true;
    return false;
}

static enum qs_status try_present(const struct machine *machine, json_t **ret_failed, struct qs_error *err)
{
    AUTO(value_release) json_t *document = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    *ret_failed = NULL;
    enum qs_status status = qs_snapshot_json(machine->snapshot, NULL, &text, &len, err);
    if (!status)
        status = value_decode(text, len, &document, err);
    if (!status)
        (void)json_object_del(document, "fleet");
    if (status || !has_policy(document))
        return status;
    return try_document(machine, document, ret_failed, err);
}

static bool was_held(const struct machine *machine, const char *digest)
{
    AUTO(buf_release) struct buf line = {0};
    char expected[HEX_DIGEST_BYTES + 1];
    (void)snprintf(expected, sizeof expected, "%s ", digest);
    if (site_read(&machine->site, SITE_RUN, HELD_FILE, 128, &line, NULL) || line.len < sizeof expected ||
        memcmp(line.data, expected, sizeof expected - 1) != 0)
        return false;
    uint64_t since = 0;
    struct qs_bytes number = {line.data + sizeof expected - 1, line.len - sizeof expected + 1};
    return number_line_parse(number, &since) && since <= machine->clock && machine->clock < since + HELD_DAY_S;
}

static void note_held(const struct machine *machine, const char *digest)
{
    char line[128];
    (void)snprintf(line, sizeof line, "%s %llu\n", digest, (unsigned long long)machine->clock);
    (void)!site_write(&machine->site, SITE_RUN, HELD_FILE, 0600, (struct qs_bytes){line, strlen(line)}, NULL);
}

enum qs_status machine_battery(struct machine *machine, const struct bundle *content, bool *ret_held,
                               struct qs_error *err)
{
    AUTO(value_release) json_t *present = NULL;
    char digest[HEX_DIGEST_BYTES];
    *ret_held = false;
    if (!has_policy(content->document)) {
        machine->battery = "none";
        return QS_OK;
    }
    hex_format(machine->bundle.digest, QS_DIGEST_BYTES, digest);
    if (was_held(machine, digest)) {
        *ret_held = true;
        return QS_OK;
    }
    value_release(&machine->failed);
    enum qs_status status = try_document(machine, content->document, &machine->failed, err);
    bool ran = machine->failed != NULL;
    if (!status && ran && json_array_size(machine->failed))
        status = try_present(machine, &present, err);
    if (status)
        return status;
    bool worse = ran && json_array_size(machine->failed) && present && is_worse(machine->failed, present);
    machine->battery = !ran                                ? "broken"
                       : !json_array_size(machine->failed) ? "pass"
                       : !worse                            ? "broken"
                       : machine->bundle.hold              ? "held"
                                                           : "report";
    *ret_held = worse && machine->bundle.hold;
    if (*ret_held)
        note_held(machine, digest);
    return QS_OK;
}
