/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner mounts. Each target is opened once, without following a link, its device and inode are compared with what
 * the plan was made from, and the mount is put onto that very descriptor: between the look and the mount no name is
 * read again, and nothing is ever made on the host.
 */
#include "sandbox/shim/shim_steps.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define ATTR_MASK (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Opens what is at dest now and makes sure that it is what was planned. */
static enum qs_status open_planned(const struct spec_mount *mount, int *ret_fd, struct qs_error *err)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, mount->dest, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return error_set(err, QS_CONFLICT, "%s changed while the sandbox was being set up (%s)", mount->dest,
                         strerrorname_np(errno));
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_dev != mount->dev || st.st_ino != mount->ino)
        return error_set(err, QS_CONFLICT, "%s changed while the sandbox was being set up (another inode)",
                         mount->dest);
    *ret_fd = steal_fd(&fd);
    return QS_OK;
}

static enum qs_status attach(int tree, int target, const char *dest, struct qs_error *err)
{
    if (sys_attach(tree, target) != 0)
        return error_sys(err, QS_IO, errno, "cannot mount over %s", dest);
    return QS_OK;
}

/* Binds what is at source, target itself if there is none, over target, with changed attributes. */
static enum qs_status bind_over(int source, int target, const char *dest, const struct mount_attr *attr,
                                struct qs_error *err)
{
    AUTO_FD int tree = sys_clone_tree(source < 0 ? target : source, true);
    if (tree < 0)
        return error_sys(err, QS_IO, errno, "cannot copy the mount of %s", dest);
    if ((attr->attr_set | attr->attr_clr) && sys_mount_setattr(tree, true, attr) != 0)
        return error_sys(err, QS_IO, errno, "cannot change the mount of %s", dest);
    return attach(tree, target, dest, err);
}

/* ---- masks ---- */

struct masks {
    int place;           /* /dev/shm, where the plan has no place */
    int directory, file; /* O_PATH, of an empty directory and an empty file that nobody may open */
    char names[2][8];    /* of the two, while they have any */
};

/* Another shim's are met only where /dev is the host's, in a negative control: so the directory's name is a lock. */
static int make_mask_directory(struct masks *masks)
{
    int code = -1;
    for (unsigned i = 0; i < 64 && code != 0; i++) {
        (void)snprintf(masks->names[0], sizeof masks->names[0], "d%u", i);
        (void)snprintf(masks->names[1], sizeof masks->names[1], "f%u", i);
        code = mkdirat(masks->place, masks->names[0], 0);
        if (code != 0 && errno != EEXIST)
            break;
    }
    return code;
}

