/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch directories and whole files for tests. */
#include "tests/support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static void die(const char *what, const char *path)
{
    (void)fprintf(stderr, "scratch: %s %s: %s\n", what, path, strerror(errno));
    abort();
}

void scratch_make(struct scratch *scratch)
{
    (void)snprintf(scratch->dir, sizeof scratch->dir, "/tmp/qs-test-XXXXXX");
    if (!mkdtemp(scratch->dir) || chmod(scratch->dir, 0755) != 0)
        die("cannot make", scratch->dir);
}

void scratch_make_in_memory(struct scratch *scratch)
{
    (void)snprintf(scratch->dir, sizeof scratch->dir, "/dev/shm/qs-test-XXXXXX");
    if (mkdtemp(scratch->dir)) {
        if (chmod(scratch->dir, 0755) == 0 && setxattr(scratch->dir, "user.probe", "", 0, 0) == 0)
            return;
        (void)rmdir(scratch->dir);
    }
    scratch_make(scratch);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    if (remove(path) != 0)
        die("cannot remove", path);
    return 0;
}

void scratch_remove(struct scratch *scratch)
{
    if (nftw(scratch->dir, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        die("cannot remove", scratch->dir);
}

const char *scratch_path(const struct scratch *scratch, const char *name)
{
    static char ring[16][SCRATCH_PATH_BYTES];
    static unsigned next;
    char *path = ring[next++ % 16];
    (void)snprintf(path, SCRATCH_PATH_BYTES, "%s/%s", scratch->dir, name);
    return path;
}

void scratch_write_bytes(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) != 0)
        die("cannot write", path);
}

void scratch_write(const char *path, const char *text)
{
    scratch_write_bytes(path, text, strlen(text));
}

char *scratch_read(const char *path, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return NULL;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        die("cannot open", path);
    size_t cap = (size_t)st.st_size + 1;
    char *data = malloc(cap);
    ssize_t len = data ? read(fd, data, cap) : -1;
    if (len < 0 || (size_t)len == cap)
        die("cannot read", path);
    (void)close(fd);
    data[len] = '\0';
    if (ret_len)
        *ret_len = (size_t)len;
    return data;
}

bool scratch_holds(const char *path, const char *text)
{
    size_t len = 0;
    char *data = scratch_read(path, &len);
    bool same = data && len == strlen(text) && memcmp(data, text, len) == 0;
    if (!same)
        (void)fprintf(stderr, "# %s holds '%.80s' and not '%.80s'\n", path, data ? data : "(absent)", text);
    free(data);
    return same;
}

bool scratch_exists(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        return true;
    if (errno != ENOENT)
        die("cannot examine", path);
    return false;
}

struct stat scratch_stat(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        die("cannot examine", path);
    return st;
}

static size_t each(const char *dir, const char *prefix, char *ret_first)
{
    DIR *stream = opendir(dir);
    size_t count = 0;
    if (!stream)
        die("cannot list", dir);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) && strcmp(entry->d_name, ".") &&
            strcmp(entry->d_name, "..") && count++ == 0 && ret_first)
            (void)snprintf(ret_first, SCRATCH_PATH_BYTES, "%s/%s", dir, entry->d_name);
    (void)closedir(stream);
    return count;
}

size_t scratch_count(const char *dir, const char *prefix)
{
    return each(dir, prefix, NULL);
}

bool scratch_find(const char *dir, const char *prefix, char *ret_path)
{
    return each(dir, prefix, ret_path) > 0;
}
