/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a program, digesting it, asking it for its version. */
#include "sandbox/cmd/program_id.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "sandbox/host/host_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define VERSION_MAX_BYTES 200
#define READ_BYTES        65536

/* As a shell finds it. Heap text; NULL: nowhere. */
static char *find(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return realpath(name, NULL);
    AUTO_FREE char *places = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
    char *more = NULL;
    for (char *place = places ? strtok_r(places, ":", &more) : NULL; place; place = strtok_r(NULL, ":", &more)) {
        struct stat st;
        AUTO_FREE char *file = path_join(place, name);
        if (file && stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
            return realpath(file, NULL);
    }
    return NULL;
}

static bool digest_file(const char *path, char text[DIGEST_TEXT_BYTES])
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *data = malloc(READ_BYTES);
    struct digest digest;
    uint8_t sum[QS_DIGEST_BYTES];
    ssize_t len = -1;
    digest_init(&digest);
    while (fd >= 0 && data && (len = read(fd, data, READ_BYTES)) > 0)
        digest_add(&digest, data, (size_t)len);
    digest_finish(&digest, sum);
    digest_format(sum, text);
    return len == 0;
}

/* The child: standard output into the pipe, the rest to and from nowhere, a group of its own, and an end in any case.
 */
static _Noreturn void become(const char *path, int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        _exit(126);
    (void)setpgid(0, 0);
    (void)alarm(PROGRAM_ASK_SECONDS);
    (void)execl(path, path, "--version", (char *)NULL);
    _exit(126);
}

/* The first line; "" where there is none. */
static void ask_version(const char *path, char version[VERSION_MAX_BYTES])
{
    int ends[2];
    size_t len = 0;
    ssize_t got;
    version[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        become(path, ends[1]);
    (void)close(ends[1]);
    while (pid > 0 && len + 1 < VERSION_MAX_BYTES && !memchr(version, '\n', len) &&
           (got = read(ends[0], version + len, VERSION_MAX_BYTES - 1 - len)) > 0)
        len += (size_t)got;
    version[len] = '\0';
    version[strcspn(version, "\n")] = '\0';
    (void)close(ends[0]);
    if (pid <= 0)
        return;
    (void)kill(-pid, SIGKILL); /* whatever it left running */
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

enum qs_status receipt_program(const char *name, const char *version, json_t **ret_program, struct qs_error *err)
{
    char digest[DIGEST_TEXT_BYTES], asked[VERSION_MAX_BYTES] = "";
    AUTO_FREE char *path = find(name);
    if (!path)
        return error_set(err, QS_USAGE, "there is no program %s", name);
    if (!digest_file(path, digest))
        return error_sys(err, QS_IO, errno, "cannot read %s", path);
    if (!version)
        ask_version(path, asked);
    json_t *program = json_pack("{s:s, s:s, s:o}", "path", path, "digest", digest, "version",
                                version    ? json_string(version)
                                : asked[0] ? json_string(asked) /* NULL where it is not UTF-8 */
                                           : json_null());
    if (!program)
        return error_set(err, QS_INVALID, "the path or the version of %s is not UTF-8", name);
    *ret_program = program;
    return QS_OK;
}
