/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the system scope is, how old it may be, and whether the glass is broken. */
#include "store/fleet_guard.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "text/key_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define LINE_MAX_BYTES 512u
#define STATE_DIR      "var/lib/qfleet"

/* ---- texts ---- */

bool fleet_name_valid(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') || text[i] == '-'))
            return false;
    return len >= 1 && len <= FLEET_NAME_MAX_BYTES;
}

bool fleet_key_covers(struct qs_bytes key)
{
    return key_covers("fleet", 5, key.data, key.len);
}

bool fleet_take_number(struct qs_bytes *text, char next, uint64_t *ret_number)
{
    const char *at = text->data;
    size_t i = 0;
    uint64_t number = 0;
    while (i < text->len && at[i] >= '0' && at[i] <= '9' && number <= (uint64_t)FLEET_NUMBER_MAX)
        number = number * 10 + (uint64_t)(at[i++] - '0');
    if (i == 0 || (at[0] == '0' && i > 1) || number > (uint64_t)FLEET_NUMBER_MAX || i == text->len || at[i] != next)
        return false;
    *text = (struct qs_bytes){at + i + 1, text->len - i - 1};
    *ret_number = number;
    return true;
}

bool fleet_mark_parse(struct qs_bytes text, struct fleet_mark *ret_mark)
{
    struct fleet_mark mark = {0};
    const char *space = text.len ? memchr(text.data, ' ', text.len) : NULL;
    size_t len = space ? (size_t)(space - (const char *)text.data) : 0;
    if (!fleet_name_valid(text.data, len))
        return false;
    memcpy(mark.fleet, text.data, len);
    text = (struct qs_bytes){space + 1, text.len - len - 1};
    if (!fleet_take_number(&text, ' ', &mark.order.keys) || !fleet_take_number(&text, '\n', &mark.order.serial) ||
        text.len)
        return false;
    *ret_mark = mark;
    return true;
}

bool break_glass_parse(struct qs_bytes text, struct break_glass *ret_glass)
{
    struct break_glass glass = {0};
    if (!fleet_take_number(&text, ' ', &glass.start) || !fleet_take_number(&text, ' ', &glass.end) ||
        !fleet_take_number(&text, ' ', &glass.uid) || glass.start >= glass.end ||
        glass.end - glass.start > BREAK_GLASS_HOURS_MAX * 3600u)
        return false;
    const char *reason = text.data;
    if (text.len < 2 || text.len > sizeof glass.reason || memchr(reason, '\0', text.len) ||
        memchr(reason, '\n', text.len) != reason + text.len - 1)
        return false;
    memcpy(glass.reason, reason, text.len - 1);
    *ret_glass = glass;
    return true;
}

/* ---- the store's mark ---- */

static bool number_at(const struct qs_snapshot *snapshot, const char *key, uint64_t *ret_number)
{
    struct qs_bytes value;
    char text[24];
    if (qs_snapshot_get(snapshot, key, &value, NULL) || value.len > sizeof text - 1)
        return false;
    memcpy(text, value.data, value.len);
    text[value.len] = '\n';
    struct qs_bytes line = {text, value.len + 1};
    return fleet_take_number(&line, '\n', ret_number);
}

enum qs_status fleet_mark_of(const struct qs_snapshot *snapshot, struct fleet_mark *ret_mark, struct qs_error *err)
{
    struct qs_bytes name;
    struct fleet_mark mark = {0};
    enum qs_status status = qs_snapshot_get(snapshot, "fleet.name", &name, NULL);
    if (status == QS_NOT_FOUND) {
        *ret_mark = mark;
        return QS_OK;
    }
    if (status || name.len < 2 || !fleet_name_valid((const char *)name.data + 1, name.len - 2) ||
        !number_at(snapshot, "fleet.keys", &mark.order.keys) ||
        !number_at(snapshot, "fleet.serial", &mark.order.serial)) {
        error_set(err, QS_INVALID, "the store's settings below fleet are not what qfleet writes");
        error_add_advice(err, "run qfleet apply, which writes them again");
        return QS_INVALID;
    }
    memcpy(mark.fleet, (const char *)name.data + 1, name.len - 2);
    *ret_mark = mark;
    return QS_OK;
}

/* ---- the files beside it ---- */

