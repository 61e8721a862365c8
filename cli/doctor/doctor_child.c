/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: a look as a process of its own, with a time limit; the look that is another program. */
#include "cli/doctor/doctor.h"

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define REPORT_MAX_BYTES ((size_t)1 << 24)
#define BURY_MS          1000 /* how long a killed look is waited for: one that sleeps in the kernel never comes */

char *doctor_command(const struct cli *cli, const char *scope, const char *what)
{
    AUTO(buf_release) struct buf text = {0};
    buf_add_str(&text, "qsettings ");
    if (cli->line.root) {
        buf_add_str(&text, "--root ");
        add_shell_word(&text, cli->line.root);
        buf_add_char(&text, ' ');
    }
    buf_printf(&text, "%s%s%s%s", scope ? "--" : "", scope ? scope : "", scope ? " " : "", what);
    return text.failed ? NULL : buf_steal(&text, NULL);
}

/* ---- in the child ---- */

static void look_and_tell(struct cli *cli, doctor_look *look, int out_fd)
{
    struct findings findings = {.line = &cli->line};
    struct buf text = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    if (dup2(out_fd, STDOUT_FILENO) < 0) /* for a look that becomes another program */
        _exit(-QS_IO);
    look(cli, &findings);
    json_t *report = findings_json(&findings);
    if (!report || value_encode(report, &text, NULL) || text.failed ||
        os_write_full(STDOUT_FILENO, text.data, text.len) != 0)
        _exit(-QS_IO);
    _exit(0);
}

/* ---- in the parent ---- */

static uint64_t left_ms(uint64_t deadline_ms)
{
    uint64_t now = qs_os->monotonic_ms();
    return now < deadline_ms ? deadline_ms - now : 0;
}

/* All that comes until the other side closes. False: it was not done in time. */
static bool hear(int fd, uint64_t deadline_ms, struct buf *text)
{
    char piece[16384];
    text->max_bytes = REPORT_MAX_BYTES;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait, 1, (int)left_ms(deadline_ms));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        ssize_t len = read(fd, piece, sizeof piece);
        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            return len == 0;
        buf_add(text, piece, (size_t)len);
    }
}

/* Waits for its end, for so long; false: it is still there. */
static bool wait_end(pid_t pid, unsigned wait_ms, int *state)
{
    AUTO_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t deadline_ms = qs_os->monotonic_ms() + wait_ms;
    int ready = 0;
    while (fd >= 0 && (ready = poll(&wait, 1, (int)left_ms(deadline_ms))) < 0 && errno == EINTR)
        continue;
    return waitpid(pid, state, ready > 0 ? 0 : WNOHANG) == pid;
}

static void judge_silence(const char *name, bool in_time, int state, unsigned wait_ms, struct findings *findings)
{
    if (!in_time)
        finding_add(findings, name, FINDING_FAIL,
                    "see what it waits for: a file server that is away, a stopped program", "no answer within %u ms",
                    wait_ms);
    else if (WIFSIGNALED(state))
        finding_add(findings, name, FINDING_FAIL, "please report it", "the look ended by signal %d (%s)",
                    WTERMSIG(state), strsignal(WTERMSIG(state)));
    else
        finding_add(findings, name, FINDING_FAIL, NULL, "the look ended with status %d and no report",
                    WEXITSTATUS(state));
}

void doctor_apart(struct cli *cli, const char *name, doctor_look *look, struct findings *findings)
{
    AUTO(buf_release) struct buf text = {0};
    unsigned wait_ms = cli->wait_s >= 0 ? cli->read_wait_ms : DOCTOR_WAIT_MS;
    int ends[2], state = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        finding_add(findings, name, FINDING_FAIL, NULL, "cannot look: %s", strerrordesc_np(errno));
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        look_and_tell(cli, look, ends[1]);
    (void)close(ends[1]);
    bool in_time = pid > 0 && hear(ends[0], qs_os->monotonic_ms() + wait_ms, &text);
    (void)close(ends[0]);
    if (pid > 0 && !in_time && kill(-pid, SIGKILL) != 0)
        (void)kill(pid, SIGKILL); /* it had not got its group yet */
    if (pid > 0 && !wait_end(pid, BURY_MS, &state))
        in_time = false;
    if (!in_time || text.failed || text.len == 0 || !findings_join(findings, text.data, text.len))
        judge_silence(name, in_time, state, wait_ms, findings);
}

/* ---- other programs' own doctors ---- */

/* A program that is kept as this one is: the same directory, root's or the same owner's, writable by nobody else. */
static bool find_beside(const char *name, char path[4096], struct findings *findings)
{
    struct stat own, st;
    ssize_t len = readlink("/proc/self/exe", path, 4095);
    char *slash = len > 0 ? memrchr(path, '/', (size_t)len) : NULL;
    if (!slash || (size_t)(slash - path) + strlen(name) + 2 > 4096) {
        finding_add(findings, name, FINDING_FAIL, NULL, "cannot tell where this program is");
        return false;
    }
    (void)strcpy(slash + 1, name);
    if (stat(path, &st) != 0 && errno == ENOENT) {
        finding_add(findings, name, FINDING_OK, NULL, "not installed beside this program; nothing of it was checked");
        return false;
    }
    if (stat(path, &st) != 0 || stat("/proc/self/exe", &own) != 0 || !S_ISREG(st.st_mode) ||
        (st.st_uid != 0 && st.st_uid != own.st_uid) || (st.st_mode & (S_IWGRP | S_IWOTH) & ~own.st_mode)) {
        finding_add(findings, name, FINDING_FAIL, "install it anew", "%s is not kept like this program; it was not run",
                    path);
        return false;
    }
    return true;
}

static void become(const struct cli *cli, const char *name, struct findings *findings)
{
    char path[4096];
    if (!find_beside(name, path, findings))
        return;
    cli_child_signals();
    if (cli->line.root)
        execl(path, name, "--root", cli->line.root, "doctor", "--json", (char *)NULL);
    else
        execl(path, name, "doctor", "--json", (char *)NULL);
    finding_add(findings, name, FINDING_FAIL, NULL, "cannot run %s: %s", path, strerrordesc_np(errno));
}

void doctor_sandbox(struct cli *cli, struct findings *findings)
{
    become(cli, "qsandbox", findings);
}

bool doctor_in_fleet(const struct cli *cli)
{
    char config[QS_PATH_MAX_BYTES + 32];
    (void)snprintf(config, sizeof config, "%s/fleet/config.json", cli->line.root ? cli->line.root : "/etc/qsettings");
    return access(config, F_OK) == 0 || errno != ENOENT;
}

void doctor_fleet(struct cli *cli, struct findings *findings)
{
    become(cli, "qfleet", findings);
}
