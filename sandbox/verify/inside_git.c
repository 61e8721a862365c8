/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command leaves in git directories for the host to act on. The attempts succeed in here, for the directories
 * are private; whether something of it reaches the host, the host decides after the run (crossed.c).
 */
#include "sandbox/verify/inside_checks.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "sandbox/verify/crossed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or errno. */
static int put(const char *dir, const char *name, int flags, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FD int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0700) : -1;
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : errno;
}

static void judge(struct inside_record *record, int error, const char *what)
{
    record->error = error;
    if (error)
        inside_fail(record, "%s: %s", what, inside_errno(error));
    else
        inside_pass(record, "%s: nothing of it is on the host after the run", what);
}

void inside_crossing_config(const struct inside_brief *brief, struct inside_record *record)
{
    char text[128];
    (void)snprintf(text, sizeof text, "[core]\n\tfsmonitor = %s\n", brief->secret);
    judge(record, put(brief->workspace, CROSSED_CONFIG, O_APPEND, text), "a program in a repository's configuration");
}

void inside_crossing_index(const struct inside_brief *brief, struct inside_record *record)
{
    judge(record, put(brief->workspace, CROSSED_INDEX, O_TRUNC, "DIRC .git/hooks/post-checkout"), "a forged index");
}

void inside_crossing_link(const struct inside_brief *brief, struct inside_record *record)
{
    AUTO_FREE char *path = path_join(brief->workspace, CROSSED_LINK);
    judge(record, path && symlink("/etc/passwd", path) == 0 ? 0 : errno, "a link that git would write through");
}

void inside_crossing_ref(const struct inside_brief *brief, struct inside_record *record)
{
    static const char id[] = "4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";
    judge(record, put(brief->workspace, "../" CROSSED_REF, O_TRUNC, id), "the branch of another worktree, moved");
}

/* The least that git takes for a repository. */
static int plant(const char *workspace)
{
    static const char *const dirs[] = {"planted", "planted/.git", "planted/.git/objects", "planted/.git/refs",
                                       "planted/.git/hooks"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        AUTO_FREE char *path = path_join(workspace, dirs[i]);
        if (!path || (mkdir(path, 0700) != 0 && errno != EEXIST))
            return errno;
    }
    return put(workspace, "planted/.git/HEAD", O_TRUNC, "ref: refs/heads/main\n");
}

void inside_crossing_hook(const struct inside_brief *brief, struct inside_record *record)
{
    int error = plant(brief->workspace);
    if (!error)
        error = put(brief->workspace, CROSSED_HOOK, O_TRUNC, "#!/bin/sh\n");
    judge(record, error, "a hook in a new repository");
}

void inside_crossing_repository(const struct inside_brief *brief, struct inside_record *record)
{
    char text[128];
    (void)snprintf(text, sizeof text, "[core]\n\tworktree = /etc\n\tfsmonitor = %s\n", brief->secret);
    int error = plant(brief->workspace);
    if (!error)
        error = put(brief->workspace, CROSSED_REPOSITORY, O_TRUNC, text);
    judge(record, error, "a new repository that leads elsewhere");
}
