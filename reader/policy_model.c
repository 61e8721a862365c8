/* SPDX-License-Identifier: Apache-2.0 */
/* Policies from leaves and from their document, completed by the schema's defaults, and back to a document. */
#include "reader/narrow.h"

#include "store/cleanup.h"
#include "store/error.h"
#include "store/key.h"
#include "store/schema.h"

#include <string.h>

static enum qs_status out_of_memory(struct qs_error *err)
{
    return error_set(err, QS_IO, "out of memory");
}

static enum qs_status invalid(unsigned field, struct qs_error *err)
{
    (void)error_set(err, QS_INVALID, "%s has a value that no policy can have", policy_fields[field].path);
    error_add_path(err, policy_fields[field].path);
    return QS_INVALID;
}

/* ---- one field from JSON ---- */

static enum qs_status enum_from_json(const json_t *value, unsigned field, struct qs_policy *policy,
                                     struct qs_error *err)
{
    const char *text = json_string_value(value), *word = policy_fields[field].words;
    for (unsigned number = 0; text && word; number++) {
        size_t len = strcspn(word, "|");
        if (strlen(text) == len && memcmp(text, word, len) == 0) {
            *(unsigned *)policy_slot_mut(policy, field) = number;
            return QS_OK;
        }
        word = word[len] ? word + len + 1 : NULL;
    }
    return invalid(field, err);
}

/* Adds the array's strings; paths are normalised. */
static enum qs_status list_from_json(const json_t *value, unsigned field, bool paths, struct qs_list *ret_list,
                                     struct qs_error *err)
{
    AUTO(policy_list_release) struct qs_list list = {0};
    size_t index;
    json_t *item;
    if (!json_is_array(value))
        return invalid(field, err);
    json_array_foreach(value, index, item)
    {
        const char *text = json_string_value(item);
        if (!text || strlen(text) != json_string_length(item))
            return invalid(field, err);
        enum qs_status status = policy_list_add(&list, text, strlen(text), err);
        if (status)
            return status;
        if (paths)
            policy_normalise_path(list.items[list.count - 1]);
    }
    policy_list_sort(&list);
    *ret_list = list;
    list = (struct qs_list){0};
    return QS_OK;
}

static enum qs_status pass_add(struct qs_policy *policy, const json_t *globs, unsigned field, struct qs_error *err)
{
    AUTO(policy_list_release) struct qs_list list = {0};
    enum qs_status status = list_from_json(globs, field, false, &list, err);
    if (status)
        return status;
    struct qs_list *lists = reallocarray(policy->env_pass, policy->env_pass_count + 1, sizeof *lists);
    if (!lists)
        return out_of_memory(err);
    policy->env_pass = lists;
    lists[policy->env_pass_count++] = list;
    list = (struct qs_list){0};
    return QS_OK;
}

