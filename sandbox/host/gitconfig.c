/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a git configuration file as git does. */
#include "sandbox/host/gitconfig.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/wire/sys.h"

#include <string.h>
#include <strings.h>

/*
 * The grammar is git's own (git-config(1), "Syntax"; tried against git 2.39): a file that one reader takes otherwise
 * than git does would hide from it what git then runs. What git refuses ends the reading with false.
 */
struct reader {
    const char *at; /* at the end: the zero byte, which reads as the end of a line */
    struct buf section, key, value;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The next character; the end of the text is a last line's end. */
static char next(struct reader *reader)
{
    if (reader->at[0] == '\r' && reader->at[1] == '\n')
        reader->at++;
    return *reader->at ? *reader->at++ : '\n';
}

/* From the first blank after a section's name: a name in quotes, then the bracket. */
static bool read_subsection(struct reader *reader)
{
    char c;
    do {
        c = next(reader);
    } while (c != '\n' && is_blank(c));
    if (c != '"')
        return false;
    buf_add_str(&reader->section, " \"");
    while ((c = next(reader)) != '"') {
        if (c == '\\')
            c = next(reader);
        if (c == '\n')
            return false;
        buf_add_char(&reader->section, c);
    }
    buf_add_char(&reader->section, '"');
    return next(reader) == ']';
}

static bool read_section(struct reader *reader)
{
    reader->section.len = 0;
    for (;;) {
        char c = next(reader);
        if (c == ']')
            return reader->section.len > 0;
        if (c != '\n' && is_blank(c))
            return read_subsection(reader);
        if (!is_key(c) && c != '.')
            return false;
        buf_add_char(&reader->section, lower(c));
    }
}

/* After a backslash in a value; false where git knows no such escape. A line that ends so goes on in the next one. */
static bool read_escape(struct reader *reader)
{
    static const char names[] = "tbn\\\"", means[] = "\t\b\n\\\"";
    char c = next(reader);
    const char *found = c == '\n' ? NULL : strchr(names, c);
    if (found)
        buf_add_char(&reader->value, means[found - names]);
    return found || c == '\n';
}

static bool read_value(struct reader *reader)
{
    bool quoted = false;
    size_t end = 0; /* after the last character that is no blank outside of quotes */
    reader->value.len = 0;
    for (;;) {
        char c = next(reader);
        if (c == '\n' || (!quoted && (c == '#' || c == ';'))) {
            reader->at += c == '\n' ? 0 : strcspn(reader->at, "\n");
            reader->value.len = end;
            return !quoted;
        }
        if (!quoted && is_blank(c)) {
            if (reader->value.len)
                buf_add_char(&reader->value, c);
            continue;
        }
        if (c == '"')
            quoted = !quoted;
        else if (c != '\\')
            buf_add_char(&reader->value, c);
        else if (!read_escape(reader))
            return false;
        end = reader->value.len;
    }
}

/* From a key's first letter. A key alone means true, and has the value "true" here. */
static bool read_key(struct reader *reader, char c)
{
    reader->key.len = 0;
    for (; is_key(c); c = next(reader))
        buf_add_char(&reader->key, lower(c));
    while (c == ' ' || c == '\t')
        c = next(reader);
    if (c == '=')
        return read_value(reader);
    reader->value.len = 0;
    buf_add_str(&reader->value, "true");
    return c == '\n';
}

static bool is_whole(const struct buf *buf)
{
    return !buf->failed;
}

static bool read_all(struct reader *reader, config_visit *visit, void *context)
{
    if (strncmp(reader->at, "\xef\xbb\xbf", 3) == 0)
        reader->at += 3;
    while (*reader->at) {
        char c = next(reader);
        if (is_blank(c))
            continue;
        if (c == '#' || c == ';') {
            reader->at += strcspn(reader->at, "\n");
        } else if (c == '[') {
            if (!read_section(reader))
                return false;
        } else if (!is_letter(c) || !read_key(reader, c)) {
            return false;
        } else {
            buf_add_char(&reader->section, '\0');
            buf_add_char(&reader->key, '\0');
            buf_add_char(&reader->value, '\0');
            if (!is_whole(&reader->section) || !is_whole(&reader->key) || !is_whole(&reader->value))
                return false;
            visit(context, reader->section.data, reader->key.data, reader->value.data);
            reader->section.len--;
        }
    }
    return true;
}

bool config_each(const char *text, config_visit *visit, void *context)
{
    struct reader reader = {.at = text};
    bool whole = read_all(&reader, visit, context);
    buf_release(&reader.section);
    buf_release(&reader.key);
    buf_release(&reader.value);
    return whole;
}

struct wanted {
    const char *key;
    char *found;
};

static void take(void *context, const char *section, const char *key, const char *value)
{
    struct wanted *wanted = context;
    if (strcasecmp(section, "core") != 0 || strcasecmp(key, wanted->key) != 0)
        return;
    free(wanted->found);
    wanted->found = strdup(value);
}

char *core_value_of(const char *text, const char *key)
{
    struct wanted wanted = {.key = key};
    (void)config_each(text, take, &wanted); /* of a file that git refuses, what stands before the fault */
    return wanted.found;
}

char *config_text(const char *file)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, file, O_RDONLY | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (fd < 0 || os_read_all(fd, file, HOOKS_CONFIG_MAX_BYTES, &text, &len, NULL) != QS_OK)
        return NULL;
    return STEAL(text);
}

char *core_value_in(const char *file, const char *key)
{
    AUTO_FREE char *text = config_text(file);
    return text ? core_value_of(text, key) : NULL;
}
