/* SPDX-License-Identifier: Apache-2.0 */
/* Changes for people and for programs: path, old and new value, secrets covered unless --reveal was given. */
#include "cli/cli.h"

#include <string.h>

#define PURGED_TEXT "<purged>"

/* Has a change's old or new value to be hidden, and what is shown instead? NULL: show as it is. */
static const char *cover_of(const struct cli *cli, const struct qs_change *change, bool new_side)
{
    const struct qs_bytes *value = new_side ? &change->new_value : &change->old_value;
    if (new_side ? change->new_purged : change->old_purged)
        return PURGED_TEXT;
    if (value->data && change->area == QS_AREA_SETTINGS && !cli->reveal &&
        secret_key(change->key.data, change->key.len))
        return SECRET_TEXT;
    return NULL;
}

const char *change_path(const struct qs_change *change, char *text, size_t size)
{
    if (change->area != QS_AREA_TARGETS)
        return qs_key_format(change->key.data, change->key.len, text, size);
    size_t len = change->key.len < size ? change->key.len : size - 1; /* a file's name, not a key path */
    memcpy(text, change->key.data, len);
    text[len] = '\0';
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    return text;
}

static const char *area_name(enum qs_area area)
{
    switch (area) {
    case QS_AREA_SETTINGS:
        return NULL;
    case QS_AREA_LOCKS:
        return "lock";
    case QS_AREA_TARGETS:
        return "published file";
    case QS_AREA_FLAGS:
        return "flag";
    case QS_AREA_HISTORY:
        return "history";
    }
    return "unknown";
}

static json_t *side_json(const struct cli *cli, const struct qs_change *change, bool new_side)
{
    const struct qs_bytes *value = new_side ? &change->new_value : &change->old_value;
    const char *cover = cover_of(cli, change, new_side);
    if (cover)
        return json_string(cover);
    if (!value->data)
        return json_null();
    return json_canonical(value->data, value->len);
}

/* A side that is not there is null, like a stored null, which is rare and therefore the one that bears a mark. */
static void put_side(struct cli *cli, json_t *object, const struct qs_change *change, bool new_side)
{
    const struct qs_bytes *value = new_side ? &change->new_value : &change->old_value;
    json_t *side = side_json(cli, change, new_side);
    if (value->data && json_is_null(side))
        put(cli, object, new_side ? "newIsNull" : "oldIsNull", json_true());
    put(cli, object, new_side ? "new" : "old", side);
}

json_t *change_json(struct cli *cli, const struct qs_change *change)
{
    char path[QS_KEY_TEXT_BYTES];
    json_t *object = json_object();
    if (!object) {
        cli->out.failed = true;
        return NULL;
    }
    put(cli, object, "path", json_words(change_path(change, path, sizeof path)));
    if (change->area != QS_AREA_SETTINGS)
        put(cli, object, "area", json_string(area_name(change->area)));
    put_side(cli, object, change, false);
    put_side(cli, object, change, true);
    return object;
}

static void side_text(const struct cli *cli, const char *indent, const struct qs_change *change, const char *path,
                      bool new_side, struct buf *out)
{
    const struct qs_bytes *value = new_side ? &change->new_value : &change->old_value;
    const char *cover = cover_of(cli, change, new_side);
    const char *area = area_name(change->area);
    if (!value->data && !cover)
        return;
    buf_add_str(out, indent);
    paint(out, new_side ? PAINT_GOOD : PAINT_BAD);
    buf_printf(out, "%c %s%s%s", new_side ? '+' : '-', area ? area : "", area ? " " : "", path);
    if (change->area == QS_AREA_SETTINGS || cover) {
        buf_add_str(out, " = ");
        if (cover)
            buf_add_str(out, cover);
        else
            buf_add(out, value->data, value->len);
    }
    paint(out, PAINT_END);
    buf_add_char(out, '\n');
}

void change_text(const struct cli *cli, const char *indent, const struct qs_change *change, struct buf *out)
{
    char path[QS_KEY_TEXT_BYTES];
    change_path(change, path, sizeof path);
    side_text(cli, indent, change, path, false, out);
    side_text(cli, indent, change, path, true, out);
}
