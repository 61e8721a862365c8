/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the settings that are known, from the one table. */
#include "cli/cli.h"

#include "schema/schema.h"

#include <string.h>

static const char *field(const json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    return text ? text : "";
}

static void field_line(struct cli *cli, const json_t *entry, const char *name)
{
    const json_t *value = json_object_get(entry, name);
    if (!value || json_is_null(value) || json_is_false(value) || (json_is_string(value) && !field(entry, name)[0]))
        return;
    buf_printf(&cli->out, "  %-12s ", name);
    if (json_is_string(value) && strcmp(name, "default") != 0)
        buf_add_str(&cli->out, json_string_value(value));
    else if (value_encode(value, &cli->out, NULL))
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
}

static void entry_text(struct cli *cli, const json_t *entry)
{
    static const char *const names[] = {"type",        "allowed", "default", "merge",
                                        "restriction", "narrow",  "secret",  "required"};
    buf_printf(&cli->out, "%s\n  %s\n", field(entry, "path"), field(entry, "description"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        field_line(cli, entry, names[i]);
}

static const char *schema_path_at(size_t index, void *user)
{
    size_t count = 0;
    const struct schema_entry *table = schema_table(&count);
    (void)user;
    return index < count ? table[index].path : NULL;
}

static enum qs_status key_not_known(const char *path, enum qs_status status, struct qs_error *err)
{
    char text[QS_KEY_TEXT_BYTES];
    const char *near = nearest_name(path, schema_path_at, NULL, text, sizeof text);
    error_add_path(err, path);
    if (status == QS_NOT_FOUND)
        nearest_advise(err, near);
    return status;
}

enum qs_status cmd_schema(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(value_release) json_t *document = NULL;
    struct qs_key key;
    json_t *entry;
    size_t i;
    enum qs_status status = QS_OK;
    if (cli->json_schema) {
        if (count)
            return error_set(err, QS_USAGE, "option '--json-schema' prints the whole schema, and goes with no KEY");
        status = schema_json_schema(&document, err);
    } else if (count == 0) {
        status = schema_json(NULL, &document, err);
    } else if (!(status = qs_key_parse(operands[0], &key, err))) {
        status = schema_json(&key, &document, err);
    }
    if (status)
        return count ? key_not_known(operands[0], status, err) : status;
    if (cli->line.json || cli->json_schema) {
        out_json(cli, STEAL(document));
        return QS_OK;
    }
    json_array_foreach(json_object_get(document, "keys"), i, entry) entry_text(cli, entry);
    return QS_OK;
}
