/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching a store. inotify only wakes; what is reported comes from the history, so each generation is reported once,
 * whatever happened to the file: a commit, compact, restore, or a store made anew.
 */
#include "qsettings/watch.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "store/history_read.h"
#include "text/key_path.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

struct qs_watch {
    struct qs_store *store;
    int inotify_fd;
    int dir_watch; /* of the store's directory; -1 while there is none */
    char *parent;
    uint64_t last;              /* the generation given last */
    struct qs_snapshot *seen;   /* as of the last look; NULL: absent, or never looked */
    struct qs_history *history; /* being reported; NULL: none */
    bool replaced, rewound;     /* facts of the look, reported with its first event */
    bool policy_moved;          /* a fact of the look, reported with an event that explains it, or else with its last */
    bool reported;              /* an event was given */
    bool first_look;            /* nothing was seen before: what a gap hides cannot be compared */
};

static void add_watches(struct qs_watch *watch)
{
    const uint32_t in_dir =
        IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    if (watch->dir_watch < 0)
        watch->dir_watch = inotify_add_watch(watch->inotify_fd, watch->store->dir.path, in_dir);
    (void)inotify_add_watch(watch->inotify_fd, watch->parent, IN_MOVED_TO | IN_CREATE | IN_MOVED_FROM | IN_ONLYDIR);
}

static void drain(struct qs_watch *watch)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t len;
    while ((len = read(watch->inotify_fd, events, sizeof events)) > 0)
        for (char *at = events; at < events + len;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            if (event->wd == watch->dir_watch && event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) {
                if (event->mask & IN_MOVE_SELF)
                    (void)inotify_rm_watch(watch->inotify_fd, watch->dir_watch);
                watch->dir_watch = -1;
            }
            at += sizeof *event + event->len;
        }
    add_watches(watch);
}

static void watch_release(struct qs_watch **watch)
{
    qs_watch_close(*watch);
}

enum qs_status qs_watch_open(struct qs_store *store, uint64_t from, struct qs_watch **ret_watch, struct qs_error *err)
{
    if (!store || !ret_watch)
        return error_misuse(err, __func__);
    AUTO(watch_release) struct qs_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return error_memory(err);
    watch->store = store;
    watch->dir_watch = -1;
    watch->last = from == QS_WATCH_ALL ? 0 : from;
    watch->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    const char *slash = strrchr(store->dir.path, '/');
    watch->parent = strndup(store->dir.path, slash == store->dir.path ? 1 : (size_t)(slash - store->dir.path));
    if (watch->inotify_fd < 0)
        return error_sys(err, QS_IO, errno, "inotify cannot be used");
    if (!watch->parent)
        return error_memory(err);
    add_watches(watch); /* before the first look, so that no change falls between the two */
    enum qs_status status = qs_snapshot_take(store, &watch->seen, err);
    if (status && status != QS_ABSENT)
        return status;
    if (!status && from == 0) {
        watch->last = watch->seen->record.generation;
    } else { /* what came after from is still to be reported */
        qs_snapshot_unref(watch->seen);
        watch->seen = NULL;
    }
    *ret_watch = STEAL(watch);
    return QS_OK;
}

void qs_watch_close(struct qs_watch *watch)
{
    if (!watch)
        return;
    int saved = errno;
    if (watch->inotify_fd >= 0)
        (void)close(watch->inotify_fd);
    qs_history_close(watch->history);
    qs_snapshot_unref(watch->seen);
    free(watch->parent);
    free(watch);
    errno = saved;
}

int qs_watch_fd(const struct qs_watch *watch)
{
    return watch ? watch->inotify_fd : -1;
}

struct qs_history *qs_watch_history(struct qs_watch *watch)
{
    return watch && watch->reported ? watch->history : NULL;
}

/* ---- does it touch the policy? ---- */

static const char *const POLICY_KEYS[] = {"tools.executionSandbox", "executor"};

static bool is_policy_change(const struct qs_change *change)
{
    if (change->area == QS_AREA_FLAGS)
        return true;
    for (size_t i = 0; change->area == QS_AREA_SETTINGS && i < sizeof POLICY_KEYS / sizeof POLICY_KEYS[0]; i++) {
        struct qs_key key;
        if (qs_key_parse(POLICY_KEYS[i], &key, NULL) == QS_OK &&
            (key_covers(key.bytes, key.len, change->key.data, change->key.len) ||
             key_covers(change->key.data, change->key.len, key.bytes, key.len)))
            return true;
    }
    return false;
}

static bool record_touches_policy(struct qs_history *history, const struct qs_record *record)
{
    for (size_t i = 0; i < record->change_count; i++)
        if (is_policy_change(qs_history_change(history, i)))
            return true;
    return false;
}

