/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for the shim's own program, beside the executor only. */
#include "sandbox/host/shim_file.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/host/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define INSTALLED "/libexec/qsettings/qsandbox-shim"

/* Absence is no error. */
static enum qs_status look(const char *path, struct path_fact *ret_fact, struct qs_error *err)
{
    struct stat st, own;
    AUTO_FD int fd = sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return QS_OK;
    if (fd < 0 || fstat(fd, &st) != 0 || stat("/proc/self/exe", &own) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at the shim %s", path);
    mode_t others = S_IWGRP | S_IWOTH;
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != own.st_uid) || (st.st_mode & ~own.st_mode & others))
        return error_set(err, QS_UNTRUSTED, "the shim %s is not a file that is kept like the executor itself", path);
    char *copy = strdup(path);
    if (!copy)
        return error_set(err, QS_IO, "out of memory");
    *ret_fact = (struct path_fact){.path = copy,
                                   .kind = PATH_FILE,
                                   .dev = st.st_dev,
                                   .ino = st.st_ino,
                                   .uid = st.st_uid,
                                   .mode = st.st_mode,
                                   .fd = steal_fd(&fd)};
    return QS_OK;
}

/* The length of what is before the last slash. */
static size_t parent(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 0 ? len - 1 : 0;
}

enum qs_status shim_look(const char *executable, struct path_fact *ret_fact, struct qs_error *err)
{
    struct path_fact fact = {.fd = -1};
    AUTO(buf_release) struct buf beside = {0}, installed = {0};
    buf_printf(&beside, "%s-shim", executable);
    buf_add(&installed, executable, parent(executable, parent(executable, strlen(executable))));
    buf_add_str(&installed, INSTALLED);
    if (beside.failed || installed.failed)
        return error_set(err, QS_IO, "out of memory");
    enum qs_status status = look(beside.data, &fact, err);
    if (status == QS_OK && fact.kind == PATH_ABSENT)
        status = look(installed.data, &fact, err);
    if (status == QS_OK)
        *ret_fact = fact;
    return status;
}
