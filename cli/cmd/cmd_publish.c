/* SPDX-License-Identifier: Apache-2.0 */
/* publish: settings into a file that is never absent; its drift; the register of files that every commit publishes. */
#include "cli/cli.h"

#include "text/doc.h"

#include <stdio.h>
#include <string.h>

/* FILE made absolute without "." and "..", since it is kept in a store and means the same from anywhere. */
static enum qs_status absolute_file(const char *file, char **ret_file, struct qs_error *err)
{
    AUTO_FREE char *here = file[0] == '/' ? strdup("") : getcwd(NULL, 0);
    AUTO_FREE char *joined = NULL;
    if (!here || asprintf(&joined, "%s/%s", here, file) < 0) {
        joined = NULL;
        return error_set(err, QS_IO, "cannot find the working directory");
    }
    AUTO_FREE char *clean = calloc(1, strlen(joined) + 2);
    if (!clean)
        return error_memory(err);
    char *at = clean, *rest = joined;
    for (char *part; (part = strsep(&rest, "/")) != NULL;) {
        if (part[0] == '\0' || strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0)
            return error_set(err, QS_USAGE, "the path '%s' contains '..'; name the file without it", file);
        at += sprintf(at, "/%s", part);
    }
    if (at == clean)
        return error_set(err, QS_USAGE, "'%s' does not name a file", file);
    *ret_file = STEAL(clean);
    return QS_OK;
}

static struct qs_target make_target(const struct cli *cli, const char *file)
{
    enum qs_text_format format = cli_format(cli);
    bool yaml = format == QS_FORMAT_YAML || (format == QS_FORMAT_AUTO && doc_format_of(file) == DOC_YAML);
    return (struct qs_target){.size = sizeof(struct qs_target),
                              .file = file,
                              .scope = cli->scope_given ? cli->scope : QS_SCOPE_EFFECTIVE,
                              .format = yaml ? QS_PUBLISH_YAML : QS_PUBLISH_JSON,
                              .dialect = cli->reader ? QS_DIALECT_QWEN_CODE : QS_DIALECT_FULL};
}

static unsigned publish_flags(const struct cli *cli)
{
    return (cli->force ? QS_PUBLISH_FORCE : 0u) | (cli->backup ? QS_PUBLISH_BACKUP : 0u) |
           (cli->dangling ? QS_PUBLISH_DANGLING : 0u) | (cli->hard_linked ? QS_PUBLISH_HARDLINKED : 0u) |
           (cli->other_owner ? QS_PUBLISH_OTHER_OWNER : 0u);
}

static void target_json(struct cli *cli, json_t *object, const struct qs_target *target)
{
    put(cli, object, "file", json_words(target->file));
    put(cli, object, "scope", json_string(qs_scope_name(target->scope)));
    put(cli, object, "format", json_string(target->format == QS_PUBLISH_YAML ? "yaml" : "json"));
    put(cli, object, "for", target->dialect == QS_DIALECT_QWEN_CODE ? json_string("qwen") : json_null());
}

/* ---- writing ---- */

static void report_published(struct cli *cli, const struct qs_target *target, enum qs_publish_outcome outcome)
{
    const char *what = outcome == QS_PUBLISH_WRITTEN ? "published" : "unchanged";
    if (!cli->line.json) {
        buf_printf(&cli->out, "%s: %s (%s)%s\n", target->file, what, qs_scope_name(target->scope),
                   cli->on_commit ? ", and registered: every commit publishes it" : "");
        return;
    }
    json_t *report = json_object();
    target_json(cli, report, target);
    put(cli, report, "outcome", json_string(what));
    out_json(cli, report);
}

static void advise_edited(const struct cli *cli, const struct qs_target *target, struct qs_error *err)
{
    (void)cli;
    error_add_advice(
        err, "'qsettings publish --check %s' shows what differs; --adopt takes the edits over, --force overwrites them",
        target->file);
}

