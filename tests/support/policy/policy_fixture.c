/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and host facts built by hand. */
#include "tests/support/policy/policy_fixture.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LISTS_MAX 64
#define ITEMS_MAX 16

static unsigned next_inode, next_fd;

struct qs_list fixture_list(const char *first, ...)
{
    static char *pool[LISTS_MAX][ITEMS_MAX];
    static size_t used;
    char **items = pool[used++ % LISTS_MAX];
    struct qs_list list = {.items = items};
    va_list args;
    va_start(args, first);
    for (const char *item = first; item && list.count < ITEMS_MAX; item = va_arg(args, const char *))
        items[list.count++] = (char *)(uintptr_t)item;
    va_end(args);
    return list;
}

struct qs_policy fixture_policy(void)
{
    static struct qs_list pass[1];
    pass[0] = fixture_list("PATH", "LANG", "LC_*", "TERM", "MY_*", NULL);
    return (struct qs_policy){.filesystem = QS_FS_WORKSPACE_WRITE,
                              .network = QS_NET_CLOSED,
                              .protected_paths = fixture_list(".envrc", ".vscode", NULL),
                              .hidden_paths = fixture_list("~/.ssh", NULL),
                              .env_pass = pass,
                              .env_pass_count = 1,
                              .env_secrets = fixture_list("*TOKEN*", "*SECRET*", NULL),
                              .caches = QS_CACHES_NONE,
                              .limits.wall_seconds = 600,
                              .audit = QS_AUDIT_OFF};
}

struct path_fact fixture_fact(const char *path, enum path_kind kind)
{
    struct path_fact fact = {.given = strdup(path), .kind = kind, .dev = 7, .uid = 1000, .mode = 0755, .fd = -1};
    if (kind != PATH_ABSENT) {
        fact.path = strdup(path);
        fact.ino = next_inode++;
        fact.fd = (int)next_fd++;
    }
    return fact;
}

void fixture_add(struct path_facts *facts, const char *path, enum path_kind kind)
{
    struct path_fact fact = fixture_fact(path, kind);
    if (!path_facts_add(facts, &fact))
        abort();
}

struct root_fact *fixture_root(struct host_facts *facts, const char *path)
{
    facts->roots = reallocarray(facts->roots, facts->root_count + 1, sizeof *facts->roots);
    if (!facts->roots)
        abort();
    struct root_fact *root = &facts->roots[facts->root_count++];
    *root = (struct root_fact){.dir = fixture_fact(path, PATH_DIR), .git = {.dot_git.fd = -1}};
    return root;
}

void fixture_shown(struct host_facts *facts, const char *source, const char *shown, bool writable, const char *over)
{
    facts->shown = reallocarray(facts->shown, facts->shown_count + 1, sizeof *facts->shown);
    if (!facts->shown)
        abort();
    facts->shown[facts->shown_count++] =
        (struct shown_fact){.source = fixture_fact(source, PATH_DIR),
                            .shown = strdup(shown),
                            .writable = writable,
                            .over = over ? fixture_fact(over, PATH_DIR) : (struct path_fact){.fd = -1}};
}

void fixture_facts(struct host_facts *facts)
{
    next_inode = 100;
    next_fd = 40;
    *facts = (struct host_facts){.uid = 1000,
                                 .gid = 1000,
                                 .user = strdup("ann"),
                                 .shell = strdup("/bin/sh"),
                                 .home = fixture_fact("/home/ann", PATH_DIR),
                                 .cwd = strdup("/home/ann/work"),
                                 .executable = strdup("/usr/bin/qsandbox"),
                                 .kernel = strdup("6.12.0"),
                                 .resolv = fixture_fact("/run/resolvconf/resolv.conf", PATH_FILE),
                                 .cache_base.fd = -1,
                                 .shim.fd = -1,
                                 .group = {.fd = -1, .why = "there is none in this test"},
                                 .has_var_tmp = true,
                                 .has_run = true,
                                 .landlock_abi = 6};
    struct root_fact *root = fixture_root(facts, "/home/ann/work");
    root->git.checkout = CHECKOUT_NORMAL;
    root->git.dot_git = fixture_fact("/home/ann/work/.git", PATH_DIR);
    fixture_shown(facts, "/home/ann/state/private", "/tmp/.qsandbox-git/a", true, "/home/ann/work/.git");
    fixture_shown(facts, "/home/ann/work/.git/objects", "/tmp/.qsandbox-git/a.0", false, NULL);
    fixture_shown(facts, "/home/ann/work/.git/hooks", "/tmp/.qsandbox-git/a.hooks", false, "/home/ann/work/.git/hooks");
    fixture_add(&root->guarded, "/home/ann/work/.vscode", PATH_DIR);
    fixture_add(&facts->hidden, "/home/ann/.ssh", PATH_DIR);
    fixture_add(&facts->stores, "/etc/qsettings", PATH_DIR);
}

static void forget(struct path_fact *fact)
{
    fact->fd = -1;
}

static void forget_all(struct path_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        forget(&facts->items[i]);
}

void fixture_facts_release(struct host_facts *facts)
{
    forget(&facts->home);
    forget(&facts->resolv);
    forget(&facts->cache_base);
    for (size_t i = 0; i < facts->root_count; i++) {
        forget(&facts->roots[i].dir);
        forget(&facts->roots[i].git.dot_git);
        forget_all(&facts->roots[i].git.guarded);
        forget_all(&facts->roots[i].git.pinned);
        forget_all(&facts->roots[i].guarded);
        forget_all(&facts->roots[i].pinned);
    }
    for (size_t i = 0; i < facts->shown_count; i++) {
        forget(&facts->shown[i].source);
        forget(&facts->shown[i].over);
    }
    forget_all(&facts->read_only);
    forget_all(&facts->hidden);
    forget_all(&facts->stores);
    forget_all(&facts->sockets);
    forget_all(&facts->devices);
    forget_all(&facts->host_sockets);
    for (size_t i = 0; i < facts->cache_count; i++) {
        forget(&facts->caches[i].home);
        forget(&facts->caches[i].source);
    }
    host_facts_release(facts);
}
