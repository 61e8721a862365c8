/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs: qsettings beside git, dconf and sqlite3, each asked for the same setting. */
#include "bench/process.h"
#include "bench/world.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASKED 101u /* the command of a service amid the settings: a string */

struct programs {
    const struct corpus *corpus;
    char root[BENCH_PATH_BYTES], git_file[BENCH_PATH_BYTES], git_dir[BENCH_PATH_BYTES], git_key[128];
    char dconf_key[128], sqlite_file[BENCH_PATH_BYTES], sql[256], bare[256], qsettings[BENCH_PATH_BYTES];
    char git[BENCH_PATH_BYTES], dconf_file[BENCH_PATH_BYTES], sqlite3[BENCH_PATH_BYTES];
    char home[BENCH_PATH_BYTES], git_system[BENCH_PATH_BYTES], git_global[BENCH_PATH_BYTES], profile[BENCH_PATH_BYTES];
    const char *environment[8];
    struct process one, effective, policy, git_one, git_all, git_list, dconf, sqlite;
};

/* The value without JSON's quotes, as qsettings get and git print strings. */
static void bare_string(const char *json, char *out, size_t size)
{
    (void)snprintf(out, size, "%.*s", (int)(strlen(json) - 2), json + 1);
}

static void make_dir(const char *path)
{
    if (mkdir(path, 0755) && errno != EEXIST)
        bench_fail("%s cannot be made: %s", path, strerror(errno));
}

/* The least that git takes for a repository. */
static void make_repository(const struct programs *p)
{
    char path[BENCH_PATH_BYTES];
    static const char *const dirs[] = {"", "/.git", "/.git/objects", "/.git/refs"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        bench_path(path, "%s%s", p->git_dir, dirs[i]);
        make_dir(path);
    }
    bench_path(path, "%s/.git/HEAD", p->git_dir);
    bench_write_file(path, "ref: refs/heads/main\n", 21);
    bench_path(path, "%s/.git/config", p->git_dir);
    plain_git_config(path, p->corpus);
}

static void make_dconf(struct bench *bench, struct programs *p, const char *program)
{
    char keys[BENCH_PATH_BYTES], db[BENCH_PATH_BYTES], line[BENCH_PATH_BYTES + 16];
    bench_path(keys, "%s/dconf.d", bench->scratch);
    bench_path(db, "%s/dconf.db", bench->scratch);
    plain_dconf_keys(keys, p->corpus);
    struct process compile = {.file = program, .args = {"dconf", "compile", db, keys}, .environment = p->environment};
    process_run(&compile);
    int len = snprintf(line, sizeof line, "file-db:%s\n", db);
    bench_write_file(p->profile + strlen("DCONF_PROFILE="), line, (size_t)len);
}

static void prepare(struct bench *bench, struct programs *p)
{
    bench_path(p->root, "%s/programs", bench->scratch);
    bench_path(p->git_file, "%s/git.config", bench->scratch);
    bench_path(p->git_dir, "%s/repository", bench->scratch);
    bench_path(p->sqlite_file, "%s/programs.sqlite", bench->scratch);
    bench_path(p->qsettings, "%s/qsettings", bench->bin);
    bench_path(p->home, "HOME=%s", bench->scratch);
    bench_path(p->git_system, "GIT_CONFIG_SYSTEM=%s", p->git_file);
    bench_path(p->git_global, "GIT_CONFIG_GLOBAL=%s", p->git_file);
    bench_path(p->profile, "DCONF_PROFILE=%s/dconf.profile", bench->scratch);
    const char *const environment[] = {p->home, p->git_system, p->git_global, p->profile, "LC_ALL=C", NULL};
    memcpy(p->environment, environment, sizeof environment);
    const char *text = p->corpus->texts[ASKED];
    (void)snprintf(p->git_key, sizeof p->git_key, "%s", text);
    (void)snprintf(p->dconf_key, sizeof p->dconf_key, "/%s", text);
    for (char *c = p->dconf_key; *c; c++)
        if (*c == '.')
            *c = '/';
    (void)snprintf(p->sql, sizeof p->sql, "SELECT value FROM settings WHERE key = '%s'", text);
    bare_string(p->corpus->values[ASKED], p->bare, sizeof p->bare);
    static const enum qs_scope scopes[] = {QS_SCOPE_DEFAULTS, QS_SCOPE_USER, QS_SCOPE_SYSTEM};
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        world_policy(world_store_of(p->root, scopes[i], p->corpus));
    plain_git_config(p->git_file, p->corpus);
    make_repository(p);
    bare_sqlite_fill(p->sqlite_file, false, p->corpus);
}