/* The store whose register is meant: the scope's; without one, as for a write. */
static enum qs_status open_register(struct cli *cli, struct qs_store **ret_store, struct qs_error *err)
{
    if (cli->scope_given || geteuid() != 0)
        return cli_open(cli, cli->scope_given ? cli->scope : QS_SCOPE_USER, ret_store, err);
    error_set(err, QS_UNTRUSTED, "root must name the store to write, since it would be root's own without a scope");
    error_add_advice(err, "give --system, --defaults or --user");
    return QS_UNTRUSTED;
}

static enum qs_status publish_file(struct cli *cli, const struct qs_target *target, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_publish_outcome outcome;
    enum qs_status status = cli_open(cli, QS_SCOPE_SYSTEM, &store, err);
    if (!status)
        status = qs_publish(store, target, publish_flags(cli), &outcome, err);
    if (status == QS_CONFLICT)
        advise_edited(cli, target, err);
    if (!status)
        report_published(cli, target, outcome);
    return status;
}

/* The file has its text, the register does not have the file. */
static void say_published(const struct qs_target *target, struct qs_error *err)
{
    struct qs_error inner = *err;
    error_set(err, QS_FOLLOW_UP, "%s is published, but was not registered: %s", target->file, inner.message);
    memcpy(err->path, inner.path, sizeof err->path);
    memcpy(err->advice, inner.advice, sizeof err->advice);
}

/* Published first: a file that cannot be published is not registered, where each later commit would fail on it. */
static enum qs_status register_file(struct cli *cli, const struct qs_target *target, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_publish_outcome outcome;
    enum qs_status status = open_register(cli, &store, err);
    if (!status)
        status = qs_publish(store, target, publish_flags(cli), &outcome, err);
    if (status == QS_CONFLICT)
        advise_edited(cli, target, err);
    if (status)
        return status;
    status = qs_publish_register(store, target, cli->message, cli->wait_ms, NULL, err);
    if (!status)
        report_published(cli, target, outcome);
    else if (outcome == QS_PUBLISH_WRITTEN)
        say_published(target, err);
    return status;
}

static enum qs_status adopt_file(struct cli *cli, const struct qs_target *target, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_adopt_options options = {.size = sizeof options,
                                       .message = cli->message,
                                       .wait_ms = cli->wait_ms,
                                       .flags = publish_flags(cli)};
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = open_register(cli, &store, err);
    if (!status)
        status = qs_publish_adopt(store, target, &options, &info, err);
    if (info.generation)
        cli_report_commit(cli, store, &info, NULL);
    if (status) {
        cli->stored.left = "the file was not published";
        return status;
    }
    return cli_publish_registered(cli, store, &info, err);
}

/* ---- looking ---- */

static struct qs_bytes bytes_of(const char *text)
{
    return text ? (struct qs_bytes){text, strlen(text)} : (struct qs_bytes){NULL, 0};
}

/* A difference seen as the change that publishing would make to the file. */
static void difference(struct cli *cli, const struct qs_publish_difference *found, json_t *list)
{
    struct qs_key key = {0};
    struct qs_change change = {.area = QS_AREA_SETTINGS,
                               .old_value = bytes_of(found->in_file),
                               .new_value = bytes_of(found->in_store)};
    if (qs_key_parse(found->key, &key, NULL)) {
        cli->out.failed = true;
        return;
    }
    change.key = (struct qs_bytes){key.bytes, key.len};
    if (cli->line.json)
        push(cli, list, change_json(cli, &change));
    else
        change_text(cli, "  ", &change, &cli->out);
}

static void print_check(struct cli *cli, const struct qs_target *target, const struct qs_publish_report *found)
{
    json_t *list = cli->line.json ? json_array() : NULL;
    if (!cli->line.json)
        buf_printf(&cli->out, "%s: %s\n", target->file, qs_publish_state_name(found->state));
    for (size_t i = 0; i < found->count; i++)
        difference(cli, qs_publish_report_difference(found, i), list);
    if (!cli->line.json) {
        if (found->parse)
            buf_printf(&cli->out, "  cannot be read as a document: %s, line %u, column %u\n", found->parse->message,
                       found->parse->line, found->parse->column);
        return;
    }
    json_t *report = json_object();
    target_json(cli, report, target);
    put(cli, report, "state", json_string(qs_publish_state_name(found->state)));
    put(cli, report, "differences", list);
    put(cli, report, "parse", found->parse ? json_words(found->parse->message) : json_null());
    out_json(cli, report);
}

