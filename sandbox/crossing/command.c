/* SPDX-License-Identifier: Apache-2.0 */
/* Starting programs and moving bytes to and from them. */
#include "sandbox/crossing/command.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/host/probe.h"
#include "sandbox/plan/filter.h"
#include "sandbox/wire/spawn.h"
#include "sandbox/wire/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CLOSE_RANGE_CLOEXEC_FLAG 4u /* linux/close_range.h */
#define PIECE_BYTES              65536

/* ---- words ---- */

void command_word(struct git_command *command, const char *word)
{
    if (command->word_count + 1 < COMMAND_WORDS_MAX)
        command->words[command->word_count++] = word;
    else
        command->overflow = true;
}

void command_words(struct git_command *command, ...)
{
    va_list args;
    va_start(args, command);
    for (const char *word; (word = va_arg(args, const char *));)
        command_word(command, word);
    va_end(args);
}

void command_format(struct git_command *command, const char *format, ...)
{
    char text[COMMAND_DIRECTORY_MAX + 256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = len >= 0 && (size_t)len < sizeof text ? strdup(text) : NULL;
    buf_add(&command->texts, &copy, sizeof copy); /* a list of what is to be freed */
    command->overflow |= !copy || command->texts.failed;
    command_word(command, copy ? copy : "");
}

void command_pass(struct git_command *command, int fd)
{
    if (command->passed_count < COMMAND_PASSED_MAX)
        command->passed[command->passed_count++] = fd;
    else
        command->overflow = true;
}

static void close_pipes(struct git_command *command)
{
    cleanup_fd(&command->feed);
    command->feed = -1;
    for (size_t i = 0; i <= COMMAND_OUTPUTS; i++) {
        cleanup_fd(&command->drain[i]);
        command->drain[i] = -1;
    }
}

void command_release(struct git_command *command)
{
    for (size_t at = 0; at + sizeof(char *) <= command->texts.len; at += sizeof(char *)) {
        char *text;
        memcpy(&text, command->texts.data + at, sizeof text);
        free(text);
    }
    buf_release(&command->texts);
    for (size_t i = 0; i < command->passed_count; i++)
        cleanup_fd(&command->passed[i]);
    cleanup_fd(&command->input_fd);
    cleanup_fd(&command->output_fd);
    close_pipes(command);
    *command = COMMAND_NONE;
}

void command_git(struct git_command *command, const char *empty, const char *gitdir)
{
    command->program = COMMAND_GIT;
    command->directory = empty;
    command_word(command, "git");
    command_format(command, "--git-dir=%s", gitdir);
    command_words(command, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.protectHFS=true",
                  "-c", "core.protectNTFS=true", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c",
                  "submodule.recurse=false", "-c", "protocol.allow=never", "-c", "core.fsync=committed,index", "-c",
                  NULL);
    command_format(command, "safe.directory=%s", gitdir);
}

/* ---- the child ---- */

struct child {
    const struct git_command *command;
    int ends[2 + COMMAND_OUTPUTS]; /* its descriptors 0, 2, 1, 3, 4; -1: /dev/null, or closed */
    char **env;
};

static void limit(int which, uint64_t value)
{
    const struct rlimit bound = {value, value};
    if (value)
        (void)setrlimit((__rlimit_resource_t)which, &bound);
}

static int become(void *context)
{
    const struct child *child = context;
    const struct git_command *command = child->command;
    static const int numbers[2 + COMMAND_OUTPUTS] = {0, 2, 1, 3, 4};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    (void)setsid(); /* a group of its own, which is killed as one, and no terminal */
    for (int signal = 1; signal < NSIG; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (null < 0 || chdir(command->directory ? command->directory : "/") != 0 ||
        syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC_FLAG) != 0)
        return 126;
    for (size_t i = 0; i < 2 + COMMAND_OUTPUTS; i++)
        if ((child->ends[i] >= 0 || numbers[i] < 3) &&
            dup2(child->ends[i] >= 0 ? child->ends[i] : null, numbers[i]) < 0)
            return 126;
    for (size_t i = 0; i < command->passed_count; i++)
        (void)fcntl(command->passed[i], F_SETFD, 0);
    limit(RLIMIT_FSIZE, command->file_bytes);
    limit(RLIMIT_DATA, command->data_bytes);
    limit(RLIMIT_CPU, command->cpu_seconds);
    (void)execve(command->program, (char *const *)command->words, child->env);
    return 127;
}

/* An end that no other number will overwrite. */
static bool lift(int *fd)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
    (void)close(*fd);
    *fd = high;
    return high >= 0;
}

static bool make_pipe(int *ours, int *theirs, bool they_read)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *theirs = ends[they_read ? 0 : 1];
    *ours = ends[they_read ? 1 : 0];
    return lift(ours) && lift(theirs) && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