/* A short file of root's or the store's owner. QS_NOT_FOUND: it is not there. */
static enum qs_status read_line(int dir_fd, const char *path, uid_t owner, uint64_t resolve, struct buf *out,
                                struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct stat st;
    AUTO_FD int fd = os_open_at(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, resolve);
    if (fd < 0)
        return errno == ENOENT
                   ? QS_NOT_FOUND
                   : error_sys(err, errno == ELOOP ? QS_UNTRUSTED : QS_IO, errno, "%s cannot be opened", path);
    if (qs_os->fstat(fd, &st))
        return error_sys(err, QS_IO, errno, "%s cannot be examined", path);
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != owner) || (st.st_mode & 022))
        return error_set(err, QS_UNTRUSTED, "%s must be a regular file that only root or the store's owner can write",
                         path);
    enum qs_status status = os_read_all(fd, path, LINE_MAX_BYTES, &text, &len, err);
    if (!status)
        buf_add(out, text, len);
    return status ? status : out->failed ? error_memory(err) : QS_OK;
}

static enum qs_status damaged(const char *name, struct qs_error *err)
{
    error_set(err, QS_DAMAGED, "%s is not what qfleet writes", name);
    error_add_advice(err, "run qfleet apply, which writes it again");
    return QS_DAMAGED;
}

enum qs_status fleet_required(const struct store_dir *dir, struct fleet_mark *ret_mark, struct qs_error *err)
{
    struct buf text = {0};
    AUTO_FD int parent_fd = -1;
    *ret_mark = (struct fleet_mark){0};
    if (dir->scope != QS_SCOPE_SYSTEM)
        return QS_OK;
    enum qs_status status = store_dir_open_parent(dir, false, &parent_fd, err);
    if (!status)
        status = read_line(parent_fd, FLEET_SERIAL_FILE, dir->owner, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, &text, err);
    if (!status && !fleet_mark_parse((struct qs_bytes){text.data, text.len}, ret_mark))
        status = damaged(FLEET_SERIAL_FILE, err);
    buf_release(&text);
    return status == QS_ABSENT || status == QS_NOT_FOUND ? QS_OK : status;
}

enum qs_status fleet_check_stale(const struct fleet_mark *demanded, const struct fleet_mark *found,
                                 struct qs_error *err)
{
    if (!demanded->fleet[0] ||
        (!strcmp(demanded->fleet, found->fleet) && fleet_order_compare(found->order, demanded->order) >= 0))
        return QS_OK;
    if (found->fleet[0])
        error_set(err, QS_STALE,
                  "the system store is of fleet %s, bundle %llu-%llu; " FLEET_SERIAL_FILE
                  " demands fleet %s, bundle %llu-%llu",
                  found->fleet, (unsigned long long)found->order.keys, (unsigned long long)found->order.serial,
                  demanded->fleet, (unsigned long long)demanded->order.keys,
                  (unsigned long long)demanded->order.serial);
    else
        error_set(err, QS_STALE,
                  "the system store has no bundle; " FLEET_SERIAL_FILE " demands fleet %s, bundle %llu-%llu",
                  demanded->fleet, (unsigned long long)demanded->order.keys,
                  (unsigned long long)demanded->order.serial);
    error_add_advice(err, "run qfleet apply as root");
    return QS_STALE;
}

enum qs_status fleet_glass_broken(const struct store_dir *dir, bool *ret_broken, struct qs_error *err)
{
    struct buf text = {0};
    struct break_glass glass;
    int64_t now = 0;
    uint32_t now_ns = 0;
    AUTO_FD int parent_fd = -1;
    *ret_broken = false;
    enum qs_status status = dir->root ? store_dir_open_parent(dir, false, &parent_fd, err) : QS_OK;
    if (!status)
        status = dir->root ? read_line(parent_fd, STATE_DIR "/" FLEET_GLASS_FILE, dir->owner,
                                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, &text, err)
                           : read_line(AT_FDCWD, "/" STATE_DIR "/" FLEET_GLASS_FILE, 0, 0, &text, err);
    if (!status && !break_glass_parse((struct qs_bytes){text.data, text.len}, &glass))
        status = damaged(FLEET_GLASS_FILE, err);
    if (!status && qs_os->realtime(&now, &now_ns))
        status = error_sys(err, QS_IO, errno, "the clock cannot be read");
    if (!status)
        *ret_broken = break_glass_holds(&glass, (uint64_t)now);
    buf_release(&text);
    return status == QS_NOT_FOUND ? QS_OK : status;
}
