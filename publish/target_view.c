/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target contains, and the record of what was last published there.
 *
 * The record is an attribute of the published file itself: it gets its name together with the content, so no crash can
 * tear the two apart, and registered and other targets need nothing in the store (a record in the store would make
 * every publishing a commit, which publishes).
 *
 * A file system without user attributes gets a file beside the target, .qs-pub-HASH. It cannot change in one step with
 * the content, so before the content is replaced it names both texts, the present and the next; afterwards the next
 * alone.
 */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "writer/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define BESIDE_BYTES (8 + FILE_HASH_BYTES)

/* A record's text, cut at the line's end; false if it is none. */
static bool take_record(struct view *view, const char *text, size_t len)
{
    if (len != DIGEST_TEXT_BYTES - 1 || strncmp(text, "blake2b-256:", 12) != 0 || view->record_count == 2)
        return false;
    char *record = view->records[view->record_count++];
    memcpy(record, text, len);
    record[len] = '\0';
    return true;
}

static void beside_name(const struct view *view, char name[BESIDE_BYTES])
{
    char hash[FILE_HASH_BYTES];
    file_hash(view->resolved.name, hash);
    (void)snprintf(name, BESIDE_BYTES, ".qs-pub-%s", hash);
}

/* A record that cannot be read is as good as none: then the file counts as edited. */
static void read_beside(struct view *view)
{
    char name[BESIDE_BYTES];
    char text[2 * DIGEST_TEXT_BYTES];
    beside_name(view, name);
    AUTO_FD int fd = os_open_at(view->resolved.dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, 0);
    ssize_t len = fd < 0 ? -1 : os_pread_full(fd, text, sizeof text, 0);
    for (ssize_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', (size_t)(len - at));
        if (!end || !take_record(view, text + at, (size_t)(end - (text + at))))
            return;
        at = end + 1 - text;
    }
}

static void read_attribute(struct view *view, int fd)
{
    char text[DIGEST_TEXT_BYTES];
    ssize_t len = TEMP_FAILURE_RETRY(qs_os->fgetxattr(fd, PUBLISH_ATTRIBUTE, text, sizeof text));
    view->has_attributes = len >= 0 || errno != EOPNOTSUPP;
    if (len > 0)
        (void)take_record(view, text, (size_t)len);
}

static enum qs_status read_content(struct view *view, struct qs_error *err)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    if (!S_ISREG(view->resolved.st.st_mode))
        return error_set(err, QS_INVALID, "not a regular file");
    AUTO_FD int fd = os_open_at(view->resolved.dir_fd, view->resolved.name, flags, 0, 0);
    if (fd < 0 && errno == ENOENT) {
        view->exists = false; /* gone since it was looked up */
        return QS_OK;
    }
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "the file cannot be opened");
    if (TEMP_FAILURE_RETRY(qs_os->fstat(fd, &view->st)) != 0)
        return error_sys(err, QS_IO, errno, "the file cannot be examined");
    if (!S_ISREG(view->st.st_mode))
        return error_set(err, QS_INVALID, "not a regular file");
    enum qs_status status = os_read_all(fd, "the file", QS_DOCUMENT_MAX_BYTES, &view->data, &view->len, err);
    if (status)
        return status;
    read_attribute(view, fd);
    return QS_OK;
}

/* Does the file system have attributes? A directory tells as well as a file. */
static void probe_directory(struct view *view)
{
    AUTO_FD int fd = os_open_at(view->resolved.dir_fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    view->has_attributes =
        fd < 0 || TEMP_FAILURE_RETRY(qs_os->fgetxattr(fd, PUBLISH_ATTRIBUTE, NULL, 0)) >= 0 || errno != EOPNOTSUPP;
}

enum qs_status view_read(const struct qs_target *target, unsigned flags, struct view *ret_view, struct qs_error *err)
{
    AUTO(view_release) struct view view = {.resolved = {.dir_fd = -1}};
    unsigned foreign = flags & QS_PUBLISH_OTHER_OWNER ? RESOLVE_FOREIGN : 0;
    enum qs_status status = resolve_target(target->file, foreign, &view.resolved, err);
    view.exists = !status && view.resolved.exists;
    if (view.exists)
        status = read_content(&view, err);
    if (status) {
        error_add_file(err, target->file);
        return status;
    }
    if (!view.exists)
        probe_directory(&view);
    if (!view.has_attributes)
        read_beside(&view);
    *ret_view = view;
    view = (struct view){.resolved = {.dir_fd = -1}};
    return QS_OK;
}

void view_release(struct view *view)
{
    cleanup_free(&view->data);
    view->data = NULL;
    resolved_target_release(&view->resolved);
}

bool view_contains(const struct view *view, const void *data, size_t len)
{
    return view->exists && view->len == len && (len == 0 || !memcmp(view->data, data, len));
}

bool view_has_record(const struct view *view, const char digest[DIGEST_TEXT_BYTES])
{
    for (size_t i = 0; i < view->record_count; i++)
        if (!strcmp(view->records[i], digest))
            return true;
    return false;
}

bool view_is_ours(const struct view *view)
{
    uint8_t digest[QS_DIGEST_BYTES];
    char text[DIGEST_TEXT_BYTES];
    if (!view->exists)
        return false;
    digest_of(view->data, view->len, digest);
    digest_format(digest, text);
    return view_has_record(view, text);
}

enum qs_status view_announce(const struct view *view, const struct qs_target *target, const char *digest, bool keep,
                             struct qs_error *err)
{
    char link[64];
    char path[QS_PATH_MAX_BYTES + 1];
    char name[BESIDE_BYTES];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", view->resolved.dir_fd);
    ssize_t len = TEMP_FAILURE_RETRY(qs_os->readlinkat(AT_FDCWD, link, path, sizeof path - BESIDE_BYTES - 1));
    if (len <= 0 || path[0] != '/')
        return error_sys(err, QS_IO, len < 0 ? errno : ENOENT, "the path of the directory cannot be read");
    beside_name(view, name);
    (void)snprintf(path + len, sizeof path - (size_t)len, "/%s", name);
    AUTO(buf_release) struct buf text = {0};
    uint8_t present[QS_DIGEST_BYTES];
    char present_text[DIGEST_TEXT_BYTES];
    if (keep && view->exists) {
        digest_of(view->data, view->len, present);
        digest_format(present, present_text);
        buf_printf(&text, "%s\n", present_text);
    }
    buf_printf(&text, "%s\n", digest);
    if (text.failed)
        return error_memory(err);
    struct qs_replace_options options = {.size = sizeof options, .mode = target_mode(target)};
    return file_replace(path, text.data, text.len, &options, NULL, err);
}
