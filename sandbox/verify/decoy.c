/* SPDX-License-Identifier: Apache-2.0 */
/* Laying out the decoys, and taking them away. */
#include "sandbox/verify/decoy.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/host/host_path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define TREE_MAX_FDS 16

/* ---- names ---- */

static enum qs_status random_word(char word[DECOY_WORD_BYTES], struct qs_error *err)
{
    uint8_t bytes[(DECOY_WORD_BYTES - 1) / 2];
    enum qs_status status = os_random(bytes, sizeof bytes, err);
    for (size_t i = 0; !status && i < sizeof bytes; i++)
        (void)snprintf(word + 2 * i, 3, "%02x", bytes[i]);
    return status;
}

static enum qs_status make_base(const char *home, struct decoys *decoys, struct qs_error *err)
{
    const char *const places[] = {home, "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !decoys->base; i++) {
        decoys->base = path_join(places[i], ".qsandbox-verify.XXXXXX");
        if (decoys->base && !mkdtemp(decoys->base)) {
            free(decoys->base);
            decoys->base = NULL;
        }
    }
    return decoys->base ? QS_OK : error_sys(err, QS_IO, errno, "cannot make a scratch directory in %s", home);
}

static enum qs_status name_all(struct decoys *decoys, struct qs_error *err)
{
    char hidden[64];
    const char *base = decoys->base;
    (void)snprintf(hidden, sizeof hidden, "hidden-%s", decoys->marker);
    decoys->checkout = path_join(base, "checkout");
    decoys->worktree = path_join(base, "worktree");
    decoys->canary = path_join(base, "repository/.git/refs/heads/canary");
    decoys->wall = path_join(base, "wall");
    decoys->outside = path_join(base, "outside");
    decoys->hidden_dir = path_join(base, hidden);
    decoys->socket = path_join(base, "socket");
    decoys->hidden_file = decoys->hidden_dir ? path_join(base, "hidden-file") : NULL;
    (void)snprintf(decoys->abstract, sizeof decoys->abstract, "qsandbox-verify-%s", decoys->marker);
    (void)snprintf(decoys->victim_name, sizeof decoys->victim_name, "qsv-%.11s", decoys->secret);
    if (!decoys->checkout || !decoys->worktree || !decoys->canary || !decoys->wall || !decoys->outside ||
        !decoys->hidden_dir || !decoys->hidden_file || !decoys->socket)
        return error_memory(err);
    return QS_OK;
}

/* ---- files ---- */

static enum qs_status make_dirs(const struct decoys *decoys, const char *const *names, struct qs_error *err)
{
    for (; *names; names++) {
        AUTO_FREE char *path = path_join(decoys->base, *names);
        if (!path || mkdir(path, 0700) != 0)
            return error_sys(err, QS_IO, errno, "cannot make %s", *names);
    }
    return QS_OK;
}

static enum qs_status make_file(const char *dir, const char *name, const char *text, struct qs_error *err)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FD int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || os_write_full(fd, text, strlen(text)) != 0)
        return error_sys(err, QS_IO, errno, "cannot write %s", name);
    return QS_OK;
}

