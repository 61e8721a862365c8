/* SPDX-License-Identifier: Apache-2.0 */
/* Small things all commands use: the seeded generator, pauses, scratch directories, children, other programs. */
#include "stress/harness/stress.h"

#include "base/cleanup.h"
#include "terminal/paint.h"
#include "terminal/voice.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRESS_EVERY_NS 100000000u

static const struct command_line *failing_line;

void stress_fail_for(const struct command_line *line)
{
    failing_line = line;
}

int stress_fail(int status, const char *format, ...)
{
    struct qs_error err = {0};
    AUTO_FREE char *message = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        message = NULL;
    va_end(args);
    error_set(&err, (enum qs_status) - status, "%s", message ? message : "out of memory");
    voice_error(failing_line, &err);
    return status;
}

void stress_rng_init(struct stress_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = seed;
    /* Streams of one seed start far apart: each begins at a number drawn from its own index. */
    rng->state = stress_rng_next(rng) ^ stream * 0xd1342543de82ef95u;
    (void)stress_rng_next(rng);
}

uint64_t stress_rng_next(struct stress_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void stress_progress(const char *format, ...)
{
    static uint64_t drawn_ns;
    va_list args;
    uint64_t now_ns = stress_now_ns();
    if ((format && drawn_ns && now_ns - drawn_ns < PROGRESS_EVERY_NS) || (!format && !drawn_ns) ||
        !terminal_is_able(STDERR_FILENO))
        return;
    drawn_ns = format ? now_ns : 0;
    (void)fputc('\r', stderr);
    if (format) {
        va_start(args, format);
        (void)vfprintf(stderr, format, args);
        va_end(args);
    }
    (void)fputs("\033[K", stderr);
    (void)fflush(stderr);
}

void stress_sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

void stress_pause(struct stress_rng *rng)
{
    uint64_t draw = stress_rng_next(rng);
    if (draw % 16 == 0)
        stress_sleep_ns(1000 + draw / 16 % 200000);
}

int stress_in_child(void (*work)(void *context), void *context, unsigned seconds)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(seconds);
        work(context);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

char *stress_scratch(const char *dir)
{
    if (!dir)
        dir = getenv("TMPDIR");
    AUTO_FREE char *path = NULL;
    if (asprintf(&path, "%s/qstress-XXXXXX", dir && *dir ? dir : "/tmp") < 0) {
        path = NULL;
        return NULL;
    }
    /* Readers may run as another user: they need to pass. */
    if (!mkdtemp(path) || chmod(path, 0755) != 0)
        return NULL;
    return STEAL(path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    (void)remove(path);
    return 0;
}

void stress_remove_tree(const char *path)
{
    if (path && *path)
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- other programs ---- */

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
