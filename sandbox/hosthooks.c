/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a git configuration file line by line. */
#include "sandbox/hosthooks.h"

#include "sandbox/sys.h"
#include "store/cleanup.h"
#include "store/os.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Cuts the blanks off the end. */
static void trim(char *text)
{
    size_t len = strlen(text);
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        text[--len] = '\0';
}

/* Ends the key in front of " = value" and returns where the value begins; NULL where the line is no such thing. */
static char *split(char *line)
{
    size_t len = 0;
    while (isalnum((unsigned char)line[len]) || line[len] == '-')
        len++;
    char *sign = line + len + strspn(line + len, " \t");
    if (len == 0 || *sign != '=')
        return NULL;
    line[len] = '\0';
    return sign + 1 + strspn(sign + 1, " \t");
}

/* Takes quotes, backslashes and a comment out of a value, where it stands. */
static void unquote(char *value)
{
    bool quoted = false;
    char *to = value, *end = value; /* end: after the last character that is no blank outside of quotes */
    for (const char *at = value; *at && (quoted || (*at != '#' && *at != ';')); at++) {
        if (*at == '"') {
            quoted = !quoted;
            end = to;
            continue;
        }
        if (*at == '\\' && at[1])
            at++;
        *to++ = *at;
        if (quoted || (*at != ' ' && *at != '\t' && *at != '\r'))
            end = to;
    }
    *end = '\0';
}

/* Takes a section's head off the line; NULL where it has no end. */
static char *enter_section(char *line, const char **section)
{
    char *close = strchr(line, ']'); /* a key may follow on the same line */
    *section = "";
    if (!close)
        return NULL;
    *close = '\0';
    line += 1 + strspn(line + 1, " \t");
    trim(line);
    *section = line;
    return close + 1 + strspn(close + 1, " \t");
}

void config_each(const char *text, config_visit *visit, void *context)
{
    AUTO_FREE char *copy = strdup(text);
    const char *section = "";
    char *more = NULL;
    for (char *line = copy ? strtok_r(copy, "\n", &more) : NULL; line; line = strtok_r(NULL, "\n", &more)) {
        line += strspn(line, " \t");
        if (*line == '[')
            line = enter_section(line, &section);
        char *value = line ? split(line) : NULL;
        if (!value)
            continue;
        unquote(value);
        visit(context, section, line, value);
    }
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
    config_each(text, take, &wanted);
    return wanted.found;
}

char *core_value_in(const char *file, const char *key)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, file, O_RDONLY | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (fd < 0 || os_read_all(fd, file, HOOKS_CONFIG_MAX_BYTES, &text, &len, NULL) != QS_OK)
        return NULL;
    return core_value_of(text, key);
}
