/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link resolution in a small tree that the input builds.
 *
 * Input: a list of steps. A step's first byte says what is made (low two bits: directory, file, link; or which is
 * looked up) and where (the rest: one of the directories and one of four names). Links and look-ups are followed by a
 * path: a length byte and that many bytes, each one segment of a fixed set. Nothing is ever made through a link, so
 * nothing leaves the tree; look-ups only read.
 *
 * Invariant: what is accepted is where the kernel ends (same inode, or absent for both); what the kernel can open as a
 * regular file is accepted.
 */
#include "writer/resolve_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH_BYTES = 8192 };

static char tree[64];
static const char *const dirs[] = {".", "d", "e", "d/f"};
static const char *const names[] = {"a", "b", "c", "g"};
static char long_name[NAME_MAX + 2];
static const char *const segments[] = {"a", "b",    "c", "d",       "e",    "f",       "..", ".",
                                       "",  "TREE", "/", "nowhere", "PROC", long_name, "g"};
#define SEGMENTS (sizeof segments / sizeof *segments)

static void make_tree(void)
{
    static const char *const bases[] = {"/dev/shm/qs-fuzz-XXXXXX", "/tmp/qs-fuzz-XXXXXX"};
    for (int i = 0; i < 2 && !tree[0]; i++) {
        (void)snprintf(tree, sizeof tree, "%s", bases[i]);
        if (!mkdtemp(tree))
            tree[0] = '\0';
    }
    memset(long_name, 'n', sizeof long_name - 1);
    if (!tree[0] || chdir(tree) != 0)
        abort();
    for (size_t i = 1; i < sizeof dirs / sizeof *dirs; i++)
        if (mkdir(dirs[i], 0755) != 0)
            abort();
}

static void clear_tree(bool whole)
{
    for (size_t d = sizeof dirs / sizeof *dirs; d-- > 0;) {
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            char path[32];
            (void)snprintf(path, sizeof path, "%s/%s", dirs[d], names[n]);
            if (unlink(path) != 0 && errno == EISDIR)
                (void)rmdir(path);
        }
        if (whole && d > 0)
            (void)rmdir(dirs[d]);
        else
            (void)!chmod(dirs[d], 0755);
    }
}

/* At exit; the working directory is somebody else's again afterwards. */
static void remove_tree(void)
{
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (chdir(tree) == 0)
        clear_tree(true);
    (void)!fchdir(before);
    (void)close(before);
    (void)rmdir(tree);
}

/* Takes a path off the input. */
static size_t take_path(const uint8_t *data, size_t size, char path[PATH_BYTES])
{
    size_t count = size ? data[0] % 24 : 0, used = size ? 1 : 0, len = 0;
    path[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *segment = segments[data[used++] % SEGMENTS];
        if (!strcmp(segment, "TREE")) /* absolute from here */
            len = (size_t)snprintf(path, PATH_BYTES, "%s", tree);
        else if (!strcmp(segment, "PROC"))
            len = (size_t)snprintf(path, PATH_BYTES, "/proc/self/cwd");
        else
            len += (size_t)snprintf(path + len, PATH_BYTES - len, "%s%s",
                                    i && path[len ? len - 1 : 0] != '/' ? "/" : "", segment);
    }
    return used;
}

static void violation(const char *path, const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", path, what);
    abort();
}

static void look_up(const char *path)
{
    struct resolved_target target = {.dir_fd = -1};
    struct qs_error err = {0};
    struct stat kernel, ours;
    int found = stat(path, &kernel), code = errno;
    enum qs_status status = resolve_target(path, 0, &target, &err);
    if (status) {
        if (err.status != status || !err.message[0])
            violation(path, "refused without a reason");
        bool ruled_out = status == QS_UNTRUSTED || strstr(err.message, "to an open file");
        if (found == 0 && S_ISREG(kernel.st_mode) && !ruled_out)
            violation(path, err.message);
        return;
    }
    if (target.hops > QS_LINK_HOPS_MAX || strchr(target.name, '/') || !strcmp(target.name, ".."))
        violation(path, "a target beyond its bounds");
    int there = fstatat(target.dir_fd, target.name, &ours, AT_SYMLINK_NOFOLLOW);
    if (target.exists != (found == 0) || (there == 0) != (found == 0))
        violation(path, "existence differs");
    if (found == 0 && (ours.st_ino != kernel.st_ino || ours.st_dev != kernel.st_dev))
        violation(path, "another inode than the kernel's");
    if (found != 0 && code != ENOENT)
        violation(path, "the kernel refuses it");
    resolved_target_release(&target);
}

/* A directory, or a change of the one above it; some are not to be trusted. */
static void make_directory(const char *above, const char *name, unsigned kind)
{
    if (kind == 3)
        (void)!chmod(above, 01777);
    else if (mkdir(name, 0755) == 0 && kind == 1)
        (void)!chmod(name, 0777);
    else if (kind == 2)
        (void)!lchown(name, 1, 1);
}

static void take_steps(const uint8_t *data, size_t size)
{
    char path[PATH_BYTES];
    for (size_t at = 0, steps = 0; at < size && steps < 64; steps++) {
        unsigned step = data[at++];
        char name[32];
        (void)snprintf(name, sizeof name, "%s/%s", dirs[step >> 2 & 3], names[step >> 4 & 3]);
        switch (step & 3) {
        case 0:
            make_directory(dirs[step >> 2 & 3], name, step >> 6);
            break;
        case 1: {
            int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
            if (fd >= 0)
                (void)close(fd);
            break;
        }
        case 2:
            at += take_path(data + at, size - at, path);
            if (symlink(path, name) == 0 && step >> 6 == 3)
                (void)!lchown(name, 1, 1);
            break;
        case 3:
            at += take_path(data + at, size - at, path);
            look_up(path);
            break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!tree[0]) {
        make_tree();
        (void)atexit(remove_tree);
    }
    if (chdir(tree) != 0)
        abort();
    take_steps(data, size);
    clear_tree(false);
    if (fchdir(before) != 0)
        abort();
    (void)close(before);
    return 0;
}
