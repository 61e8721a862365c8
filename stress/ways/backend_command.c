/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another program as a backend: a shell command saves FILE again and again. FILE is read here, or by another shell
 * command whose exit status is its verdict.
 *
 * The verdicts of a reader command are the exit statuses of this project's own programs: 0 fine; 1 (not found), 4 (no
 * policy), 5 (absent) absent; 3 (rejected), 6 (damaged) torn; anything else, and a signal, an error.
 */
#include "stress/harness/stress.h"
#include "stress/ways/backend.h"

#include "base/cleanup.h"
#include "text/doc.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct foreign_client {
    const struct backend_config *config;
    bool parses; /* FILE must be a document */
};

/* Runs a shell command with QSTRESS_PATH, and QSTRESS_WRITER for a writer. Its status as by command_run; if that is
 * not 0, reason says so, with the first line of what it printed. */
static int run_command(const struct backend_config *config, const char *what, const char *command, unsigned writer,
                       char *reason)
{
    char number[16];
    char output[4096];
    (void)snprintf(number, sizeof number, "%u", writer);
    (void)snprintf(output, sizeof output, "%s/output/%ld", config->dir, (long)getpid());
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdupa(command), NULL};
    int status = -1;
    if (setenv("QSTRESS_PATH", config->path, 1) == 0 && setenv("QSTRESS_WRITER", number, 1) == 0)
        status = command_run(argv, output);
    if (status != 0) {
        command_describe(reason, STRESS_REASON_BYTES, what, status);
        command_first_line(reason, STRESS_REASON_BYTES, output);
    }
    return status;
}

/* The first save must work and make FILE: a mistyped command is no finding about a program. */
static bool foreign_prepare(const struct backend_config *config, char *reason)
{
    char outputs[4096];
    (void)snprintf(outputs, sizeof outputs, "%s/output", config->dir);
    /* Readers may be another user, and each process has a file of its own in it. */
    if (mkdir(outputs, 0700) != 0 || chmod(outputs, 01777) != 0) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "%.100s: %s", outputs, strerrordesc_np(errno));
        return false;
    }
    if (run_command(config, "before the start, the writer command", config->writer_command, 0, reason) != 0)
        return false;
    if (access(config->path, F_OK) != 0) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "the writer command was run once and did not make %.100s",
                       config->path);
        return false;
    }
    return true;
}

/* Only of these endings is it known how the content must look. */
static bool is_document(const char *path)
{
    static const char *const endings[] = {".json", ".jsonc", ".yaml", ".yml"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static void *foreign_open(const struct backend_config *config, char *reason)
{
    struct foreign_client *client = calloc(1, sizeof *client);
    if (!client) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "out of memory");
        return NULL;
    }
    client->config = config;
    client->parses = config->must_have || is_document(config->path);
    return client;
}

static void foreign_close(void *client)
{
    free(client);
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

static enum verdict judge_text(const struct foreign_client *client, const char *text, size_t len, char *reason)
{
    if (!len) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "the file is empty");
        return VERDICT_TORN;
    }
    if (!client->parses)
        return VERDICT_FINE;
    struct qs_error err = {0};
    struct doc *doc = NULL;
    if (doc_parse_value(client->config->path, text, len, doc_format_of(client->config->path), &doc, &err) != QS_OK) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "does not parse: %zu bytes, line %u: %.120s", len, err.line,
                       err.message);
        return VERDICT_TORN;
    }
    bool found = !client->config->must_have || has_pointer(doc_root(doc), client->config->must_have);
    doc_free(doc);
    if (found)
        return VERDICT_FINE;
    (void)snprintf(reason, STRESS_REASON_BYTES, "%.100s is missing", client->config->must_have);
    return VERDICT_LOST;
}

static void ask_command(const struct foreign_client *client, struct backend_look *ret_look)
{
    int status = run_command(client->config, "the reader command", client->config->reader_command, 0, ret_look->reason);
    if (status == 0)
        return;
    if (status == 1 || status == 4 || status == 5)
        ret_look->verdict = VERDICT_ABSENT;
    else if (status == 3 || status == 6)
        ret_look->verdict = VERDICT_TORN;
    else
        ret_look->verdict = VERDICT_ERROR;
}

static void foreign_look(void *opened, struct backend_look *ret_look)
{
    const struct foreign_client *client = opened;
    memset(ret_look, 0, sizeof *ret_look);
    if (client->config->reader_command) {
        ask_command(client, ret_look);
        return;
    }
    size_t len = 0;
    AUTO_FREE char *text = file_load(client->config->path, &len);
    if (text) {
        ret_look->verdict = judge_text(client, text, len, ret_look->reason);
        return;
    }
    ret_look->verdict = errno == ENOENT ? VERDICT_ABSENT : VERDICT_ERROR;
    (void)snprintf(ret_look->reason, sizeof ret_look->reason, "open: %s", strerrordesc_np(errno));
}

static void foreign_save(void *opened, unsigned writer, struct backend_save *ret_save)
{
    const struct foreign_client *client = opened;
    memset(ret_save, 0, sizeof *ret_save);
    ret_save->acknowledged = run_command(client->config, "the writer command", client->config->writer_command, writer,
                                         ret_save->reason) == 0;
}

static void foreign_watched(const struct backend_config *config, char *path, size_t size)
{
    (void)snprintf(path, size, "%s", config->path);
}

const struct backend backend_foreign = {"foreign",    "a foreign program", foreign_prepare, foreign_open,
                                        foreign_look, foreign_save,        foreign_close,   foreign_watched};
