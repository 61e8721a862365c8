/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a run: for the run log, and on the status descriptor. */
#include "sandbox/run/run_record.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os.h"
#include "text/value.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define ARGV_MAX_BYTES \
    ((size_t)256 << 10) /* of the arguments as they are in the run log; all of them go into a digest */

/* Arguments and paths are bytes; JSON is UTF-8. What is not UTF-8 is written as Latin-1, and marked. */
static json_t *bytes_text(const char *text)
{
    json_t *plain = json_string(text);
    if (plain)
        return plain;
    AUTO(buf_release) struct buf latin = {0};
    buf_add_str(&latin, "latin1:");
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at >= 0x80)
            buf_add_u8(&latin, (uint8_t)(0xc0 | *at >> 6));
        buf_add_u8(&latin, *at >= 0x80 ? (uint8_t)(0x80 | (*at & 0x3f)) : *at);
    }
    return latin.failed ? NULL : json_string(latin.data);
}

json_t *run_record_time(const struct timespec *at)
{
    char text[48];
    struct tm tm;
    if (at->tv_sec == 0)
        return json_null();
    (void)gmtime_r(&at->tv_sec, &tm);
    size_t len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text + len, sizeof text - len, ".%03ldZ", at->tv_nsec / 1000000);
    return json_string(text);
}

static json_t *digest_value(const struct qs_policy_result *result)
{
    char text[DIGEST_TEXT_BYTES];
    if (!result || qs_policy_status(result) != QS_OK)
        return json_null();
    digest_format(qs_policy_digest(result), text);
    return json_string(text);
}

json_t *run_record_enforcement(const struct prepared *prepared)
{
    static const char *const sockets[] = {"blocked", "private", "open"};
    const struct plan *plan = &prepared->plan;
    json_t *landlock = plan->landlock_abi ? json_pack("{s:i, s:b}", "abi", plan->landlock_abi, "abstractSockets",
                                                      (int)plan->scope_abstract)
                                          : json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:o}", "backend", "bwrap", "git",
                     prepared->policy.git_mode == QS_GIT_CROSSING ? "crossing" : "read-only", "filesystem",
                     plan->writable ? "workspace-write" : "read-only", "network",
                     plan->network_closed ? "closed" : "open", "unixSockets", sockets[plan->unix_sockets],
                     "noCapabilities", 1, "noNewPrivileges", 1, "seccomp", 1, "pidNamespace", 1, "landlock", landlock);
}

/* ---- who and what ---- */

static json_t *login_uid(void)
{
    AUTO_FD int fd = open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC);
    char text[32] = "";
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return json_null();
    unsigned long uid = strtoul(text, NULL, 10);
    return uid == 4294967295UL ? json_null() : json_integer((json_int_t)uid);
}

static json_t *parent_program(void)
{
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/%d/exe", (int)getppid());
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len <= 0)
        return json_null();
    path[len] = '\0';
    return bytes_text(path);
}

static json_t *arguments(char *const *argv, json_t **ret_digest)
{
    struct digest digest;
    uint8_t sum[QS_DIGEST_BYTES];
    char text[DIGEST_TEXT_BYTES];
    size_t total = 0;
    json_t *list = json_array();
    digest_init(&digest);
    for (; *argv; argv++) {
        size_t len = strlen(*argv);
        digest_add_field(&digest, *argv, len);
        total += len;
        if (total <= ARGV_MAX_BYTES)
            (void)json_array_append_new(list, bytes_text(*argv));
    }
    digest_finish(&digest, sum);
    digest_format(sum, text);
    *ret_digest = total <= ARGV_MAX_BYTES ? json_null() : json_string(text); /* only where some are left out */
    return list;
}

