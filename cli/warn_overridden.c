/* SPDX-License-Identifier: Apache-2.0 */
/* After a write: does a stronger scope override the value? Then the writer is told, since the write had no effect. */
#include "cli/cli.h"

#include "text/key_path.h"

#include <string.h>

/* Does all of ours count in the effective value? Merged lists and objects contain more than ours. */
static bool contains(const json_t *effective, const json_t *ours)
{
    const char *name;
    json_t *member, *other;
    size_t i, j;
    if (json_is_object(ours) && json_is_object(effective)) {
        json_object_foreach((json_t *)ours, name, member) if (!(other = json_object_get(effective, name)) ||
                                                              !contains(other, member)) return false;
        return true;
    }
    if (json_is_array(ours) && json_is_array(effective)) {
        json_array_foreach(ours, i, member)
        {
            bool found = false;
            json_array_foreach(effective, j, other) found = found || value_equal(other, member);
            if (!found)
                return false;
        }
        return true;
    }
    return value_equal(effective, ours);
}

/* Does the store hold something at, below or above key, or a lock over it? */
static bool concerns(struct cli *cli, enum qs_scope scope, const struct qs_key *key, bool *ret_lock)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    struct qs_bytes name, value;
    if (cli_open(cli, scope, &store, NULL) || qs_snapshot_take(store, &snapshot, NULL))
        return false;
    for (size_t i = 0; i < qs_snapshot_lock_count(snapshot); i++) {
        struct qs_bytes lock = qs_snapshot_lock_at(snapshot, i);
        *ret_lock = *ret_lock || key_covers(lock.data, lock.len, key->bytes, key->len);
    }
    struct qs_iter iter = qs_snapshot_iter(snapshot, key);
    if (qs_iter_next(&iter, &name, &value))
        return true;
    for (struct qs_key above = *key; above.len > 0; qs_key_pop(&above))
        if (!qs_snapshot_get_key(snapshot, &above, &value))
            return true;
    return *ret_lock;
}

static void blame_scope(struct cli *cli, enum qs_scope mine, const struct qs_key *key, const char *path)
{
    /* strongest first; a lock may also stand in a weaker scope (defaults bind the user) */
    for (enum qs_scope scope = QS_SCOPE_SYSTEM; scope >= QS_SCOPE_DEFAULTS; scope--) {
        bool lock = false;
        if (scope == mine || !concerns(cli, scope, key, &lock) || (scope < mine && !lock))
            continue;
        voice_note(&cli->line, path,
                   "the %s scope %s it, so this value has no effect; 'qsettings explain %s' shows more",
                   qs_scope_name(scope), lock ? "locks" : "overrides", path);
        return;
    }
}

void warn_overridden(struct cli *cli, const struct qs_store *store, const char *path, const json_t *value)
{
    struct qs_settings_options options = {.size = sizeof options, .root = cli->line.root, .wait_ms = cli->read_wait_ms};
    AUTO_SETTINGS struct qs_settings *settings = NULL;
    struct qs_error err = {0};
    struct qs_key key;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (qs_store_scope(store) == QS_SCOPE_SYSTEM || qs_key_parse(path, &key, NULL))
        return;
    enum qs_status status = qs_settings_open(&options, &settings, &err);
    if (!status)
        status = qs_settings_json(settings, path, &text, &len, &err);
    if (status && status != QS_NOT_FOUND) {
        voice_note(&cli->line, path, "cannot find out whether a stronger scope overrides it: %s", err.message);
        return;
    }
    AUTO(value_release) json_t *effective = text ? json_canonical(text, len) : NULL;
    if (!effective || !contains(effective, value))
        blame_scope(cli, qs_store_scope(store), &key, path);
}
