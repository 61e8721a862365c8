/* SPDX-License-Identifier: Apache-2.0 */
/* Plain files: JSON read with jansson, the usual durable replacement, and the other programs' formats. */
#include "bench/world.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t plain_json_read(const char *file, const char *group)
{
    json_error_t error;
    json_t *root = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        bench_fail("%s: %s", file, error.text);
    json_t *found = json_object_get(json_object_get(root, "services"), group);
    const char *key = NULL;
    json_t *value = NULL;
    size_t seen = 0;
    json_object_foreach(found, key, value)
    {
        seen += key[0] != '\0' && value != NULL;
    }
    json_decref(root);
    return seen;
}

static void must(bool fine, const char *step)
{
    if (!fine)
        bench_fail("plain file, %s: %s", step, strerror(errno));
}

void plain_replace(const char *dir, const char *name, const void *data, size_t len)
{
    char path[BENCH_PATH_BYTES];
    char temp[BENCH_PATH_BYTES];
    bench_path(path, "%s/%s", dir, name);
    bench_path(temp, "%s/%s.tmp", dir, name);
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    must(fd >= 0, "open");
    must(write(fd, data, len) == (ssize_t)len, "write");
    must(fsync(fd) == 0, "fsync");
    must(close(fd) == 0, "close");
    must(rename(temp, path) == 0, "rename");
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(dir_fd >= 0 && fsync(dir_fd) == 0, "fsync of the directory");
    (void)close(dir_fd);
}

void plain_json_set(const char *dir, const char *name, const char *group, const char *member, unsigned long number)
{
    char path[BENCH_PATH_BYTES];
    json_error_t error;
    bench_path(path, "%s/%s", dir, name);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *found = json_object_get(json_object_get(root, "services"), group);
    if (!found || json_object_set_new(found, member, json_integer((json_int_t)number)))
        bench_fail("%s: %s", path, error.text);
    char *text = json_dumps(root, JSON_INDENT(2));
    must(text != NULL, "text");
    plain_replace(dir, name, text, strlen(text));
    free(text);
    json_decref(root);
}

static FILE *made(const char *file)
{
    FILE *out = fopen(file, "we");
    if (!out)
        bench_fail("%s cannot be made: %s", file, strerror(errno));
    return out;
}

static void finished(FILE *out, const char *file)
{
    if (fclose(out))
        bench_fail("%s cannot be written: %s", file, strerror(errno));
}

static const char *last_name(const char *key)
{
    return strrchr(key, '.') + 1;
}

void plain_git_config(const char *file, const struct corpus *corpus)
{
    FILE *out = made(file);
    for (size_t i = 0; i < corpus->count; i++) {
        if (i % CORPUS_GROUP == 0)
            (void)fprintf(out, "[services \"service-%05zu\"]\n", i / CORPUS_GROUP);
        (void)fprintf(out, "\t%s = \"", last_name(corpus->texts[i]));
        for (const char *c = corpus->values[i]; *c; c++) {
            if (*c == '"')
                (void)fputc('\\', out);
            (void)fputc(*c, out);
        }
        (void)fprintf(out, "\"\n");
    }
    finished(out, file);
}

void plain_dconf_keys(const char *dir, const struct corpus *corpus)
{
    char file[BENCH_PATH_BYTES];
    if (mkdir(dir, 0755))
        bench_fail("%s cannot be made: %s", dir, strerror(errno));
    bench_path(file, "%s/settings", dir);
    FILE *out = made(file);
    for (size_t i = 0; i < corpus->count; i++) {
        if (i % CORPUS_GROUP == 0)
            (void)fprintf(out, "[services/service-%05zu]\n", i / CORPUS_GROUP);
        (void)fprintf(out, "%s=%s\n", last_name(corpus->texts[i]), corpus->values[i]);
    }
    finished(out, file);
}
