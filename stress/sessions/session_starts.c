/* SPDX-License-Identifier: Apache-2.0 */
/* How sessions start: with the policy in a settings file, through qsandbox, and with the policy in the store. */
#include "stress/sessions/sessions.h"

#include "qsettings/maintenance.h"
#include "qsettings/policy.h"
#include "qsettings/txn.h"

#include "base/cleanup.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Policy in a settings file, read as such programs read it: a file that is not there is no policy, and no policy is no
 * confinement. A file that does not parse makes the program refuse, as an exception does.
 */

#define OTHER_SETTINGS 60

static void settings_path(const struct sessions_config *config, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/settings.json", config->dir);
}

/* The policy among other settings, as in a user's file. */
static void settings_text(uint64_t number, struct buf *out)
{
    buf_printf(
        out,
        "{\n  \"tools\": {\"executionSandbox\": {\"filesystem\": \"%s\", \"network\": \"closed\"}},\n  \"other\": {",
        number % 2 ? "read-only" : "workspace-write");
    for (unsigned i = 0; i < OTHER_SETTINGS; i++)
        buf_printf(out, "%s\n    \"setting%02u\": \"value %llu\"", i ? "," : "", i, (unsigned long long)number);
    buf_add_str(out, "\n  }\n}\n");
}

static bool save_way(enum file_way way, const struct sessions_config *config, uint64_t number, char *reason)
{
    char path[4096];
    struct buf text = {0};
    settings_path(config, path, sizeof path);
    settings_text(number, &text);
    bool ok = !text.failed && file_save(way, false, path, text.data, text.len, reason);
    buf_release(&text);
    return ok;
}

static bool file_prepare(const struct sessions_config *config, char *reason)
{
    return save_way(FILE_RENAME_OVER, config, 0, reason);
}

static enum start file_judge(const char *text, size_t len, char *reason)
{
    json_error_t error;
    json_t *root = json_loadb(text, len, 0, &error);
    if (!root) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "not JSON: %zu bytes, line %d: %.100s", len, error.line,
                       error.text);
        return START_REFUSED;
    }
    const json_t *policy = json_object_get(json_object_get(root, "tools"), "executionSandbox");
    const char *network = json_string_value(json_object_get(policy, "network"));
    bool confines = network && strcmp(network, "closed") == 0;
    json_decref(root);
    if (confines)
        return START_CONFINED;
    (void)snprintf(reason, STRESS_REASON_BYTES, "the file has no policy that confines");
    return START_UNCONFINED;
}

static enum start file_start(const struct sessions_config *config, uint64_t number, char *reason)
{
    char path[4096];
    size_t len = 0;
    (void)number;
    settings_path(config, path, sizeof path);
    if (config->reader == READER_TWICE && access(path, F_OK) != 0) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "the file does not exist, so there is no policy");
        return START_UNCONFINED;
    }
    AUTO_FREE char *text = file_load(path, &len);
    if (text)
        return file_judge(text, len, reason);
    (void)snprintf(reason, STRESS_REASON_BYTES, "open: %s", strerrordesc_np(errno));
    return errno == ENOENT ? START_UNCONFINED : START_REFUSED;
}

static bool save_rename_away(const struct sessions_config *config, uint64_t number, char *reason)
{
    return save_way(FILE_RENAME_AWAY, config, number, reason);
}

static bool save_in_place(const struct sessions_config *config, uint64_t number, char *reason)
{
    return save_way(FILE_IN_PLACE, config, number, reason);
}

static bool save_copy_backup(const struct sessions_config *config, uint64_t number, char *reason)
{
    return save_way(FILE_COPY_BACKUP, config, number, reason);
}

static bool save_rename_over(const struct sessions_config *config, uint64_t number, char *reason)
{
    return save_way(FILE_RENAME_OVER, config, number, reason);
}

const struct session_way *session_way_file(enum file_way way)
{
    static const struct session_way ways[] = {
        [FILE_RENAME_AWAY] = {file_prepare, save_rename_away, file_start},
        [FILE_IN_PLACE] = {file_prepare, save_in_place, file_start},
        [FILE_COPY_BACKUP] = {file_prepare, save_copy_backup, file_start},
        [FILE_RENAME_OVER] = {file_prepare, save_rename_over, file_start},
    };
    return &ways[way];
}

/*
 * A start through qsandbox: its command tries to write a file outside the workspace. What the host then finds decides:
 * the file is there, so the command ran unconfined; it is not, so it was confined or, by qsandbox's status, never ran.
 */

#define PROBE_WROTE  42 /* it could write there, by its own view; under a private /tmp that is not the host's */
#define PROBE_BARRED 43