/* They are made in the private /dev/shm and lose their names again when all copies are mounted. */
static enum qs_status make_masks(struct masks *masks, struct qs_error *err)
{
    masks->place = sys_open(AT_FDCWD, "/dev/shm", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (masks->place < 0 || make_mask_directory(masks) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the masks for hidden paths");
    AUTO_FD int file = openat(masks->place, masks->names[1], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0);
    masks->directory = openat(masks->place, masks->names[0], O_PATH | O_CLOEXEC);
    masks->file = openat(masks->place, masks->names[1], O_PATH | O_CLOEXEC);
    if (file < 0 || masks->directory < 0 || masks->file < 0)
        return error_sys(err, QS_IO, errno, "cannot make the masks for hidden paths");
    return QS_OK;
}

static enum qs_status drop_masks(struct masks *masks, struct qs_error *err)
{
    if (masks->directory < 0)
        return QS_OK;
    if (unlinkat(masks->place, masks->names[1], 0) != 0 || unlinkat(masks->place, masks->names[0], AT_REMOVEDIR) != 0)
        return error_sys(err, QS_IO, errno, "cannot take the masks' names away");
    (void)close(masks->directory);
    (void)close(masks->file);
    (void)close(masks->place);
    *masks = (struct masks){.place = -1, .directory = -1, .file = -1};
    return QS_OK;
}

static enum qs_status mask(const struct spec_mount *mount, int target, struct masks *masks, struct qs_error *err)
{
    static const struct mount_attr attr = {.attr_set = ATTR_MASK};
    enum qs_status status = masks->directory < 0 ? make_masks(masks, err) : QS_OK;
    if (status != QS_OK)
        return status;
    AUTO_FD int tree = sys_clone_tree(mount->directory ? masks->directory : masks->file, false);
    if (tree < 0 || sys_mount_setattr(tree, false, &attr) != 0)
        return error_sys(err, QS_IO, errno, "cannot copy the mask for %s", mount->dest);
    return attach(tree, target, mount->dest, err);
}

/* ---- the plan's mounts ---- */

static bool below_writable(const struct spec *spec, const char *path)
{
    for (size_t i = 0; i < spec->mount_count; i++)
        if (spec->mounts[i].kind <= MOUNT_PRIVATE && path_within(path, spec->mounts[i].dest))
            return true;
    return false;
}

/* Root sees on the host what it cannot reach in here without capabilities, a socket in another user's closed directory,
 * say. The command can reach it no more than this process, and needs no mask. In a writable place it could open the
 * directory first. */
static bool beyond_reach(const struct spec *spec, const struct spec_mount *mount)
{
    if (mount->kind != MOUNT_HIDDEN || below_writable(spec, mount->dest))
        return false;
    AUTO_FD int fd = sys_open(AT_FDCWD, mount->dest, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    return fd < 0 && errno == EACCES;
}

static enum qs_status put_mount(const struct spec_mount *mount, struct masks *masks, struct qs_error *err)
{
    static const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    static const struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
    static const struct mount_attr unchanged = {0};
    AUTO_FD int target = -1;
    enum qs_status status = open_planned(mount, &target, err);
    if (status != QS_OK || !mount->inner)
        return status;
    AUTO_FD int source = mount->from[0] ? sys_open(AT_FDCWD, mount->from, O_PATH, RESOLVE_NO_SYMLINKS) : -1;
    if (mount->from[0] && source < 0)
        return error_sys(err, QS_IO, errno, "cannot open what is shown at %s", mount->dest);
    switch (mount->kind) {
    case MOUNT_READ_ONLY:
        return bind_over(source, target, mount->dest, &read_only, err);
    case MOUNT_PIN:
    case MOUNT_PRIVATE:
        return bind_over(source, target, mount->dest, &unchanged, err);
    case MOUNT_WRITABLE:
        return bind_over(source, target, mount->dest, &writable, err);
    case MOUNT_HIDDEN:
        return mask(mount, target, masks, err);
    case MOUNT_CACHE:
    case MOUNT_SOCKET:
    case MOUNT_BACK:
    case MOUNT_DEVICE:
        return error_set(err, QS_INVALID, "%s cannot be an inner mount", mount->dest);
    }
    return error_set(err, QS_INVALID, "%s has an unknown kind of mount", mount->dest);
}

/* What root owns here takes writes from uid 0 even without capabilities (core_pattern runs programs on the host). */
static enum qs_status close_proc(struct qs_error *err)
{
    static const char *const names[] = {"/proc/sys",     "/proc/sysrq-trigger", "/proc/irq",    "/proc/bus",
                                        "/proc/fs",      "/proc/acpi",          "/proc/scsi",   "/proc/mtrr",
                                        "/proc/tty",     "/proc/dynamic_debug", "/proc/driver", "/proc/asound",
                                        "/proc/pressure"};
    static const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO_FD int target = sys_open(AT_FDCWD, names[i], O_PATH, RESOLVE_NO_SYMLINKS);
        if (target < 0 && errno == ENOENT)
            continue;
        if (target < 0)
            return error_sys(err, QS_IO, errno, "cannot open %s", names[i]);
        struct statvfs now;
        if (fstatvfs(target, &now) == 0 && (now.f_flag & ST_RDONLY))
            continue; /* bubblewrap covers some itself */
        enum qs_status status = bind_over(-1, target, names[i], &read_only, err);
        if (status != QS_OK)
            return status;
    }
    return QS_OK;
}

/* For a plain user bubblewrap ends in a second user namespace, which may mount only in a mount namespace of its own;
 * what bubblewrap mounted is locked in that copy. For root the first one serves, and a copy would cost time. */
static enum qs_status may_mount(struct qs_error *err)
{
    /* This asks for the right alone; giving a copied mount back would wait for a grace period of the kernel (RCU). */
    AUTO_FD int allowed = sys_fsopen("tmpfs");
    if (allowed < 0 && unshare(CLONE_NEWNS) != 0)
        return error_sys(err, QS_IO, errno, "cannot have a mount namespace for the inner mounts");
    return QS_OK;
}

/* bubblewrap's mounts receive what the host mounts later (MS_SLAVE), and that would be writable. */
static enum qs_status keep_later_mounts_out(struct qs_error *err)
{
    static const struct mount_attr private = {.propagation = MS_PRIVATE};
    AUTO_FD int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    if (root < 0 || sys_mount_setattr(root, true, &private) != 0)
        return error_sys(err, QS_IO, errno, "cannot keep mounts that the host makes later out");
    return QS_OK;
}

enum qs_status shim_mounts(const struct spec *spec, struct qs_error *err)
{
    struct statvfs root;
    if (!LEFT_OUT(spec, READ_ONLY) && (statvfs("/", &root) != 0 || !(root.f_flag & ST_RDONLY)))
        return error_set(err, QS_CONFLICT, "the host's root is not read-only inside");
    struct masks masks = {.place = -1, .directory = -1, .file = -1};
    enum qs_status status = may_mount(err);
    if (status == QS_OK)
        status = keep_later_mounts_out(err);
    if (status == QS_OK && !LEFT_OUT(spec, PID))
        status = close_proc(err);
    for (size_t i = 0; i < spec->mount_count && status == QS_OK; i++) {
        status = put_mount(&spec->mounts[i], &masks, err);
        if (status == QS_CONFLICT && beyond_reach(spec, &spec->mounts[i]))
            status = QS_OK;
    }
    if (status == QS_OK)
        status = drop_masks(&masks, err);
    return status;
}
