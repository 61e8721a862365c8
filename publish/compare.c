/* SPDX-License-Identifier: Apache-2.0 */
/* How a file stands to the settings: the leaves in which they differ. */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "text/key_path.h"
#include "text/value.h"

#include <string.h>

static bool same_bytes(struct qs_bytes a, struct qs_bytes b)
{
    return a.len == b.len && (a.len == 0 || !memcmp(a.data, b.data, a.len));
}

enum qs_status leaves_compare(const struct leaves *file, const struct leaves *store, difference_visit visit,
                              void *context, struct qs_error *err)
{
    static const struct qs_bytes none = {NULL, 0};
    enum qs_status status = QS_OK;
    size_t f = 0, s = 0;
    while (status == QS_OK && (f < file->count || s < store->count)) {
        const struct leaf *in_file = f < file->count ? &file->items[f] : NULL;
        const struct leaf *in_store = s < store->count ? &store->items[s] : NULL;
        int order = !in_file ? 1
                    : !in_store
                        ? -1
                        : key_compare(in_file->key.data, in_file->key.len, in_store->key.data, in_store->key.len);
        f += order <= 0;
        s += order >= 0;
        if (order < 0)
            status = visit(context, in_file->key, in_file->value, none, err);
        else if (order > 0)
            status = visit(context, in_store->key, none, in_store->value, err);
        else if (!same_bytes(in_file->value, in_store->value))
            status = visit(context, in_file->key, in_file->value, in_store->value, err);
    }
    return status;
}

enum qs_status view_leaves(const struct view *view, const struct qs_target *target, struct leaves *ret_leaves,
                           struct qs_error *err)
{
    struct doc *doc = NULL;
    enum doc_format format = target->format == QS_PUBLISH_YAML ? DOC_YAML : DOC_JSON;
    enum qs_status status = doc_parse(target->file, view->data, view->len, format, &doc, err);
    if (status == QS_OK)
        status = flatten_value(doc_root(doc), NULL, doc, ret_leaves, err);
    doc_free(doc);
    return status;
}

const char *qs_publish_state_name(enum qs_publish_state state)
{
    switch (state) {
    case QS_PUBLISH_CURRENT:
        return "current";
    case QS_PUBLISH_STALE:
        return "stale";
    case QS_PUBLISH_MISSING:
        return "missing";
    case QS_PUBLISH_EDITED:
        return "edited";
    }
    return "unknown";
}

static char *copy_text(struct qs_bytes bytes, bool *failed)
{
    char *text = bytes.data ? malloc(bytes.len + 1) : NULL;
    if (text) {
        memcpy(text, bytes.data, bytes.len);
        text[bytes.len] = '\0';
    }
    *failed = *failed || (bytes.data && !text);
    return text;
}

static enum qs_status add_difference(void *context, struct qs_bytes key, struct qs_bytes in_file,
                                     struct qs_bytes in_store, struct qs_error *err)
{
    struct qs_publish_report *report = context;
    char text[QS_KEY_TEXT_BYTES];
    bool failed = false;
    if ((report->count & (report->count - 1)) == 0) { /* full at each power of two */
        size_t cap = report->count ? 2 * report->count : 1;
        struct qs_publish_difference *grown = reallocarray(report->differences, cap, sizeof *grown);
        if (!grown)
            return error_memory(err);
        report->differences = grown;
    }
    (void)qs_key_format(key.data, key.len, text, sizeof text);
    struct qs_publish_difference *difference = &report->differences[report->count++];
    difference->key = copy_text((struct qs_bytes){text, strlen(text)}, &failed);
    difference->in_file = copy_text(in_file, &failed);
    difference->in_store = copy_text(in_store, &failed);
    return failed ? error_memory(err) : QS_OK;
}

/* A file that is no document is a finding, not a failure. */
static enum qs_status report_differences(const struct view *view, const struct qs_target *target, const json_t *value,
                                         struct qs_publish_report *report, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves file = {0};
    AUTO(leaves_release) struct leaves store = {0};
    enum qs_status status = view_leaves(view, target, &file, &report->parse);
    if (status == QS_INVALID)
        return QS_OK;
    if (status != QS_OK) {
        if (err)
            *err = report->parse;
        return status;
    }
    status = flatten_value(value, NULL, NULL, &store, err);
    return status == QS_OK ? leaves_compare(&file, &store, add_difference, report, err) : status;
}

static enum qs_status judge(const struct view *view, const struct qs_target *target, const json_t *value,
                            struct qs_publish_report *report, struct qs_error *err)
{
    struct buf text = {0};
    enum qs_status status = target_text(target, value, &text, err);
    bool same = status == QS_OK && view->exists && text.len == view->len && !memcmp(text.data, view->data, text.len);
    buf_release(&text);
    if (status != QS_OK || same)
        return status;
    if (!view->exists) {
        report->state = QS_PUBLISH_MISSING;
        return QS_OK;
    }
    report->state = view_is_ours(view) ? QS_PUBLISH_STALE : QS_PUBLISH_EDITED;
    return report_differences(view, target, value, report, err);
}

enum qs_status qs_publish_check(struct qs_store *store, const char *root, const struct qs_target *target,
                                struct qs_publish_report *ret_report, struct qs_error *err)
{
    AUTO(view_release) struct view view = {.resolved = {.dir_fd = -1}};
    AUTO(value_release) json_t *value = NULL;
    struct qs_publish_report report = {.state = QS_PUBLISH_CURRENT};
    enum qs_status status = target_check(target, err);
    if (status == QS_OK)
        status = view_read(target, QS_PUBLISH_OTHER_OWNER, &view, err); /* looking is no risk */
    if (status == QS_OK)
        status = target_value(store, root, target, &value, err);
    if (status == QS_OK)
        status = judge(&view, target, value, &report, err);
    if (status == QS_OK)
        *ret_report = report;
    else
        qs_publish_report_release(&report);
    return status;
}

void qs_publish_report_release(struct qs_publish_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->count; i++) {
        cleanup_free(&report->differences[i].key);
        cleanup_free(&report->differences[i].in_file);
        cleanup_free(&report->differences[i].in_store);
    }
    cleanup_free(&report->differences);
    *report = (struct qs_publish_report){.state = report->state};
}