static void report_release(struct qs_publish_report **report)
{
    qs_publish_report_free(*report);
}

static enum qs_status check_file(struct cli *cli, const struct qs_target *target, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO(report_release) struct qs_publish_report *found = NULL;
    enum qs_status status = cli_open(cli, QS_SCOPE_SYSTEM, &store, err);
    if (!status)
        status = qs_publish_check(store, target, &found, err);
    if (status)
        return status;
    print_check(cli, target, found);
    cli->exit_status = found->state == QS_PUBLISH_CURRENT ? 0 : 1;
    return QS_OK;
}

static void targets_release(struct qs_target_list **targets)
{
    qs_target_list_free(*targets);
}

static enum qs_status list_scope(struct cli *cli, enum qs_scope scope, json_t *list, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO(targets_release) struct qs_target_list *targets = NULL;
    enum qs_status status = cli_open(cli, scope, &store, err);
    if (!status)
        status = qs_publish_list(store, &targets, err);
    for (size_t i = 0; !status && i < qs_target_list_count(targets); i++) {
        const struct qs_target *target = qs_target_list_at(targets, i);
        json_t *object = json_object();
        target_json(cli, object, target);
        put(cli, object, "store", json_string(qs_scope_name(scope)));
        push(cli, list, object);
        if (!cli->line.json)
            buf_printf(&cli->out, "%s (%s, kept in the %s store)\n", target->file, qs_scope_name(target->scope),
                       qs_scope_name(scope));
    }
    return status;
}

static enum qs_status list_files(struct cli *cli, struct qs_error *err)
{
    AUTO(value_release) json_t *list = json_array();
    for (enum qs_scope scope = QS_SCOPE_SYSTEM; scope >= QS_SCOPE_DEFAULTS; scope--) {
        struct qs_error local = {0};
        if (cli->scope_given && scope != cli->scope)
            continue;
        enum qs_status status = list_scope(cli, scope, list, &local);
        if (!status || (status == QS_ABSENT && !cli->scope_given))
            continue;
        if (err)
            *err = local;
        return status;
    }
    if (cli->line.json)
        out_json(cli, STEAL(list));
    return QS_OK;
}

static enum qs_status remove_file(struct cli *cli, const struct qs_target *target, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = open_register(cli, &store, err);
    if (!status)
        status = qs_publish_unregister(store, target->file, cli->message, cli->wait_ms, &info, err);
    if (status)
        return status;
    json_t *changed = json_array();
    push(cli, changed, json_words(target->file));
    cli_report_commit(cli, store, &info, changed);
    return QS_OK;
}

enum qs_status cmd_publish(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_FREE char *file = NULL;
    if (cli->check + cli->on_commit + cli->list + cli->remove + cli->adopt > 1)
        return error_set(err, QS_USAGE,
                         "options '--check', '--on-commit', '--list', '--remove' and '--adopt' exclude each other");
    if (cli->list)
        return count ? error_set(err, QS_USAGE, "option '--list' takes no FILE") : list_files(cli, err);
    if (!count)
        return error_set(err, QS_USAGE, "FILE is missing");
    enum qs_status status = absolute_file(operands[0], &file, err);
    if (status)
        return status;
    struct qs_target target = make_target(cli, file);
    if (cli->check)
        return check_file(cli, &target, err);
    if (cli->remove)
        return remove_file(cli, &target, err);
    if (cli->adopt)
        return adopt_file(cli, &target, err);
    return cli->on_commit ? register_file(cli, &target, err) : publish_file(cli, &target, err);
}
