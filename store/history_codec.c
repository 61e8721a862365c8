/* SPDX-License-Identifier: Apache-2.0 */
/* History records: encoding, decoding, purging, digests. */
#include "store/history_codec.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os.h"
#include "base/utf8.h"

#include <string.h>

#define HISTORY_VERSION_MOST 255u /* of later ones: what is above is damage */

const char *history_action_name(unsigned action)
{
    static const char *const names[] = {NULL, "init", "set", "rollback", "restore", "repair", "purge"};
    return action < sizeof names / sizeof names[0] ? names[action] : NULL;
}

void history_record_release(struct history_record *record)
{
    free(record->changes);
    free(record->offsets);
    free(record->texts);
    *record = (struct history_record){0};
}

void history_key(uint64_t generation, uint32_t chunk, uint8_t out[HISTORY_KEY_BYTES])
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(generation >> (56 - 8 * i));
    for (int i = 0; i < 4; i++)
        out[8 + i] = (uint8_t)(chunk >> (24 - 8 * i));
}

bool history_key_decode(struct qs_bytes key, uint64_t *ret_generation, uint32_t *ret_chunk)
{
    const uint8_t *p = key.data;
    if (key.len != HISTORY_KEY_BYTES)
        return false;
    uint64_t generation = 0;
    uint32_t chunk = 0;
    for (int i = 0; i < 8; i++)
        generation = generation << 8 | p[i];
    for (int i = 8; i < 12; i++)
        chunk = chunk << 8 | p[i];
    *ret_generation = generation;
    *ret_chunk = chunk;
    return true;
}

/* ---- values and digests ---- */

static void hash_value(struct history_value *value)
{
    struct digest digest;
    if (!value->there || value->purged)
        return;
    digest_init(&digest);
    digest_add(&digest, value->salt, sizeof value->salt);
    digest_add(&digest, value->bytes.data, value->bytes.len);
    digest_finish(&digest, value->hash);
}

static enum qs_status salt_value(struct history_value *value, struct qs_error *err)
{
    static const uint8_t none[HISTORY_SALT_BYTES];
    if (!value->there || value->purged || memcmp(value->salt, none, sizeof none) != 0)
        return QS_OK;
    enum qs_status status = os_random(value->salt, sizeof value->salt, err);
    if (!status)
        hash_value(value);
    return status;
}

static unsigned there_bits(const struct history_change *change)
{
    return (change->old_value.there ? CHANGE_OLD_THERE : 0u) | (change->new_value.there ? CHANGE_NEW_THERE : 0u);
}

static void digest_change(struct digest *digest, const struct history_change *change)
{
    uint8_t kind[2] = {(uint8_t)change->area, (uint8_t)there_bits(change)};
    digest_add(digest, kind, sizeof kind);
    digest_add_field(digest, change->key.data, change->key.len);
    if (change->old_value.there)
        digest_add(digest, change->old_value.hash, QS_DIGEST_BYTES);
    if (change->new_value.there)
        digest_add(digest, change->new_value.hash, QS_DIGEST_BYTES);
}

static void digest_record(const struct history_record *record, const void *head, size_t head_len,
                          uint8_t out[QS_DIGEST_BYTES])
{
    struct digest digest;
    digest_init(&digest);
    digest_add_field(&digest, head, head_len);
    for (size_t i = 0; i < record->facts.change_count; i++)
        digest_change(&digest, &record->changes[i]);
    digest_finish(&digest, out);
}

/* ---- decoding ---- */

static bool take_text(struct cursor *c, size_t len, size_t max, char **at, const char **ret_text)
{
    const uint8_t *bytes = cursor_bytes(c, len);
    if (!bytes || len > max || memchr(bytes, 0, len) || !utf8_valid(bytes, len, NULL))
        return false;
    memcpy(*at, bytes, len);
    (*at)[len] = '\0';
    *ret_text = *at;
    *at += len + 1;
    return true;
}

/* What a record may have that this version does not know: a later version's, or a flipped bit. The digest tells. */
struct unknown {
    unsigned version; /* another than HISTORY_VERSION */
    bool other;       /* an action, an area, or something where zero belongs */
};

