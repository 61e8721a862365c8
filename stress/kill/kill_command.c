/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A foreign program under the kill harness: a command line that writes one file. All that is known of the file is that
 * it was whole before and must be whole after: JSON, or what a checking command accepts.
 */
#include "stress/kill/kill.h"
#include "stress/ways/backend.h"

#include "base/cleanup.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_shell(const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static bool prepare_foreign(const struct kill_context *context, char *why)
{
    char reason[STRESS_REASON_BYTES] = "";
    if (!context->original) {
        if (unlink(context->path) == 0 || errno == ENOENT)
            return true;
        (void)snprintf(why, KILL_TEXT_BYTES, "cannot remove %.200s: %s", context->path, strerrordesc_np(errno));
        return false;
    }
    if (file_save(FILE_IN_PLACE, false, context->path, context->original, context->original_len, reason))
        return true;
    (void)snprintf(why, KILL_TEXT_BYTES, "%s", reason);
    return false;
}

static bool run_foreign(const struct kill_context *context, char *why)
{
    int status = run_shell(context->command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    (void)snprintf(why, KILL_TEXT_BYTES, "the command ended with wait status %#x", (unsigned)status);
    return false;
}

static void look_foreign(const struct kill_context *context, struct kill_look *ret_look)
{
    size_t len = 0;
    AUTO_FREE char *text = file_load(context->path, &len);
    *ret_look = (struct kill_look){.absent = !text && errno == ENOENT, .refused = !text && errno != ENOENT};
    if (!text) {
        (void)snprintf(ret_look->why, sizeof ret_look->why, "open: %s", strerrordesc_np(errno));
        return;
    }
    if (context->check) {
        int status = run_shell(context->check);
        ret_look->torn = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        (void)snprintf(ret_look->why, sizeof ret_look->why, "the check ended with wait status %#x", (unsigned)status);
        return;
    }
    json_error_t error;
    json_t *root = json_loadb(text, len, JSON_DECODE_ANY, &error);
    ret_look->torn = !root;
    if (!root)
        (void)snprintf(ret_look->why, sizeof ret_look->why, "%zu bytes, line %d: %.160s", len, error.line, error.text);
    json_decref(root);
}

const struct kill_op kill_foreign = {.backend = "command",
                                     .name = "command",
                                     .prepare = prepare_foreign,
                                     .run = run_foreign,
                                     .look = look_foreign,
                                     .foreign = true};
