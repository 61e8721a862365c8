/* SPDX-License-Identifier: Apache-2.0 */
/* Policies from leaves, completed by the schema's defaults. */
#include "reader/policy_model.h"
#include "reader/narrow.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema.h"
#include "text/key_path.h"

#include <string.h>

enum qs_status policy_field_invalid(unsigned field, struct qs_error *err)
{
    error_set(err, QS_INVALID, "%s has a value that is not allowed in a policy", policy_fields[field].path);
    error_add_path(err, policy_fields[field].path);
    return QS_INVALID;
}

/* ---- one field from JSON ---- */

static enum qs_status enum_from_json(const json_t *value, unsigned field, struct qs_policy *policy,
                                     struct qs_error *err)
{
    const char *text = json_string_value(value);
    const char *word = policy_fields[field].words;
    for (unsigned number = 0; text && word; number++) {
        size_t len = strcspn(word, "|");
        if (strlen(text) == len && memcmp(text, word, len) == 0) {
            *(unsigned *)policy_slot_mut(policy, field) = number;
            return QS_OK;
        }
        word = word[len] ? word + len + 1 : NULL;
    }
    return policy_field_invalid(field, err);
}

static enum qs_status list_push(struct qs_list *list, const char *text, size_t len, bool paths, struct qs_error *err)
{
    enum qs_status status = policy_list_add(list, text, len, err);
    if (!status && paths)
        policy_normalise_path(list->items[list->count - 1]);
    return status;
}

/* Adds the array's strings; paths are normalised. */
static enum qs_status list_from_json(const json_t *value, unsigned field, bool paths, struct qs_list *ret_list,
                                     struct qs_error *err)
{
    AUTO(policy_list_release) struct qs_list list = {0};
    size_t index;
    json_t *item;
    if (!json_is_array(value))
        return policy_field_invalid(field, err);
    json_array_foreach(value, index, item)
    {
        const char *text = json_string_value(item);
        if (!text || strlen(text) != json_string_length(item))
            return policy_field_invalid(field, err);
        enum qs_status status = list_push(&list, text, strlen(text), paths, err);
        if (status)
            return status;
    }
    policy_list_sort(&list);
    *ret_list = list;
    list = (struct qs_list){0};
    return QS_OK;
}

/* The same from the array's canonical text, where no string in it has an escape: most have none, and the long default
 * lists need not become a tree first. False where the text is of another kind; *ret_status then says nothing. */
static bool list_from_text(const struct qs_bytes *text, bool paths, struct qs_list *ret_list,
                           enum qs_status *ret_status, struct qs_error *err)
{
    AUTO(policy_list_release) struct qs_list list = {0};
    const char *at = text->data;
    const char *end = at + text->len;
    if (text->len < 2 || at[0] != '[' || end[-1] != ']' || memchr(at, '\\', text->len))
        return false;
    end--;
    *ret_status = QS_OK;
    for (at++; at < end;) {
        const char *quote = *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
        if (!quote || (quote + 1 < end && (quote[1] != ',' || quote + 2 == end)))
            return false;
        *ret_status = list_push(&list, at + 1, (size_t)(quote - at - 1), paths, err);
        if (*ret_status)
            return true;
        at = quote + 1 < end ? quote + 2 : end;
    }
    policy_list_sort(&list);
    *ret_list = list;
    list = (struct qs_list){0};
    return true;
}

static enum qs_status pass_push(struct qs_policy *policy, struct qs_list *list, struct qs_error *err)
{
    struct qs_list *lists = reallocarray(policy->env_pass, policy->env_pass_count + 1, sizeof *lists);
    if (!lists)
        return error_memory(err);
    policy->env_pass = lists;
    lists[policy->env_pass_count++] = *list;
    *list = (struct qs_list){0};
    return QS_OK;
}

enum qs_status policy_pass_add(struct qs_policy *policy, const json_t *globs, unsigned field, struct qs_error *err)
{
    AUTO(policy_list_release) struct qs_list list = {0};
    enum qs_status status = list_from_json(globs, field, false, &list, err);
    return status ? status : pass_push(policy, &list, err);
}

static enum qs_status pair_add(struct qs_policy *policy, const char *name, size_t name_len, const char *value,
                               struct qs_error *err)
{
    struct qs_pair *pairs = reallocarray(policy->env_set, policy->env_set_count + 1, sizeof *pairs);
    if (!pairs)
        return error_memory(err);
    policy->env_set = pairs;
    struct qs_pair pair = {.name = strndup(name, name_len), .value = strdup(value)};
    if (!pair.name || !pair.value) {
        free(pair.name);
        free(pair.value);
        return error_memory(err);
    }
    pairs[policy->env_set_count++] = pair;
    return QS_OK;
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct qs_pair *)a)->name, ((const struct qs_pair *)b)->name);
}

static void pairs_sort(struct qs_policy *policy)
{
    if (policy->env_set_count)
        qsort(policy->env_set, policy->env_set_count, sizeof *policy->env_set, compare_pairs);
}

static enum qs_status pairs_from_json(const json_t *value, unsigned field, struct qs_policy *policy,
                                      struct qs_error *err)
{
    const char *name;
    json_t *text;
    if (!json_is_object(value))
        return policy_field_invalid(field, err);
    json_object_foreach((json_t *)value, name, text)
    {
        if (!json_is_string(text) || strlen(json_string_value(text)) != json_string_length(text))
            return policy_field_invalid(field, err);
        enum qs_status status = pair_add(policy, name, strlen(name), json_string_value(text), err);
        if (status)
            return status;
    }
    pairs_sort(policy);
    return QS_OK;
}

