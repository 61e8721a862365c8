/* SPDX-License-Identifier: Apache-2.0 */
/* The line of progress, drawn by a thread of its own. */
#include "terminal/progress.h"

#include "terminal/paint.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_AFTER_MS 1000
#define NEXT_AFTER_MS  500

struct progress {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ending;
    bool ended;
    const char *what;
    struct timespec start;
};

/* proc(5): bytes that read and write calls have moved. */
static bool moved_bytes(unsigned long long *ret_read, unsigned long long *ret_written)
{
    char text[512] = "";
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, text, sizeof text - 1);
    (void)close(fd);
    return len > 0 && sscanf(text, "rchar: %llu wchar: %llu", ret_read, ret_written) == 2;
}

static void draw(const struct progress *progress)
{
    char line[256];
    struct timespec now;
    unsigned long long in = 0, out = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int len =
        snprintf(line, sizeof line, "\r%s: %lld s", progress->what, (long long)(now.tv_sec - progress->start.tv_sec));
    if (moved_bytes(&in, &out))
        len += snprintf(line + len, sizeof line - (size_t)len, ", %.1f MiB read, %.1f MiB written",
                        (double)in / 1048576, (double)out / 1048576);
    len += snprintf(line + len, sizeof line - (size_t)len, "\033[K");
    (void)!write(STDERR_FILENO, line, (size_t)len);
}

static void add_ms(struct timespec *time, long ms)
{
    time->tv_nsec += ms * 1000000;
    time->tv_sec += time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

static void *show(void *argument)
{
    struct progress *progress = argument;
    struct timespec next = progress->start;
    bool drawn = false;
    (void)pthread_mutex_lock(&progress->mutex);
    add_ms(&next, FIRST_AFTER_MS);
    while (!progress->ended) {
        if (pthread_cond_timedwait(&progress->ending, &progress->mutex, &next) != ETIMEDOUT || progress->ended)
            continue;
        draw(progress);
        drawn = true;
        add_ms(&next, NEXT_AFTER_MS);
    }
    (void)pthread_mutex_unlock(&progress->mutex);
    if (drawn)
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    return NULL;
}

static void init(struct progress *progress, const char *what)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&progress->ending, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&progress->mutex, NULL);
    progress->what = what;
    (void)clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

struct progress *progress_begin(const char *what)
{
    if (!terminal_is_able(STDERR_FILENO))
        return NULL;
    struct progress *progress = calloc(1, sizeof *progress);
    if (!progress)
        return NULL;
    init(progress, what);
    if (pthread_create(&progress->thread, NULL, show, progress) == 0)
        return progress;
    free(progress);
    return NULL;
}

void progress_end(struct progress *progress)
{
    if (!progress)
        return;
    (void)pthread_mutex_lock(&progress->mutex);
    progress->ended = true;
    (void)pthread_cond_signal(&progress->ending);
    (void)pthread_mutex_unlock(&progress->mutex);
    (void)pthread_join(progress->thread, NULL);
    (void)pthread_mutex_destroy(&progress->mutex);
    (void)pthread_cond_destroy(&progress->ending);
    free(progress);
}

void progress_drop(struct progress **progress)
{
    progress_end(*progress);
    *progress = NULL;
}
