/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching: a descriptor to poll, and each new generation once.
 *
 * The descriptor is an inotify one on the store's directory (its parent while the store is absent). Events are hints:
 * what counts is the generation read afterwards. Where inotify is deaf (some network and overlay file systems) call
 * qs_watch_next on a timer as well.
 */
#ifndef QSETTINGS_WATCH_H
#define QSETTINGS_WATCH_H

#include "qsettings/history.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qs_watch;

/* From every generation that the history has: for a store that was absent when it was read. */
#define QS_WATCH_ALL UINT64_MAX

/* Starts after generation from (0: the newest there is now; QS_WATCH_ALL: the first). store must outlive the watch.
 * Errors: QS_UNTRUSTED, QS_IO. An absent store is no error: it is waited for. */
QS_API enum qs_status qs_watch_open(struct qs_store *store, uint64_t from, struct qs_watch **ret_watch,
                                    struct qs_error *err) QS_MUST_USE;
QS_API void qs_watch_close(struct qs_watch *watch);
QS_API int qs_watch_fd(const struct qs_watch *watch); /* readable when something may have changed; owned by the watch */

struct qs_watch_event {
    size_t size;
    uint64_t generation;
    bool store_replaced;  /* another store id than before: history starts anew */
    bool policy_changed;  /* a policy key (tools.executionSandbox, executor) differs: restart needed */
    bool history_missing; /* generations before this one were lost (restore or repair went on at a higher number), or
                             the numbers went back (an older file was put in place by hand) */
};

/* The next generation not yet given, in order; QS_NOT_FOUND when there is none now. Never blocks longer than a read.
 * Errors: as qs_history_open; after an error the next call tries again. */
QS_API enum qs_status qs_watch_next(struct qs_watch *watch, struct qs_watch_event *ret_event,
                                    struct qs_error *err) QS_MUST_USE;
/* The history that the generation given last is in, for qs_history_find. NULL before the first. Borrowed until the next
 * call of qs_watch_next. */
QS_API struct qs_history *qs_watch_history(struct qs_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
