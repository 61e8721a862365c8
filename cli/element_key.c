/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of arrays: the spellings with brackets, and add and remove, which change elements under the writer's lock.
 */
#include "cli/cli.h"

#include "schema/schema.h"

#include <stdio.h>
#include <string.h>

char *element_key(const char *text, bool *ret_append)
{
    size_t len = strlen(text);
    const char *open = strrchr(text, '[');
    *ret_append = false;
    if (text[0] == '/' || !open || open == text || text[len - 1] != ']')
        return strdup(text);
    size_t inside = len - (size_t)(open - text) - 2;
    if (inside == 1 && open[1] == '+') {
        *ret_append = true;
        return strndup(text, (size_t)(open - text));
    }
    if (!inside || strspn(open + 1, "0123456789") != inside)
        return strdup(text);
    char *key = NULL;
    return asprintf(&key, "%.*s.%.*s", (int)(open - text), text, (int)inside, open + 1) < 0 ? NULL : key;
}

enum qs_status element_array(struct qs_txn *txn, const char *path, json_t **ret_array, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    AUTO(value_release) json_t *value = NULL;
    size_t len = 0;
    struct qs_error absent = {0};
    enum qs_status status = qs_txn_get(txn, path, &text, &len, &absent);
    if (status == QS_NOT_FOUND) {
        *ret_array = json_array();
        return *ret_array ? QS_OK : error_memory(err);
    }
    if (status) {
        if (err)
            *err = absent;
        return status;
    }
    status = value_decode(text, len, &value, err);
    if (status)
        return status;
    if (!json_is_array(value)) {
        error_set(err, QS_INVALID, "%s is a value of type %s, not an array", path, value_type_name(value));
        return QS_INVALID;
    }
    *ret_array = STEAL(value);
    return QS_OK;
}

/* ---- add and remove ---- */

/* A word as an element: text, unless the schema or --type wants otherwise. */
static enum qs_status element_value(const struct cli *cli, const struct qs_key *key, const char *word,
                                    json_t **ret_value, struct qs_error *err)
{
    AUTO(value_release) json_t *list = json_array();
    AUTO(value_release) json_t *text = json_string(word);
    AUTO(value_release) json_t *parsed = NULL;
    if (!list || !text)
        return error_set(err, QS_INVALID, "the value is not UTF-8");
    bool is_json = (!cli->type || strcmp(cli->type, "json") == 0) && !value_decode(word, strlen(word), &parsed, NULL);
    if (cli->type && strcmp(cli->type, "json") == 0 && !is_json)
        return value_decode(word, strlen(word), ret_value, err);
    if (is_json && json_array_append(list, parsed) == 0 && !schema_check_value(key, list, 0, NULL)) {
        *ret_value = STEAL(parsed);
        return QS_OK;
    }
    *ret_value = STEAL(text);
    return QS_OK;
}

static size_t position_of(const json_t *array, const json_t *value)
{
    size_t at = 0;
    while (at < json_array_size(array) && !value_equal(json_array_get(array, at), value))
        at++;
    return at;
}

typedef enum qs_status element_change(struct cli *cli, json_t *array, json_t *value, bool *ret_changed,
                                      struct qs_error *err);

static enum qs_status add_element(struct cli *cli, json_t *array, json_t *value, bool *ret_changed,
                                  struct qs_error *err)
{
    if (position_of(array, value) < json_array_size(array))
        return cli->if_absent ? error_set(err, QS_CONFLICT, "the element is there already") : QS_OK;
    *ret_changed = true;
    return json_array_append(array, value) == 0 ? QS_OK : error_memory(err);
}

static enum qs_status remove_element(struct cli *cli, json_t *array, json_t *value, bool *ret_changed,
                                     struct qs_error *err)
{
    (void)cli;
    size_t at = position_of(array, value);
    if (at == json_array_size(array))
        return error_set(err, QS_NOT_FOUND, "there is no such element");
    *ret_changed = true;
    return json_array_remove(array, at) == 0 ? QS_OK : error_memory(err);
}

static enum qs_status change_each(struct cli *cli, const struct qs_key *key, int count, char **words, json_t *array,
                                  element_change *change, struct qs_error *err)
{
    for (int i = 0; i < count; i++) {
        AUTO(value_release) json_t *value = NULL;
        bool changed = false;
        enum qs_status status = element_value(cli, key, words[i], &value, err);
        if (!status)
            status = change(cli, array, value, &changed, err);
        if (status) {
            if (!err->file[0])
                error_add_file(err, words[i]);
            return status;
        }
    }
    return QS_OK;
}

static enum qs_status change_elements(struct cli *cli, int count, char **operands, element_change *change,
                                      struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    AUTO(value_release) json_t *array = NULL;
    AUTO(buf_release) struct buf text = {0};
    struct qs_key key;
    enum qs_status status = qs_key_parse(operands[0], &key, err);
    if (!status)
        status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = element_array(txn, operands[0], &array, err);
    if (!status)
        status = change_each(cli, &key, count - 1, operands + 1, array, change, err);
    if (!status)
        status = value_encode(array, &text, err);
    if (!status)
        status = qs_txn_set(txn, operands[0], text.data, text.len, err);
    if (status) {
        error_add_path(err, operands[0]);
        return status;
    }
    return cli->dry_run ? cli_dry_run(cli, store, txn, err) : cli_commit(cli, store, txn, err);
}

enum qs_status cmd_add(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    return change_elements(cli, count, operands, add_element, err);
}

enum qs_status cmd_remove(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    return change_elements(cli, count, operands, remove_element, err);
}
