/* SPDX-License-Identifier: Apache-2.0 */
/* May the effective user write a store here? Network file systems and another user's home are refused. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* File systems that other machines write too: LMDB's map and our lock hold on one machine only. Numbers from statfs(2)
 * and linux/magic.h. */
static const struct {
    uint32_t magic;
    const char *name;
} NETWORK_FILE_SYSTEMS[] = {
    {0x6969, "NFS"},      {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"},   {0x517b, "SMB"},    {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},  {0x73757245, "Coda"}, {0x00c36400, "Ceph"},   {0x01021997, "9P"}, {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"}, {0x564c, "NCP"},      {0x0bd00bd0, "Lustre"},
};

const char *place_network_name(uint32_t magic)
{
    for (size_t i = 0; i < sizeof NETWORK_FILE_SYSTEMS / sizeof NETWORK_FILE_SYSTEMS[0]; i++)
        if (magic == NETWORK_FILE_SYSTEMS[i].magic)
            return NETWORK_FILE_SYSTEMS[i].name;
    return NULL;
}

static enum qs_status check_file_system(int dir_fd, struct qs_error *err)
{
    struct statfs fs;
    if (qs_os->fstatfs(dir_fd, &fs))
        return error_sys(err, QS_IO, errno, "the store's file system cannot be examined");
    const char *name = place_network_name((uint32_t)fs.f_type);
    if (!name)
        return QS_OK;
    error_set(err, QS_UNTRUSTED, "the store lies on a network file system (%s), where it can be read only", name);
    error_add_advice(err, "keep stores on a local disk and write them there");
    return QS_UNTRUSTED;
}

static enum qs_status check_home(const char *home, const char *what, uid_t uid, struct qs_error *err)
{
    struct stat st;
    if (qs_os->fstatat(AT_FDCWD, home, &st, 0) || st.st_uid == uid)
        return QS_OK; /* a home that does not exist is nobody else's */
    enum qs_status status = error_set(err, QS_UNTRUSTED, "%s (%s) belongs to uid %u, but the effective user is uid %u",
                                      home, what, (unsigned)st.st_uid, (unsigned)uid);
    error_add_advice(err, "run this as the user whose settings are meant, without sudo -E");
    return status;
}

enum qs_status place_check_writable(const struct place *place, int dir_fd, struct qs_error *err)
{
    enum qs_status status = check_file_system(dir_fd, err);
    if (status || place->scope != QS_SCOPE_USER || place->given)
        return status;
    uid_t uid = qs_os->geteuid();
    status = check_home(place->home, "the home in the password database", uid, err);
    const char *home = getenv("HOME");
    if (!status && home && home[0] == '/' && strcmp(home, place->home) != 0)
        status = check_home(home, "HOME", uid, err);
    return status;
}
