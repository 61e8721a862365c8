/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of one line: the small files of a machine, and the names of documents. */
#include "fleet/rules/decide.h"

#include <stdio.h>
#include <string.h>

bool number_line_parse(struct qs_bytes text, uint64_t *ret_number)
{
    return fleet_take_number(&text, '\n', ret_number) && text.len == 0;
}

bool seen_parse(struct qs_bytes text, struct seen *ret_seen)
{
    struct seen seen = {0};
    if (!fleet_take_number(&text, ' ', &seen.order.keys) || !fleet_take_number(&text, ' ', &seen.order.serial))
        return false;
    const char *space = memchr(text.data, ' ', text.len);
    size_t len = space ? (size_t)(space - (const char *)text.data) : 0;
    seen.has_digest = hex_parse(text.data, len, seen.digest, QS_DIGEST_BYTES);
    if (!seen.has_digest && !(len == 1 && *(const char *)text.data == '-'))
        return false;
    text = (struct qs_bytes){space + 1, text.len - len - 1};
    if (!fleet_take_number(&text, '\n', &seen.floor) || text.len)
        return false;
    *ret_seen = seen;
    return true;
}

void seen_format(const struct seen *seen, struct buf *out)
{
    char digest[HEX_DIGEST_BYTES] = "-";
    if (seen->has_digest)
        hex_format(seen->digest, QS_DIGEST_BYTES, digest);
    buf_printf(out, "%llu %llu %s %llu\n", (unsigned long long)seen->order.keys, (unsigned long long)seen->order.serial,
               digest, (unsigned long long)seen->floor);
}

void mark_format(const struct fleet_mark *mark, struct buf *out)
{
    buf_printf(out, "%s %llu %llu\n", mark->fleet, (unsigned long long)mark->order.keys,
               (unsigned long long)mark->order.serial);
}

void break_glass_format(const struct break_glass *glass, struct buf *out)
{
    buf_printf(out, "%llu %llu %llu %s\n", (unsigned long long)glass->start, (unsigned long long)glass->end,
               (unsigned long long)glass->uid, glass->reason);
}

/* ---- names ---- */

bool document_name_parse(const char *text, struct document_name *ret_name)
{
    struct document_name name = {.kind = DOCUMENT_KEYS};
    struct qs_bytes rest = {text, strlen(text)};
    if (rest.len >= DOCUMENT_NAME_BYTES)
        return false;
    if (!strncmp(text, "keys-", 5)) {
        rest = (struct qs_bytes){text + 5, rest.len - 5};
    } else if (!strncmp(text, "bundle-", 7)) {
        name.kind = DOCUMENT_BUNDLE;
        rest = (struct qs_bytes){text + 7, rest.len - 7};
        if (!fleet_take_number(&rest, '-', &name.order.keys))
            return false;
    } else {
        return false;
    }
    uint64_t *last = name.kind == DOCUMENT_KEYS ? &name.order.keys : &name.order.serial;
    if (!fleet_take_number(&rest, '.', last) || rest.len != 4 || memcmp(rest.data, "json", 4) != 0 ||
        !name.order.keys || (name.kind == DOCUMENT_BUNDLE && !name.order.serial))
        return false;
    *ret_name = name;
    return true;
}

void document_name_format(const struct document_name *name, char text[DOCUMENT_NAME_BYTES])
{
    if (name->kind == DOCUMENT_KEYS)
        (void)snprintf(text, DOCUMENT_NAME_BYTES, "keys-%llu.json", (unsigned long long)name->order.keys);
    else
        (void)snprintf(text, DOCUMENT_NAME_BYTES, "bundle-%llu-%llu.json", (unsigned long long)name->order.keys,
                       (unsigned long long)name->order.serial);
}