static enum qs_status bad_form(struct qs_error *err)
{
    return error_page(err, -1, "a history record is malformed or does not match its digest");
}

static enum qs_status take_head(struct cursor *c, struct history_record *record, struct unknown *unknown,
                                struct qs_error *err)
{
    struct qs_record *f = &record->facts;
    char *at = record->texts;
    unknown->version = cursor_u16(c);
    record->action = cursor_u8(c);
    f->action = history_action_name(record->action);
    unknown->other = cursor_u8(c) != 0 || !f->action;
    f->generation = cursor_u64(c);
    f->time_s = (int64_t)cursor_u64(c);
    f->time_ns = cursor_u32(c);
    f->uid = cursor_u32(c);
    f->login_uid = cursor_u32(c);
    f->pid = cursor_u32(c);
    if (!take_text(c, cursor_u16(c), QS_NAME_MAX_BYTES, &at, &f->user) ||
        !take_text(c, cursor_u16(c), QS_NAME_MAX_BYTES, &at, &f->program) ||
        !take_text(c, cursor_u32(c), QS_MESSAGE_MAX_BYTES, &at, &f->message))
        return bad_form(err);
    const uint8_t *digests = cursor_bytes(c, (size_t)2 * QS_DIGEST_BYTES);
    if (!digests)
        return bad_form(err);
    memcpy(f->content, digests, QS_DIGEST_BYTES);
    memcpy(f->previous, digests + QS_DIGEST_BYTES, QS_DIGEST_BYTES);
    f->change_count = cursor_u32(c);
    /* four bytes are the least that a change takes */
    bool formed = !c->failed && unknown->version >= HISTORY_VERSION && f->change_count <= cursor_left(c) / 4;
    return formed ? QS_OK : bad_form(err);
}

static bool take_value(struct cursor *c, bool there, bool purged, struct history_value *ret_value)
{
    struct history_value value = {.there = there, .purged = purged};
    if (there && purged) {
        const uint8_t *hash = cursor_bytes(c, QS_DIGEST_BYTES);
        if (hash)
            memcpy(value.hash, hash, QS_DIGEST_BYTES);
    } else if (there) {
        const uint8_t *salt = cursor_bytes(c, HISTORY_SALT_BYTES);
        size_t len = cursor_u32(c);
        value.bytes = (struct qs_bytes){cursor_bytes(c, len), len};
        if (!c->failed)
            memcpy(value.salt, salt, HISTORY_SALT_BYTES);
    }
    *ret_value = value;
    return !c->failed;
}

/* Does not hash the values. */
static bool take_change(struct cursor *c, struct history_change *change)
{
    unsigned area = cursor_u8(c);
    unsigned bits = cursor_u8(c);
    size_t len = cursor_u16(c);
    change->key = (struct qs_bytes){cursor_bytes(c, len), len};
    if (c->failed || area < QS_AREA_SETTINGS || bits > 15 || (bits & 3) == 0 || len == 0 ||
        (bits & CHANGE_OLD_PURGED && !(bits & CHANGE_OLD_THERE)) ||
        (bits & CHANGE_NEW_PURGED && !(bits & CHANGE_NEW_THERE)))
        return false;
    change->area = (enum qs_area)area;
    return take_value(c, bits & CHANGE_OLD_THERE, bits & CHANGE_OLD_PURGED, &change->old_value) &&
           take_value(c, bits & CHANGE_NEW_THERE, bits & CHANGE_NEW_PURGED, &change->new_value);
}

struct history_change history_record_change(const struct history_record *record, size_t index)
{
    struct history_change change = {0};
    struct cursor c;
    if (record->changes)
        return record->changes[index];
    cursor_init(&c, record->data + record->offsets[index], record->len - record->offsets[index]);
    (void)take_change(&c, &change); /* decoding saw that it has its form */
    return change;
}

