/* SPDX-License-Identifier: Apache-2.0 */
/* Spawning and waiting. */
#include "bench/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int code, const char *step, const char *file)
{
    if (code)
        bench_fail("%s, %s: %s", file, step, strerror(code));
}

static void run_to(struct process *p, int out_fd)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    char *const *argv = (char *const *)(p->list ? p->list : p->args);
    must(posix_spawn_file_actions_init(&actions), "spawn", p->file);
    if (out_fd >= 0)
        must(posix_spawn_file_actions_adddup2(&actions, out_fd, 1), "spawn", p->file);
    else
        must(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0), "spawn", p->file);
    must(posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0), "spawn", p->file);
    if (p->cwd)
        must(posix_spawn_file_actions_addchdir_np(&actions, p->cwd), "spawn", p->file);
    must(posix_spawn(&pid, p->file, &actions, NULL, argv, (char *const *)p->environment), "spawn", p->file);
    (void)posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    if (got != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("%s ended with wait status %#x", p->file, (unsigned)status);
}

void process_run(void *process)
{
    run_to(process, -1);
}

void process_expect(struct process *process, const char *text)
{
    char got[4096];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        bench_fail("pipe: %s", strerror(errno));
    run_to(process, ends[1]); /* an answer is far smaller than a pipe */
    (void)close(ends[1]);
    ssize_t len = read(ends[0], got, sizeof got - 1);
    (void)close(ends[0]);
    got[len > 0 ? len : 0] = '\0';
    if (strlen(got) != strlen(text) + 1 || strncmp(got, text, strlen(text)) != 0 || got[strlen(text)] != '\n')
        bench_fail("%s %s printed \"%s\", not \"%s\"", process->file, process->args[1], got, text);
}

bool process_find(const char *name, char ret_path[BENCH_PATH_BYTES])
{
    bench_path(ret_path, "/usr/bin/%s", name);
    return access(ret_path, X_OK) == 0;
}
