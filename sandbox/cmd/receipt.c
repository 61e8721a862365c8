/* SPDX-License-Identifier: Apache-2.0 */
/* Making a receipt, and holding one against another. */
#include "sandbox/cmd/receipt.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "qsettings/version.h"
#include "sandbox/host/probe.h"
#include "sandbox/run/run_record.h"
#include "text/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define VERSION_MAX_BYTES   200
#define READ_BYTES          65536
#define PROGRAM_ASK_SECONDS 10
#define FIELD_MAX_BYTES     256

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- a program, as a receipt names it ---- */

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

/*
 * {path, version, digest}: name is a path, or is looked up in PATH; path is what it resolves to, digest that of its
 * bytes. version is given, or the first line that `PROGRAM --version` prints within PROGRAM_ASK_SECONDS; null where it
 * prints none. A new reference. Errors: QS_USAGE (no such program), QS_INVALID (not UTF-8),
 * QS_IO.
 */
static enum qs_status identify(const char *name, const char *version, json_t **ret_program, struct qs_error *err)
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

/* ---- small parts ---- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* PRETTY_NAME of os-release(5). */
static json_t *distribution(void)
{
    static const char name[] = "PRETTY_NAME=";
    FILE *file = fopen("/etc/os-release", "re");
    char line[256];
    json_t *found = NULL;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, sizeof name - 1) != 0)
            continue;
        char *value = line + sizeof name - 1;
        value += strspn(value, "\"'");
        value[strcspn(value, "\"'\n")] = '\0';
        found = json_string(value);
    }
    if (file)
        (void)fclose(file);
    return found ? found : json_null();
}

static json_t *writable_roots(const struct plan *plan)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->count; i++)
        if (plan->mounts[i].kind == MOUNT_WRITABLE)
            (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", plan->mounts[i].dest, "why",
                                                        plan->mounts[i].reason));
    return list;
}

static json_t *paths(const struct path_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->count; i++)
        (void)json_array_append_new(list, json_string(facts->items[i].path));
    return list;
}

static json_t *checks(const struct verify_report *report)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < CHECK_COUNT; i++)
        (void)json_object_set_new(object, verify_check_name((enum verify_check)i),
                                  json_pack("{s:s, s:s}", "result", verify_result_name(report->checks[i].result),
                                            "detail", report->checks[i].detail));
    return object;
}

/* The result, and why it is not promote. */
static const char *conclude(const struct verify_report *report, const struct receipt_given *given, json_t *reasons)
{
    char text[128];
    for (unsigned i = 0; i < CHECK_COUNT; i++) {
        enum verify_result result = report->checks[i].result;
        if (result == VERIFY_PASS || result == VERIFY_NOT_APPLICABLE)
            continue;
        (void)snprintf(text, sizeof text, "the check %s failed", verify_check_name((enum verify_check)i));
        (void)json_array_append_new(reasons, json_string(text));
    }
    if (json_array_size(reasons))
        return "rollback";
    if (!given->owner)
        (void)json_array_append_new(reasons, json_string("no owner was given (--owner)"));
    if (!given->rollback)
        (void)json_array_append_new(reasons, json_string("no rollback command was given (--rollback)"));
    return json_array_size(reasons) ? "hold" : "promote";
}

/* ---- the parts ---- */

static json_t *about_machine(const struct prepared *prepared)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return json_pack("{s:s, s:o, s:s, s:o}", "format", RECEIPT_FORMAT, "date", run_record_time(&now), "kernel",
                     prepared->facts.kernel, "distribution", distribution());
}

static json_t *about_plan(const struct prepared *prepared)
{
    char digest[DIGEST_TEXT_BYTES];
    const struct root_fact *workspace = &prepared->facts.roots[0];
    digest_format(qs_policy_digest(prepared->result), digest);
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:s}", "repository", workspace->dir.path, "checkout",
                     checkout_name(workspace->git.checkout), "backend", "bwrap", "enforcement",
                     run_record_enforcement(prepared), "network", prepared->plan.network_closed ? "closed" : "open",
                     "writableRoots", writable_roots(&prepared->plan), "hostSockets", paths(&prepared->facts.sockets),
                     "devices", paths(&prepared->facts.devices), "policyDigest", digest);
}

static json_t *about_checks(const struct verify_report *report, const struct receipt_given *given)
{
    int error = report->checks[CHECK_OUTSIDE_WRITE].error;
    json_t *reasons = json_array();
    const char *result = conclude(report, given, reasons);
    return json_pack("{s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "checks", checks(report), "outsideWriteErrno",
                     text_or_null(error ? strerrorname_np(error) : NULL), "worktreeCanary",
                     verify_result_name(report->checks[CHECK_WORKTREE_COMMIT].result), "result", result, "reasons",
                     reasons, "hostGroup", text_or_null(given->host_group), "owner", text_or_null(given->owner),
                     "rollback", text_or_null(given->rollback));
}

