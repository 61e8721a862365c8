/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the settings that are known, from the one table. */
#include "cli/cli.h"

#include "store/schema.h"

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
    else if (value_encode(value, &cli->out, NULL) != QS_OK)
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
}

static void entry_text(struct cli *cli, const json_t *entry)
{
    static const char *const names[] = {"type", "allowed", "default", "merge", "restriction", "secret", "required"};
    buf_printf(&cli->out, "%s\n  %s\n", field(entry, "path"), field(entry, "description"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        field_line(cli, entry, names[i]);
}

enum qs_status cmd_schema(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    json_t *document AUTO(value_release) = NULL;
    struct qs_key key;
    json_t *entry;
    size_t i;
    enum qs_status status = QS_OK;
    if (cli->given[OPT_JSON_SCHEMA]) {
        if (count)
            return error_set(err, QS_USAGE, "--json-schema gives the whole schema; leave KEY out");
        status = schema_json_schema(&document, err);
    } else if (count == 0) {
        status = schema_json(NULL, &document, err);
    } else if ((status = qs_key_parse(operands[0], &key, err)) == QS_OK) {
        status = schema_json(&key, &document, err);
    }
    if (status != QS_OK) {
        if (count)
            error_add_path(err, operands[0]);
        return status;
    }
    if (cli->json || cli->given[OPT_JSON_SCHEMA]) {
        out_json(cli, STEAL(document));
        return QS_OK;
    }
    json_array_foreach(json_object_get(document, "keys"), i, entry) entry_text(cli, entry);
    return QS_OK;
}