static enum qs_status pair_add(struct qs_policy *policy, const char *name, size_t name_len, const char *value,
                               struct qs_error *err)
{
    struct qs_pair *pairs = reallocarray(policy->env_set, policy->env_set_count + 1, sizeof *pairs);
    if (!pairs)
        return out_of_memory(err);
    policy->env_set = pairs;
    struct qs_pair pair = {.name = strndup(name, name_len), .value = strdup(value)};
    if (!pair.name || !pair.value) {
        free(pair.name);
        free(pair.value);
        return out_of_memory(err);
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
        return invalid(field, err);
    json_object_foreach((json_t *)value, name, text)
    {
        if (!json_is_string(text) || strlen(json_string_value(text)) != json_string_length(text))
            return invalid(field, err);
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
        return invalid(field, err);
    *(uint64_t *)policy_slot_mut(policy, field) = (uint64_t)json_integer_value(value);
    return QS_OK;
}

/* A field as settings hold it (environment.pass is one list there). The part's field must be unset. */
static enum qs_status field_from_json(const json_t *value, unsigned field, struct policy_part *part,
                                      struct qs_error *err)
{
    struct qs_policy *policy = &part->policy;
    enum qs_status status = QS_OK;
    bool paths = true;
    switch (policy_fields[field].kind) {
    case POLICY_ENUM:
        status = enum_from_json(value, field, policy, err);
        break;
    case POLICY_UNITED:
        paths = policy_slot(policy, field) != &policy->env_secrets;
        status = list_from_json(value, field, paths, policy_slot_mut(policy, field), err);
        break;
    case POLICY_CONTAINED:
        status = list_from_json(value, field, paths, policy_slot_mut(policy, field), err);
        if (!status)
            policy_list_reduce(policy_slot_mut(policy, field));
        break;
    case POLICY_PASS:
        status = pass_add(policy, value, field, err);
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

/* ---- from leaves ---- */

/* The field that a leaf belongs to: its own, or for environment.set the one above it. -1: none. */
static int field_of_leaf(const struct qs_bytes *key)
{
    static const char sandbox[] = "tools\0executionSandbox", executor[] = "executor";
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
    enum qs_status status = value_decode(leaf->value.data, leaf->value.len, &value, err);
    if (status)
        return status;
    if (leaf->key.len == len)
        return field_from_json(value, field, part, err);
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return invalid(field, err);
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
        AUTO(value_release) json_t *value = NULL;
        struct qs_key key;
        if (part->set & 1u << i)
            continue;
        enum qs_status status = qs_key_parse(policy_fields[i].path, &key, err);
        if (status)
            return status;
        const struct schema_entry *entry = schema_find(&key, NULL);
        if (!entry || !entry->default_json)
            return error_set(err, QS_INVALID, "%s is not set and has no default", policy_fields[i].path);
        status = value_decode(entry->default_json, strlen(entry->default_json), &value, err);
        if (!status)
            status = field_from_json(value, i, part, err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* ---- to and from the document ---- */

static json_t *list_to_json(const struct qs_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < list->count; i++) {
        if (json_array_append_new(array, json_string(list->items[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *enum_to_json(unsigned field, unsigned number)
{
    const char *word = policy_fields[field].words;
    for (; number; number--)
        word = strchr(word, '|') + 1;
    return json_stringn(word, strcspn(word, "|"));
}

static json_t *pass_to_json(const struct qs_policy *policy)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < policy->env_pass_count; i++) {
        if (json_array_append_new(array, list_to_json(&policy->env_pass[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *pairs_to_json(const struct qs_policy *policy)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < policy->env_set_count; i++) {
        if (json_object_set_new(object, policy->env_set[i].name, json_string(policy->env_set[i].value))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *field_to_json(const struct qs_policy *policy, unsigned field)
{
    const void *slot = policy_slot(policy, field);
    switch (policy_fields[field].kind) {
    case POLICY_ENUM:
        return enum_to_json(field, *(const unsigned *)slot);
    case POLICY_CONTAINED:
    case POLICY_UNITED:
        return list_to_json(slot);
    case POLICY_PASS:
        return pass_to_json(policy);
    case POLICY_PAIRS:
        return pairs_to_json(policy);
    case POLICY_LIMIT:
        return json_integer((json_int_t) * (const uint64_t *)slot);
    }
    return NULL;
}

enum qs_status policy_part_to_json(const struct policy_part *part, json_t **ret_value, struct qs_error *err)
{
    AUTO(value_release) json_t *document = json_object();
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];
        json_t *into = document;
        if (!(part->set & 1u << i))
            continue;
        if (field->group) {
            into = json_object_get(document, field->group);
            if (!into && !json_object_set_new(document, field->group, json_object()))
                into = json_object_get(document, field->group);
        }
        if (!into || json_object_set_new(into, field->name, field_to_json(&part->policy, i)))
            return out_of_memory(err);
    }
    *ret_value = STEAL(document);
    return QS_OK;
}

/* The schema's own judgement of a document's field, by the setting it comes from. */
static enum qs_status field_check(const json_t *value, unsigned field, struct qs_error *err)
{
    struct qs_key key;
    size_t index;
    json_t *list;
    enum qs_status status = qs_key_parse(policy_fields[field].path, &key, err);
    if (status || policy_fields[field].kind != POLICY_PASS)
        return status ? status : schema_check_value(&key, value, 0, err);
    if (!json_array_size(value))
        return invalid(field, err);
    json_array_foreach(value, index, list)
    {
        status = schema_check_value(&key, list, 0, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status field_from_document(const json_t *value, unsigned field, struct policy_part *part,
                                          struct qs_error *err)
{
    size_t index;
    json_t *list;
    enum qs_status status = field_check(value, field, err);
    if (status || policy_fields[field].kind != POLICY_PASS)
        return status ? status : field_from_json(value, field, part, err);
    json_array_foreach(value, index, list)
    {
        status = pass_add(&part->policy, list, field, err);
        if (status)
            return status;
    }
    policy_pass_sort(&part->policy);
    part->set |= 1u << field;
    return QS_OK;
}

/* Members of document, or of its group, that are no field. */
static enum qs_status members_check(const json_t *object, const char *group, struct qs_error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        bool is_group = !group && (strcmp(name, "environment") == 0 || strcmp(name, "limits") == 0);
        if (is_group && json_is_object(value)) {
            enum qs_status status = members_check(value, name, err);
            if (status)
                return status;
        } else if (is_group || policy_field_of(group, name) < 0) {
            return error_set(err, QS_INVALID, "the policy document has a member \"%s\" that it must not have", name);
        }
    }
    return QS_OK;
}

enum qs_status policy_part_from_json(const json_t *document, struct policy_part *ret_part, struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part part = {0};
    if (!json_is_object(document))
        return error_set(err, QS_INVALID, "the policy document is not an object");
    enum qs_status status = members_check(document, NULL, err);
    for (unsigned i = 0; i < POLICY_FIELD_COUNT && !status; i++) {
        const struct policy_field *field = &policy_fields[i];
        const json_t *in = field->group ? json_object_get(document, field->group) : document;
        const json_t *value = json_object_get(in, field->name);
        if (!value)
            return error_set(err, QS_INVALID, "the policy document lacks %s", field->name);
        status = field_from_document(value, i, &part, err);
    }
    if (status)
        return status;
    *ret_part = part;
    part = (struct policy_part){0};
    return QS_OK;
}

enum qs_status policy_part_copy(const struct policy_part *part, struct policy_part *ret_part, struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part top = {0};
    return policy_part_meet(part, &top, ret_part, err);
}
