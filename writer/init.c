/* SPDX-License-Identifier: Apache-2.0 */
/* Making a store, and the file that says it must exist. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "base/sized.h"
#include "qsettings/maintenance.h"
#include "writer/build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

static const char *base_name(const struct store_dir *dir)
{
    return strrchr(dir->path, '/') + 1;
}

/* ---- the require-system file ---- */

static enum qs_status flush_dir(int dir_fd, struct qs_error *err)
{
    if (os_fsync_dir(dir_fd))
        return error_sys(err, QS_IO, errno, "the directory of the scopes cannot be flushed");
    return QS_OK;
}

static enum qs_status set_required(int parent_fd, bool required, bool *ret_changed, struct qs_error *err)
{
    *ret_changed = true;
    if (!required) {
        if (qs_os->unlinkat(parent_fd, STORE_REQUIRE_FILE, 0)) {
            *ret_changed = false;
            return errno == ENOENT ? QS_OK : error_sys(err, QS_IO, errno, "%s cannot be removed", STORE_REQUIRE_FILE);
        }
        return flush_dir(parent_fd, err);
    }
    AUTO_FD int fd = os_open_at(parent_fd, STORE_REQUIRE_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644,
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0 && errno == EEXIST) {
        *ret_changed = false;
        return QS_OK;
    }
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "%s cannot be created", STORE_REQUIRE_FILE);
    if (qs_os->fchmod(fd, 0644) || os_fsync(fd))
        return error_sys(err, QS_IO, errno, "%s cannot be made durable", STORE_REQUIRE_FILE);
    return flush_dir(parent_fd, err);
}

enum qs_status qs_store_require(struct qs_store *store, bool required, struct qs_error *err)
{
    AUTO_FD int parent_fd = -1;
    bool changed = false;
    if (!store)
        return error_misuse(err, __func__);
    if (store->dir.scope != QS_SCOPE_SYSTEM)
        return error_set(err, QS_USAGE, "only the system store can be required");
    enum qs_status status = store_dir_open_parent(&store->dir, false, &parent_fd, err);
    if (!status)
        status = store_dir_check_writable(&store->dir, parent_fd, err);
    if (!status)
        status = set_required(parent_fd, required, &changed, err);
    if (status)
        error_add_file(err, store->dir.path);
    return status;
}

/* ---- init ---- */

static void remove_tree(int parent_fd, const char *name)
{
    static const char *const files[] = {STORE_DATA_FILE, STORE_LOCK_FILE, STORE_TEMP_FILE};
    AUTO_FD int fd = os_open_at(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_BENEATH);
    for (size_t i = 0; fd >= 0 && i < sizeof files / sizeof files[0]; i++)
        (void)qs_os->unlinkat(fd, files[i], 0);
    (void)qs_os->unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* Under the lock of the parent no other init is under way: what bears the prefix was left by one that was killed. */
static void remove_leftovers(int lock_fd)
{
    int copy = os_open_at(lock_fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir) {
        if (copy >= 0)
            (void)close(copy);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, STORE_INIT_PREFIX, sizeof STORE_INIT_PREFIX - 1) == 0)
            remove_tree(lock_fd, entry->d_name);
    (void)closedir(dir);
}

static enum qs_status first_record(const struct qs_store *store, const struct qs_init_options *options,
                                   struct build *build, struct history_chunks *chunks, struct qs_error *err)
{
    build->record = (struct meta_record){.scope = store->dir.scope,
                                         .generation = 1,
                                         .flags = options->require_policy ? META_RECORD_REQUIRE_POLICY : 0};
    struct qs_change change = {.area = QS_AREA_FLAGS,
                               .key = {"requirePolicy", 13},
                               .old_value = {"false", 5},
                               .new_value = {"true", 4}};
    struct history_entry entry = {.action = HISTORY_INIT,
                                  .message = options->message,
                                  .changes = &change,
                                  .change_count = options->require_policy ? 1 : 0};
    enum qs_status status = os_random(build->record.store_id, QS_STORE_ID_BYTES, err);
    if (status)
        return status;
    content_digest(build->areas, build->record.content);
    build->newest = chunks;
    return history_build(&build->record, &entry, chunks, err);
}

static enum qs_status fill_temp(const struct qs_store *store, int temp_fd, const struct qs_init_options *options,
                                struct qs_error *err)
{
    const struct entry_list areas[AREA_COUNT] = {0};
    struct build build = {.areas = areas};
    AUTO(history_chunks_release) struct history_chunks chunks = {0};
    enum qs_status status = first_record(store, options, &build, &chunks, err);
    if (status)
        return status;
    AUTO_FD int data_fd = os_open_at(temp_fd, STORE_DATA_FILE, O_RDWR | O_CREAT | O_EXCL, 0600, RESOLVE_BENEATH);
    AUTO_FD int lock_fd = os_open_at(temp_fd, STORE_LOCK_FILE, O_RDWR | O_CREAT | O_EXCL, 0600, RESOLVE_BENEATH);
    if (data_fd < 0 || lock_fd < 0)
        return error_sys(err, QS_IO, errno, "the new store's files cannot be created");
    status = build_file(data_fd, &build, err);
    if (status)
        return status;
    if (qs_os->fchmod(lock_fd, 0600) || qs_os->fchmod(data_fd, store_dir_data_mode(&store->dir)) || os_fsync(lock_fd) ||
        os_fsync(data_fd))
        return error_sys(err, QS_IO, errno, "the new store cannot be made durable");
    return QS_OK;
}