/* The least that git takes for a repository, and for a linked worktree: gitrepository-layout(5). */
static enum qs_status make_repositories(const struct decoys *decoys, struct qs_error *err)
{
    static const char *const dirs[] = {"checkout",
                                       "checkout/.git",
                                       "checkout/.git/objects",
                                       "checkout/.git/refs",
                                       "checkout/.git/refs/heads",
                                       "checkout/.git/hooks",
                                       "repository",
                                       "repository/.git",
                                       "repository/.git/objects",
                                       "repository/.git/refs",
                                       "repository/.git/refs/heads",
                                       "repository/.git/logs",
                                       "repository/.git/hooks",
                                       "repository/.git/worktrees",
                                       "repository/.git/worktrees/worktree",
                                       "worktree",
                                       "worktree/nested",
                                       "worktree/nested/.git",
                                       "worktree/nested/.git/objects",
                                       "worktree/nested/.git/refs",
                                       NULL};
    static const char config[] = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
    char pointer[4096], back[4096];
    (void)snprintf(pointer, sizeof pointer, "gitdir: %s/repository/.git/worktrees/worktree\n", decoys->base);
    (void)snprintf(back, sizeof back, "%s/worktree/.git\n", decoys->base);
    const struct {
        const char *name, *text;
    } files[] = {{"checkout/.git/HEAD", "ref: refs/heads/main\n"},
                 {"checkout/.git/config", config},
                 {"repository/.git/HEAD", "ref: refs/heads/main\n"},
                 {"repository/.git/config", config},
                 {"repository/.git/worktrees/worktree/HEAD", "ref: refs/heads/canary\n"},
                 {"repository/.git/worktrees/worktree/commondir", "../..\n"},
                 {"repository/.git/worktrees/worktree/gitdir", back},
                 {"worktree/.git", pointer},
                 {"worktree/nested/.git/HEAD", "ref: refs/heads/main\n"},
                 {"worktree/nested/.git/config", config}};
    enum qs_status status = make_dirs(decoys, dirs, err);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        status = make_file(decoys->base, files[i].name, files[i].text, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status make_files(const struct decoys *decoys, struct qs_error *err)
{
    static const char *const dirs[] = {"wall", "outside", NULL};
    enum qs_status status = make_dirs(decoys, dirs, err);
    if (status)
        return status;
    if (mkdir(decoys->hidden_dir, 0700) != 0)
        return error_sys(err, QS_IO, errno, "cannot make a directory to hide");
    status = make_file(decoys->hidden_dir, "secret", decoys->secret, err);
    if (status)
        return status;
    status = make_file(decoys->base, "hidden-file", decoys->secret, err);
    if (status)
        return status;
    status = make_file(decoys->outside, "existing", "", err);
    if (status)
        return status;
    return make_repositories(decoys, err);
}

/* ---- sockets ---- */

static int listen_unix(const struct sockaddr_un *address, socklen_t len)
{
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)address, len) != 0 || listen(fd, 4) != 0)
        return -1;
    return steal_fd(&fd);
}

static int listen_loopback(int type, int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    AUTO_FD int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) != 0 ||
        (type == SOCK_STREAM && listen(fd, 4) != 0) || getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return -1;
    *ret_port = ntohs(address.sin_port);
    return steal_fd(&fd);
}

static enum qs_status make_sockets(struct decoys *decoys, struct qs_error *err)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX}, abstract = {.sun_family = AF_UNIX};
    if (strlen(decoys->socket) < sizeof path.sun_path) {
        (void)snprintf(path.sun_path, sizeof path.sun_path, "%s", decoys->socket);
        decoys->unix_fd = listen_unix(&path, sizeof path);
    } else {
        decoys->socket[0] = '\0';
    }
    size_t len = strlen(decoys->abstract);
    memcpy(abstract.sun_path + 1, decoys->abstract, len);
    decoys->abstract_fd = listen_unix(&abstract, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
    decoys->tcp_fd = listen_loopback(SOCK_STREAM, &decoys->port);
    decoys->dns_fd = listen_loopback(SOCK_DGRAM, &decoys->dns_port);
    if ((decoys->socket[0] && decoys->unix_fd < 0) || decoys->abstract_fd < 0 || decoys->tcp_fd < 0 ||
        decoys->dns_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot make the sockets to try");
    return QS_OK;
}

bool decoy_reached(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN);
}

/* ---- the victim ---- */

/* Waits for signals and reports each by a letter; at SIGTERM it reports what has come by then, and ends. */
static _Noreturn void be_victim(const char *name, int report)
{
    sigset_t all;
    siginfo_t info;
    sigfillset(&all);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, name);
    for (bool last = false;;) {
        static const struct timespec now = {0};
        int signal = last ? sigtimedwait(&all, &info, &now) : sigwaitinfo(&all, &info);
        if (signal < 0 && last)
            _exit(0);
        last = last || signal == SIGTERM;
        /* The terminal, too, sends SIGWINCH when its size changes, but as the kernel. */
        char letter = signal == SIGUSR1 ? 'u' : signal == SIGWINCH && info.si_code == SI_USER ? 'w' : '\0';
        if (letter && write(report, &letter, 1) != 1)
            _exit(1);
    }
}

