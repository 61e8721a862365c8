/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what with the new file: owner, mode, ACL and extended attributes.
 *
 * Kept of a former file: owner, group, mode bits, the access ACL and all extended attributes that the caller may see,
 * but for those that speak of the former content (file capabilities, IMA and EVM signatures), which the kernel drops on
 * a write as well. A security label that the caller may not set is left to the system's own labelling.
 *
 * A new file has the mode that was asked for. Where the directory has a default ACL, each permission must be in both: a
 * default ACL never widens, and never is widened.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "writer/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define ACL_ACCESS  "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"

/* linux/limits.h: XATTR_LIST_MAX, XATTR_SIZE_MAX; bounds of the kernel, named here with their type. */
#define ATTR_LIST_MAX  ((size_t)65536)
#define ATTR_VALUE_MAX ((size_t)65536)

static enum qs_status set_attr(const struct file_job *job, const char *name, const void *value, size_t len,
                               struct qs_error *err)
{
    if (TEMP_FAILURE_RETRY(qs_os->fsetxattr(job->temp_fd, name, value, len, 0)) == 0)
        return QS_OK;
    return error_sys(err, QS_IO, errno, "cannot keep the extended attribute '%s'", name);
}

static enum qs_status set_extra(const struct file_job *job, struct qs_error *err)
{
    return job->extra ? set_attr(job, job->extra->name, job->extra->value, job->extra->len, err) : QS_OK;
}

static bool is_kept(const struct file_job *job, const char *name)
{
    static const char *const of_content[] = {"security.capability", "security.ima", "security.evm"};
    for (size_t i = 0; i < sizeof of_content / sizeof *of_content; i++)
        if (!strcmp(name, of_content[i]))
            return false;
    return !job->extra || strcmp(name, job->extra->name) != 0;
}

static enum qs_status copy_attr(const struct file_job *job, const char *name, char *value, struct qs_error *err)
{
    ssize_t len = TEMP_FAILURE_RETRY(qs_os->fgetxattr(job->old_fd, name, value, ATTR_VALUE_MAX));
    if (len < 0 && errno == ENODATA)
        return QS_OK; /* taken away in the meantime */
    if (len < 0)
        return error_sys(err, QS_IO, errno, "cannot read the extended attribute '%s'", name);
    struct qs_error why = {0};
    enum qs_status status = set_attr(job, name, value, (size_t)len, &why);
    bool label = !strncmp(name, "security.", 9);
    if (!status || (label && (why.sys_errno == EPERM || why.sys_errno == EACCES || why.sys_errno == EOPNOTSUPP)))
        return QS_OK;
    if (err)
        *err = why;
    return status;
}

static enum qs_status copy_attrs(const struct file_job *job, const char *list, size_t len, bool *ret_acl,
                                 struct qs_error *err)
{
    AUTO_FREE char *value = malloc(ATTR_VALUE_MAX);
    if (!value)
        return error_memory(err);
    for (const char *name = list; name < list + len; name += strlen(name) + 1) {
        if (!is_kept(job, name))
            continue;
        enum qs_status status = copy_attr(job, name, value, err);
        if (status)
            return status;
        *ret_acl = *ret_acl || !strcmp(name, ACL_ACCESS);
    }
    return QS_OK;
}

static enum qs_status keep_attrs(const struct file_job *job, bool *ret_acl, struct qs_error *err)
{
    char small[1024];
    AUTO_FREE char *big = NULL;
    char *list = small;
    ssize_t len = TEMP_FAILURE_RETRY(qs_os->flistxattr(job->old_fd, small, sizeof small));
    if (len < 0 && errno == ERANGE) {
        list = big = malloc(ATTR_LIST_MAX);
        if (!big)
            return error_memory(err);
        len = TEMP_FAILURE_RETRY(qs_os->flistxattr(job->old_fd, big, ATTR_LIST_MAX));
    }
    if (len < 0 && errno == EOPNOTSUPP)
        len = 0;
    if (len < 0)
        return error_sys(err, QS_IO, errno, "cannot list the extended attributes");
    return len ? copy_attrs(job, list, (size_t)len, ret_acl, err) : QS_OK;
}

/* An ACL that the temporary got from its directory and that the former file does not have. */
static enum qs_status drop_acl(const struct file_job *job, struct qs_error *err)
{
    /* Asking costs a tenth of removing, and hardly any directory has one. */
    if (TEMP_FAILURE_RETRY(qs_os->fgetxattr(job->temp_fd, ACL_ACCESS, NULL, 0)) < 0 &&
        (errno == ENODATA || errno == EOPNOTSUPP))
        return QS_OK;
    if (TEMP_FAILURE_RETRY(qs_os->fremovexattr(job->temp_fd, ACL_ACCESS)) == 0 || errno == ENODATA ||
        errno == EOPNOTSUPP)
        return QS_OK;
    return error_sys(err, QS_IO, errno, "cannot take the directory's default ACL off the new file");
}