static enum qs_status add_programs(const struct receipt_given *given, json_t *receipt, struct qs_error *err)
{
    const struct {
        const char *field, *name, *version;
    } programs[] = {{"executor", "/proc/self/exe", QS_VERSION},
                    {"bwrap", PROBE_BWRAP, NULL},
                    {"agent", given->agent, NULL}};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        json_t *program = NULL;
        if (!programs[i].name)
            program = json_null();
        enum qs_status status = program ? QS_OK : identify(programs[i].name, programs[i].version, &program, err);
        if (status)
            return status;
        if (json_object_set_new(receipt, programs[i].field, program) != 0)
            return error_memory(err);
    }
    return QS_OK;
}

enum qs_status receipt_make(const struct prepared *prepared, const struct verify_report *report,
                            const struct receipt_given *given, json_t **ret_receipt, struct qs_error *err)
{
    AUTO(value_release) json_t *receipt = about_machine(prepared);
    AUTO(value_release) json_t *plan = about_plan(prepared);
    AUTO(value_release) json_t *rest = about_checks(report, given);
    if (!receipt || !plan || !rest || json_object_update(receipt, plan) != 0 || json_object_update(receipt, rest) != 0)
        return error_set(err, QS_INVALID, "the receipt cannot be made: a given text or a path is not UTF-8");
    enum qs_status status = add_programs(given, receipt, err);
    if (status)
        return status;
    *ret_receipt = STEAL(receipt);
    return QS_OK;
}

/* ---- against an older one ---- */

/* These differ between any two receipts, or say in words what another field says. */
static const char *const unlisted[] = {"date", "detail", "reasons"};
/* These are for people: a change is listed, and asks for nothing. */
static const char *const names_only[] = {"owner", "hostGroup", "rollback"};

static bool is_in(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static json_t *value_or_null(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

static void compare_values(const char *field, const json_t *old, const json_t *now, json_t *changes);

static void compare_member(const char *field, const char *key, const json_t *old, const json_t *now, json_t *changes)
{
    char longer[FIELD_MAX_BYTES];
    (void)snprintf(longer, sizeof longer, "%s%s%s", field, field[0] ? "." : "", key);
    if (!is_in(key, unlisted, COUNT(unlisted)))
        compare_values(longer, json_object_get(old, key), json_object_get(now, key), changes);
}

static void compare_values(const char *field, const json_t *old, const json_t *now, json_t *changes)
{
    const char *key;
    json_t *value;
    if (old && now && value_equal(old, now))
        return;
    if (!json_is_object(old) || !json_is_object(now)) {
        (void)json_array_append_new(changes, json_pack("{s:s, s:o, s:o}", "field", field, "old", value_or_null(old),
                                                       "new", value_or_null(now)));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)old, key, value) compare_member(field, key, old, now, changes);
    json_object_foreach((json_t *)(uintptr_t)now, key, value)
    {
        if (!json_object_get(old, key))
            compare_member(field, key, old, now, changes);
    }
}

/* The result follows from other fields, and from whether names were given. */
static bool is_due(const json_t *changes)
{
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const char *field = json_string_value(json_object_get(json_array_get(changes, i), "field"));
        if (!is_in(field, names_only, COUNT(names_only)) && strcmp(field, "result") != 0)
            return true;
    }
    return false;
}

json_t *receipt_compare(const json_t *old, const json_t *now)
{
    json_t *changes = json_array();
    if (!changes)
        return NULL;
    compare_values("", old, now, changes);
    bool due = is_due(changes);
    return json_pack("{s:o, s:o, s:b, s:o}", "old", value_or_null(json_object_get(old, "date")), "changes", changes,
                     "due", (int)due, "result", value_or_null(json_object_get(now, "result")));
}

enum qs_status receipt_read(const char *file, json_t **ret_receipt, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    enum qs_status status = doc_read(file, RECEIPT_MAX_BYTES, &doc, err);
    if (status == QS_NOT_FOUND) /* whose exit status is that of "a new one is due" */
        return error_set(err, QS_USAGE, "there is no file %s", file);
    if (status)
        return status;
    const char *format = json_string_value(json_object_get(doc_root(doc), "format"));
    if (!format || strcmp(format, RECEIPT_FORMAT) != 0) {
        error_set(err, QS_INVALID, "this is not a receipt: its format is not %s", RECEIPT_FORMAT);
        error_add_file(err, file);
        return QS_INVALID;
    }
    json_t *receipt = json_deep_copy(doc_root(doc));
    if (!receipt)
        return error_memory(err);
    *ret_receipt = receipt;
    return QS_OK;
}