static enum qs_status make_victim(struct decoys *decoys, struct qs_error *err)
{
    int ends[2];
    sigset_t all, old;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_sys(err, QS_IO, errno, "cannot make a pipe");
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old); /* so that none is lost before it waits */
    pid_t pid = fork();
    if (pid == 0)
        be_victim(decoys->victim_name, ends[1]);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)close(ends[1]);
    decoys->victim_fd = ends[0];
    if (pid < 0 || setpgid(pid, pid) != 0)
        return error_sys(err, QS_IO, errno, "cannot start a process to signal");
    decoys->victim = pid;
    return QS_OK;
}

void decoy_victim_end(struct decoys *decoys, bool *ret_signaled, bool *ret_group_signaled)
{
    char letter;
    if (decoys->victim <= 0)
        return;
    (void)kill(decoys->victim, SIGTERM);
    while (read(decoys->victim_fd, &letter, 1) == 1) {
        if (ret_signaled && letter == 'u')
            *ret_signaled = true;
        if (ret_group_signaled && letter == 'w')
            *ret_group_signaled = true;
    }
    while (waitpid(decoys->victim, NULL, 0) < 0 && errno == EINTR)
        continue;
    decoys->victim = 0;
}

/* ---- all of it ---- */

bool decoys_plant(const struct decoys *decoys)
{
    static const char *const secrets[] = {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "ANTHROPIC_API_KEY",
                                          "QSANDBOX_VERIFY_PASSWORD"};
    /* Of these none makes bubblewrap itself fail where a test lets the whole environment through. */
    static const char *const loaders[] = {"LD_LIBRARY_PATH", "BASH_ENV", "ENV",     "NODE_OPTIONS",
                                          "PYTHONSTARTUP",   "PERL5OPT", "GIT_DIR", "GIT_SSH_COMMAND"};
    /* A word of the policy, in a name that no policy lets pass. */
    bool done = setenv("GIT_QSANDBOX_VERIFY", decoys->hidden_dir, 1) == 0;
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0] && done; i++)
        done = setenv(secrets[i], decoys->secret, 1) == 0;
    for (size_t i = 0; i < sizeof loaders / sizeof loaders[0] && done; i++)
        done = setenv(loaders[i], "/nonexistent/qsandbox-verify", 1) == 0;
    return done;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

void decoys_remove_dir(const char *path)
{
    (void)nftw(path, remove_one, TREE_MAX_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void decoys_release(struct decoys *decoys)
{
    decoy_victim_end(decoys, NULL, NULL);
    cleanup_fd(&decoys->unix_fd);
    cleanup_fd(&decoys->abstract_fd);
    cleanup_fd(&decoys->tcp_fd);
    cleanup_fd(&decoys->dns_fd);
    cleanup_fd(&decoys->victim_fd);
    if (decoys->base)
        decoys_remove_dir(decoys->base);
    char *const texts[] = {decoys->base,    decoys->checkout,   decoys->worktree,    decoys->canary, decoys->wall,
                           decoys->outside, decoys->hidden_dir, decoys->hidden_file, decoys->socket};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    *decoys = (struct decoys){.unix_fd = -1, .abstract_fd = -1, .tcp_fd = -1, .dns_fd = -1, .victim_fd = -1};
}

enum qs_status decoys_make(const char *home, struct decoys *ret_decoys, struct qs_error *err)
{
    struct decoys decoys = {.unix_fd = -1, .abstract_fd = -1, .tcp_fd = -1, .dns_fd = -1, .victim_fd = -1};
    enum qs_status status = random_word(decoys.secret, err);
    if (!status)
        status = random_word(decoys.marker, err);
    if (!status)
        status = make_base(home, &decoys, err);
    if (!status)
        status = name_all(&decoys, err);
    if (!status)
        status = make_files(&decoys, err);
    if (!status)
        status = make_sockets(&decoys, err);
    if (!status)
        status = make_victim(&decoys, err);
    if (status) {
        decoys_release(&decoys);
        return status;
    }
    *ret_decoys = decoys;
    return QS_OK;
}
