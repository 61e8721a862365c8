/* SPDX-License-Identifier: Apache-2.0 */
/* The message from the executor to the shim: encoding and bounded decoding. */
#include "sandbox/wire/spec.h"

#include "base/cleanup.h"
#include "qsettings/version.h"

#include <errno.h>
#include <string.h>

#ifdef QS_SANDBOX_CONTROLS
#define SPEC_MAGIC 0x31635371u /* "qSc1": no shim that is installed takes it */
#else
#define SPEC_MAGIC 0x31735371u /* "qSs1" */
#endif

enum spec_flag {
    SPEC_TERMINAL = 1,
    SPEC_SCOPE_ABSTRACT = 2,
    SPEC_VAR_TMP = 4,
    SPEC_FLAGS = 7, /* all there are */
};
enum spec_mount_flag {
    SPEC_INNER = 1,
    SPEC_DIRECTORY = 2,
    SPEC_MOUNT_FLAGS = 3,
};

/* With its final zero byte, so that the decoder can point into the message. */
static void add_text(struct buf *out, const char *text)
{
    size_t len = strlen(text) + 1;
    buf_add_u32(out, (uint32_t)len);
    buf_add(out, text, len);
}

static void add_mounts(const struct spec *spec, struct buf *out)
{
    buf_add_u32(out, (uint32_t)spec->mount_count);
    for (size_t i = 0; i < spec->mount_count; i++) {
        const struct spec_mount *mount = &spec->mounts[i];
        buf_add_u8(out, (uint8_t)mount->kind);
        buf_add_u8(out, (uint8_t)((mount->inner ? SPEC_INNER : 0) | (mount->directory ? SPEC_DIRECTORY : 0)));
        buf_add_u64(out, mount->dev);
        buf_add_u64(out, mount->ino);
        add_text(out, mount->from ? mount->from : "");
        add_text(out, mount->dest);
    }
}

static void add_list(char *const *list, struct buf *out)
{
    uint32_t count = 0;
    while (list[count])
        count++;
    buf_add_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        add_text(out, list[i]);
}

enum qs_status spec_encode(const struct spec *spec, struct buf *out, struct qs_error *err)
{
    unsigned flags = (spec->terminal ? SPEC_TERMINAL : 0) | (spec->scope_abstract ? SPEC_SCOPE_ABSTRACT : 0) |
                     (spec->private_var_tmp ? SPEC_VAR_TMP : 0);
    buf_add_u32(out, SPEC_MAGIC);
    add_text(out, QS_VERSION);
    buf_add_u32(out, flags);
#ifdef QS_SANDBOX_CONTROLS
    buf_add_u32(out, spec->left_out);
#endif
    buf_add_u32(out, (uint32_t)spec->landlock_abi);
    buf_add_u64(out, spec->cpu_seconds);
    buf_add_u64(out, spec->memory_bytes);
    buf_add_u64(out, spec->file_bytes);
    buf_add_u64(out, spec->processes);
    buf_add_u64(out, spec->open_files);
    add_mounts(spec, out);
    add_text(out, spec->cwd);
    add_list(spec->argv, out);
    buf_add_u32(out, (uint32_t)spec->filter_len);
    buf_add(out, spec->filter, spec->filter_len);
    add_list(spec->env, out);
    if (out->failed)
        return error_memory(err);
    if (out->len > SPEC_MAX_BYTES)
        return error_set(err, QS_INVALID, "the command line is too long");
    return QS_OK;
}

/* ---- decoding ---- */

void spec_release(struct spec *spec)
{
    free(spec->mounts);
    free((void *)(uintptr_t)spec->argv);
    free(spec->env);
    free(spec->raw);
    *spec = (struct spec){0};
}

static const char *take_text(struct cursor *cursor)
{
    uint32_t len = cursor_u32(cursor);
    const uint8_t *text = cursor_bytes(cursor, len);
    if (!text || len == 0 || memchr(text, 0, len) != text + len - 1) {
        cursor->failed = true;
        return NULL;
    }
    return (const char *)text;
}

/* A count of things that take at least `least` bytes each; 0 and failed where the message cannot hold that many. */
static size_t take_count(struct cursor *cursor, size_t least)
{
    size_t count = cursor_u32(cursor);
    if (count > cursor_left(cursor) / least) {
        cursor->failed = true;
        return 0;
    }
    return count;
}

