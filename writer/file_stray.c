/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What killed calls left beside FILE. Only what provably belongs to a dead writer goes: its lock can be taken. Where
 * the file system has no locks nothing is provable, and it stays. Nothing here is an error of the call at hand.
 */
#include "base/cleanup.h"
#include "base/os.h"
#include "writer/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

/* FNV-1a, 64 bits (draft-eastlake-fnv). It only has to keep the temporaries of neighbours apart, and unlike the digest
 * costs nothing to start with. */
void file_hash(const char *name, char hash[FILE_HASH_BYTES])
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    (void)snprintf(hash, FILE_HASH_BYTES, "%016llx", (unsigned long long)h);
}

/* Opens an entry that is this user's own, and takes its lock; -1 if that cannot be had. */
static int open_dead(const struct file_job *job, const char *name, int kind_flag, mode_t kind)
{
    struct stat st;
    AUTO_FD int fd = os_open_at(job->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | kind_flag, 0, 0);
    uid_t uid = qs_os->geteuid();
    if (fd < 0 || TEMP_FAILURE_RETRY(qs_os->fstat(fd, &st)) != 0 || (st.st_mode & S_IFMT) != kind)
        return -1;
    if (st.st_uid != uid && uid != 0) /* root may have given it away already when it was killed */
        return -1;
    if (TEMP_FAILURE_RETRY(qs_os->flock(fd, LOCK_EX | LOCK_NB)) != 0)
        return -1;
    return steal_fd(&fd);
}

static void remove_entry(const struct file_job *job, const char *name, int flags)
{
    (void)TEMP_FAILURE_RETRY(qs_os->unlinkat(job->dir_fd, name, flags));
}

static void clean_temp(const struct file_job *job, const char *name)
{
    AUTO_FD int fd = open_dead(job, name, 0, S_IFREG);
    if (fd >= 0)
        remove_entry(job, name, 0);
}

/* The link that becomes FILE.bak lives shorter than the temporary of the same call, which has its random part. */
static void clean_backup_link(const struct file_job *job, const char *name)
{
    char temp[FILE_TEMP_BYTES];
    struct stat st;
    (void)snprintf(temp, sizeof temp, ".qs-tmp-%.33s", name + 8);
    if (TEMP_FAILURE_RETRY(qs_os->fstatat(job->dir_fd, temp, &st, AT_SYMLINK_NOFOLLOW)) != 0) {
        if (errno == ENOENT)
            remove_entry(job, name, 0);
        return;
    }
    AUTO_FD int fd = open_dead(job, temp, 0, S_IFREG);
    if (fd >= 0) {
        remove_entry(job, name, 0);
        remove_entry(job, temp, 0);
    }
}

static void clean_swap(const struct file_job *job, const char *name)
{
    AUTO_FD int fd = open_dead(job, name, O_DIRECTORY, S_IFDIR);
    if (fd >= 0 && file_swap_recover(job->dir_fd, job->target.name, fd, name + FILE_TEMP_BYTES))
        remove_entry(job, name, AT_REMOVEDIR);
}

static void clean_entry(const struct file_job *job, const char *name)
{
    size_t len = strlen(name);
    if (len < FILE_TEMP_BYTES - 1 || strncmp(name, ".qs-", 4) != 0 || strncmp(name + 8, job->hash, 16) != 0)
        return;
    if (len == FILE_TEMP_BYTES - 1 && !strncmp(name, ".qs-tmp-", 8))
        clean_temp(job, name);
    else if (len == FILE_TEMP_BYTES - 1 && !strncmp(name, ".qs-bak-", 8))
        clean_backup_link(job, name);
    else if (len == FILE_SWAP_BYTES - 1 && !strncmp(name, ".qs-swp-", 8))
        clean_swap(job, name);
}

void file_stray_clean(struct file_job *job)
{
    enum { LIST_BYTES = 32 * 1024 };
    AUTO_FREE char *list = malloc(LIST_BYTES);
    ssize_t len;
    while (list && (len = getdents64(job->dir_fd, list, LIST_BYTES)) > 0) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const void *)(list + at);
            clean_entry(job, entry->d_name);
            at += entry->d_reclen;
        }
    }
}
