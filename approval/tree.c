/* SPDX-License-Identifier: Apache-2.0 */
/* What a tree is, without looking at one: digest, order, manifest, comparison. */
#include "approval/tree.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/utf8.h"

#include <string.h>

#define MANIFEST_MAGIC   "qstree1\n"
#define MANIFEST_TRAILER 32 /* digest of all before it */

void tree_release(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        free(tree->entries[i].path);
        free(tree->entries[i].link);
    }
    free(tree->entries);
    *tree = (struct tree){0};
}

/* ---- digest ---- */

static const char *last_name(const struct tree_entry *entry)
{
    const char *slash = strrchr(entry->path, '/');
    return slash ? slash + 1 : entry->path;
}

static void add_type(struct digest *digest, char type)
{
    digest_add(digest, &type, 1);
}

static void add_name(struct digest *digest, char type, const char *name)
{
    add_type(digest, type);
    digest_add_field(digest, name, strlen(name));
}

static void add_entry(struct digest *digest, const struct tree_entry *entry)
{
    add_name(digest, (char)entry->type, last_name(entry));
    if (entry->type == TREE_LINK)
        digest_add_field(digest, entry->link, strlen(entry->link));
    if (entry->type != TREE_FILE)
        return;
    const uint8_t executable = entry->executable;
    digest_add(digest, &executable, 1);
    digest_add_u64(digest, entry->size);
    digest_add(digest, entry->digest, sizeof entry->digest);
}

void tree_digest(const struct tree *tree, uint8_t out[QS_DIGEST_BYTES])
{
    struct digest digest;
    unsigned open = 0; /* directories that have not ended */
    digest_init(&digest);
    add_name(&digest, TREE_DIRECTORY, "");
    for (size_t i = 0; i < tree->count; i++) {
        const struct tree_entry *entry = &tree->entries[i];
        for (; open >= entry->depth; open--)
            add_type(&digest, 'e');
        add_entry(&digest, entry);
        if (entry->type == TREE_DIRECTORY)
            open = entry->depth;
    }
    for (; open; open--)
        add_type(&digest, 'e');
    add_type(&digest, 'e');
    digest_finish(&digest, out);
}

