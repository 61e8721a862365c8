/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing: settings into a file that is never absent, for programs that read a settings file.
 */
#ifndef QSETTINGS_PUBLISH_H
#define QSETTINGS_PUBLISH_H

#include "qsettings/file.h"
#include "qsettings/store.h"

#ifdef __cplusplus
extern "C" {
#endif

enum qs_publish_format { QS_PUBLISH_JSON = 0, QS_PUBLISH_YAML = 1 };

/* What a target holds and how. Registered targets live in a store of the scope they belong to. */
struct qs_target {
    const char *file;  /* absolute */
    const char *scope; /* "effective", or a scope's name: the settings of that store alone */
    enum qs_publish_format format;
    bool for_qwen; /* leave out what Qwen Code's reader would refuse (the executor object) */
};

enum qs_publish_flags {
    QS_PUBLISH_FORCE = 1 << 0, /* overwrite a file that someone edited since it was last published */
};

enum qs_publish_outcome { QS_PUBLISH_WRITTEN = 0, QS_PUBLISH_UNCHANGED = 1 };

/* Publishes one target from the stores at root (NULL: the fixed places). store is where the record of what was last published
 * there is kept. Errors: QS_CONFLICT (edited in between; nothing was lost), those of qs_file_replace and of reading. */
QS_API enum qs_status qs_publish(struct qs_store *store, const char *root, const struct qs_target *target, unsigned flags,
                                 enum qs_publish_outcome *ret_outcome, struct qs_error *err) QS_MUST_USE;

/* Publishes all targets registered in store that are not up to date. Counts those written; the first failure is reported
 * after all were tried. */
QS_API enum qs_status qs_publish_registered(struct qs_store *store, const char *root, size_t *ret_written,
                                            struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
