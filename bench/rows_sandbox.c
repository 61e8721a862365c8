/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qsandbox run beside bubblewrap alone with the same mounts and namespaces; the flushes of one run; and how the plan
 * grows with the number of writable roots.
 */
#include "base/buf.h"
#include "bench/process.h"
#include "bench/world.h"
#include "sandbox/plan/bwrap_args.h"
#include "sandbox/run/prepare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 2048

struct sandbox {
    struct bench *bench;
    char root[BENCH_PATH_BYTES], workspace[BENCH_PATH_BYTES], qsandbox[BENCH_PATH_BYTES], home[BENCH_PATH_BYTES];
    const char *environment[4];
    struct process ours, bare;
    struct run_options options;
    struct buf words;            /* bubblewrap's, each ended by a zero byte */
    const char *list[WORDS_MAX]; /* the same as an argument list */
};

static void set(struct qs_store *store, const char *key, const char *json)
{
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    bench_check(qs_txn_begin(store, 10000, &txn, &err), &err, "begin");
    bench_check(qs_txn_set(txn, key, json, strlen(json), &err), &err, key);
    bench_check(qs_txn_commit(txn, NULL, &info, &err), &err, "commit");
    qs_txn_free(txn);
}

static void make_dir(const char *path)
{
    if (mkdir(path, 0755))
        bench_fail("%s cannot be made: %s", path, strerror(errno));
}

/* A system store with a policy, and what more is to be set. */
static void make_world(struct sandbox *s, const char *name, const char *key, const char *json)
{
    struct corpus *corpus = corpus_make(20);
    bench_path(s->root, "%s/sandbox-%s", s->bench->scratch, name);
    bench_path(s->workspace, "%s/workspace-%s", s->bench->scratch, name);
    bench_path(s->qsandbox, "%s/qsandbox", s->bench->bin);
    bench_path(s->home, "HOME=%s", s->bench->scratch);
    make_dir(s->workspace);
    struct qs_store *store = world_store(s->root, corpus);
    set(store, key, json);
    world_policy(store);
    corpus_free(corpus);
    const char *environment[] = {"PATH=/usr/bin:/bin", s->home, "LC_ALL=C", NULL};
    memcpy(s->environment, environment, sizeof environment);
    s->options = (struct run_options){.root = s->root, .workspace = s->workspace, .cwd = s->workspace, .status_fd = -1};
    s->ours = (struct process){.file = s->qsandbox,
                               .args = {"qsandbox", "--root", s->root, "run", "--workspace", s->workspace, "--cwd",
                                        s->workspace, "--", "/bin/true"},
                               .environment = s->environment};
}

/* ---- bubblewrap alone ---- */

static void add(struct buf *words, const char *word)
{
    buf_add(words, word, strlen(word) + 1);
}

/* The name behind a descriptor of the facts. */
static void add_name_of(struct buf *words, int fd, const char *otherwise)
{
    char link[64], name[BENCH_PATH_BYTES];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = fd >= 0 ? readlink(link, name, sizeof name - 1) : -1;
    name[len > 0 ? len : 0] = '\0';
    add(words, len > 0 ? name : otherwise);
}

/* What the plan leaves to the shim, as far as bubblewrap can do it. */
static void add_inner(struct buf *words, const struct plan_mount *mount)
{
    bool read_only = mount->kind == MOUNT_READ_ONLY || mount->kind == MOUNT_BACK;
    if (mount->kind == MOUNT_HIDDEN && mount->directory) {
        add(words, "--perms");
        add(words, "0000");
        add(words, "--tmpfs");
    } else {
        add(words, read_only || mount->kind == MOUNT_HIDDEN ? "--ro-bind" : "--bind");
        if (mount->kind == MOUNT_HIDDEN)
            add(words, "/dev/null");
        else
            add_name_of(words, mount->fd, mount->dest);
    }
    add(words, mount->dest);
}

/* By name instead of by descriptor: these are this process's. */
static void add_by_name(struct buf *words, const struct buf *planned)
{
    for (size_t at = 0; at < planned->len;) {
        const char *word = planned->data + at;
        at += strlen(word) + 1;
        bool read_only = strcmp(word, "--ro-bind-fd") == 0;
        if (!read_only && strcmp(word, "--bind-fd") != 0) {
            add(words, word);
            continue;
        }
        add(words, read_only ? "--ro-bind" : "--bind");
        add_name_of(words, atoi(planned->data + at), "/");
        at += strlen(planned->data + at) + 1;
    }
}

static void make_bare(struct sandbox *s)
{
    struct qs_error err = {0};
    struct prepared prepared;
    struct buf planned = {0};
    size_t count = 0;
    bench_check(prepare_run(&s->options, true, &prepared, &err), &err, "plan");
    bench_check(bwrap_args(&prepared.plan, true, &planned, &err), &err, "bubblewrap's arguments");
    add(&s->words, "bwrap");
    add_by_name(&s->words, &planned);
    for (size_t i = 0; i < prepared.plan.count; i++)
        if (prepared.plan.mounts[i].inner)
            add_inner(&s->words, &prepared.plan.mounts[i]);
    static const char *const last[] = {"--chdir", NULL, "--", "/bin/true"};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
        add(&s->words, last[i] ? last[i] : s->workspace);
    for (size_t at = 0; at < s->words.len && count < WORDS_MAX - 1; at += strlen(s->words.data + at) + 1)
        s->list[count++] = s->words.data + at;
    s->list[count] = NULL;
    s->bare = (struct process){.file = "/usr/bin/bwrap", .list = s->list, .environment = s->environment};
    prepared_release(&prepared);
    buf_release(&planned);
}