void tree_digest_text(const uint8_t digest[QS_DIGEST_BYTES], char out[TREE_DIGEST_TEXT])
{
    memcpy(out, "tree:", 5);
    digest_format(digest, out + 5);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tree_digest_parse(const char *text, size_t len, uint8_t out[QS_DIGEST_BYTES])
{
    uint8_t digest[QS_DIGEST_BYTES];
    char form[TREE_DIGEST_TEXT];
    if (len != TREE_DIGEST_TEXT - 1)
        return false;
    const char *hex = text + TREE_DIGEST_TEXT - 1 - 2 * sizeof digest;
    for (size_t i = 0; i < sizeof digest; i++) {
        int high = hex_value(hex[2 * i]);
        int low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    tree_digest_text(digest, form);
    if (memcmp(form, text, len) != 0)
        return false;
    memcpy(out, digest, sizeof digest);
    return true;
}

/* ---- order ---- */

/* Preorder: '/' comes before every other byte, so that a directory's entries follow it. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned left = *a == '/' ? 1 : (unsigned char)*a;
    unsigned right = *b == '/' ? 1 : (unsigned char)*b;
    return left < right ? -1 : left > right;
}

const struct tree_entry *tree_find(const struct tree *tree, const char *path)
{
    size_t low = 0;
    size_t high = tree->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_paths(tree->entries[middle].path, path);
        if (order == 0)
            return &tree->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_entry(const struct tree_entry *a, const struct tree_entry *b)
{
    return a->type == b->type && a->executable == b->executable && a->size == b->size &&
           memcmp(a->digest, b->digest, sizeof a->digest) == 0 && same_text(a->link, b->link);
}

enum qs_status tree_compare(const struct tree *before, const struct tree *after, tree_change_fn change, void *context)
{
    size_t i = 0;
    size_t j = 0;
    while (i < before->count || j < after->count) {
        const struct tree_entry *old = i < before->count ? &before->entries[i] : NULL;
        const struct tree_entry *new = j < after->count ? &after->entries[j] : NULL;
        int order = !old ? 1 : !new ? -1 : compare_paths(old->path, new->path);
        i += order <= 0;
        j += order >= 0;
        if (order == 0 && same_entry(old, new))
            continue;
        enum qs_status status = change(order <= 0 ? old : NULL, order >= 0 ? new : NULL, context);
        if (status)
            return status;
    }
    return QS_OK;
}

bool tree_link_stays(const char *text, unsigned depth)
{
    bool named = false;
    if (!*text || *text == '/')
        return false;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "/");
        bool up = len == 2 && at[0] == '.' && at[1] == '.';
        bool same = len == 0 || (len == 1 && at[0] == '.');
        if (up && (named || depth-- == 0))
            return false;
        named = named || (!up && !same);
        at += len + (at[len] == '/');
    }
    return true;
}

/* ---- manifest ---- */

static void add_text(struct buf *out, const char *text)
{
    buf_add_u16(out, (uint16_t)strlen(text));
    buf_add_str(out, text);
}

enum qs_status tree_manifest_encode(const struct tree *tree, struct buf *out, struct qs_error *err)
{
    uint8_t digest[MANIFEST_TRAILER];
    size_t start = out->len;
    buf_add_str(out, MANIFEST_MAGIC);
    buf_add_u64(out, tree->ino);
    buf_add_u32(out, (uint32_t)tree->count);
    for (size_t i = 0; i < tree->count; i++) {
        const struct tree_entry *entry = &tree->entries[i];
        buf_add_u8(out, (uint8_t)entry->type);
        buf_add_u8(out, entry->executable);
        add_text(out, entry->path);
        add_text(out, entry->link ? entry->link : "");
        buf_add_u64(out, entry->size);
        buf_add(out, entry->digest, sizeof entry->digest);
        buf_add_u64(out, entry->ino);
        buf_add_u64(out, (uint64_t)entry->changed_s);
        buf_add_u32(out, entry->changed_ns);
    }
    if (out->failed)
        return error_memory(err);
    digest_of(out->data + start, out->len - start, digest);
    buf_add(out, digest, sizeof digest);
    return out->failed ? error_memory(err) : QS_OK;
}

static unsigned depth_of(const char *path)
{
    unsigned depth = 1;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

/* Text without zero bytes, heap; NULL with the cursor failed if it is malformed. */
static char *take_text(struct cursor *cursor)
{
    size_t len = cursor_u16(cursor);
    const uint8_t *bytes = cursor_bytes(cursor, len);
    if (cursor->failed || len > TREE_PATH_MAX || memchr(bytes, 0, len) || !utf8_valid(bytes, len, NULL)) {
        cursor->failed = true;
        return NULL;
    }
    return strndup((const char *)bytes, len);
}

static bool take_entry(struct cursor *cursor, struct tree_entry *entry)
{
    uint8_t type = cursor_u8(cursor);
    entry->executable = cursor_u8(cursor) != 0;
    entry->path = take_text(cursor);
    entry->link = entry->path ? take_text(cursor) : NULL;
    entry->size = cursor_u64(cursor);
    const uint8_t *digest = cursor_bytes(cursor, sizeof entry->digest);
    entry->ino = cursor_u64(cursor);
    entry->changed_s = (int64_t)cursor_u64(cursor);
    entry->changed_ns = cursor_u32(cursor);
    if (cursor->failed || !entry->link || (type != TREE_DIRECTORY && type != TREE_FILE && type != TREE_LINK))
        return false;
    memcpy(entry->digest, digest, sizeof entry->digest);
    entry->type = (enum tree_type)type;
    entry->depth = depth_of(entry->path);
    if (type != TREE_LINK) {
        free(entry->link);
        entry->link = NULL;
    }
    return *entry->path != '\0';
}

static enum qs_status malformed(struct qs_error *err)
{
    return error_set(err, QS_DAMAGED, "the manifest is malformed");
}

static bool trailer_matches(const void *data, size_t len)
{
    uint8_t digest[MANIFEST_TRAILER];
    if (len < sizeof MANIFEST_MAGIC - 1 + MANIFEST_TRAILER || len > TREE_MANIFEST_MAX ||
        memcmp(data, MANIFEST_MAGIC, sizeof MANIFEST_MAGIC - 1) != 0)
        return false;
    digest_of(data, len - sizeof digest, digest);
    return memcmp((const uint8_t *)data + len - sizeof digest, digest, sizeof digest) == 0;
}

enum qs_status tree_manifest_decode(const void *data, size_t len, struct tree *ret_tree, struct qs_error *err)
{
    AUTO(tree_release) struct tree tree = {0};
    struct cursor cursor;
    if (!trailer_matches(data, len))
        return malformed(err);
    cursor_init(&cursor, (const uint8_t *)data + sizeof MANIFEST_MAGIC - 1,
                len - (sizeof MANIFEST_MAGIC - 1) - MANIFEST_TRAILER);
    tree.ino = cursor_u64(&cursor);
    uint32_t count = cursor_u32(&cursor);
    if (cursor.failed || count > TREE_MAX_ENTRIES)
        return malformed(err);
    tree.entries = calloc(count + 1, sizeof *tree.entries);
    if (!tree.entries)
        return error_memory(err);
    for (tree.cap = count + 1; tree.count < count;) {
        struct tree_entry *entry = &tree.entries[tree.count++];
        if (!take_entry(&cursor, entry))
            return malformed(err);
        if (tree.count > 1 && compare_paths(entry[-1].path, entry->path) >= 0)
            return malformed(err);
        tree.bytes += entry->size;
    }
    if (cursor.failed || cursor_left(&cursor))
        return malformed(err);
    *ret_tree = tree;
    tree = (struct tree){0};
    return QS_OK;
}
