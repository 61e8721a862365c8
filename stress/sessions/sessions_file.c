/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy in a settings file, read as such programs read it: a file that is not there is no policy, and no policy is no
 * confinement. A file that does not parse makes the program refuse, as an exception does.
 */
#include "stress/sessions/sessions.h"

#include "base/cleanup.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static bool prepare(const struct sessions_config *config, char *reason)
{
    return save_way(FILE_RENAME_OVER, config, 0, reason);
}

static enum start judge(const char *text, size_t len, char *reason)
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
    (void)snprintf(reason, STRESS_REASON_BYTES, "the file holds no policy that confines");
    return START_UNCONFINED;
}

static enum start start(const struct sessions_config *config, uint64_t number, char *reason)
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
        return judge(text, len, reason);
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
        [FILE_RENAME_AWAY] = {prepare, save_rename_away, start},
        [FILE_IN_PLACE] = {prepare, save_in_place, start},
        [FILE_COPY_BACKUP] = {prepare, save_copy_backup, start},
        [FILE_RENAME_OVER] = {prepare, save_rename_over, start},
    };
    return &ways[way];
}
