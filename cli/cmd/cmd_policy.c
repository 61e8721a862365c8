/* SPDX-License-Identifier: Apache-2.0 */
/* policy: the effective policy with nothing implied, or why there is none. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const char *source_state(const struct qs_policy_source *source)
{
    return source->status == QS_OK ? "ok" : qs_status_name(source->status);
}

static json_t *store_id_json(const unsigned char *id)
{
    char text[2 * QS_STORE_ID_BYTES + 1] = "";
    for (size_t i = 0; i < QS_STORE_ID_BYTES; i++)
        (void)sprintf(text + 2 * i, "%02x", id[i]);
    return json_string(text);
}

static json_t *sources_json(struct cli *cli, const struct qs_policy_result *result)
{
    json_t *list = json_array();
    for (size_t i = 0; i < qs_policy_source_count(result); i++) {
        const struct qs_policy_source *source = qs_policy_source(result, i);
        bool read = source->status == QS_OK;
        json_t *object = json_object();
        put(cli, object, "scope", json_string(qs_scope_name(source->scope)));
        put(cli, object, "state", json_string(source_state(source)));
        put(cli, object, "setsPolicy", json_boolean(source->sets_policy));
        put(cli, object, "required", json_boolean(source->required));
        put(cli, object, "storeId", read ? store_id_json(source->store_id) : json_null());
        put(cli, object, "generation", read ? json_integer((json_int_t)source->generation) : json_null());
        put(cli, object, "digest", read ? json_digest(source->digest) : json_null());
        put(cli, object, "place", json_words(source->path));
        push(cli, list, object);
    }
    return list;
}

static void policy_json(struct cli *cli, const struct qs_policy_result *result, const struct qs_error *refusal)
{
    json_t *report = json_object();
    put(cli, report, "status", json_string(qs_policy_status_name(qs_policy_status(result))));
    if (refusal) {
        put(cli, report, "reason", json_words(refusal->message));
    } else {
        size_t len = 0;
        const char *document = qs_policy_document(result, &len);
        put(cli, report, "policy", json_canonical(document, len));
        put(cli, report, "digest", json_digest(qs_policy_digest(result)));
    }
    put(cli, report, "sources", sources_json(cli, result));
    out_json(cli, report);
}

/* "executor.limits.wallSeconds = 600", one line for each leaf of the document. */
static void value_lines(struct cli *cli, const char *name, const json_t *value)
{
    const char *member_name;
    json_t *member;
    if (json_is_object(value) && json_object_size(value) > 0) {
        json_object_foreach((json_t *)value, member_name, member)
        {
            AUTO_FREE char *path = NULL;
            if (asprintf(&path, "%s%s%s", name, name[0] ? "." : "", member_name) < 0) {
                path = NULL;
                cli->out.failed = true;
                return;
            }
            value_lines(cli, path, member);
        }
        return;
    }
    buf_printf(&cli->out, "  %s = ", name);
    if (value_encode(value, &cli->out, NULL))
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
}

static void policy_text(struct cli *cli, const struct qs_policy_result *result)
{
    size_t len = 0;
    char digest[DIGEST_TEXT_BYTES];
    const char *text = qs_policy_document(result, &len);
    AUTO(value_release) json_t *document = json_canonical(text, len);
    buf_printf(&cli->out, "policy: %s\n", qs_policy_status_name(qs_policy_status(result)));
    if (document)
        value_lines(cli, "", document);
    else
        cli->out.failed = true;
    buf_add_str(&cli->out, "from:\n");
    for (size_t i = 0; i < qs_policy_source_count(result); i++) {
        const struct qs_policy_source *source = qs_policy_source(result, i);
        buf_printf(&cli->out, "  %-9s", qs_scope_name(source->scope));
        if (source->status == QS_OK)
            buf_printf(&cli->out, "generation %llu, %s", (unsigned long long)source->generation,
                       source->sets_policy ? "sets a policy" : "sets none");
        else
            buf_add_str(&cli->out, source_state(source));
        buf_printf(&cli->out, "%s  %s\n", source->required ? ", required" : "", source->path);
    }
    buf_printf(&cli->out, "digest: %s\n", digest_text(qs_policy_digest(result), digest));
}

/* What people bring along from Qwen Code does nothing here; silence about it would be a trap. */
static void note_legacy_environment(const struct cli *cli)
{
    const char *value = getenv("QWEN_SANDBOX");
    if (!value || !value[0])
        return;
    if (strcmp(value, "bwrap") == 0)
        voice_note(&cli->line, NULL,
                   "QWEN_SANDBOX=bwrap in the environment sets nothing here; set "
                   "tools.executionSandbox to {\"filesystem\":\"workspace-write\",\"network\":\"closed\"} instead");
    else
        voice_note(&cli->line, NULL, "QWEN_SANDBOX=%s in the environment sets nothing here", value);
}

enum qs_status cmd_policy(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct qs_policy_options options = {.size = sizeof options,
                                        .root = cli->line.root,
                                        .wait_ms = cli->read_wait_ms,
                                        .require_scopes = cli->require_scopes};
    AUTO_POLICY struct qs_policy_result *result = NULL;
    (void)count;
    (void)operands;
    cli_note_home(cli);
    note_legacy_environment(cli);
    enum qs_status status = qs_policy_read(&options, &result, err);
    if (!status) {
        if (cli->line.json)
            policy_json(cli, result, NULL);
        else
            policy_text(cli, result);
        return QS_OK;
    }
    if (!cli->line.json || !result)
        return status;
    /* A refusal is an answer too: with --json it is printed in the place where a program looks for it. */
    policy_json(cli, result, err);
    cli->print_on_failure = true;
    return status;
}
