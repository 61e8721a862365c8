/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anybody's program as a backend: a shell command saves FILE again and again; FILE is watched by reading it here, or by
 * another shell command whose exit status is its verdict.
 *
 * The verdicts of a reader command are the exit statuses of this project's own programs: 0 fine; 1 (not found), 4 (no
 * policy), 5 (absent) absent; 3 (rejected), 6 (damaged) torn; anything else, and a signal, an error.
 */
#include "stress/backend.h"
#include "stress/command.h"

#include "store/cleanup.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct foreign_session {
    const struct backend_config *config;
    bool json; /* FILE must be JSON */
};

/* Runs a shell command with QSTRESS_PATH, and QSTRESS_WRITER for a writer; as command_run. */
static int run_command(const struct backend_config *config, const char *command, unsigned writer)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%u", writer);
    if (setenv("QSTRESS_PATH", config->path, 1) != 0 || setenv("QSTRESS_WRITER", number, 1) != 0)
        return -1;
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdupa(command), NULL};
    return command_run(argv, NULL);
}

static void describe(char *reason, const char *what, int status)
{
    command_describe(reason, STRESS_REASON_BYTES, what, status);
}

/* The first save must work and make FILE: a mistyped command is no finding about a program. */
static bool foreign_prepare(const struct backend_config *config, char *reason)
{
    int status = run_command(config, config->writer_command, 0);
    if (status != 0) {
        describe(reason, "before the start, the writer command", status);
        return false;
    }
    if (access(config->path, F_OK) != 0) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "the writer command was run once and did not make %.100s",
                       config->path);
        return false;
    }
    return true;
}

static void *foreign_open(const struct backend_config *config, char *reason)
{
    struct foreign_session *session = calloc(1, sizeof *session);
    if (!session) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "no memory");
        return NULL;
    }
    const char *dot = strrchr(config->path, '.');
    session->config = config;
    session->json = config->must_have || (dot && strcmp(dot, ".json") == 0);
    return session;
}

static void foreign_close(void *session)
{
    free(session);
}

/* One step of a JSON Pointer (RFC 6901): the segment's ~1 and ~0 undone, arrays by index. */
static const json_t *step(const json_t *at, const char *segment, size_t len)
{
    char name[512];
    size_t used = 0;
    if (len >= sizeof name)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        bool escape = segment[i] == '~' && i + 1 < len && (segment[i + 1] == '0' || segment[i + 1] == '1');
        name[used++] = escape ? (segment[++i] == '1' ? '/' : '~') : segment[i];
    }
    name[used] = '\0';
    if (!json_is_array(at))
        return json_object_get(at, name);
    char *end = NULL;
    unsigned long index = strtoul(name, &end, 10);
    return used && !*end && (used == 1 || name[0] != '0') ? json_array_get(at, index) : NULL;
}

static bool has_pointer(const json_t *root, const char *pointer)
{
    while (root && *pointer == '/') {
        size_t len = strcspn(pointer + 1, "/");
        root = step(root, pointer + 1, len);
        pointer += 1 + len;
    }
    return root != NULL;
}

static enum verdict judge_text(const struct foreign_session *session, const char *text, size_t len, char *reason)
{
    if (!len) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "the file is empty");
        return VERDICT_TORN;
    }
    if (!session->json)
        return VERDICT_FINE;
    json_error_t error;
    json_t *root = json_loadb(text, len, JSON_DECODE_ANY, &error);
    if (!root) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "not JSON: %zu bytes, line %d: %.100s", len, error.line,
                       error.text);
        return VERDICT_TORN;
    }
    bool found = !session->config->must_have || has_pointer(root, session->config->must_have);
    json_decref(root);
    if (found)
        return VERDICT_FINE;
    (void)snprintf(reason, STRESS_REASON_BYTES, "%.100s is not in it", session->config->must_have);
    return VERDICT_LOST;
}

static void ask_command(const struct foreign_session *session, struct backend_look *ret_look)
{
    int status = run_command(session->config, session->config->reader_command, 0);
    if (status == 0)
        return;
    describe(ret_look->reason, "the reader command", status);
    if (status == 1 || status == 4 || status == 5)
        ret_look->verdict = VERDICT_ABSENT;
    else if (status == 3 || status == 6)
        ret_look->verdict = VERDICT_TORN;
    else
        ret_look->verdict = VERDICT_ERROR;
}

static void foreign_look(void *opened, struct backend_look *ret_look)
{
    const struct foreign_session *session = opened;
    memset(ret_look, 0, sizeof *ret_look);
    if (session->config->reader_command) {
        ask_command(session, ret_look);
        return;
    }
    size_t len = 0;
    AUTO_FREE char *text = file_load(session->config->path, &len);
    if (text) {
        ret_look->verdict = judge_text(session, text, len, ret_look->reason);
        return;
    }
    ret_look->verdict = errno == ENOENT ? VERDICT_ABSENT : VERDICT_ERROR;
    (void)snprintf(ret_look->reason, sizeof ret_look->reason, "open: %s", strerrordesc_np(errno));
}

static void foreign_save(void *opened, unsigned writer, struct backend_save *ret_save)
{
    const struct foreign_session *session = opened;
    memset(ret_save, 0, sizeof *ret_save);
    int status = run_command(session->config, session->config->writer_command, writer);
    ret_save->acknowledged = status == 0;
    if (status != 0)
        describe(ret_save->reason, "the writer command", status);
}

static void foreign_watched(const struct backend_config *config, char *path, size_t size)
{
    (void)snprintf(path, size, "%s", config->path);
}

const struct backend backend_foreign = {"foreign",    "a foreign program", foreign_prepare, foreign_open,
                                        foreign_look, foreign_save,        foreign_close,   foreign_watched};
