/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value against one entry of the schema. Values are judged as canonical text: its first byte tells the type, and no
 * byte that a rule looks at (letters, digits, '/', '.', '~', '$', '=', '*') is ever escaped in it, so nothing need be
 * decoded.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema_internal.h"
#include "text/alike.h"

#include <stdio.h>
#include <string.h>

struct judged {
    const struct schema_entry *entry;
    const struct qs_bytes *key, *value;
    size_t *element;
    struct qs_error *err;
};

static char first_byte(const struct qs_bytes *value)
{
    return value->len ? *(const char *)value->data : '\0';
}

const char *schema_found_text(const struct qs_bytes *value)
{
    switch (first_byte(value)) {
    case '"':
        return "a string";
    case '{':
        return "an object";
    case '[':
        return "an array";
    case 't':
    case 'f':
        return "a boolean";
    case 'n':
        return "null";
    }
    return memchr(value->data, '.', value->len) || memchr(value->data, 'e', value->len) ? "a real number"
                                                                                        : "an integer";
}

/* What was found, short enough for a message: the value itself where it is a scalar. */
static const char *found(const struct qs_bytes *value, char *text, size_t size)
{
    char c = first_byte(value);
    if (c == '{' || c == '[' || value->len > 60)
        return schema_found_text(value);
    (void)snprintf(text, size, "%.*s", (int)value->len, (const char *)value->data);
    return text;
}

static enum qs_status refuse_type(const struct judged *judged, const char *meant)
{
    char key[QS_KEY_TEXT_BYTES];
    char text[80];
    enum qs_status status = error_set(judged->err, QS_INVALID, "%s is %s; allowed: %s",
                                      qs_key_format(judged->key->data, judged->key->len, key, sizeof key),
                                      found(judged->value, text, sizeof text), schema_type_text(judged->entry));
    if (meant && *meant)
        error_add_advice(judged->err, "did you mean %s?", meant);
    return status;
}

/* The text between the quotes of a string; len 0 with NULL data for others. */
static struct qs_bytes inner(const struct qs_bytes *value)
{
    if (first_byte(value) != '"' || value->len < 2)
        return (struct qs_bytes){.data = NULL, .len = 0};
    return (struct qs_bytes){.data = (const char *)value->data + 1, .len = value->len - 2};
}

static bool is_one_of(const struct qs_bytes *value, const char *const *words)
{
    struct qs_bytes text = inner(value);
    if (!text.data)
        text = *value;
    for (; *words; words++) {
        if (alike_spelt(text.data, text.len, *words, strlen(*words)))
            return true;
    }
    return false;
}

static enum qs_status judge_bool(const struct judged *judged)
{
    static const char *const yes[] = {"true", "yes", "on", "1", NULL};
    static const char *const no[] = {"false", "no", "off", "0", NULL};
    char c = first_byte(judged->value);
    if (c == 't' || c == 'f')
        return QS_OK;
    return refuse_type(judged, is_one_of(judged->value, yes) ? "true" : is_one_of(judged->value, no) ? "false" : NULL);
}

static enum qs_status judge_integer(const struct judged *judged, bool from_zero)
{
    const char *data = judged->value->data;
    size_t len = judged->value->len;
    size_t digits = 0;
    bool minus = len && data[0] == '-';
    for (size_t i = minus; i < len && data[i] >= '0' && data[i] <= '9'; i++)
        digits++;
    if (digits && digits + minus == len && !(minus && from_zero))
        return QS_OK;
    struct qs_bytes text = inner(judged->value);
    char meant[32] = "";
    if (text.data && text.len && text.len < 19 && strspn(text.data, "0123456789") >= text.len)
        (void)snprintf(meant, sizeof meant, "%.*s", (int)text.len, (const char *)text.data);
    return refuse_type(judged, meant);
}

static enum qs_status judge_string(const struct judged *judged)
{
    char c = first_byte(judged->value);
    char meant[80] = "";
    if (c == '"')
        return QS_OK;
    if (c != '{' && c != '[' && c != 'n' && judged->value->len < 60)
        (void)snprintf(meant, sizeof meant, "\"%.*s\"", (int)judged->value->len, (const char *)judged->value->data);
    return refuse_type(judged, meant);
}

static enum qs_status judge_enum(const struct judged *judged)
{
    struct qs_bytes text = inner(judged->value);
    char word[64];
    char meant[72] = "";
    unsigned nearest = 3;
    for (size_t i = 0; schema_allowed_at(judged->entry, i, word, sizeof word); i++) {
        size_t len = strlen(word);
        if (text.data && text.len == len && memcmp(text.data, word, len) == 0)
            return QS_OK;
        unsigned distance = !text.data ? 3
                            : alike_spelt(text.data, text.len, word, len)
                                ? 0
                                : alike_distance(text.data, text.len, word, len, 2);
        if (distance < nearest) {
            nearest = distance;
            (void)snprintf(meant, sizeof meant, "\"%s\"", word);
        }
    }
    return refuse_type(judged, meant);
}

