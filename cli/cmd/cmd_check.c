/* SPDX-License-Identifier: Apache-2.0 */
/* check: judges a document as a store would, without a store. */
#include "cli/cli.h"

#include "schema/schema.h"

#include <string.h>

static enum qs_status parse_file(struct cli *cli, const char *file, struct doc **ret_doc, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    const char *name = strcmp(file, "-") == 0 ? "standard input" : file;
    enum qs_text_format format = cli_format(cli);
    enum qs_status status = input_read(file, QS_DOCUMENT_MAX_BYTES, &text, &len, err);
    if (status)
        return status;
    enum doc_format as = format == QS_FORMAT_YAML   ? DOC_YAML
                         : format == QS_FORMAT_JSON ? DOC_JSON
                                                    : doc_format_of(name);
    return doc_parse(name, text, len, as, ret_doc, err);
}

void warn_notes(const struct cli *cli, const struct leaf *items, size_t count, unsigned flags)
{
    AUTO(schema_notes_release) struct schema_notes notes = {0};
    if (schema_collect_notes(items, count, flags, &notes, NULL))
        return;
    for (size_t i = 0; i < notes.count; i++)
        voice_note(&cli->line, NULL, "%s", notes.items[i]);
}

enum qs_status cmd_check(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    AUTO(leaves_release) struct leaves leaves = {0};
    (void)count;
    unsigned flags = cli->scope_given ? schema_flags_of(cli->scope) : 0;
    enum qs_status status = parse_file(cli, operands[0], &doc, err);
    if (!status)
        status = flatten_value(doc_root(doc), NULL, doc, &leaves, err);
    if (!status)
        status = schema_check_document(doc_root(doc), doc, flags, err);
    if (status)
        return status;
    warn_notes(cli, leaves.items, leaves.count, flags);
    if (!cli->line.json) {
        buf_printf(&cli->out, "%s: ok, %zu setting%s\n", operands[0], leaves.count, leaves.count == 1 ? "" : "s");
        return QS_OK;
    }
    json_t *report = json_object();
    put(cli, report, "file", json_words(operands[0]));
    put(cli, report, "status", json_string("ok"));
    put(cli, report, "entries", json_integer((json_int_t)leaves.count));
    out_json(cli, report);
    return QS_OK;
}
