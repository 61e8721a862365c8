/* SPDX-License-Identifier: Apache-2.0 */
/* Must the system store exist? Asked by the policy read and by the command; writing the file is the writer's. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "qsettings/maintenance.h"
#include "store/snapshot.h"

#include <errno.h>
#include <fcntl.h>

enum qs_status qs_store_is_required(struct qs_store *store, bool *ret_required, struct qs_error *err)
{
    AUTO_FD int parent_fd = -1;
    struct stat st;
    *ret_required = false;
    if (store->place.scope != QS_SCOPE_SYSTEM)
        return QS_OK;
    enum qs_status status = place_open_parent(&store->place, false, &parent_fd, err);
    if (status == QS_ABSENT)
        return QS_OK; /* no directory of scopes, so no file in it */
    if (status)
        return status;
    /* Whatever stands there under this name counts: a link or a directory must not take the demand away. */
    if (qs_os->fstatat(parent_fd, PLACE_REQUIRE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
        *ret_required = true;
    else if (errno != ENOENT)
        return error_sys(err, QS_IO, errno, "%s cannot be examined", PLACE_REQUIRE_FILE);
    return QS_OK;
}
