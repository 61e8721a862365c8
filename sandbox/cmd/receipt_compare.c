/* SPDX-License-Identifier: Apache-2.0 */
/* Holding one receipt against another. */
#include "sandbox/cmd/receipt.h"

#include "base/cleanup.h"
#include "text/doc.h"

#include <stdio.h>
#include <string.h>

#define FIELD_MAX_BYTES 256

/* These differ between any two receipts, or say in words what another field says. */
static const char *const unlisted[] = {"date", "detail", "reasons"};
/* These are for people: a change is listed, and asks for nothing. */
static const char *const names_only[] = {"owner", "hostGroup", "rollback"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_in(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static json_t *value_or_null(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

static void compare_values(const char *field, const json_t *old, const json_t *now, json_t *changes);

static void compare_member(const char *field, const char *key, const json_t *old, const json_t *now, json_t *changes)
{
    char longer[FIELD_MAX_BYTES];
    (void)snprintf(longer, sizeof longer, "%s%s%s", field, field[0] ? "." : "", key);
    if (!is_in(key, unlisted, COUNT(unlisted)))
        compare_values(longer, json_object_get(old, key), json_object_get(now, key), changes);
}

static void compare_values(const char *field, const json_t *old, const json_t *now, json_t *changes)
{
    const char *key;
    json_t *value;
    if (old && now && value_equal(old, now))
        return;
    if (!json_is_object(old) || !json_is_object(now)) {
        (void)json_array_append_new(changes, json_pack("{s:s, s:o, s:o}", "field", field, "old", value_or_null(old),
                                                       "new", value_or_null(now)));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)old, key, value) compare_member(field, key, old, now, changes);
    json_object_foreach((json_t *)(uintptr_t)now, key, value)
    {
        if (!json_object_get(old, key))
            compare_member(field, key, old, now, changes);
    }
}

/* The result follows from other fields, and from whether names were given. */
static bool is_due(const json_t *changes)
{
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const char *field = json_string_value(json_object_get(json_array_get(changes, i), "field"));
        if (!is_in(field, names_only, COUNT(names_only)) && strcmp(field, "result") != 0)
            return true;
    }
    return false;
}

json_t *receipt_compare(const json_t *old, const json_t *now)
{
    json_t *changes = json_array();
    if (!changes)
        return NULL;
    compare_values("", old, now, changes);
    bool due = is_due(changes);
    return json_pack("{s:o, s:o, s:b, s:o}", "old", value_or_null(json_object_get(old, "date")), "changes", changes,
                     "due", (int)due, "result", value_or_null(json_object_get(now, "result")));
}

enum qs_status receipt_read(const char *file, json_t **ret_receipt, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    enum qs_status status = doc_read(file, RECEIPT_MAX_BYTES, &doc, err);
    if (status == QS_NOT_FOUND) /* whose exit status is that of "a new one is due" */
        return error_set(err, QS_USAGE, "there is no file %s", file);
    if (status != QS_OK)
        return status;
    const char *format = json_string_value(json_object_get(doc_root(doc), "format"));
    if (!format || strcmp(format, RECEIPT_FORMAT) != 0) {
        error_set(err, QS_INVALID, "this is not a receipt: its format is not %s", RECEIPT_FORMAT);
        error_add_file(err, file);
        return QS_INVALID;
    }
    json_t *receipt = json_deep_copy(doc_root(doc));
    if (!receipt)
        return error_set(err, QS_IO, "out of memory");
    *ret_receipt = receipt;
    return QS_OK;
}
