/* SPDX-License-Identifier: Apache-2.0 */
/* Policies to and from their document. */
#include "reader/policy_model.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema.h"

#include <string.h>

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
            return error_memory(err);
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
        return policy_field_invalid(field, err);
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
        return status ? status : policy_field_from_json(value, field, part, err);
    json_array_foreach(value, index, list)
    {
        status = policy_pass_add(&part->policy, list, field, err);
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
        bool is_group =
            !group && (strcmp(name, "environment") == 0 || strcmp(name, "git") == 0 || strcmp(name, "limits") == 0);
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