static bool open_pipes(struct git_command *command, int ends[2 + COMMAND_OUTPUTS])
{
    bool good = command->input_fd < 0 || lift(&command->input_fd);
    good = good && (command->output_fd < 0 || lift(&command->output_fd));
    if (command->input_fd >= 0)
        ends[0] = steal_fd(&command->input_fd);
    else if (good && command->input)
        good = make_pipe(&command->feed, &ends[0], true);
    good = good && make_pipe(&command->drain[COMMAND_OUTPUTS], &ends[1], false);
    for (size_t i = 0; good && i < COMMAND_OUTPUTS; i++)
        if (i == 0 && command->output_fd >= 0)
            ends[2] = steal_fd(&command->output_fd);
        else if (command->outputs[i])
            good = make_pipe(&command->drain[i], &ends[2 + i], false);
    return good;
}

static enum qs_status start(struct git_command *command, struct qs_error *err)
{
    static char *const fixed[] = {(char *)"PATH=/usr/bin:/bin",
                                  (char *)"HOME=/nonexistent",
                                  (char *)"LC_ALL=C",
                                  (char *)"GIT_CONFIG_NOSYSTEM=1",
                                  (char *)"GIT_CONFIG_GLOBAL=/dev/null",
                                  (char *)"GIT_ATTR_NOSYSTEM=1",
                                  (char *)"GIT_NO_REPLACE_OBJECTS=1",
                                  (char *)"GIT_NO_LAZY_FETCH=1",
                                  (char *)"GIT_ALLOW_PROTOCOL=",
                                  (char *)"GIT_TERMINAL_PROMPT=0",
                                  (char *)"GIT_ASKPASS=/bin/false",
                                  (char *)"GIT_OPTIONAL_LOCKS=0",
                                  (char *)"GIT_LITERAL_PATHSPECS=1",
                                  (char *)"GIT_PAGER=cat",
                                  (char *)"GIT_COMMITTER_NAME=qsandbox",
                                  (char *)"GIT_COMMITTER_EMAIL=qsandbox@localhost"};
    enum { FIXED = sizeof fixed / sizeof fixed[0] };
    char index[COMMAND_DIRECTORY_MAX + 32];
    char *env[FIXED + 2] = {NULL};
    memcpy(env, fixed, sizeof fixed);
    if (command->index_file) {
        (void)snprintf(index, sizeof index, "GIT_INDEX_FILE=%s", command->index_file);
        env[FIXED] = index;
    }
    struct child child = {.command = command, .ends = {-1, -1, -1, -1, -1}, .env = env};
    command->words[command->word_count] = NULL;
    bool good = !command->overflow && open_pipes(command, child.ends);
    command->pid = good ? spawn_child(become, &child, command->word_count) : -1;
    for (size_t i = 0; i < 2 + COMMAND_OUTPUTS; i++)
        cleanup_fd(&child.ends[i]);
    return command->pid > 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot start %s", command->program);
}

/* ---- the bytes ---- */

static void feed(struct git_command *command)
{
    const struct buf *input = command->input;
    ssize_t len = 0;
    while (command->fed < input->len &&
           (len = write(command->feed, input->data + command->fed, input->len - command->fed)) > 0)
        command->fed += (size_t)len;
    if (command->fed < input->len && len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    (void)close(command->feed); /* all sent, or nobody reads any more */
    command->feed = -1;
}

static void keep_error(struct git_command *command, const char *piece, size_t len)
{
    size_t used = strlen(command->error);
    for (size_t i = 0; i < len && !command->more_error && used + 5 < sizeof command->error; i++) {
        unsigned char c = (unsigned char)piece[i];
        command->more_error = c == '\n';
        if (c >= 0x20 && c < 0x7f)
            command->error[used++] = (char)c;
        else if (c != '\n')
            used += (size_t)snprintf(command->error + used, 5, "\\x%02x", c);
        command->error[used] = '\0';
    }
}

static void drain(struct git_command *command, size_t which)
{
    static char piece[PIECE_BYTES];
    ssize_t len = read(command->drain[which], piece, sizeof piece);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len > 0 && which == COMMAND_OUTPUTS) {
        keep_error(command, piece, (size_t)len);
        return;
    }
    if (len > 0) {
        buf_add(command->outputs[which], piece, (size_t)len);
        if (!command->outputs[which]->failed)
            return;
        command->cut = true;
        (void)kill(-command->pid, SIGKILL);
    }
    (void)close(command->drain[which]);
    command->drain[which] = -1;
}

static size_t add_polled(struct git_command *command, struct pollfd *polled)
{
    size_t count = 0;
    if (command->feed >= 0)
        polled[count++] = (struct pollfd){.fd = command->feed, .events = POLLOUT};
    for (size_t i = 0; i <= COMMAND_OUTPUTS; i++)
        if (command->drain[i] >= 0)
            polled[count++] = (struct pollfd){.fd = command->drain[i], .events = POLLIN};
    return count;
}

static void move_bytes(struct git_command *command)
{
    if (command->feed >= 0)
        feed(command);
    for (size_t i = 0; i <= COMMAND_OUTPUTS; i++)
        if (command->drain[i] >= 0)
            drain(command, i);
}