static enum qs_status make_temp(const struct qs_store *store, int parent_fd, const char *temp,
                                const struct qs_init_options *options, struct qs_error *err)
{
    if (qs_os->mkdirat(parent_fd, temp, 0700))
        return error_sys(err, QS_IO, errno, "a directory for the new store cannot be created");
    AUTO_FD int fd = os_open_at(parent_fd, temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_BENEATH);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "the new store's directory cannot be opened");
    enum qs_status status = fill_temp(store, fd, options, err);
    if (status)
        return status;
    if (qs_os->fchmod(fd, store_dir_mode(&store->dir)) || os_fsync(fd))
        return error_sys(err, QS_IO, errno, "the new store's directory cannot be made durable");
    return QS_OK;
}

static enum qs_status put_in_place(const struct qs_store *store, int parent_fd, const char *temp, struct qs_error *err)
{
    if (qs_os->renameat2(parent_fd, temp, parent_fd, base_name(&store->dir), RENAME_NOREPLACE)) {
        if (errno == EEXIST || errno == ENOTEMPTY)
            return error_set(err, QS_CONFLICT, "a store, or something else, is there already");
        return error_sys(err, QS_IO, errno, "the new store cannot be put in place");
    }
    return QS_OK;
}

static enum qs_status check_free(const struct qs_store *store, int parent_fd, struct qs_error *err)
{
    struct stat st;
    if (qs_os->fstatat(parent_fd, base_name(&store->dir), &st, AT_SYMLINK_NOFOLLOW) == 0)
        return error_set(err, QS_CONFLICT, "a store, or something else, is there already");
    return errno == ENOENT ? QS_OK : error_sys(err, QS_IO, errno, "the store's directory cannot be examined");
}

static enum qs_status init_locked(const struct qs_store *store, int parent_fd, const struct qs_init_options *options,
                                  struct qs_error *err)
{
    char temp[sizeof STORE_INIT_PREFIX + 16];
    uint64_t random = 0;
    bool demanded = false;
    enum qs_status status = check_free(store, parent_fd, err);
    if (status)
        return status;
    status = os_random(&random, sizeof random, err);
    if (status)
        return status;
    (void)snprintf(temp, sizeof temp, STORE_INIT_PREFIX "%016llx", (unsigned long long)random);
    status = make_temp(store, parent_fd, temp, options, err);
    /* The demand comes first: a crash in between leaves readers refused, never unconfined. */
    if (!status && store->dir.scope == QS_SCOPE_SYSTEM && !options->no_require_store)
        status = set_required(parent_fd, true, &demanded, err);
    if (!status)
        status = put_in_place(store, parent_fd, temp, err);
    if (status) {
        remove_tree(parent_fd, temp);
        bool ignored;
        if (demanded && set_required(parent_fd, false, &ignored, NULL))
            error_add_advice(err, "%s was left behind", STORE_REQUIRE_FILE);
        if (status != QS_CONFLICT)
            error_add_advice(err, "no store was created");
        return status;
    }
    /* From here on the store stands, and so does the demand, whatever the flush says. */
    status = flush_dir(parent_fd, err);
    if (status)
        error_add_advice(err, "the disk fails: the store is in place, but may not survive a power cut");
    return status;
}

/* Anybody who may read the directory could hold this lock: the wait is bounded. */
static enum qs_status lock_parent(int parent_fd, int *ret_fd, struct qs_error *err)
{
    uint64_t deadline = qs_os->monotonic_ms() + QS_DEFAULT_WAIT_MS;
    AUTO_FD int fd = os_open_at(parent_fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "the directory of the scopes cannot be opened");
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_sys(err, QS_IO, errno, "the directory of the scopes cannot be locked");
        if (qs_os->monotonic_ms() >= deadline)
            return error_set(err, QS_BUSY, "another process has locked the directory of the scopes; waited %u ms",
                             QS_DEFAULT_WAIT_MS);
        qs_os->sleep_ms(5);
    }
    *ret_fd = steal_fd(&fd);
    return QS_OK;
}

static enum qs_status init(const struct qs_store *store, const struct qs_init_options *options, struct qs_error *err)
{
    AUTO_FD int parent_fd = -1;
    AUTO_FD int lock_fd = -1;
    enum qs_status status = store_dir_open_parent(&store->dir, true, &parent_fd, err);
    if (status)
        return status;
    status = store_dir_check_writable(&store->dir, parent_fd, err);
    if (status)
        return status;
    status = lock_parent(parent_fd, &lock_fd, err);
    if (status)
        return status;
    remove_leftovers(lock_fd);
    return init_locked(store, parent_fd, options, err);
}

enum qs_status qs_store_init(struct qs_store *store, const struct qs_init_options *options, struct qs_error *err)
{
    struct qs_init_options own;
    if (!store)
        return error_misuse(err, __func__);
    enum qs_status status = SIZED_TAKE(options, own, message, err);
    if (status)
        return status;
    status = init(store, &own, err);
    if (status)
        error_add_file(err, store->dir.path);
    return status;
}