/* Between two looks without records of it (another store, a gap) the contents are compared. */
static bool policy_differs(const struct qs_snapshot *a, const struct qs_snapshot *b)
{
    if ((a->record.flags ^ b->record.flags) & META_RECORD_REQUIRE_POLICY)
        return true;
    for (size_t i = 0; i < sizeof POLICY_KEYS / sizeof POLICY_KEYS[0]; i++) {
        struct qs_key prefix;
        struct qs_bytes key_a;
        struct qs_bytes value_a;
        struct qs_bytes key_b;
        struct qs_bytes value_b;
        if (qs_key_parse(POLICY_KEYS[i], &prefix, NULL))
            return true;
        struct qs_iter in_a = qs_snapshot_iter(a, &prefix);
        struct qs_iter in_b = qs_snapshot_iter(b, &prefix);
        if (in_a.end - in_a.at != in_b.end - in_b.at)
            return true;
        while (qs_iter_next(&in_a, &key_a, &value_a) && qs_iter_next(&in_b, &key_b, &value_b))
            if (key_compare(key_a.data, key_a.len, key_b.data, key_b.len) != 0 ||
                key_compare(value_a.data, value_a.len, value_b.data, value_b.len) != 0)
                return true;
    }
    return false;
}

/* ---- looking ---- */

/* Opens the history afresh when the store changed. QS_NOT_FOUND: nothing new to look at. */
static enum qs_status look(struct qs_watch *watch, struct qs_error *err)
{
    struct qs_history *history = NULL;
    if (watch->seen && !qs_snapshot_changed(watch->seen, watch->store))
        return QS_NOT_FOUND;
    enum qs_status status = qs_history_open(watch->store, &history, err);
    if (status == QS_ABSENT)
        return QS_NOT_FOUND; /* what was seen stays, to be compared with a store made anew */
    if (status)
        return status;
    struct qs_snapshot *now = history->snapshot;
    bool known = watch->seen != NULL;
    watch->replaced = known && memcmp(watch->seen->record.store_id, now->record.store_id, QS_STORE_ID_BYTES) != 0;
    watch->first_look = !known;
    watch->policy_moved = known && policy_differs(watch->seen, now);
    /* Numbers that went back (an old file put in place by hand, or a store made anew since the caller's last look):
     * what is there now is reported; else nothing would be until they have caught up. */
    watch->rewound = !watch->replaced && now->record.generation < watch->last;
    if (watch->replaced)
        watch->last = 0;
    else if (watch->rewound)
        watch->last = now->record.generation - 1;
    qs_history_close(watch->history);
    watch->history = history;
    qs_snapshot_unref(watch->seen);
    watch->seen = qs_snapshot_ref(now);
    return QS_OK;
}

static enum qs_status give_next(struct qs_watch *watch, struct qs_watch_event *ret_event, struct qs_error *err)
{
    const struct qs_record *record = NULL;
    uint64_t newest = watch->history ? watch->history->snapshot->record.generation : 0, next = 0;
    if (!watch->history || watch->last >= newest)
        return QS_NOT_FOUND;
    enum qs_status status = history_after(watch->history, watch->last, &next, err);
    if (!status)
        status = qs_history_find(watch->history, next, &record, err);
    if (status)
        return status;
    bool gap = watch->rewound || (watch->last != 0 && record->generation != watch->last + 1);
    bool at_end = record->generation == newest;
    bool touched = record_touches_policy(watch->history, record);
    /* restore and repair may go back to a policy that no record shows: then the contents do. */
    bool unexplained = (watch->policy_moved && (watch->replaced || gap || at_end)) || (watch->first_look && gap);
    struct qs_watch_event event = {
        .generation = record->generation,
        .store_replaced = watch->replaced,
        .history_missing = gap,
        .policy_changed = touched || unexplained,
    };
    sized_give(ret_event, &event, sizeof event);
    watch->reported = true;
    watch->replaced = watch->rewound = false;
    watch->policy_moved = watch->policy_moved && !touched && !unexplained;
    watch->last = record->generation;
    return QS_OK;
}

enum qs_status qs_watch_next(struct qs_watch *watch, struct qs_watch_event *ret_event, struct qs_error *err)
{
    if (!watch || !ret_event)
        return error_misuse(err, __func__);
    enum qs_status status = sized_check(ret_event, SIZED_FIRST(struct qs_watch_event, history_missing), __func__, err);
    if (status)
        return status;
    status = give_next(watch, ret_event, err);
    if (!status)
        return QS_OK;
    drain(watch); /* first: an event that comes after the look wakes the caller again */
    enum qs_status looked = look(watch, status == QS_NOT_FOUND ? err : NULL);
    if (!looked)
        return give_next(watch, ret_event, err);
    return status == QS_NOT_FOUND ? looked : status; /* a damaged record stays the answer until the store is another */
}
