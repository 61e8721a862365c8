/* SPDX-License-Identifier: Apache-2.0 */
/* The inner shim's sequence. */
#include "sandbox/shim/shim.h"

#include "base/cleanup.h"
#include "sandbox/shim/shim_run.h"
#include "sandbox/shim/shim_steps.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool parse_fd(const char *text, int *fd)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 3 || value > 1 << 20 || fcntl((int)value, F_GETFD) < 0)
        return false;
    *fd = (int)value;
    return fcntl(*fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Standard input, output and error come from the caller; a directory among them would be a way around all mounts. */
static enum qs_status check_stdio(struct qs_error *err)
{
    for (int fd = 0; fd <= 2; fd++) {
        struct stat st;
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0)
            continue; /* closed: the command finds it closed */
        if (flags & O_PATH || fstat(fd, &st) != 0 || S_ISDIR(st.st_mode))
            return error_set(err, QS_USAGE, "descriptor %d is a directory, by which a command could leave the sandbox",
                             fd);
    }
    return QS_OK;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Whatever bubblewrap was given to bind, and may have left open. */
static void close_others(const struct shim_fds *fds)
{
    int own[4] = {STDERR_FILENO, fds->events, fds->control, fds->error};
    qsort(own, 4, sizeof own[0], by_number);
    for (size_t i = 0; i < 4; i++) {
        unsigned first = (unsigned)own[i] + 1, last = i < 3 ? (unsigned)own[i + 1] - 1 : ~0u;
        if (first <= last)
            (void)syscall(SYS_close_range, first, last, 0u);
    }
}

static enum qs_status prepare(int spec_fd, struct spec *spec, struct shim_fds *fds, struct qs_error *err)
{
    enum qs_status status = spec_read(spec_fd, spec, err);
    (void)close(spec_fd);
    if (status == QS_OK && !LEFT_OUT(spec, DESCRIPTORS))
        close_others(fds);
    if (status == QS_OK && dup2(fds->error, STDERR_FILENO) < 0)
        status = error_set(err, QS_IO, "cannot take standard error over");
    if (status == QS_OK)
        status = check_stdio(err);
    if (status == QS_OK)
        status = shim_close_userns(spec, err);
    if (status == QS_OK)
        status = shim_mounts(spec, err);
    if (status == QS_OK && spec->terminal)
        fds->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (status == QS_OK)
        status = shim_confine(spec, err);
    if (status == QS_OK && chdir(spec->cwd) != 0)
        status = error_set(err, QS_USAGE, "the directory %s cannot be entered inside", spec->cwd);
    environ = spec->env; /* the command's; bubblewrap was started without any */
    return status;
}

int shim_main(int argc, char **argv)
{
    struct shim_fds fds = {.terminal = -1};
    int spec_fd = -1;
    /* If bubblewrap is killed, so is this; the executor's end is told by the control pipe. */
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || argc != 4 ||
        !parse_fd(argv[0], &spec_fd) || !parse_fd(argv[1], &fds.events) || !parse_fd(argv[2], &fds.control) ||
        !parse_fd(argv[3], &fds.error))
        return SHIM_FAILED;
    struct qs_error err = {0};
    AUTO(spec_release) struct spec spec = {0};
    if (prepare(spec_fd, &spec, &fds, &err) != QS_OK) {
        shim_event(fds.events, EVENT_FAILED, err.status, err.message);
        return SHIM_FAILED;
    }
    return shim_run(&spec, &fds);
}
