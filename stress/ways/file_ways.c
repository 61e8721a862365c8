/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How programs save a settings file, step by step. Their faults are the point.
 *
 * rename-away is the way of Qwen Code 0.24.4 (packages/cli, its settings writer): the temp and the backup have fixed
 * names that all writers share, there is no lock, and between the two renames the file does not exist.
 */
#include "stress/ways/backend.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool failed(char *reason, const char *step, const char *path)
{
    (void)snprintf(reason, STRESS_REASON_BYTES, "%s %.100s: %s", step, path, strerrordesc_np(errno));
    return false;
}

char *file_load(const char *path, size_t *ret_len)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct buf text = {0};
    for (;;) {
        char chunk[16384];
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            buf_release(&text);
            return NULL;
        }
        if (n == 0)
            break;
        buf_add(&text, chunk, (size_t)n);
    }
    char *data = buf_steal(&text, ret_len);
    if (!data)
        errno = ENOMEM;
    return data;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_file(const char *path, int flags, bool flush, const void *data, size_t len, char *reason)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    if (fd < 0)
        return failed(reason, "open", path);
    bool ok = write_all(fd, data, len) && (!flush || fsync(fd) == 0);
    int saved = errno;
    if (close(fd) != 0 && ok)
        return failed(reason, "close", path);
    errno = saved;
    return ok || failed(reason, "write", path);
}

static bool flush_directory(const char *path, char *reason)
{
    char copy[4096];
    (void)snprintf(copy, sizeof copy, "%s", path);
    AUTO_FD int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || failed(reason, "flush the directory of", path);
}

static bool rename_away(bool flush, const char *path, const void *data, size_t len, char *reason)
{
    char temp[4096];
    char backup[4096];
    (void)snprintf(temp, sizeof temp, "%s.tmp", path);
    (void)snprintf(backup, sizeof backup, "%s.orig", path);
    if (!write_file(temp, O_TRUNC, flush, data, len, reason))
        return false;
    if (access(path, F_OK) == 0 && rename(path, backup) != 0)
        return failed(reason, "rename away", path);
    if (rename(temp, path) != 0) {
        int saved = errno;
        /* It puts the backup back when that is still there, and reports the failure. */
        if (access(path, F_OK) != 0)
            (void)rename(backup, path);
        errno = saved;
        return failed(reason, "rename into place", path);
    }
    (void)unlink(backup);
    return !flush || flush_directory(path, reason);
}

static bool rename_over(bool flush, const char *path, const void *data, size_t len, char *reason)
{
    char temp[4096];
    (void)snprintf(temp, sizeof temp, "%s.%ld.tmp", path, (long)getpid());
    if (!write_file(temp, O_TRUNC, flush, data, len, reason))
        return false;
    if (rename(temp, path) != 0) {
        (void)failed(reason, "rename over", path);
        (void)unlink(temp);
        return false;
    }
    return !flush || flush_directory(path, reason);
}

static bool copy_backup(bool flush, const char *path, const void *data, size_t len, char *reason)
{
    char backup[4096];
    (void)snprintf(backup, sizeof backup, "%s.orig", path);
    size_t old_len = 0;
    AUTO_FREE char *old = file_load(path, &old_len);
    if (!old && errno != ENOENT)
        return failed(reason, "read", path);
    if (old && !write_file(backup, O_TRUNC, flush, old, old_len, reason))
        return false;
    return rename_over(flush, path, data, len, reason);
}

bool file_save(enum file_way way, bool flush, const char *path, const void *data, size_t len, char *reason)
{
    switch (way) {
    case FILE_RENAME_AWAY:
        return rename_away(flush, path, data, len, reason);
    case FILE_IN_PLACE:
        return write_file(path, O_TRUNC, flush, data, len, reason);
    case FILE_COPY_BACKUP:
        return copy_backup(flush, path, data, len, reason);
    case FILE_RENAME_OVER:
        return rename_over(flush, path, data, len, reason);
    }
    return false;
}

/* ---- as backends ---- */

/*
 * The four file ways as backends. Their writers do what programs with such files do: read the whole file, change one
 * thing in memory, save the whole again. A missing file is empty settings to them; one that does not parse is tried
 * again, and after a while begun anew, as a user does who deletes the broken file.
 */
#define PARSE_TRIES 20

struct file_client {
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
    struct file_client *client = calloc(1, sizeof *client);
    if (!client) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "out of memory");
        return NULL;
    }
    client->way = way;
    client->shape = config->shape;
    file_path(config, client->path, sizeof client->path);
    return client;
}

static void file_close(void *client)
{
    free(client);
}

static void file_look(void *opened, struct backend_look *ret_look)
{
    const struct file_client *client = opened;
    struct document_reader reader;
    size_t len = 0;
    AUTO_FREE char *text = file_load(client->path, &len);
    memset(ret_look, 0, sizeof *ret_look);
    if (!text) {
        ret_look->verdict = errno == ENOENT ? VERDICT_ABSENT : VERDICT_ERROR;
        (void)snprintf(ret_look->reason, sizeof ret_look->reason, "open: %s", strerrordesc_np(errno));
    } else if (!document_read(&reader, client->shape, text, len)) {
        ret_look->verdict = VERDICT_TORN;
        memcpy(ret_look->reason, reader.reason, sizeof ret_look->reason);
    } else {
        ret_look->has_document = true;
        ret_look->document = reader.document;
    }
}

static void file_change(void *opened, unsigned writer, struct backend_save *ret_save)
{
    const struct file_client *client = opened;
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
    struct document next = look.document; /* all zero if there was none */
    ret_save->has_seen = true;
    ret_save->seen = next.counters[writer];
    next.counters[writer]++;
    next.generation++;
    next.writer = writer;
    struct buf text = {0};
    document_write(&next, client->shape, &text);
    if (text.failed)
        (void)snprintf(ret_save->reason, sizeof ret_save->reason, "out of memory");
    else
        ret_save->acknowledged = file_save(client->way, false, client->path, text.data, text.len, ret_save->reason);
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