json_t *run_record_start(const struct run_options *options, const struct prepared *prepared)
{
    json_t *digest = NULL;
    json_t *argv = arguments(options->command, &digest);
    json_t *approver =
        options->approver ? json_pack("{s:s, s:b}", "kind", options->approver, "claimed", 1) : json_null();
    return json_pack("{s:{s:i, s:s, s:o, s:i, s:o, s:b, s:o}, s:{s:o, s:o, s:o, s:o}, s:o, s:b, s:o}", "who", "uid",
                     (int)prepared->facts.uid, "user", prepared->facts.user, "loginUid", login_uid(), "parentPid",
                     (int)getppid(), "parent", parent_program(), "terminal", isatty(STDIN_FILENO), "approver", approver,
                     "what", "argv", argv, "argvDigest", digest, "cwd", bytes_text(prepared->facts.cwd), "workspace",
                     bytes_text(prepared->facts.roots[0].dir.path), "policyDigest", digest_value(prepared->result),
                     "session", (int)prepared->in_session, "enforcement", run_record_enforcement(prepared));
}

/* ---- outcome ---- */

static json_t *texts(const struct sweep_lines *lines)
{
    json_t *list = json_array();
    for (size_t i = 0; i < lines->count; i++)
        (void)json_array_append_new(list, bytes_text(lines->items[i]));
    return list;
}

static json_t *lines(const struct crossing_lines *lines)
{
    json_t *list = json_array();
    for (size_t i = 0; i < lines->count; i++)
        (void)json_array_append_new(list, bytes_text(lines->items[i]));
    if (lines->more)
        (void)json_array_append_new(list, json_sprintf("and %zu more", lines->more));
    return list;
}

json_t *run_record_outcome(const struct run_result *result, const struct sweep_findings *found,
                           const struct crossing_report *git)
{
    bool exited = result->ended && WIFEXITED(result->wait_status);
    bool signaled = result->ended && WIFSIGNALED(result->wait_status);
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:{s:o, s:o}}", "started",
                     run_record_time(&result->start), "ended", run_record_time(&result->end), "exit",
                     exited ? json_integer(WEXITSTATUS(result->wait_status)) : json_null(), "signal",
                     signaled ? json_integer(WTERMSIG(result->wait_status)) : json_null(), "timedOut",
                     (int)result->timed_out, "confirmed", (int)(result->started && result->ended), "violations",
                     texts(&found->violations), "notices", texts(&found->notices), "git", "crossed",
                     lines(&git->crossed), "stayed", lines(&git->stayed));
}

/* Of the strongest scope that sets the policy; `inspect` lists all. */
static json_t *generation(const struct qs_policy_result *result)
{
    const struct qs_policy_source *strongest = NULL;
    for (size_t i = 0; result && i < qs_policy_source_count(result); i++) {
        const struct qs_policy_source *source = qs_policy_source(result, i);
        if (source->sets_policy && (!strongest || source->scope > strongest->scope))
            strongest = source;
    }
    return strongest ? json_integer((json_int_t)strongest->generation) : json_null();
}

enum qs_status run_record_status(const struct run_options *options, const struct prepared *prepared,
                                 const struct run_result *result, const struct sweep_findings *found,
                                 const struct qs_error *why, struct qs_error *err)
{
    if (options->status_fd < 0)
        return QS_OK;
    AUTO(value_release) json_t *status = run_record_outcome(result, found, &prepared->git.report);
    AUTO(buf_release) struct buf text = {0};
    json_t *enforcement = why ? json_null() : run_record_enforcement(prepared);
    if (!status || json_object_set_new(status, "status", json_integer(why ? -why->status : 0)) != 0 ||
        json_object_set_new(status, "reason", why ? json_string(why->message) : json_null()) != 0 ||
        json_object_set_new(status, "policyDigest", digest_value(prepared->result)) != 0 ||
        json_object_set_new(status, "generation", generation(prepared->result)) != 0 ||
        json_object_set_new(status, "enforcement", enforcement) != 0)
        return error_memory(err);
    enum qs_status code = value_encode(status, &text, err);
    buf_add_char(&text, '\n');
    if (code == QS_OK && (text.failed || os_write_full(options->status_fd, text.data, text.len) != 0))
        code = error_sys(err, QS_IO, errno, "cannot write to the status descriptor %d", options->status_fd);
    return code;
}
