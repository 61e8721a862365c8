/* SPDX-License-Identifier: Apache-2.0 */
/* The recording disk's server. */
#define FUSE_USE_VERSION 31

#include "stress/powercut/fuse_image.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <linux/falloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WRITE_BYTES (1u << 20) /* the kernel's most for one request */

/* A log that cannot be written makes the run worthless: the server then fails every later write and flush. */
struct server {
    struct fuse_image image;
    uint64_t data_bytes;
    uint64_t flushes;
    bool broken;
    int ready_fd;
};

static struct server *server_get(void)
{
    return fuse_get_context()->private_data;
}

static bool is_name(const char *path, const char *name)
{
    return path[0] == '/' && strcmp(path + 1, name) == 0;
}

static int write_whole(int fd, const void *data, size_t len)
{
    for (const char *at = data; len;) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int log_entry(struct server *server, struct crash_entry entry, const void *data)
{
    if (!server->broken && entry.kind == CRASH_WRITE) {
        entry.data_at = server->data_bytes;
        server->data_bytes += entry.len;
        server->broken = write_whole(server->image.data_fd, data, entry.len) != 0;
    }
    if (!server->broken)
        server->broken = write_whole(server->image.entries_fd, &entry, sizeof entry) != 0;
    return server->broken ? -EIO : 0;
}

static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
    conn->max_write = MAX_WRITE_BYTES;
    config->use_ino = 0;
    config->kernel_cache = 0;
    struct server *server = server_get();
    if (write_whole(server->ready_fd, "r", 1) != 0)
        server->broken = true;
    return server;
}

static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    (void)info;
    memset(st, 0, sizeof *st);
    if (strcmp(path, "/") == 0) {
        st->st_mode = S_IFDIR | 0700;
        st->st_nlink = 2;
        return 0;
    }
    st->st_mode = S_IFREG | 0600;
    st->st_nlink = 1;
    if (is_name(path, FUSE_MARK_NAME))
        return 0;
    struct stat image;
    if (!is_name(path, FUSE_IMAGE_NAME))
        return -ENOENT;
    if (fstat(server_get()->image.image_fd, &image) != 0)
        return -errno;
    st->st_size = image.st_size;
    return 0;
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    (void)offset, (void)info, (void)flags;
    if (strcmp(path, "/") != 0)
        return -ENOTDIR;
    static const char *const names[] = {".", "..", FUSE_IMAGE_NAME, FUSE_MARK_NAME};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fill(buf, names[i], NULL, 0, 0) != 0)
            break;
    return 0;
}

static int op_open(const char *path, struct fuse_file_info *info)
{
    if (!is_name(path, FUSE_IMAGE_NAME) && !is_name(path, FUSE_MARK_NAME))
        return -ENOENT;
    info->direct_io = 1; /* nothing may linger in a cache of this file: a write is on the disk when it returns */
    return 0;
}

static int op_read(const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    if (!is_name(path, FUSE_IMAGE_NAME))
        return 0;
    ssize_t n = pread(server_get()->image.image_fd, buf, size, offset);
    return n < 0 ? -errno : (int)n;
}

static int take_mark(struct server *server, const char *buf, size_t size)
{
    char text[24];
    if (size >= sizeof text)
        return -EINVAL;
    memcpy(text, buf, size);
    text[size] = '\0';
    int result = log_entry(server, (struct crash_entry){.kind = CRASH_MARK, .mark = strtoull(text, NULL, 10)}, NULL);
    return result ? result : (int)size;
}

static int op_write(const char *path, const char *buf, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)info;
    struct server *server = server_get();
    if (is_name(path, FUSE_MARK_NAME))
        return take_mark(server, buf, size);
    if (pwrite(server->image.image_fd, buf, size, offset) != (ssize_t)size)
        return -EIO;
    struct crash_entry entry = {.kind = CRASH_WRITE, .offset = (uint64_t)offset, .len = size};
    int result = log_entry(server, entry, buf);
    return result ? result : (int)size;
}

static int op_truncate(const char *path, off_t len, struct fuse_file_info *info)
{
    (void)len, (void)info;
    return is_name(path, FUSE_MARK_NAME) ? 0 : -EPERM; /* a disk keeps its size */
}

static int op_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)data_only, (void)info;
    if (!is_name(path, FUSE_IMAGE_NAME))
        return 0;
    struct server *server = server_get();
    server->flushes++;
    bool ignored = server->image.drop_flush && server->flushes % server->image.drop_flush == 0;
    return log_entry(server, (struct crash_entry){.kind = ignored ? CRASH_IGNORED : CRASH_FLUSH}, NULL);
}

/* Discards and zeroing requests of the loop device. */
static int op_fallocate(const char *path, int mode, off_t offset, off_t len, struct fuse_file_info *info)
{
    (void)info;
    struct server *server = server_get();
    if (!is_name(path, FUSE_IMAGE_NAME) || !(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
        return -EOPNOTSUPP;
    if (fallocate(server->image.image_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len) != 0)
        return -errno;
    return log_entry(server, (struct crash_entry){.kind = CRASH_ZERO, .offset = (uint64_t)offset, .len = (uint64_t)len},
                     NULL);
}

static const struct fuse_operations operations = {
    .init = op_init,
    .getattr = op_getattr,
    .readdir = op_readdir,
    .open = op_open,
    .read = op_read,
    .write = op_write,
    .truncate = op_truncate,
    .fsync = op_fsync,
    .fallocate = op_fallocate,
};

/*
 * The server moves to a mount namespace of its own, without the disk. Were it the last to leave the one where a file
 * system is mounted on the loop device, the kernel would write that file system's last blocks before it closed the
 * server's descriptor: to a server that is gone but still answers for the disk, and so for ever (do_exit gives
 * namespaces up before it closes files).
 */
static int leave_room(const char *mount_point)
{
    return unshare(CLONE_NEWNS) || umount2(mount_point, MNT_DETACH) ? -1 : 0;
}

int fuse_image_serve(const struct fuse_image *image, const char *mount_point, int ready_fd)
{
    struct server server = {.image = *image, .ready_fd = ready_fd};
    char *argv[] = {(char *)"qstress", (char *)"-o", (char *)"fsname=qstress-powercut", NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, argv);
    struct fuse *fuse = fuse_new(&args, &operations, sizeof operations, &server);
    if (!fuse || fuse_mount(fuse, mount_point) != 0) {
        if (fuse)
            fuse_destroy(fuse);
        fuse_opt_free_args(&args);
        return 1;
    }
    int result = leave_room(mount_point) == 0 ? fuse_loop(fuse) : -1;
    fuse_unmount(fuse);
    fuse_destroy(fuse);
    fuse_opt_free_args(&args);
    return result == 0 && !server.broken ? 0 : 1;
}