/* The changes, to their digest: what was read is looked at once, and each change found again by its offset. */
static enum qs_status take_changes(struct cursor *c, struct history_record *record, struct digest *digest,
                                   struct unknown *unknown, struct qs_error *err)
{
    record->offsets = malloc((record->facts.change_count + 1) * sizeof *record->offsets);
    if (!record->offsets)
        return error_memory(err);
    for (size_t i = 0; i < record->facts.change_count; i++) {
        struct history_change change = {0};
        record->offsets[i] = (uint32_t)(c->at - record->data);
        if (!take_change(c, &change))
            return bad_form(err);
        unknown->other = unknown->other || change.area > HISTORY_AREA_LAST;
        hash_value(&change.old_value);
        hash_value(&change.new_value);
        digest_change(digest, &change);
    }
    return QS_OK;
}

static enum qs_status take_record(struct cursor *c, struct history_record *record, struct unknown *unknown,
                                  struct qs_error *err)
{
    enum qs_status status = take_head(c, record, unknown, err);
    struct digest digest;
    if (status)
        return status;
    digest_init(&digest);
    digest_add_field(&digest, record->data, (size_t)(c->at - record->data));
    status = take_changes(c, record, &digest, unknown, err);
    if (status)
        return status;
    const uint8_t *stored = cursor_bytes(c, QS_DIGEST_BYTES);
    if (!stored || cursor_left(c) != 0)
        return bad_form(err);
    digest_finish(&digest, record->facts.digest);
    return memcmp(stored, record->facts.digest, QS_DIGEST_BYTES) == 0 ? QS_OK : bad_form(err);
}

static enum qs_status decode(const void *data, size_t len, struct history_record *record, struct unknown *unknown,
                             struct qs_error *err)
{
    struct cursor c;
    cursor_init(&c, data, len);
    *record = (struct history_record){.data = data, .len = len};
    record->texts = malloc((size_t)2 * QS_NAME_MAX_BYTES + QS_MESSAGE_MAX_BYTES + 8);
    if (!record->texts)
        return error_memory(err);
    enum qs_status status = len > UINT32_MAX ? bad_form(err) : take_record(&c, record, unknown, err);
    if (status)
        history_record_release(record);
    return status;
}

/* Bytes that this version cannot digest: with its own version in front they are a record, or they are a later one's. */
static enum qs_status other_version(const uint8_t *data, size_t len, unsigned version, struct qs_error *err)
{
    struct history_record record;
    struct unknown unknown = {0};
    AUTO_FREE uint8_t *copy = malloc(len);
    if (!copy)
        return error_memory(err);
    memcpy(copy, data, len);
    copy[0] = HISTORY_VERSION;
    copy[1] = 0;
    enum qs_status status = decode(copy, len, &record, &unknown, err);
    if (status == QS_DAMAGED)
        return error_newer(err, "a history record is of version %u; this program reads version %u", version,
                           HISTORY_VERSION);
    if (status)
        return status;
    history_record_release(&record);
    return bad_form(err);
}

enum qs_status history_record_decode(const void *data, size_t len, struct history_record *ret_record,
                                     struct qs_error *err)
{
    struct history_record record;
    struct unknown unknown = {0};
    enum qs_status status = decode(data, len, &record, &unknown, err);
    if (status == QS_DAMAGED && unknown.version > HISTORY_VERSION && unknown.version <= HISTORY_VERSION_MOST)
        return other_version(data, len, unknown.version, err);
    if (status)
        return status;
    if (unknown.version != HISTORY_VERSION || unknown.other) {
        history_record_release(&record);
        return error_newer(err, "a history record has something that this program does not know");
    }
    *ret_record = record;
    return QS_OK;
}

/* ---- encoding ---- */

/* Gives a decoded record an array of its changes, with all hashes, so that it can be changed and encoded. */
static enum qs_status spread(struct history_record *record, struct qs_error *err)
{
    if (record->changes)
        return QS_OK;
    struct history_change *changes = calloc(record->facts.change_count + 1, sizeof *changes);
    if (!changes)
        return error_memory(err);
    for (size_t i = 0; i < record->facts.change_count; i++) {
        changes[i] = history_record_change(record, i);
        hash_value(&changes[i].old_value);
        hash_value(&changes[i].new_value);
    }
    record->changes = changes;
    return QS_OK;
}

