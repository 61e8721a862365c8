/* SPDX-License-Identifier: Apache-2.0 */
/* The probe: reads its brief, runs the checks of its scene, each in a process of its own, and writes what they found.
 */
#include "sandbox/verify/inside.h"

#include "base/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define BRIEF_MAX_BYTES   ((size_t)4 << 20)
#define CHECK_MAX_SECONDS 20

typedef void inside_function(const struct inside_brief *brief, struct inside_record *record);

static inside_function *const functions[] = {
#define INSIDE_FUNCTION(name, text, scene, function) function,
    VERIFY_CHECKS(INSIDE_FUNCTION)
#undef INSIDE_FUNCTION
};

/* ---- the brief ---- */

static const char *text_of(const json_t *root, const char *key)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text ? text : "";
}

static int number_of(const json_t *root, const char *key)
{
    return (int)json_integer_value(json_object_get(root, key));
}

/* Reads a brief. Ownership: json_decref(ret_brief->root). False: not such an object. */
static bool read_brief(int fd, struct inside_brief *ret_brief)
{
    AUTO_FREE char *data = malloc(BRIEF_MAX_BYTES);
    size_t len = 0;
    ssize_t got;
    while (data && len < BRIEF_MAX_BYTES && (got = read(fd, data + len, BRIEF_MAX_BYTES - len)) > 0)
        len += (size_t)got;
    json_t *root = data ? json_loadb(data, len, 0, NULL) : NULL;
    if (!json_is_object(root)) {
        json_decref(root);
        return false;
    }
    *ret_brief =
        (struct inside_brief){.root = root,
                              .workspace = text_of(root, "workspace"),
                              .outside = text_of(root, "outside"),
                              .writable = json_is_true(json_object_get(root, "writable")),
                              .closed = json_is_true(json_object_get(root, "closed")),
                              .checkout = json_is_true(json_object_get(root, "checkout")),
                              .unix_sockets = (enum qs_unix_sockets)number_of(root, "unixSockets"),
                              .hidden = json_object_get(root, "hidden"),
                              .stores = json_object_get(root, "stores"),
                              .devices = json_object_get(root, "devices"),
                              .run_log = text_of(root, "runLog"),
                              .socket = text_of(root, "socket"),
                              .abstract = text_of(root, "abstract"),
                              .port = number_of(root, "port"),
                              .dns_port = number_of(root, "dnsPort"),
                              .victim = (pid_t)number_of(root, "victim"),
                              .victim_name = text_of(root, "victimName"),
                              .pid_namespace = (uint64_t)json_integer_value(json_object_get(root, "pidNamespace")),
                              .secret = text_of(root, "secret"),
                              .marker = text_of(root, "marker")};
    return true;
}

/* ---- the checks of a scene ---- */

void inside_check(enum verify_check check, const struct inside_brief *brief, struct inside_record *ret_record)
{
    *ret_record = (struct inside_record){.check = check};
    functions[check](brief, ret_record);
}

static void send_record(const struct inside_record *record)
{
    ssize_t done = write(STDOUT_FILENO, record, sizeof *record);
    (void)done; /* a check without a record counts as failed */
}

static void check_apart(enum verify_check check, const struct inside_brief *brief)
{
    struct inside_record record = {.check = check};
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(CHECK_MAX_SECONDS);
        inside_check(check, brief, &record);
        send_record(&record);
        _exit(0);
    }
    if (pid < 0) {
        inside_fail(&record, "not tried: no process can be started here (%s)", inside_errno(errno));
        send_record(&record);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0)
        continue;
}

int inside_main(int argc, char **argv)
{
    struct inside_brief brief;
    char *end = NULL;
    long scene = argc == 1 ? strtol(argv[0], &end, 10) : -1;
    if (scene < 0 || scene >= SCENE_COUNT || *end || !read_brief(STDIN_FILENO, &brief))
        return -QS_USAGE;
    /* A decoy's number may by chance be that of a process in here. */
    (void)signal(SIGUSR1, SIG_IGN);
    for (unsigned i = 0; i < CHECK_COUNT; i++)
        if (verify_check_scene((enum verify_check)i) == (enum verify_scene)scene)
            check_apart((enum verify_check)i, &brief);
    json_decref(brief.root);
    if (scene == SCENE_WALL)
        inside_linger();
    _exit(0); /* a sanitizer's work at exit needs what is denied in here */
}
