/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing and running a pager. */
#include "terminal/less.h"

#include "terminal/paint.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_OPTIONS "-FRX" /* ends by itself on a short text, shows colours, leaves the text on the screen */

static size_t number_of(const char *variable, size_t otherwise)
{
    const char *text = getenv(variable);
    unsigned long number = text ? strtoul(text, NULL, 10) : 0;
    return number > 0 && number < 100000 ? number : otherwise;
}

static void terminal_size(size_t *ret_rows, size_t *ret_columns)
{
    struct winsize size = {0};
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_rows = size.ws_row ? size.ws_row : number_of("LINES", 24);
    *ret_columns = size.ws_col ? size.ws_col : number_of("COLUMNS", 80);
}

/* Does this process act with rights that its person has only for this command? */
static bool rights_are_lent(void)
{
    static const char *const marks[] = {"SUDO_UID", "SUDO_USER", "DOAS_USER", "PKEXEC_UID"};
    if (getauxval(AT_SECURE) || geteuid() != getuid() || getegid() != getgid())
        return true;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (getenv(marks[i]))
            return true;
    return false;
}

/* A shell command line; "" for the default, NULL for none. */
static const char *wanted_pager(bool lent)
{
    const char *pager = lent ? NULL : getenv("QSETTINGS_PAGER");
    if (!pager && !lent)
        pager = getenv("PAGER");
    if (!pager)
        return "";
    return pager[0] && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void forget_hooks(void)
{
    static const char *const hooks[] = {
        "LESS",           "LESSOPEN",         "LESSCLOSE",       "LESSKEY",  "LESSKEYIN",
        "LESSKEY_SYSTEM", "LESSKEYIN_SYSTEM", "LESSKEY_CONTENT", "LESSEDIT", "VISUAL",
        "EDITOR"};
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
        (void)unsetenv(hooks[i]);
}

static void become_pager(const char *command, bool lent, int input_fd, void (*before_exec)(void))
{
    if (dup2(input_fd, STDIN_FILENO) < 0)
        _exit(127);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    if (before_exec)
        before_exec();
    if (geteuid() == 0 || lent)
        (void)setenv("LESSSECURE", "1", 1);
    if (lent) {
        forget_hooks();
        execl("/usr/bin/less", "less", DEFAULT_OPTIONS, (char *)NULL);
        execl("/bin/less", "less", DEFAULT_OPTIONS, (char *)NULL);
    } else if (command[0]) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    } else {
        execlp("less", "less", DEFAULT_OPTIONS, (char *)NULL);
    }
    _exit(127);
}

/* A pager that has gone wants no more. */
static void feed(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, text, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            break;
        text += done;
        len -= (size_t)done;
    }
    (void)close(fd);
}

/* As system(3): the keyboard's signals are the pager's meanwhile. */
static int run_pager(const char *command, bool lent, const char *text, size_t len, void (*before_exec)(void))
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, former[3];
    static const int signals[3] = {SIGINT, SIGQUIT, SIGPIPE};
    int ends[2], state = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 127;
    for (size_t i = 0; i < 3; i++)
        (void)sigaction(signals[i], &ignore, &former[i]);
    pid_t pid = fork();
    if (pid == 0)
        become_pager(command, lent, ends[0], before_exec);
    (void)close(ends[0]);
    if (pid > 0)
        feed(ends[1], text, len);
    else
        (void)close(ends[1]);
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    for (size_t i = 0; i < 3; i++)
        (void)sigaction(signals[i], &former[i], NULL);
    return pid < 0 ? 127 : WIFEXITED(state) ? WEXITSTATUS(state) : 0;
}

bool pager_show(const char *text, size_t len, void (*before_exec)(void))
{
    size_t rows, columns;
    bool lent = rights_are_lent();
    const char *command = wanted_pager(lent);
    if (!command || !terminal_is_able(STDOUT_FILENO))
        return false;
    terminal_size(&rows, &columns);
    if (terminal_rows(text, len, columns) < rows) /* the prompt takes a line, too */
        return false;
    int status = run_pager(command, lent, text, len, before_exec);
    return status != 126 && status != 127; /* what a shell says of a program that it could not start */
}