static void take_mounts(struct cursor *cursor, struct spec *spec)
{
    size_t count = take_count(cursor, 1 + 1 + 8 + 8 + 5 + 5);
    spec->mounts = calloc(count + 1, sizeof *spec->mounts);
    if (!spec->mounts) {
        cursor->failed = true;
        return;
    }
    for (; spec->mount_count < count; spec->mount_count++) {
        struct spec_mount *mount = &spec->mounts[spec->mount_count];
        uint8_t kind = cursor_u8(cursor), flags = cursor_u8(cursor);
        if (kind > MOUNT_HIDDEN || (flags & ~SPEC_MOUNT_FLAGS) != 0)
            cursor->failed = true;
        mount->kind = (enum mount_kind)kind;
        mount->inner = (flags & SPEC_INNER) != 0;
        mount->directory = (flags & SPEC_DIRECTORY) != 0;
        mount->dev = cursor_u64(cursor);
        mount->ino = cursor_u64(cursor);
        mount->from = take_text(cursor);
        mount->dest = take_text(cursor);
    }
}

static char **take_list(struct cursor *cursor)
{
    size_t count = take_count(cursor, 5);
    char **list = calloc(count + 1, sizeof *list);
    if (!list)
        cursor->failed = true;
    for (size_t i = 0; list && i < count; i++)
        list[i] = (char *)(uintptr_t)take_text(cursor); /* of raw, which is the reader's own */
    return list;
}

static void take_all(struct cursor *cursor, struct spec *spec)
{
    const char *version = cursor_u32(cursor) == SPEC_MAGIC ? take_text(cursor) : NULL;
    if (!version || strcmp(version, QS_VERSION) != 0)
        cursor->failed = true; /* the shim's file is of another version than the executor's */
    unsigned flags = cursor_u32(cursor);
    spec->terminal = (flags & SPEC_TERMINAL) != 0;
    spec->scope_abstract = (flags & SPEC_SCOPE_ABSTRACT) != 0;
    spec->private_var_tmp = (flags & SPEC_VAR_TMP) != 0;
#ifdef QS_SANDBOX_CONTROLS
    spec->left_out = cursor_u32(cursor);
#endif
    if ((flags & ~(unsigned)SPEC_FLAGS) != 0)
        cursor->failed = true;
    spec->landlock_abi = (int)cursor_u32(cursor);
    spec->cpu_seconds = cursor_u64(cursor);
    spec->memory_bytes = cursor_u64(cursor);
    spec->file_bytes = cursor_u64(cursor);
    spec->processes = cursor_u64(cursor);
    spec->open_files = cursor_u64(cursor);
    if (!cursor->failed)
        take_mounts(cursor, spec);
    spec->cwd = take_text(cursor);
    if (!cursor->failed)
        spec->argv = take_list(cursor);
    if (!spec->argv || !spec->argv[0])
        cursor->failed = true;
    spec->filter_len = cursor_u32(cursor);
    spec->filter = (const char *)cursor_bytes(cursor, spec->filter_len);
    if (!cursor->failed)
        spec->env = take_list(cursor);
}

enum qs_status spec_decode(char *raw, size_t len, struct spec *ret_spec, struct qs_error *err)
{
    struct spec spec = {.raw = raw};
    struct cursor cursor;
    cursor_init(&cursor, raw, len);
    take_all(&cursor, &spec);
    if (cursor.failed || cursor_left(&cursor) != 0) {
        spec_release(&spec);
        return error_set(err, QS_INVALID, "the executor's message to the shim is damaged, or of another version");
    }
    *ret_spec = spec;
    return QS_OK;
}

enum qs_status spec_read(int fd, struct spec *ret_spec, struct qs_error *err)
{
    struct buf raw = {.max_bytes = SPEC_MAX_BYTES + 1};
    char piece[16384];
    for (;;) {
        ssize_t len = read(fd, piece, sizeof piece);
        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            break;
        buf_add(&raw, piece, (size_t)len);
    }
    size_t len = 0;
    char *data = buf_steal(&raw, &len);
    if (!data)
        return error_memory(err);
    return spec_decode(data, len, ret_spec, err);
}