static enum qs_status judge_bool_or_string(const struct judged *judged)
{
    static const char *const bubblewrap[] = {"bwrap", "bubblewrap", NULL};
    char c = first_byte(judged->value);
    if (c == '"' && is_one_of(judged->value, bubblewrap)) {
        error_set(judged->err, QS_INVALID, "tools.sandbox: \"bwrap\" does not select bubblewrap");
        error_add_advice(judged->err, "write tools.executionSandbox: {\"backend\": \"bwrap\", \"filesystem\": "
                                      "\"workspace-write\", \"network\": \"closed\"} and leave tools.sandbox out");
        return QS_INVALID;
    }
    return c == 't' || c == 'f' || c == '"' ? QS_OK : refuse_type(judged, NULL);
}

/* ---- arrays ---- */

static bool has_dotdot(const char *path, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t part = 0;
        while (i + part < len && path[i + part] != '/')
            part++;
        if (part == 2 && path[i] == '.' && path[i + 1] == '.')
            return true;
        i += part + 1;
    }
    return false;
}

/* NULL, or what is wrong with the raw text of one element. */
static const char *fault_of_path(const char *path, size_t len)
{
    bool home = len && path[0] == '~' && (len == 1 || path[1] == '/');
    if (!len)
        return "is empty";
    if (path[0] != '/' && !home)
        return "is neither absolute nor below \"~/\"";
    if (has_dotdot(path, len))
        return "contains \"..\"";
    return len > QS_PATH_MAX_BYTES ? "is too long" : NULL;
}

static const char *fault_of_relative(const char *path, size_t len)
{
    bool any = false; /* a part that is not "." */
    if (!len)
        return "is empty";
    if (path[0] == '/' || path[0] == '~')
        return "is not relative";
    if (has_dotdot(path, len))
        return "contains \"..\"";
    for (size_t i = 0; i < len && !any; i++)
        any = path[i] != '/' && path[i] != '.';
    if (!any)
        return "names the root itself";
    return len > QS_PATH_MAX_BYTES ? "is too long" : NULL;
}

static const char *fault_of_glob(const char *name, size_t len)
{
    if (!len)
        return "is empty";
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '=')
            return "contains \"=\", which a variable name cannot";
        if (name[i] == '[' || name[i] == ']')
            return "contains a bracket; the only wildcards are * and ?";
        if (name[i] == '\\' || name[i] == ' ')
            return "contains a space, a control character, a quote or a backslash";
    }
    return NULL;
}

static const char *fault_of_element(enum schema_type type, const char *text, size_t len)
{
    switch (type) {
    case SCHEMA_PATHS:
        return fault_of_path(text, len);
    case SCHEMA_RELATIVE_PATHS:
        return fault_of_relative(text, len);
    case SCHEMA_GLOBS:
        return fault_of_glob(text, len);
    case SCHEMA_BOOL:
    case SCHEMA_INTEGER:
    case SCHEMA_COUNT:
    case SCHEMA_STRING:
    case SCHEMA_ENUM:
    case SCHEMA_BOOL_OR_STRING:
    case SCHEMA_STRINGS:
    case SCHEMA_STRING_MAP:
    case SCHEMA_ENVIRONMENT:
    case SCHEMA_MATCHERS:
    case SCHEMA_OBJECT:
    case SCHEMA_CLOSED:
        break;
    }
    return NULL;
}

static enum qs_status refuse_element(const struct judged *judged, size_t index, const char *text, size_t len,
                                     const char *fault)
{
    char key[QS_KEY_TEXT_BYTES];
    return error_set(judged->err, QS_INVALID, "%s[%zu]: \"%.*s\" %s; allowed: %s",
                     qs_key_format(judged->key->data, judged->key->len, key, sizeof key), index,
                     len > 80 ? 80 : (int)len, text, fault, schema_type_text(judged->entry));
}

/* The raw text of the string that begins at at (a quote); NULL where there is none. */
static const char *string_end(const char *at, const char *end)
{
    if (at >= end || *at != '"')
        return NULL;
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at < end ? at : NULL;
}

