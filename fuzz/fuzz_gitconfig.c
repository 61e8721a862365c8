/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git configuration files (a test compares the same reader with git itself). The input is such a file.
 *
 * Invariants: keys and sections have the characters they may have; what was read, written down in its plainest form,
 * is whole and reads as the same again; the value that is asked for by name is the last of that name.
 */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "sandbox/host/gitconfig.h"

#include <string.h>
#include <strings.h>

struct seen {
    struct buf list, plain;
    char *hooks;
};

static void add_quoted(struct buf *out, const char *value)
{
    buf_add_char(out, '"');
    for (; *value; value++) {
        const char *found = strchr("\t\b\n\\\"", *value);
        if (found)
            buf_printf(out, "\\%c", "tbn\\\""[found - "\t\b\n\\\""]);
        else
            buf_add_char(out, *value);
    }
    buf_add_char(out, '"');
}

/* A section's quoted part, spelt out again. */
static void add_section(struct buf *out, const char *section)
{
    const char *quote = strchr(section, '"');
    if (!quote) {
        buf_printf(out, "[%s]\n", section);
        return;
    }
    buf_printf(out, "[%.*s\"", (int)(quote - section), section);
    MUST(section[strlen(section) - 1] == '"' && strlen(quote) >= 2);
    for (const char *at = quote + 1; at[1]; at++)
        buf_printf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    buf_add_str(out, "\"]\n");
}

static void visit(void *context, const char *section, const char *key, const char *value)
{
    struct seen *seen = context;
    MUST(key[0] >= 'a' && key[0] <= 'z');
    MUST(key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0');
    MUST(!strchr(section, '\n'));
    buf_printf(&seen->list, "%s|%s|%s", section, key, value);
    buf_add_char(&seen->list, '\0');
    if (section[0])
        add_section(&seen->plain, section);
    buf_printf(&seen->plain, "%s = ", key);
    add_quoted(&seen->plain, value);
    buf_add_char(&seen->plain, '\n');
    if (strcmp(section, "core") == 0 && strcmp(key, "hookspath") == 0) {
        free(seen->hooks);
        seen->hooks = strdup(value);
    }
}

static void release(struct seen *seen)
{
    buf_release(&seen->list);
    buf_release(&seen->plain);
    free(seen->hooks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {0}, again = {0};
    char *text = malloc(size + 1);
    MUST(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    (void)config_each(text, visit, &seen);
    char *named = core_value_of(text, "hooksPath");
    MUST((named != NULL) == (seen.hooks != NULL) && (!named || strcmp(named, seen.hooks) == 0));
    buf_add_char(&seen.plain, '\0');
    MUST(!seen.plain.failed && config_each(seen.plain.data, visit, &again));
    MUST(again.list.len == seen.list.len &&
         (!seen.list.len || !memcmp(again.list.data, seen.list.data, seen.list.len)));
    free(named);
    free(text);
    release(&seen);
    release(&again);
    return 0;
}