static enum start sandbox_start(const struct sessions_config *config, uint64_t number, char *reason)
{
    char outside[4096];
    char workspace[4096];
    char root[4096];
    char output[4096];
    char program[4096];
    (void)snprintf(outside, sizeof outside, "%s/outside-%llu", config->dir, (unsigned long long)number);
    (void)snprintf(workspace, sizeof workspace, "%s/workspace-%ld", config->dir, (long)getpid());
    (void)snprintf(output, sizeof output, "%s/output-%ld", config->dir, (long)getpid());
    (void)snprintf(root, sizeof root, "%s/root", config->dir);
    (void)snprintf(program, sizeof program, "%s", config->qsandbox);
    if (mkdir(workspace, 0755) != 0 && errno != EEXIST) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "workspace: %s", strerrordesc_np(errno));
        return START_REFUSED;
    }
    char *argv[] = {program,
                    (char[]){"--root"},
                    root,
                    (char[]){"run"},
                    (char[]){"--workspace"},
                    workspace,
                    (char[]){"--"},
                    (char[]){"/bin/sh"},
                    (char[]){"-c"},
                    (char[]){"(: >\"$1\") 2>/dev/null && exit 42; exit 43"},
                    (char[]){"probe"},
                    outside,
                    NULL};
    int status = command_run(argv, output);
    if (access(outside, F_OK) == 0) {
        (void)unlink(outside);
        (void)snprintf(reason, STRESS_REASON_BYTES, "the command wrote outside its workspace");
        return START_UNCONFINED;
    }
    if (status == PROBE_WROTE || status == PROBE_BARRED)
        return START_CONFINED;
    command_describe(reason, STRESS_REASON_BYTES, "qsandbox", status);
    command_first_line(reason, STRESS_REASON_BYTES, output);
    return START_REFUSED;
}

/*
 * Policy in the store, read by the library's policy read. The start is as careless as those with files: it takes "none"
 * and "absent" for leave to run unconfined, which the library's own programs never do. So a zero here is the store's
 * merit.
 */

static void told(char *reason, const struct qs_error *err)
{
    (void)snprintf(reason, STRESS_REASON_BYTES, "%s: %.150s", qs_status_name(err->status), err->message);
}

static void root_path(const struct sessions_config *config, char *root, size_t size)
{
    (void)snprintf(root, size, "%s/root", config->dir);
}

static enum qs_status open_store(const struct sessions_config *config, struct qs_store **ret_store,
                                 struct qs_error *err)
{
    char root[4096];
    root_path(config, root, sizeof root);
    return qs_store_open(QS_SCOPE_SYSTEM,
                         &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, ret_store,
                         err);
}

static enum qs_status save_policy(struct qs_store *store, uint64_t number, struct qs_error *err)
{
    /* No run log and no caches: starts with qsandbox must not write into a home. */
    static const char executor[] = "{\"audit\":\"off\",\"caches\":\"none\"}";
    char policy[200];
    int len = snprintf(policy, sizeof policy, "{\"filesystem\":\"%s\",\"network\":\"closed\"}",
                       number % 2 ? "read-only" : "workspace-write");
    char count[32];
    int count_len = snprintf(count, sizeof count, "%llu", (unsigned long long)number);
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, err);
    if (!status)
        status = qs_txn_set(txn, "tools.executionSandbox", policy, (size_t)len, err);
    if (!status)
        status = qs_txn_set(txn, "executor", executor, sizeof executor - 1, err);
    if (!status)
        status = qs_txn_set(txn, "qstress.number", count, (size_t)count_len, err);
    if (!status)
        status = qs_txn_commit(txn, NULL, &info, err);
    qs_txn_free(txn);
    return status;
}

static bool store_save(const struct sessions_config *config, uint64_t number, char *reason)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    enum qs_status status = open_store(config, &store, &err);
    if (!status)
        status = save_policy(store, number, &err);
    qs_store_close(store);
    if (status)
        told(reason, &err);
    return status == QS_OK;
}

static bool store_prepare(const struct sessions_config *config, char *reason)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    enum qs_status status = open_store(config, &store, &err);
    if (!status)
        status = qs_store_init(store, NULL, &err);
    qs_store_close(store);
    if (status) {
        told(reason, &err);
        return false;
    }
    return store_save(config, 0, reason);
}

static enum start read_once(const struct sessions_config *config, char *reason)
{
    char root[4096];
    struct qs_error err = {0};
    struct qs_policy_result *result = NULL;
    root_path(config, root, sizeof root);
    enum qs_status status =
        qs_policy_read(&(struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = root}, &result,
                       &err);
    enum start start = START_REFUSED;
    if (!status)
        start = qs_policy_get(result)->network == QS_NET_CLOSED ? START_CONFINED : START_UNCONFINED;
    else if (status == QS_NO_POLICY || status == QS_ABSENT)
        start = START_UNCONFINED;
    qs_policy_free(result);
    if (status)
        told(reason, &err);
    else if (start == START_UNCONFINED)
        (void)snprintf(reason, STRESS_REASON_BYTES, "the policy is not one that was saved");
    return start;
}

static enum start store_start(const struct sessions_config *config, uint64_t number, char *reason)
{
    if (config->reader == READER_SANDBOX)
        return sandbox_start(config, number, reason);
    enum start first = read_once(config, reason);
    if (config->reader == READER_ONCE || first != START_CONFINED)
        return first;
    return read_once(config, reason);
}

const struct session_way session_way_store = {store_prepare, store_save, store_start};