static enum qs_status judge_strings(const struct judged *judged)
{
    const char *at = judged->value->data;
    const char *end = at + judged->value->len;
    char key[QS_KEY_TEXT_BYTES];
    char meant[80] = "";
    if (first_byte(judged->value) != '[') {
        if (first_byte(judged->value) == '"' && judged->value->len < 70)
            (void)snprintf(meant, sizeof meant, "[%.*s]", (int)judged->value->len, at);
        return refuse_type(judged, meant);
    }
    at++;
    for (size_t index = 0; at < end && *at != ']'; index++) {
        const char *last = string_end(at, end);
        *judged->element = index;
        if (!last)
            return error_set(judged->err, QS_INVALID, "%s[%zu] is not a string; allowed: %s",
                             qs_key_format(judged->key->data, judged->key->len, key, sizeof key), index,
                             schema_type_text(judged->entry));
        const char *fault = fault_of_element(judged->entry->type, at + 1, (size_t)(last - at - 1));
        if (fault)
            return refuse_element(judged, index, at + 1, (size_t)(last - at - 1), fault);
        at = last + 1;
        at += at < end && *at == ',';
    }
    return QS_OK;
}

/* hooks.<Event>: only the shape; what a hook may hold is the agent's business. */
static const char *fault_of_matcher(const json_t *matcher)
{
    const json_t *name = json_object_get(matcher, "matcher");
    const json_t *hooks = json_object_get(matcher, "hooks");
    const json_t *sequential = json_object_get(matcher, "sequential");
    size_t index;
    json_t *hook;
    if (!json_is_object(matcher))
        return "is not an object";
    if (name && !json_is_string(name))
        return "has a matcher that is not a string";
    if (sequential && !json_is_boolean(sequential))
        return "has a sequential that is not a boolean";
    if (hooks && !json_is_array(hooks))
        return "has hooks that are not an array";
    json_array_foreach(hooks, index, hook)
    {
        if (!json_is_object(hook))
            return "has a hook that is not an object";
    }
    return NULL;
}

static enum qs_status judge_matchers(const struct judged *judged)
{
    AUTO(value_release) json_t *value = NULL;
    char key[QS_KEY_TEXT_BYTES];
    size_t index;
    json_t *matcher;
    if (first_byte(judged->value) != '[')
        return refuse_type(judged, NULL);
    enum qs_status status = value_decode(judged->value->data, judged->value->len, &value, judged->err);
    if (status)
        return status;
    json_array_foreach(value, index, matcher)
    {
        const char *fault = fault_of_matcher(matcher);
        *judged->element = index;
        if (fault)
            return error_set(judged->err, QS_INVALID, "%s[%zu] %s; allowed: %s",
                             qs_key_format(judged->key->data, judged->key->len, key, sizeof key), index, fault,
                             schema_type_text(judged->entry));
    }
    return QS_OK;
}

/* ---- all types ---- */

static enum qs_status judge_type(const struct judged *judged)
{
    switch (judged->entry->type) {
    case SCHEMA_BOOL:
        return judge_bool(judged);
    case SCHEMA_INTEGER:
        return judge_integer(judged, false);
    case SCHEMA_COUNT:
        return judge_integer(judged, true);
    case SCHEMA_STRING:
        return judge_string(judged);
    case SCHEMA_ENUM:
        return judge_enum(judged);
    case SCHEMA_BOOL_OR_STRING:
        return judge_bool_or_string(judged);
    case SCHEMA_STRINGS:
    case SCHEMA_PATHS:
    case SCHEMA_RELATIVE_PATHS:
    case SCHEMA_GLOBS:
        return judge_strings(judged);
    case SCHEMA_MATCHERS:
        return judge_matchers(judged);
    case SCHEMA_STRING_MAP:
    case SCHEMA_ENVIRONMENT:
    case SCHEMA_OBJECT:
    case SCHEMA_CLOSED:
        return first_byte(judged->value) == '{' ? QS_OK : refuse_type(judged, NULL);
    }
    return QS_OK;
}

static bool names_variable(const struct qs_bytes *text)
{
    const char *data = text->data;
    for (size_t i = 0; i + 1 < text->len; i++) {
        char c = data[i + 1];
        if (data[i] == '$' && (c == '_' || c == '{' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return true;
    }
    return false;
}

enum qs_status schema_judge(const struct schema_entry *entry, unsigned flags, const struct qs_bytes *key,
                            const struct qs_bytes *value, size_t *ret_element, struct qs_error *err)
{
    struct judged judged = {.entry = entry, .key = key, .value = value, .element = ret_element, .err = err};
    char text[QS_KEY_TEXT_BYTES];
    if (flags & SCHEMA_LITERAL && (names_variable(value) || names_variable(key))) {
        error_set(err, QS_INVALID, "%s contains a $VARIABLE; a policy takes literals only. Allowed: %s",
                  qs_key_format(key->data, key->len, text, sizeof text), schema_type_text(entry));
        error_add_advice(err, "write the value itself");
        return QS_INVALID;
    }
    return judge_type(&judged);
}
