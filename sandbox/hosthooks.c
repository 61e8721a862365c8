/* SPDX-License-Identifier: Apache-2.0 */
/* core.hooksPath: where git finds its hooks instead of in .git/hooks. */
#include "sandbox/hosthooks.h"

#include "sandbox/sys.h"
#include "store/cleanup.h"
#include "store/os.h"

#include <string.h>
#include <strings.h>

/* "[core]" and what may follow it on its line. */
static bool is_core(const char *line)
{
    line += 1 + strspn(line + 1, " \t");
    if (strncasecmp(line, "core", 4) != 0)
        return false;
    line += 4;
    return line[strspn(line, " \t")] == ']';
}

/* The value of "hooksPath = value", unquoted, without a comment; NULL where the line is none. */
static char *value_of(const char *line)
{
    static const char key[] = "hookspath";
    if (strncasecmp(line, key, sizeof key - 1) != 0)
        return NULL;
    line += sizeof key - 1;
    line += strspn(line, " \t");
    if (*line++ != '=')
        return NULL;
    line += strspn(line, " \t");
    char *value = strdup(line), *to = value;
    bool quoted = false;
    size_t end = 0; /* after the last character that is no blank outside of quotes */
    for (const char *at = line; value && *at && (quoted || (*at != '#' && *at != ';')); at++) {
        if (*at == '"') {
            quoted = !quoted;
            end = (size_t)(to - value);
            continue;
        }
        if (*at == '\\' && at[1])
            at++;
        *to++ = *at;
        if (quoted || (*at != ' ' && *at != '\t' && *at != '\r'))
            end = (size_t)(to - value);
    }
    if (value)
        value[end] = '\0';
    return value;
}

char *hooks_path_of(const char *text)
{
    AUTO_FREE char *copy = strdup(text);
    char *found = NULL, *more = NULL;
    bool core = false;
    for (char *line = copy ? strtok_r(copy, "\n", &more) : NULL; line; line = strtok_r(NULL, "\n", &more)) {
        line += strspn(line, " \t");
        if (*line == '[') {
            core = is_core(line);
            char *close = strchr(line, ']'); /* a key may follow on the same line */
            line = close ? close + 1 + strspn(close + 1, " \t") : line + strlen(line);
        }
        char *value = core ? value_of(line) : NULL;
        if (value) {
            free(found);
            found = value;
        }
    }
    return found;
}

char *hooks_path_in(const char *file)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, file, O_RDONLY | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (fd < 0 || os_read_all(fd, file, HOOKS_CONFIG_MAX_BYTES, &text, &len, NULL) != QS_OK)
        return NULL;
    return hooks_path_of(text);
}
