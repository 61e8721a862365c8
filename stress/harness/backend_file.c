/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four file ways as backends. Their writers do what programs with such files do: read the whole file, change one
 * thing in memory, save the whole again. A missing file is empty settings to them; one that does not parse is tried
 * again, and after a while begun anew, as a user does who deletes the broken file.
 */
#include "stress/harness/backend.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PARSE_TRIES 20

struct file_session {
    enum file_way way;
    struct document_shape shape;
    char path[4096];
};

static void file_path(const struct backend_config *config, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/settings.json", config->dir);
}

static bool file_prepare(const struct backend_config *config, char *reason)
{
    char path[4096];
    struct buf text = {0};
    struct document first = {.generation = 1, .writer = DOCUMENT_NOBODY};
    file_path(config, path, sizeof path);
    document_write(&first, config->shape, &text);
    bool ok = !text.failed && file_save(FILE_RENAME_OVER, false, path, text.data, text.len, reason);
    buf_release(&text);
    return ok;
}

static void *file_open(enum file_way way, const struct backend_config *config, char *reason)
{
    struct file_session *session = calloc(1, sizeof *session);
    if (!session) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "no memory");
        return NULL;
    }
    session->way = way;
    session->shape = config->shape;
    file_path(config, session->path, sizeof session->path);
    return session;
}

static void file_close(void *session)
{
    free(session);
}

static void file_look(void *opened, struct backend_look *ret_look)
{
    const struct file_session *session = opened;
    struct document_reader reader;
    size_t len = 0;
    AUTO_FREE char *text = file_load(session->path, &len);
    memset(ret_look, 0, sizeof *ret_look);
    if (!text) {
        ret_look->verdict = errno == ENOENT ? VERDICT_ABSENT : VERDICT_ERROR;
        (void)snprintf(ret_look->reason, sizeof ret_look->reason, "open: %s", strerrordesc_np(errno));
    } else if (!document_read(&reader, session->shape, text, len)) {
        ret_look->verdict = VERDICT_TORN;
        memcpy(ret_look->reason, reader.reason, sizeof ret_look->reason);
    } else {
        ret_look->has_document = true;
        ret_look->document = reader.document;
    }
}

static void file_change(void *opened, unsigned writer, struct backend_save *ret_save)
{
    const struct file_session *session = opened;
    struct backend_look look;
    memset(ret_save, 0, sizeof *ret_save);
    int tries = 0;
    do
        file_look(opened, &look);
    while (look.verdict == VERDICT_TORN && ++tries < PARSE_TRIES);
    if (look.verdict == VERDICT_ERROR) {
        memcpy(ret_save->reason, look.reason, sizeof ret_save->reason);
        return;
    }
    struct document next = look.document; /* all zero where there was none to be had */
    ret_save->has_seen = true;
    ret_save->seen = next.counters[writer];
    next.counters[writer]++;
    next.generation++;
    next.writer = writer;
    struct buf text = {0};
    document_write(&next, session->shape, &text);
    if (text.failed)
        (void)snprintf(ret_save->reason, sizeof ret_save->reason, "no memory");
    else
        ret_save->acknowledged = file_save(session->way, false, session->path, text.data, text.len, ret_save->reason);
    ret_save->generation = next.generation;
    buf_release(&text);
}

#define FILE_BACKEND(symbol, label, file_way_, text) \
    static void *open_##symbol(const struct backend_config *config, char *reason) \
    { \
        return file_open(file_way_, config, reason); \
    } \
    const struct backend backend_##symbol = {label,     text,        file_prepare, open_##symbol, \
                                             file_look, file_change, file_close,   file_path}

FILE_BACKEND(rename_away, "rename-away", FILE_RENAME_AWAY,
             "shared temp, target renamed to a backup, temp renamed into place, no lock");
FILE_BACKEND(in_place, "in-place", FILE_IN_PLACE, "truncate and write");
FILE_BACKEND(copy_backup, "copy-backup", FILE_COPY_BACKUP, "copy to a backup, own temp, rename over, no lock");
FILE_BACKEND(rename_over, "rename-over", FILE_RENAME_OVER, "own temp, rename over, no lock");
