/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy in the store, read by the library's policy read. The start is as careless as those with files: it takes "none"
 * and "absent" for leave to run unconfined, which the library's own programs never do. So a zero here is the store's
 * merit.
 */
#include "stress/sessions/sessions.h"

#include "qsettings/maintenance.h"
#include "qsettings/policy.h"
#include "qsettings/txn.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
    /* No journal and no caches: starts with qsandbox are not to write into anybody's home. */
    static const char executor[] = "{\"audit\":\"off\",\"caches\":\"none\"}";
    char policy[200];
    int len = snprintf(policy, sizeof policy, "{\"filesystem\":\"%s\",\"network\":\"closed\"}",
                       number % 2 ? "read-only" : "workspace-write");
    char count[32];
    int count_len = snprintf(count, sizeof count, "%llu", (unsigned long long)number);
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, err);
    if (status == QS_OK)
        status = qs_txn_set(txn, "tools.executionSandbox", policy, (size_t)len, err);
    if (status == QS_OK)
        status = qs_txn_set(txn, "executor", executor, sizeof executor - 1, err);
    if (status == QS_OK)
        status = qs_txn_set(txn, "qstress.number", count, (size_t)count_len, err);
    if (status == QS_OK)
        status = qs_txn_commit(txn, NULL, &info, err);
    qs_txn_free(txn);
    return status;
}

static bool save(const struct sessions_config *config, uint64_t number, char *reason)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    enum qs_status status = open_store(config, &store, &err);
    if (status == QS_OK)
        status = save_policy(store, number, &err);
    qs_store_close(store);
    if (status != QS_OK)
        told(reason, &err);
    return status == QS_OK;
}

static bool prepare(const struct sessions_config *config, char *reason)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    enum qs_status status = open_store(config, &store, &err);
    if (status == QS_OK)
        status = qs_store_init(store, NULL, &err);
    qs_store_close(store);
    if (status != QS_OK) {
        told(reason, &err);
        return false;
    }
    return save(config, 0, reason);
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
    if (status == QS_OK)
        start = qs_policy_get(result)->network == QS_NET_CLOSED ? START_CONFINED : START_UNCONFINED;
    else if (status == QS_NO_POLICY || status == QS_ABSENT)
        start = START_UNCONFINED;
    qs_policy_free(result);
    if (status != QS_OK)
        told(reason, &err);
    else if (start == START_UNCONFINED)
        (void)snprintf(reason, STRESS_REASON_BYTES, "the policy is one that nobody saved");
    return start;
}

static enum start start(const struct sessions_config *config, uint64_t number, char *reason)
{
    if (config->reader == READER_SANDBOX)
        return session_sandbox(config, number, reason);
    enum start first = read_once(config, reason);
    if (config->reader == READER_ONCE || first != START_CONFINED)
        return first;
    return read_once(config, reason);
}

const struct session_way session_way_store = {prepare, save, start};
