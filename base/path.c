/* SPDX-License-Identifier: Apache-2.0 */
/* Absolute paths as text. */
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

bool path_within(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    if (len == 1)
        return true; /* "/" */
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

char *path_join(const char *dir, const char *name)
{
    size_t dir_len = dir[0] == '/' && dir[1] == '\0' ? 0 : strlen(dir);
    size_t name_len = strlen(name);
    char *joined = malloc(dir_len + name_len + 2);
    if (!joined)
        return NULL;
    memcpy(joined, dir, dir_len);
    joined[dir_len] = '/';
    memcpy(joined + dir_len + 1, name, name_len + 1);
    return joined;
}

void path_flatten(char *path)
{
    char *to = path;
    for (const char *at = path; *at;) {
        size_t len = strcspn(at + 1, "/");
        if (len == 2 && at[1] == '.' && at[2] == '.') {
            while (to > path && *--to != '/')
                continue;
        } else if (len && !(len == 1 && at[1] == '.')) {
            memmove(to, at, len + 1);
            to += len + 1;
        }
        at += len + 1;
    }
    *to = '\0';
}