/* ---- flushes, counted by strace, for the program is another process ---- */

static unsigned lines_with(const char *file, const char *word)
{
    char line[4096];
    unsigned count = 0;
    FILE *in = fopen(file, "re");
    while (in && fgets(line, sizeof line, in))
        count += strstr(line, word) != NULL;
    if (in)
        (void)fclose(in);
    return count;
}

static void count_flushes(struct sandbox *s, const char *of)
{
    char trace[BENCH_PATH_BYTES], strace[BENCH_PATH_BYTES];
    bench_path(trace, "%s/trace", s->bench->scratch);
    if (!process_find("strace", strace)) {
        bench_skip(s->bench, "flushes of a sandboxed run", "there is no /usr/bin/strace");
        return;
    }
    const char *const list[] = {"strace", "-f",          "-qq",        "-e",     "trace=fsync,fdatasync",
                                "-o",     trace,         s->qsandbox,  "--root", s->root,
                                "run",    "--workspace", s->workspace, "--cwd",  s->workspace,
                                "--",     "/bin/true",   NULL};
    struct process traced = {.file = strace, .list = list, .environment = s->environment};
    process_run(&traced);
    json_t *row = json_pack("{s:s, s:s, s:i, s:n, s:n}", "name", "one sandboxed run", "of", of, "flushes",
                            (int)lines_with(trace, "sync("), "writes", "bytes");
    if (!row || json_array_append_new(s->bench->counts, row))
        bench_fail("out of memory");
}

static void run_row(struct bench *bench, const char *audit, double limit)
{
    char name[96], json[32];
    struct sandbox s = {.bench = bench};
    (void)snprintf(json, sizeof json, "\"%s\"", audit);
    make_world(&s, audit, "executor.audit", json);
    make_bare(&s);
    (void)snprintf(name, sizeof name, "qsandbox run -- /bin/true, audit %s", audit);
    bench_row(bench, name, limit, &(struct side){"qsandbox", process_run, &s.ours, 1},
              &(struct side){"bwrap alone, same mounts and namespaces", process_run, &s.bare, 1});
    count_flushes(&s, name);
    buf_release(&s.words);
}

/* ---- the plan of many roots ---- */

static void plan_once(void *context)
{
    struct prepared *c = context;
    struct plan plan;
    struct buf words = {0};
    struct qs_error err = {0};
    bench_check(plan_make(&c->policy, &c->facts, &plan, &err), &err, "plan");
    bench_check(bwrap_args(&plan, true, &words, &err), &err, "bubblewrap's arguments");
    buf_release(&words);
    plan_release(&plan);
}

static void open_once(void *context)
{
    const struct sandbox *s = context;
    struct prepared c;
    struct qs_error err = {0};
    bench_check(prepare_run(&s->options, false, &c, &err), &err, "facts and plan");
    prepared_release(&c);
}

static void plan_point(struct bench *bench, unsigned roots)
{
    char name[32], dir[BENCH_PATH_BYTES];
    struct sandbox s = {.bench = bench};
    struct buf json = {0};
    struct qs_error err = {0};
    struct prepared prepared;
    for (unsigned i = 0; i < roots; i++) {
        bench_path(dir, "%s/roots-%u-%u", bench->scratch, roots, i);
        make_dir(dir);
        buf_printf(&json, "%s\"%s\"", i ? "," : "[", dir);
    }
    buf_add_char(&json, ']');
    (void)snprintf(name, sizeof name, "roots-%u", roots);
    make_world(&s, name, "executor.writableRoots", json.data);
    bench_check(prepare_run(&s.options, false, &prepared, &err), &err, "facts and plan");
    bench_point(bench, "plan, by writable roots", "roots", "plan and arguments", roots,
                measure_one(&(struct side){"plan", plan_once, &prepared, 5}, 300, 200));
    bench_point(bench, "plan, by writable roots", "roots", "with policy and facts", roots,
                measure_one(&(struct side){"all", open_once, &s, 1}, 300, 200));
    prepared_release(&prepared);
    buf_release(&json);
}

void rows_sandbox(struct bench *bench)
{
    char path[BENCH_PATH_BYTES];
    static const unsigned roots[] = {1, 10, 50, 100, 200};
    bench_path(path, "%s/qsandbox", bench->bin);
    if (access(path, X_OK) != 0 || !process_find("bwrap", path)) {
        bench_skip(bench, "sandboxed runs", "qsandbox is not built, or there is no /usr/bin/bwrap");
        return;
    }
    run_row(bench, "off", 1.5);
    run_row(bench, "required", 1.5);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        plan_point(bench, roots[i]);
}
