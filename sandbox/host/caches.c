/* SPDX-License-Identifier: Apache-2.0 */
/* Build caches: which ones there are, and the private directories that stand in for them, one set for each workspace.
 */
#include "sandbox/host/caches.h"

#include "base/cleanup.h"
#include "sandbox/host/cache_seed.h"
#include "sandbox/host/state_dir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Where each tool keeps its cache, by its own documentation: pip, go build and most others below ~/.cache; npm in
 * ~/.npm; cargo in two directories of CARGO_HOME; go's modules in GOPATH/pkg/mod. */
#define SEEDS_MAX 8
static const struct {
    const char *name, *place, *variable;
    const char *value;           /* below the private base, what variable gets; more than one cache may share it */
    const char *also;            /* a variable that moves the place, too */
    const char *seed[SEEDS_MAX]; /* below the place, what `caches --seed` copies: what was fetched or built */
} table[] = {
    {"cache", "~/.cache", "XDG_CACHE_HOME", "cache", NULL, {"pip", "uv", "go-build", "yarn", "ccache", "node-gyp"}},
    {"npm", "~/.npm", "npm_config_cache", "npm", NULL, {"_cacache"}},
    {"cargo/registry", "~/.cargo/registry", "CARGO_HOME", "cargo", NULL, {"index", "cache", "src"}},
    {"cargo/git", "~/.cargo/git", "CARGO_HOME", "cargo", NULL, {"db", "checkouts"}},
    {"go-mod", "~/go/pkg/mod", "GOMODCACHE", "go-mod", "GOPATH", {"cache"}},
};
#define TABLE_COUNT (sizeof table / sizeof table[0])

/* A fact for a directory that is open already; takes fd and path over. */
static void fact_of(int fd, char *path, struct path_fact *fact)
{
    struct stat st = {0};
    (void)fstat(fd, &st);
    *fact = (struct path_fact){.fd = fd,
                               .path = path,
                               .kind = PATH_DIR,
                               .dev = st.st_dev,
                               .ino = st.st_ino,
                               .uid = st.st_uid,
                               .mode = st.st_mode};
}

/* The directory that holds a workspace's private caches. */
static enum qs_status open_base(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    const struct state_base base = state_base_of(facts->home.path, request->root, facts->uid);
    char workspace[STATE_WORKSPACE_BYTES], whole[256];
    state_workspace_name(facts->roots[0].dir.path, workspace);
    (void)snprintf(whole, sizeof whole, "caches/%s", workspace);
    int fd = -1;
    char *path = NULL;
    enum qs_status status = state_open(&base, whole, request->make_caches, &fd, &path, err);
    if (status == QS_ABSENT)
        return QS_OK;
    if (!status)
        fact_of(fd, path, &facts->cache_base);
    return status;
}

static enum qs_status open_private(const struct facts_request *request, const struct host_facts *facts,
                                   const char *name, struct path_fact *fact, struct qs_error *err)
{
    const struct path_fact *base = &facts->cache_base;
    int fd = -1;
    char *path = NULL;
    if (base->fd < 0)
        return QS_OK;
    enum qs_status status =
        state_open_below(base->fd, base->path, facts->uid, name, request->make_caches, &fd, &path, err);
    if (status == QS_ABSENT)
        return QS_OK;
    if (!status)
        fact_of(fd, path, fact);
    else /* a command may have put something else there */
        error_add_advice(err, "'qsandbox caches --clear' makes new ones");
    return status;
}

static enum qs_status look_one(const struct facts_request *request, struct host_facts *facts, size_t i,
                               struct qs_error *err)
{
    struct cache_fact *cache = &facts->caches[facts->cache_count++];
    *cache = (struct cache_fact){
        .name = table[i].value, .variable = table[i].variable, .also = table[i].also, .home.fd = -1, .source.fd = -1};
    enum qs_status status = path_look(table[i].place, facts->home.path, false, &cache->home, err);
    if (status)
        return status;
    if (cache->home.kind != PATH_DIR && cache->home.kind != PATH_ABSENT)
        return error_set(err, QS_INVALID, "%s is not a directory", cache->home.path);
    return open_private(request, facts, table[i].name, &cache->source, err);
}

enum qs_status caches_look(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    facts->caches = calloc(TABLE_COUNT, sizeof *facts->caches);
    if (!facts->caches)
        return error_memory(err);
    enum qs_status status = open_base(request, facts, err);
    if (status)
        return status;
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        status = look_one(request, facts, i, err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status caches_seed(const struct state_base *base, const char *workspace, struct seed_count *count,
                           struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < TABLE_COUNT && !status; i++) {
        for (size_t j = 0; j < SEEDS_MAX && table[i].seed[j] && !status; j++) {
            AUTO(path_fact_release) struct path_fact from = {.fd = -1};
            AUTO_FREE char *host = path_join(table[i].place, table[i].seed[j]);
            char name[256];
            int to = -1;
            status = host ? path_look(host, base->home, true, &from, err) : error_memory(err);
            if (status || from.kind != PATH_DIR)
                continue;
            (void)snprintf(name, sizeof name, "caches/%s/%s/%s", workspace, table[i].name, table[i].seed[j]);
            status = state_open(base, name, true, &to, NULL, err);
            if (!status)
                status = seed_tree(from.fd, to, count, err);
        }
    }
    return status;
}
