/* SPDX-License-Identifier: Apache-2.0 */
/* set: VALUE from the command line, standard input or a file; its type; the warning where a stronger scope overrides
 * it. */
#include "cli/cli.h"

#include "base/utf8.h"
#include "schema/schema.h"

#include <string.h>

struct assignment {
    struct qs_key key;
    char path[QS_KEY_TEXT_BYTES];
    json_t *value;
    bool visible; /* the value stood on the command line */
    bool append;  /* KEY[+] */
};

struct assignments {
    struct assignment *items;
    size_t count;
};

static void assignments_release(struct assignments *list)
{
    for (size_t i = 0; i < list->count; i++)
        json_decref(list->items[i].value);
    free(list->items);
}

/* The text of VALUE: itself, or standard input, or a file. */
static enum qs_status value_text(const char *word, char **ret_text, size_t *ret_len, bool *ret_visible,
                                 struct qs_error *err)
{
    *ret_visible = false;
    if (strcmp(word, "-") == 0)
        return input_read("-", QS_VALUE_MAX_BYTES + 1, ret_text, ret_len, err);
    if (word[0] == '@') {
        enum qs_status status = input_read(word + 1, QS_VALUE_MAX_BYTES + 1, ret_text, ret_len, err);
        if (status == QS_NOT_FOUND)
            error_add_advice(err,
                             "@FILE reads a file; for a text that begins with @ give it on standard input, as VALUE -");
        return status;
    }
    *ret_visible = true;
    *ret_text = strdup(word);
    if (!*ret_text)
        return error_memory(err);
    *ret_len = strlen(word);
    return QS_OK;
}

/* One trailing newline comes from echo and editors, and is no part of a string; to JSON it makes no difference. */
static size_t without_newline(const char *text, size_t len)
{
    if (len > 0 && text[len - 1] == '\n')
        len -= len > 1 && text[len - 2] == '\r' ? 2 : 1;
    return len;
}

static enum qs_status string_value(const char *text, size_t len, json_t **ret_value, struct qs_error *err)
{
    *ret_value = json_stringn(text, len);
    return *ret_value ? QS_OK : error_memory(err);
}

static enum qs_status guess_value(const struct cli *cli, const struct assignment *item, const char *text, size_t len,
                                  json_t **ret_value, struct qs_error *err)
{
    enum qs_status status = schema_value_for_text(&item->key, text, len, ret_value, err);
    if (!status && json_is_string(*ret_value) && (text[0] == '{' || text[0] == '[' || text[0] == '"')) {
        AUTO(value_release) json_t *value = NULL;
        if (value_decode(text, len, &value, NULL))
            voice_note(&cli->line, item->path, "the value looks like JSON but is not valid; it is stored as a string");
    }
    return status;
}

static enum qs_status typed_value(const struct cli *cli, const struct assignment *item, const char *text, size_t len,
                                  json_t **ret_value, struct qs_error *err)
{
    const char *type = cli->type;
    size_t bad = 0;
    len = item->visible ? len : without_newline(text, len);
    if (memchr(text, '\0', len))
        return error_set(err, QS_INVALID, "the value contains a zero byte");
    if (!utf8_valid(text, len, &bad))
        return error_set(err, QS_INVALID, "the value is not UTF-8 at byte %zu", bad + 1);
    if (!type)
        return guess_value(cli, item, text, len, ret_value, err);
    if (strcmp(type, "string") == 0)
        return string_value(text, len, ret_value, err);
    return value_decode(text, len, ret_value, err);
}

static enum qs_status take_assignment(const struct cli *cli, const char *key, const char *word, struct assignment *item,
                                      struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    AUTO_FREE char *plain = element_key(key, &item->append);
    if (!plain)
        return error_memory(err);
    enum qs_status status = qs_key_parse(plain, &item->key, err);
    if (status) {
        error_add_path(err, key);
        return status;
    }
    qs_key_format(item->key.bytes, item->key.len, item->path, sizeof item->path);
    if (!(status = value_text(word, &text, &len, &item->visible, err)))
        status = typed_value(cli, item, text, len, &item->value, err);
    if (status)
        error_add_path(err, item->path);
    if (!status && item->visible && secret_key(item->key.bytes, item->key.len))
        voice_note(&cli->line, item->path,
                   "a secret on a command line can be read in the process list; use '-' or '@FILE' instead");
    return status;
}

static enum qs_status take_assignments(const struct cli *cli, int count, char **operands, struct assignments *list,
                                       struct qs_error *err)
{
    int from_stdin = 0;
    if (count % 2 != 0)
        return error_set(err, QS_USAGE, "VALUE is missing for key '%s'", operands[count - 1]);
    list->items = calloc((size_t)count / 2, sizeof *list->items);
    if (!list->items)
        return error_memory(err);
    for (int i = 0; i < count; i += 2) {
        from_stdin += strcmp(operands[i + 1], "-") == 0;
        if (from_stdin > 1)
            return error_set(err, QS_USAGE, "only one VALUE can come from standard input");
        enum qs_status status = take_assignment(cli, operands[i], operands[i + 1], &list->items[list->count], err);
        if (status)
            return status;
        list->count++;
    }
    return QS_OK;
}

static enum qs_status set_all(struct qs_txn *txn, const struct assignments *list, struct qs_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        AUTO(buf_release) struct buf text = {0};
        const struct assignment *item = &list->items[i];
        AUTO(value_release) json_t *array = NULL;
        enum qs_status status = item->append ? element_array(txn, item->path, &array, err) : QS_OK;
        if (!status && array && json_array_append(array, item->value) != 0)
            status = error_memory(err);
        if (!status)
            status = value_encode(array ? array : item->value, &text, err);
        if (!status)
            status = qs_txn_set(txn, list->items[i].path, text.data, text.len, err);
        if (status) {
            error_add_path(err, list->items[i].path);
            return status;
        }
    }
    return QS_OK;
}

static void print_stored(struct cli *cli, const struct assignments *list)
{
    for (size_t i = 0; !cli->line.json && i < list->count; i++) {
        const struct assignment *item = &list->items[i];
        AUTO(value_release) json_t *shown = json_deep_copy(item->value);
        secret_mask(cli, &shown, &item->key);
        buf_printf(&cli->out, "%s = ", item->path);
        if (!shown || value_encode(shown, &cli->out, NULL))
            cli->out.failed = true;
        buf_printf(&cli->out, " (%s)\n", value_type_name(item->value));
    }
}

enum qs_status cmd_set(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(assignments_release) struct assignments list = {0};
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    enum qs_status status = take_assignments(cli, count, operands, &list, err);
    if (!status)
        status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = set_all(txn, &list, err);
    if (status)
        return status;
    print_stored(cli, &list);
    if ((status = cli_commit(cli, store, txn, err)))
        return status;
    for (size_t i = 0; i < list.count; i++)
        warn_overridden(cli, store, list.items[i].path, list.items[i].value);
    return QS_OK;
}