static void add_text16(struct buf *out, const char *text)
{
    size_t len = strlen(text);
    buf_add_u16(out, (uint16_t)len);
    buf_add(out, text, len);
}

static void add_head(const struct history_record *record, struct buf *out)
{
    const struct qs_record *f = &record->facts;
    buf_add_u16(out, HISTORY_VERSION);
    buf_add_u8(out, (uint8_t)record->action);
    buf_add_u8(out, 0);
    buf_add_u64(out, f->generation);
    buf_add_u64(out, (uint64_t)f->time_s);
    buf_add_u32(out, f->time_ns);
    buf_add_u32(out, f->uid);
    buf_add_u32(out, f->login_uid);
    buf_add_u32(out, f->pid);
    add_text16(out, f->user);
    add_text16(out, f->program);
    buf_add_u32(out, (uint32_t)strlen(f->message));
    buf_add_str(out, f->message);
    buf_add(out, f->content, QS_DIGEST_BYTES);
    buf_add(out, f->previous, QS_DIGEST_BYTES);
    buf_add_u32(out, (uint32_t)f->change_count);
}

static void add_value(const struct history_value *value, struct buf *out)
{
    if (!value->there)
        return;
    if (value->purged) {
        buf_add(out, value->hash, QS_DIGEST_BYTES);
        return;
    }
    buf_add(out, value->salt, HISTORY_SALT_BYTES);
    buf_add_u32(out, (uint32_t)value->bytes.len);
    buf_add(out, value->bytes.data, value->bytes.len);
}

static void add_change(const struct history_change *change, struct buf *out)
{
    unsigned bits = there_bits(change) | (change->old_value.purged ? CHANGE_OLD_PURGED : 0u) |
                    (change->new_value.purged ? CHANGE_NEW_PURGED : 0u);
    buf_add_u8(out, (uint8_t)change->area);
    buf_add_u8(out, (uint8_t)bits);
    buf_add_u16(out, (uint16_t)change->key.len);
    buf_add(out, change->key.data, change->key.len);
    add_value(&change->old_value, out);
    add_value(&change->new_value, out);
}

enum qs_status history_record_encode(struct history_record *record, struct buf *out, struct qs_error *err)
{
    if (strlen(record->facts.user) > QS_NAME_MAX_BYTES || strlen(record->facts.program) > QS_NAME_MAX_BYTES)
        return error_set(err, QS_INVALID, "a user or program name has more than %u bytes", QS_NAME_MAX_BYTES);
    if (strlen(record->facts.message) > QS_MESSAGE_MAX_BYTES)
        return error_set(err, QS_INVALID, "the message has more than %u bytes", QS_MESSAGE_MAX_BYTES);
    enum qs_status status = spread(record, err);
    for (size_t i = 0; i < record->facts.change_count && !status; i++) {
        status = salt_value(&record->changes[i].old_value, err);
        if (!status)
            status = salt_value(&record->changes[i].new_value, err);
    }
    if (status)
        return status;
    size_t start = out->len;
    add_head(record, out);
    size_t head_len = out->len - start;
    if (!out->failed)
        digest_record(record, out->data + start, head_len, record->facts.digest);
    for (size_t i = 0; i < record->facts.change_count; i++)
        add_change(&record->changes[i], out);
    buf_add(out, record->facts.digest, QS_DIGEST_BYTES);
    return out->failed ? error_memory(err) : QS_OK;
}

enum qs_status history_record_purge(struct history_record *record, size_t index, struct qs_error *err)
{
    enum qs_status spread_out = spread(record, err);
    if (spread_out)
        return spread_out;
    struct history_value *values[2] = {&record->changes[index].old_value, &record->changes[index].new_value};
    for (int i = 0; i < 2; i++) {
        if (!values[i]->there || values[i]->purged)
            continue;
        enum qs_status status = salt_value(values[i], err); /* a new record's values have no hash yet */
        if (status)
            return status;
        values[i]->purged = true;
        values[i]->bytes = (struct qs_bytes){NULL, 0};
        memset(values[i]->salt, 0, sizeof values[i]->salt);
    }
    return QS_OK;
}
