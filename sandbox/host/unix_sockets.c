/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/net/unix: "Num: RefCount Protocol Flags Type St Inode Path" (proc(5)). */
#include "sandbox/host/unix_sockets.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_BEFORE_PATH 7

static void release_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

/* The path in one line of the table, NULL where the socket has none or an abstract one. Changes line. */
static char *socket_path(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    for (int field = 0; field < FIELDS_BEFORE_PATH; field++) {
        line += strspn(line, " ");
        line += strcspn(line, " ");
    }
    if (*line == ' ')
        line++;
    return line[0] == '/' ? line : NULL;
}

enum qs_status host_sockets_look(const char *table, struct path_facts *facts, struct qs_error *err)
{
    AUTO(release_file) FILE *file = fopen(table, "re");
    if (!file)
        return error_sys(err, QS_IO, errno, "cannot read %s, which lists the sockets to hide", table);
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        const char *path = socket_path(line);
        struct path_fact fact = {.fd = -1};
        /* A name that runs through a link is listed as it was bound; the place behind it is what has to be hidden. */
        if (!path || path_look(path, "/", false, &fact, NULL) != QS_OK)
            continue;
        if (fact.kind != PATH_SOCKET)
            path_fact_release(&fact);
        else if (!path_facts_add(facts, &fact))
            return error_set(err, QS_IO, "out of memory");
    }
    if (ferror(file))
        return error_sys(err, QS_IO, errno, "cannot read %s, which lists the sockets to hide", table);
    return QS_OK;
}