/* Until all have closed what they write. */
static void move_all(struct git_command *const *commands, size_t count, uint64_t until)
{
    struct pollfd polled[4 * (COMMAND_OUTPUTS + 2)];
    for (;;) {
        size_t open = 0;
        for (size_t i = 0; i < count; i++)
            open += add_polled(commands[i], polled + open);
        uint64_t now = qs_os->monotonic_ms();
        if (open == 0)
            return;
        (void)poll(polled, open, now >= until ? 0 : (int)(until - now));
        if (qs_os->monotonic_ms() >= until)
            for (size_t i = 0; i < count; i++) {
                commands[i]->cut = true;
                (void)kill(-commands[i]->pid, SIGKILL);
                close_pipes(commands[i]);
            }
        for (size_t i = 0; i < count; i++)
            move_bytes(commands[i]);
    }
}

static void wait_for(struct git_command *command)
{
    int status = 0;
    while (waitpid(command->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    command->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close_pipes(command);
}

enum qs_status commands_run(struct git_command *const *commands, size_t count, struct qs_error *err)
{
    uint64_t until = 0;
    enum qs_status status = QS_OK;
    size_t started = 0;
    struct sigaction old, ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, &old);
    for (; started < count && !status; started += !status) {
        status = start(commands[started], err);
        unsigned timeout = commands[started]->timeout_ms ? commands[started]->timeout_ms : COMMAND_TIMEOUT_MS;
        if (qs_os->monotonic_ms() + timeout > until)
            until = qs_os->monotonic_ms() + timeout;
    }
    if (!status)
        move_all(commands, count, until);
    for (size_t i = 0; i < started; i++) {
        if (status)
            (void)kill(-commands[i]->pid, SIGKILL);
        wait_for(commands[i]);
        if (!status && commands[i]->cut)
            status = error_set(err, QS_IO, "%s ran into its limit of time or output", commands[i]->program);
    }
    (void)sigaction(SIGPIPE, &old, NULL);
    return status;
}

enum qs_status command_must(struct git_command *command, struct qs_error *err)
{
    enum qs_status status = commands_run(&command, 1, err);
    if (!status && command->exit_status)
        status = error_set(err, QS_INVALID, "%s (exit status %d)",
                           command->error[0] ? command->error : "git failed without a word", command->exit_status);
    return status;
}

/* ---- confined ---- */

#define CONFINE_FD_MIN 16 /* above what a program's outputs are moved to */

/* A descriptor that the command takes over, and keeps open in the program. */
static int keep(struct git_command *command, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, CONFINE_FD_MIN);
    if (copy >= 0)
        command_pass(command, copy);
    return copy;
}

static enum qs_status add_filter(struct git_command *command, struct qs_error *err)
{
    const struct filter_table *table = &filter_tables[QS_UNIX_BLOCKED];
    AUTO_FD int memory = memfd_create("filter", MFD_CLOEXEC);
    if (memory < 0 || os_write_full(memory, table->steps, table->bytes) != 0 || lseek(memory, 0, SEEK_SET) != 0)
        return error_sys(err, QS_IO, errno, "cannot write the call filter for git");
    int fd = keep(command, memory);
    command_word(command, "--seccomp");
    command_format(command, "%d", fd);
    return fd >= 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot open the call filter for git");
}

/* /bin and its like are links to /usr, or directories of their own. */
static void show_system(struct git_command *command, const char *name)
{
    char target[PATH_MAX];
    ssize_t len = readlink(name, target, sizeof target - 1);
    if (len > 0) {
        target[len] = '\0';
        command_word(command, "--symlink");
        command_format(command, "%s", target);
        command_word(command, name);
    } else {
        command_words(command, "--ro-bind-try", name, name, NULL);
    }
}

enum qs_status confine_begin(struct git_command *command, struct qs_error *err)
{
    static const char *const names[] = {"/bin", "/lib", "/lib32", "/lib64", "/libx32"};
    command->program = PROBE_BWRAP;
    command_words(command, "bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net",
                  "--unshare-uts", "--unshare-cgroup", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
                  "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--dev", "/dev", "--tmpfs", "/tmp", "--dir",
                  CONFINE_DIRECTORY, "--chdir", CONFINE_DIRECTORY, "--setenv", "GIT_WORK_TREE", CONFINE_DIRECTORY,
                  NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        show_system(command, names[i]);
    return add_filter(command, err);
}

enum qs_status confine_show(struct git_command *command, int fd, const char *dest, bool writable, struct qs_error *err)
{
    int kept = keep(command, fd);
    if (kept < 0)
        return error_sys(err, QS_IO, errno, "cannot open a directory for git");
    command_word(command, writable ? "--bind-fd" : "--ro-bind-fd");
    command_format(command, "%d", kept);
    command_format(command, "%s", dest);
    return QS_OK;
}

enum qs_status confine_cover(struct git_command *command, const char *dest, struct qs_error *err)
{
    AUTO_FD int empty = memfd_create("empty", MFD_CLOEXEC);
    int kept = empty < 0 ? -1 : keep(command, empty);
    if (kept < 0)
        return error_sys(err, QS_IO, errno, "cannot make an empty file for git");
    command_word(command, "--ro-bind-data");
    command_format(command, "%d", kept);
    command_format(command, "%s", dest);
    return QS_OK;
}

void confine_program(struct git_command *command, const char *program)
{
    command_words(command, "--", program, NULL);
}
