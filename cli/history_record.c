/* SPDX-License-Identifier: Apache-2.0 */
/* Printing a record of the history. */
#include "cli/history_record.h"

#include "text/key_path.h"

#include <string.h>

#define MESSAGE_INDENT "    | " /* unlike that of a change, so that no message can pass for one */

static bool wanted(const struct qs_change *change, const struct qs_key *key)
{
    if (!key)
        return true;
    return (change->area == QS_AREA_SETTINGS || change->area == QS_AREA_LOCKS) &&
           (key_covers(key->bytes, key->len, change->key.data, change->key.len) ||
            key_covers(change->key.data, change->key.len, key->bytes, key->len));
}

bool record_concerns(const struct qs_history *history, const struct qs_record *record, const struct qs_key *key)
{
    for (size_t i = 0; i < record->change_count; i++) {
        if (wanted(qs_history_change(history, i), key))
            return true;
    }
    return false;
}

static json_t *actor_json(struct cli *cli, const struct qs_record *record)
{
    json_t *actor = json_object();
    put(cli, actor, "uid", json_integer(record->uid));
    put(cli, actor, "user", json_words(record->user));
    put(cli, actor, "loginUid", record->login_uid == UINT32_MAX ? json_null() : json_integer(record->login_uid));
    put(cli, actor, "pid", json_integer(record->pid));
    put(cli, actor, "program", json_words(record->program));
    return actor;
}

json_t *record_json(struct cli *cli, enum qs_scope scope, const struct qs_history *history,
                    const struct qs_record *record, const struct qs_key *key)
{
    json_t *object = json_object(), *changed = json_array();
    for (size_t i = 0; i < record->change_count; i++) {
        const struct qs_change *change = qs_history_change(history, i);
        if (wanted(change, key))
            push(cli, changed, change_json(cli, change));
    }
    put(cli, object, "generation", json_integer((json_int_t)record->generation));
    put(cli, object, "scope", json_string(qs_scope_name(scope)));
    put(cli, object, "time", json_time(record->time_s));
    put(cli, object, "actor", actor_json(cli, record));
    put(cli, object, "action", json_words(record->action));
    put(cli, object, "message", json_words(record->message));
    put(cli, object, "changed", changed);
    put(cli, object, "digest", json_digest(record->digest));
    put(cli, object, "content", json_digest(record->content));
    put(cli, object, "previous", json_digest(record->previous));
    return object;
}

void plain_text(struct buf *out, const char *indent, const char *text)
{
    size_t len = strlen(text);
    if (!indent[0]) {
        terminal_text(out, text, len, TERMINAL_LINE);
        return;
    }
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line = end ? (size_t)(end - text) : len;
        buf_add_str(out, indent);
        terminal_text(out, text, line, TERMINAL_LINE);
        if (end && len > line + 1)
            buf_add_char(out, '\n');
        text += line + (end != NULL);
        len -= line + (end != NULL);
    }
}

static void headline(enum qs_scope scope, const struct qs_record *record, struct buf *out)
{
    char when[TIME_TEXT_BYTES];
    paint(out, PAINT_WARN);
    buf_printf(out, "%s generation %llu", qs_scope_name(scope), (unsigned long long)record->generation);
    paint(out, PAINT_END);
    buf_printf(out, "  %s  ", time_text(record->time_s, when));
    plain_text(out, "", record->user[0] ? record->user : "?");
    buf_printf(out, " (uid %u", record->uid);
    if (record->login_uid != UINT32_MAX)
        buf_printf(out, ", login uid %u", record->login_uid);
    buf_printf(out, ", pid %u, ", record->pid);
    plain_text(out, "", record->program);
    buf_add_str(out, ")  ");
    plain_text(out, "", record->action);
    buf_add_char(out, '\n');
    if (record->message[0]) {
        plain_text(out, MESSAGE_INDENT, record->message);
        buf_add_char(out, '\n');
    }
}

static void changes_lines(struct cli *cli, const struct qs_history *history, const struct qs_record *record,
                          const struct qs_key *key, struct buf *out)
{
    for (size_t i = 0; i < record->change_count; i++) {
        const struct qs_change *change = qs_history_change(history, i);
        if (wanted(change, key))
            change_text(cli, "    ", change, out);
    }
}

void record_text(struct cli *cli, enum qs_scope scope, const struct qs_history *history, const struct qs_record *record,
                 const struct qs_key *key, struct buf *out)
{
    headline(scope, record, out);
    changes_lines(cli, history, record, key, out);
}

void record_text_full(struct cli *cli, enum qs_scope scope, const struct qs_history *history,
                      const struct qs_record *record, struct buf *out)
{
    char digest[DIGEST_TEXT_BYTES];
    headline(scope, record, out);
    buf_printf(out, "    record   %s\n", digest_text(record->digest, digest));
    buf_printf(out, "    previous %s\n", digest_text(record->previous, digest));
    buf_printf(out, "    content  %s\n", digest_text(record->content, digest));
    changes_lines(cli, history, record, NULL, out);
}