enum qs_status file_attr_keep(struct file_job *job, struct qs_error *err)
{
    const struct stat *old = &job->old;
    const struct stat *temp = &job->temp;
    bool acl = false;
    if ((old->st_uid != temp->st_uid || old->st_gid != temp->st_gid) &&
        TEMP_FAILURE_RETRY(qs_os->fchown(job->temp_fd, old->st_uid, old->st_gid)) != 0)
        return error_sys(err, QS_IO, errno, "cannot keep owner and group (%u:%u)", (unsigned)old->st_uid,
                         (unsigned)old->st_gid);
    enum qs_status status = keep_attrs(job, &acl, err);
    if (!status && !acl)
        status = drop_acl(job, err);
    if (status)
        return status;
    if (TEMP_FAILURE_RETRY(qs_os->fchmod(job->temp_fd, old->st_mode & 07777)) != 0)
        return error_sys(err, QS_IO, errno, "cannot keep the mode %04o", (unsigned)old->st_mode & 07777);
    return set_extra(job, err);
}

/* The umask without changing it, which would change it for other threads: proc(5). Where /proc does not tell, the
 * strictest. */
static mode_t current_umask(void)
{
    char text[1024];
    AUTO_FD int fd = os_open_at(AT_FDCWD, "/proc/self/status", O_RDONLY, 0, 0);
    ssize_t len = fd < 0 ? -1 : os_pread_full(fd, text, sizeof text - 1, 0);
    unsigned mask;
    if (len < 0)
        return 077;
    text[len] = '\0';
    const char *line = strstr(text, "\nUmask:");
    return line && sscanf(line, "\nUmask: %o", &mask) == 1 ? (mode_t)mask & 0777 : 077;
}

/* linux/posix_acl_xattr.h: a 32-bit version, then entries of tag and permissions (16 bits each) and id (32 bits), all
 * little-endian. */
#define ACL_VERSION   2u
#define ACL_HEADER    4u
#define ACL_ENTRY     8u
#define ACL_USER_OBJ  0x01u
#define ACL_GROUP_OBJ 0x04u
#define ACL_MASK      0x10u
#define ACL_OTHER     0x20u

/* Takes from the ACL what mode does not have; with a mask entry that one stands for the group, as in acl(5). */
static bool narrow_acl(uint8_t *acl, size_t len, mode_t mode)
{
    bool masked = false;
    if (len < ACL_HEADER || (len - ACL_HEADER) % ACL_ENTRY != 0 || load_u32(acl) != ACL_VERSION)
        return false;
    for (size_t at = ACL_HEADER; at < len; at += ACL_ENTRY)
        masked = masked || load_u16(acl + at) == ACL_MASK;
    for (size_t at = ACL_HEADER; at < len; at += ACL_ENTRY) {
        unsigned tag = load_u16(acl + at);
        unsigned allowed = 7;
        if (tag == ACL_USER_OBJ)
            allowed = mode >> 6 & 7;
        else if (tag == ACL_OTHER)
            allowed = mode & 7;
        else if (tag == (masked ? ACL_MASK : ACL_GROUP_OBJ))
            allowed = mode >> 3 & 7;
        acl[at + 2] &= (uint8_t)allowed;
        acl[at + 3] = 0;
    }
    return true;
}

static enum qs_status new_mode(const struct file_job *job, mode_t mode, struct qs_error *err)
{
    AUTO_FREE uint8_t *acl = NULL;
    ssize_t len = TEMP_FAILURE_RETRY(qs_os->fgetxattr(job->dir_fd, ACL_DEFAULT, NULL, 0));
    if (len > 0) {
        acl = malloc(ATTR_VALUE_MAX);
        if (!acl)
            return error_memory(err);
        len = TEMP_FAILURE_RETRY(qs_os->fgetxattr(job->dir_fd, ACL_DEFAULT, acl, ATTR_VALUE_MAX));
    }
    if (len < 0 && errno != ENODATA && errno != EOPNOTSUPP)
        return error_sys(err, QS_IO, errno, "cannot read the directory's default ACL");
    if (len > 0) {
        if (!narrow_acl(acl, (size_t)len, mode))
            return error_set(err, QS_IO, "the directory's default ACL is of an unknown form");
        return set_attr(job, ACL_ACCESS, acl, (size_t)len, err); /* the kernel sets the mode bits from it */
    }
    enum qs_status status = drop_acl(job, err);
    if (status)
        return status;
    if (TEMP_FAILURE_RETRY(qs_os->fchmod(job->temp_fd, mode)) != 0)
        return error_sys(err, QS_IO, errno, "cannot set the mode %04o", (unsigned)mode);
    return QS_OK;
}

enum qs_status file_attr_new(struct file_job *job, struct qs_error *err)
{
    mode_t mode = job->options.mode ? job->options.mode : 0666 & ~current_umask();
    enum qs_status status = new_mode(job, mode, err);
    return status ? status : set_extra(job, err);
}
