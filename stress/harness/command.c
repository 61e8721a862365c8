/* SPDX-License-Identifier: Apache-2.0 */
/* Running another program and waiting for it. */
#include "stress/harness/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int set_up(posix_spawn_file_actions_t *actions, const char *output_file)
{
    /* Our own standard output is the report's. */
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error && output_file)
        error =
            posix_spawn_file_actions_addopen(actions, STDERR_FILENO, output_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error)
        error = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    return error;
}

int command_run(char *const argv[], const char *output_file)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = set_up(&actions, output_file);
        if (!error)
            error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (error) {
        errno = error;
        return -1;
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void command_describe(char *text, size_t size, const char *what, int status)
{
    if (status < 0)
        (void)snprintf(text, size, "%s could not be started: %s", what, strerrordesc_np(errno));
    else
        (void)snprintf(text, size, "%s ended with status %d", what, status);
}

void command_first_line(char *text, size_t size, const char *output_file)
{
    char line[160];
    FILE *file = fopen(output_file, "re");
    if (!file)
        return;
    if (fgets(line, sizeof line, file) && line[0] != '\n') {
        size_t len = strlen(text);
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(text + len, size - len, ": %s", line);
    }
    (void)fclose(file);
}