static void git_rows(struct bench *bench, struct programs *p, const struct side *one, const struct side *effective)
{
    if (!process_find("git", p->git)) {
        bench_skip(bench, "against git config", "there is no /usr/bin/git");
        return;
    }
    p->git_one =
        (struct process){.file = p->git, .args = {"git", "config", "--file", p->git_file, "--get", p->git_key}};
    p->git_all = (struct process){.file = p->git, .args = {"git", "config", "--get", p->git_key}, .cwd = p->git_dir};
    p->git_one.environment = p->git_all.environment = p->environment;
    process_expect(&p->git_one, p->corpus->values[ASKED]);
    process_expect(&p->git_all, p->corpus->values[ASKED]);
    bench_row(bench, "qsettings get of one scope, whole process", 1.0, one,
              &(struct side){"git config --file F --get", process_run, &p->git_one, 1});
    bench_row(bench, "qsettings get of three scopes, whole process", 1.0, effective,
              &(struct side){"git config --get of three files", process_run, &p->git_all, 1});
}

static void policy_row(struct bench *bench, struct programs *p)
{
    if (!process_find("git", p->git)) {
        bench_skip(bench, "against git config --list", "there is no /usr/bin/git");
        return;
    }
    p->policy = (struct process){.file = p->qsettings,
                                 .args = {"qsettings", "--root", p->root, "policy"},
                                 .environment = p->environment};
    p->git_list = (struct process){.file = p->git,
                                   .args = {"git", "config", "--list"},
                                   .cwd = p->git_dir,
                                   .environment = p->environment};
    bench_row(bench, "qsettings policy of three scopes, whole process", 1.2,
              &(struct side){"qsettings", process_run, &p->policy, 1},
              &(struct side){"git config --list of three files", process_run, &p->git_list, 1});
}

static void other_rows(struct bench *bench, struct programs *p, const struct side *one)
{
    if (process_find("dconf", p->dconf_file)) {
        make_dconf(bench, p, p->dconf_file);
        p->dconf = (struct process){.file = p->dconf_file,
                                    .args = {"dconf", "read", p->dconf_key},
                                    .environment = p->environment};
        char quoted[300];
        (void)snprintf(quoted, sizeof quoted, "'%s'", p->bare);
        process_expect(&p->dconf, quoted);
        bench_row(bench, "qsettings get of one scope, whole process", 0.6, one,
                  &(struct side){"dconf read", process_run, &p->dconf, 1});
    } else {
        bench_skip(bench, "against dconf read", "there is no /usr/bin/dconf");
    }
    if (process_find("sqlite3", p->sqlite3)) {
        p->sqlite = (struct process){.file = p->sqlite3,
                                     .args = {"sqlite3", p->sqlite_file, p->sql},
                                     .environment = p->environment};
        process_expect(&p->sqlite, p->corpus->values[ASKED]);
        bench_row(bench, "qsettings get of one scope, whole process", 0.8, one,
                  &(struct side){"sqlite3 with one SELECT", process_run, &p->sqlite, 1});
    } else {
        bench_skip(bench, "against sqlite3", "there is no /usr/bin/sqlite3");
    }
}

void rows_process(struct bench *bench)
{
    struct corpus *corpus = corpus_make(200);
    struct programs p = {.corpus = corpus};
    prepare(bench, &p);
    if (access(p.qsettings, X_OK) == 0) {
        char *text = corpus->texts[ASKED];
        p.one = (struct process){.file = p.qsettings,
                                 .args = {"qsettings", "--system", "--root", p.root, "get", text},
                                 .environment = p.environment};
        p.effective = (struct process){.file = p.qsettings,
                                       .args = {"qsettings", "--root", p.root, "get", text},
                                       .environment = p.environment};
        process_expect(&p.one, p.bare);
        process_expect(&p.effective, p.bare);
        struct side one = {"qsettings", process_run, &p.one, 1};
        struct side effective = {"qsettings", process_run, &p.effective, 1};
        git_rows(bench, &p, &one, &effective);
        other_rows(bench, &p, &one);
        policy_row(bench, &p);
    } else {
        bench_skip(bench, "whole processes", "qsettings is not built yet");
    }
    corpus_free(corpus);
}
