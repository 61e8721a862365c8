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
    size_t f = 0;
    size_t s = 0;
    while (f < file->count || s < store->count) {
        const struct leaf *in_file = f < file->count ? &file->items[f] : NULL;
        const struct leaf *in_store = s < store->count ? &store->items[s] : NULL;
        int order = in_file ? -1 : 1;
        if (in_file && in_store)
            order = key_compare(in_file->key.data, in_file->key.len, in_store->key.data, in_store->key.len);
        f += order <= 0;
        s += order >= 0;
        enum qs_status status = QS_OK;
        if (order < 0)
            status = visit(context, in_file->key, in_file->value, none, err);
        else if (order > 0)
            status = visit(context, in_store->key, none, in_store->value, err);
        else if (!same_bytes(in_file->value, in_store->value))
            status = visit(context, in_file->key, in_file->value, in_store->value, err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status view_leaves(const struct view *view, const struct qs_target *target, struct leaves *ret_leaves,
                           struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    enum doc_format format = target->format == QS_PUBLISH_YAML ? DOC_YAML : DOC_JSON;
    enum qs_status status = doc_parse(target->file, view->data, view->len, format, &doc, err);
    return status ? status : flatten_value(doc_root(doc), NULL, doc, ret_leaves, err);
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

/* ---- the report ---- */

struct report {
    struct qs_publish_report shown; /* the first field: what callers see of it */
    struct qs_publish_difference *differences;
    struct qs_error parse;
};

static struct report *whole(const struct qs_publish_report *report)
{
    return (struct report *)report;
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
    struct report *report = context;
    size_t count = report->shown.count;
    char text[QS_KEY_TEXT_BYTES];
    bool failed = false;
    if ((count & (count - 1)) == 0) { /* full at each power of two */
        struct qs_publish_difference *grown = reallocarray(report->differences, count ? 2 * count : 1, sizeof *grown);
        if (!grown)
            return error_memory(err);
        report->differences = grown;
    }
    (void)qs_key_format(key.data, key.len, text, sizeof text);
    report->differences[count] =
        (struct qs_publish_difference){.key = copy_text((struct qs_bytes){text, strlen(text)}, &failed),
                                       .in_file = copy_text(in_file, &failed),
                                       .in_store = copy_text(in_store, &failed)};
    report->shown.count++;
    return failed ? error_memory(err) : QS_OK;
}

/* A file that is no document is a finding, not a failure. */
static enum qs_status report_differences(const struct view *view, const struct qs_target *target, const json_t *value,
                                         struct report *report, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves file = {0};
    AUTO(leaves_release) struct leaves store = {0};
    enum qs_status status = view_leaves(view, target, &file, &report->parse);
    if (status == QS_INVALID) {
        report->shown.parse = &report->parse;
        return QS_OK;
    }
    if (status) {
        if (err)
            *err = report->parse;
        return status;
    }
    status = flatten_value(value, NULL, NULL, &store, err);
    return status ? status : leaves_compare(&file, &store, add_difference, report, err);
}

static enum qs_status compare(const struct view *view, const struct qs_target *target, const json_t *value,
                              struct report *report, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = target_text(target, value, &text, err);
    if (status || view_contains(view, text.data, text.len))
        return status;
    if (!view->exists) {
        report->shown.state = QS_PUBLISH_MISSING;
        return QS_OK;
    }
    report->shown.state = view_is_ours(view) ? QS_PUBLISH_STALE : QS_PUBLISH_EDITED;
    return report_differences(view, target, value, report, err);
}

static void report_release(struct qs_publish_report **report)
{
    qs_publish_report_free(*report);
}

enum qs_status qs_publish_check(struct qs_store *store, const struct qs_target *target,
                                struct qs_publish_report **ret_report, struct qs_error *err)
{
    AUTO(view_release) struct view view = {.resolved = {.dir_fd = -1}};
    AUTO(value_release) json_t *value = NULL;
    AUTO(report_release) struct qs_publish_report *report = NULL;
    struct qs_target own;
    if (!store || !target || !ret_report)
        return error_misuse(err, __func__);
    enum qs_status status = target_take(target, &own, err);
    if (status)
        return status;
    struct report *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(err);
    report = &made->shown;
    status = view_read(&own, QS_PUBLISH_OTHER_OWNER, &view, err); /* looking is no risk */
    if (status)
        return status;
    status = target_value(store, &own, &value, err);
    if (status)
        return status;
    status = compare(&view, &own, value, made, err);
    if (status)
        return status;
    *ret_report = STEAL(report);
    return QS_OK;
}

const struct qs_publish_difference *qs_publish_report_difference(const struct qs_publish_report *report, size_t index)
{
    return report && index < report->count ? &whole(report)->differences[index] : NULL;
}

void qs_publish_report_free(struct qs_publish_report *report)
{
    if (!report)
        return;
    struct report *own = whole(report);
    for (size_t i = 0; i < own->shown.count; i++) {
        cleanup_free(&own->differences[i].key);
        cleanup_free(&own->differences[i].in_file);
        cleanup_free(&own->differences[i].in_store);
    }
    cleanup_free(&own->differences);
    cleanup_free(&own);
}