static enum qs_status limit_from_json(const json_t *value, unsigned field, struct qs_policy *policy,
                                      struct qs_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return policy_field_invalid(field, err);
    *(uint64_t *)policy_slot_mut(policy, field) = (uint64_t)json_integer_value(value);
    return QS_OK;
}

static bool holds_paths(unsigned field)
{
    return policy_fields[field].offset != offsetof(struct qs_policy, env_secrets);
}

/* A field as settings hold it (environment.pass is one list there). The part's field must be unset. */
enum qs_status policy_field_from_json(const json_t *value, unsigned field, struct policy_part *part,
                                      struct qs_error *err)
{
    struct qs_policy *policy = &part->policy;
    enum qs_status status = QS_OK;
    switch (policy_fields[field].kind) {
    case POLICY_ENUM:
        status = enum_from_json(value, field, policy, err);
        break;
    case POLICY_UNITED:
        status = list_from_json(value, field, holds_paths(field), policy_slot_mut(policy, field), err);
        break;
    case POLICY_CONTAINED:
        status = list_from_json(value, field, true, policy_slot_mut(policy, field), err);
        if (!status)
            policy_list_reduce(policy_slot_mut(policy, field));
        break;
    case POLICY_PASS:
        status = policy_pass_add(policy, value, field, err);
        break;
    case POLICY_PAIRS:
        status = pairs_from_json(value, field, policy, err);
        break;
    case POLICY_LIMIT:
        status = limit_from_json(value, field, policy, err);
        break;
    }
    if (!status)
        part->set |= 1u << field;
    return status;
}

/* A field from canonical text. */
static enum qs_status field_from_text(const struct qs_bytes *text, unsigned field, struct policy_part *part,
                                      struct qs_error *err)
{
    AUTO(policy_list_release) struct qs_list list = {0};
    AUTO(value_release) json_t *value = NULL;
    enum policy_kind kind = policy_fields[field].kind;
    bool pass = kind == POLICY_PASS;
    bool lists = pass || kind == POLICY_CONTAINED || kind == POLICY_UNITED;
    enum qs_status status = QS_OK;
    if (!lists || !list_from_text(text, !pass && holds_paths(field), &list, &status, err)) {
        status = value_decode(text->data, text->len, &value, err);
        return status ? status : policy_field_from_json(value, field, part, err);
    }
    if (!status && pass)
        status = pass_push(&part->policy, &list, err);
    if (status)
        return status;
    if (!pass) {
        if (kind == POLICY_CONTAINED)
            policy_list_reduce(&list);
        *(struct qs_list *)policy_slot_mut(&part->policy, field) = list;
        list = (struct qs_list){0};
    }
    part->set |= 1u << field;
    return QS_OK;
}

/* ---- from leaves ---- */

/* The field that a leaf belongs to: its own, or for environment.set the one above it. -1: none. */
static int field_of_leaf(const struct qs_bytes *key)
{
    static const char sandbox[] = "tools\0executionSandbox";
    static const char executor[] = "executor";
    char path[QS_KEY_MAX_BYTES + 1];
    if (key->len > QS_KEY_MAX_BYTES || (!key_covers(executor, sizeof executor - 1, key->data, key->len) &&
                                        !key_covers(sandbox, sizeof sandbox - 1, key->data, key->len)))
        return -1;
    memcpy(path, key->data, key->len);
    path[key->len] = '\0';
    for (size_t i = 0; i < key->len; i++)
        path[i] = path[i] ? path[i] : '.';
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        size_t len = strlen(policy_fields[i].path);
        bool below = policy_fields[i].kind == POLICY_PAIRS && path[len] == '.';
        if (strncmp(path, policy_fields[i].path, len) == 0 && (path[len] == '\0' || below))
            return (int)i;
    }
    return -1;
}

static enum qs_status leaf_add(const struct leaf *leaf, unsigned field, struct policy_part *part, struct qs_error *err)
{
    AUTO(value_release) json_t *value = NULL;
    size_t len = strlen(policy_fields[field].path);
    if (leaf->key.len == len)
        return field_from_text(&leaf->value, field, part, err);
    enum qs_status status = value_decode(leaf->value.data, leaf->value.len, &value, err);
    if (status)
        return status;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return policy_field_invalid(field, err);
    part->set |= 1u << field;
    return pair_add(&part->policy, (const char *)leaf->key.data + len + 1, leaf->key.len - len - 1,
                    json_string_value(value), err);
}

enum qs_status policy_part_from_leaves(const struct leaf *items, size_t count, struct policy_part *ret_part,
                                       struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part part = {0};
    for (size_t i = 0; i < count; i++) {
        int field = field_of_leaf(&items[i].key);
        enum qs_status status = field < 0 ? QS_OK : leaf_add(&items[i], (unsigned)field, &part, err);
        if (status)
            return status;
    }
    pairs_sort(&part.policy);
    *ret_part = part;
    part = (struct policy_part){0};
    return QS_OK;
}

enum qs_status policy_part_complete(struct policy_part *part, struct qs_error *err)
{
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        struct qs_key key;
        if (part->set & 1u << i)
            continue;
        enum qs_status status = qs_key_parse(policy_fields[i].path, &key, err);
        if (status)
            return status;
        const struct schema_entry *entry = schema_find(&key, NULL);
        if (!entry || !entry->default_json)
            return error_set(err, QS_INVALID, "%s is not set and has no default", policy_fields[i].path);
        struct qs_bytes text = {entry->default_json, strlen(entry->default_json)};
        status = field_from_text(&text, i, part, err);
        if (status)
            return status;
    }
    return QS_OK;
}
