/* SPDX-License-Identifier: Apache-2.0 */
/* Building the command's environment. */
#include "sandbox/plan/plan_env.h"

#include "base/cleanup.h"
#include "reader/policy_model.h"
#include "sandbox/host/caches.h"

#include <stdio.h>
#include <string.h>

#define ENV_NAME_MAX 255 /* a longer name matches nothing and is not passed */

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* ld.so(8), bash(1), sh(1p), node(1), python(1), perlrun(1), ruby(1), and the JVM's tool options. */
static const char *const redirecting[] = {
    "LD_*",          "GLIBC_TUNABLES",   "GCONV_PATH",    "LOCPATH",     "NLSPATH",       "BASH_ENV",
    "ENV",           "BASH_FUNC_*",      "SHELLOPTS",     "BASHOPTS",    "PS4",           "PROMPT_COMMAND",
    "NODE_OPTIONS",  "NODE_REPL_*",      "PYTHONSTARTUP", "PYTHONHOME",  "PYTHONINSPECT", "PYTHONBREAKPOINT",
    "PERL5OPT",      "PERL5LIB",         "PERL5DB",       "RUBYOPT",     "RUBYLIB",       "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GIT_*",         "SSH_ASKPASS", "SUDO_ASKPASS",  "QSANDBOX_SESSION",
};
/* Those of git that only say who commits and what is printed: git(1). */
static const char *const harmless[] = {"GIT_AUTHOR_*",       "GIT_COMMITTER_*", "GIT_TERMINAL_PROMPT",
                                       "GIT_MERGE_AUTOEDIT", "GIT_ADVICE",      "GIT_OPTIONAL_LOCKS"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool matches_any(const char *const *globs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (policy_glob_match(globs[i], name, false))
            return true;
    return false;
}

static bool name_redirects(const char *name)
{
    return matches_any(redirecting, COUNT(redirecting), name) && !matches_any(harmless, COUNT(harmless), name);
}

bool env_name_redirects(const char *name, size_t len)
{
    char copy[ENV_NAME_MAX + 1];
    if (len > ENV_NAME_MAX)
        return true;
    memcpy(copy, name, len);
    copy[len] = '\0';
    return name_redirects(copy);
}

static bool passes(const struct qs_policy *policy, const char *name)
{
    return policy_env_passes(policy, name) && !name_redirects(name);
}

/* ---- the list ---- */

static void free_list(char **items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(items[i]);
    free(items);
}

void env_release(struct env *env)
{
    free_list(env->items, env->count);
    free_list(env->removed, env->removed_count);
    *env = (struct env){0};
}

static bool append(char ***items, size_t *count, char *text)
{
    char **grown = text ? reallocarray(*items, *count + 2, sizeof *grown) : NULL;
    if (!grown) {
        free(text);
        return false;
    }
    *items = grown;
    grown[(*count)++] = text;
    grown[*count] = NULL;
    return true;
}

static bool same_name(const char *item, const char *name, size_t len)
{
    return strncmp(item, name, len) == 0 && (item[len] == '=' || item[len] == '\0');
}

static char **find(const struct env *env, const char *name, size_t len)
{
    for (size_t i = 0; i < env->count; i++)
        if (same_name(env->items[i], name, len))
            return &env->items[i];
    return NULL;
}

/* Sets a variable, replacing one of that name. */
static bool set(struct env *env, const char *name, const char *value)
{
    char *text = NULL;
    if (asprintf(&text, "%s=%s", name, value) < 0)
        return false;
    char **old = find(env, name, strlen(name));
    if (!old)
        return append(&env->items, &env->count, text);
    free(*old);
    *old = text;
    return true;
}

static bool pass_caller(const struct qs_policy *policy, bool all, char *const *caller, struct env *env)
{
    for (; *caller; caller++) {
        size_t len = strcspn(*caller, "=");
        char name[ENV_NAME_MAX + 1] = "";
        if ((*caller)[len] == '=' && len > 0 && len <= ENV_NAME_MAX)
            memcpy(name, *caller, len);
        if (find(env, *caller, len))
            continue; /* of two with one name, the first counts, as in getenv(3) */
        bool taken = name[0] && (all || passes(policy, name));
        if (taken ? !append(&env->items, &env->count, strdup(*caller))
                  : !append(&env->removed, &env->removed_count, strndup(*caller, len)))
            return false;
    }
    return true;
}

/* ---- fixed names ---- */

static bool set_caches(const struct host_facts *facts, const struct plan *plan, struct env *env)
{
    for (size_t i = 0; plan->caches_shown && i < facts->cache_count; i++) {
        const struct cache_fact *cache = &facts->caches[i];
        /* Where the private one lies over the home's, the tool finds it; not where the caller has it elsewhere. */
        bool elsewhere = find(env, cache->variable, strlen(cache->variable)) ||
                         (cache->also && find(env, cache->also, strlen(cache->also)));
        if (!elsewhere && cache->home.kind != PATH_ABSENT && !plan_private(plan, cache->home.path))
            continue;
        AUTO_FREE char *place = path_join(CACHE_MOUNT, cache->name);
        if (!place || !set(env, cache->variable, place))
            return false;
    }
    return true;
}

static bool set_fixed(const struct host_facts *facts, const struct plan *plan, struct env *env)
{
    static const char *const temporary[] = {"TMPDIR", "TMP", "TEMP"};
    bool done = set(env, "HOME", facts->home.given) && set(env, "USER", facts->user) &&
                set(env, "LOGNAME", facts->user) && set(env, "SHELL", facts->shell) && set(env, "PWD", plan->cwd) &&
                set_caches(facts, plan, env) && set(env, "GIT_OPTIONAL_LOCKS", "0"); /* `git status` changes nothing */
    for (size_t i = 0; i < COUNT(temporary) && done; i++)
        done = set(env, temporary[i], "/tmp");
    if (done && !find(env, "PATH", 4))
        done = set(env, "PATH", default_path);
    return done;
}

static int compare_items(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A name that was removed but set afresh was not taken away from the command. */
static void settle_removed(struct env *env)
{
    size_t kept = 0;
    for (size_t i = 0; i < env->removed_count; i++) {
        if (find(env, env->removed[i], strlen(env->removed[i])))
            free(env->removed[i]);
        else
            env->removed[kept++] = env->removed[i];
    }
    env->removed_count = kept;
    if (kept)
        qsort(env->removed, kept, sizeof *env->removed, compare_items);
}

enum qs_status env_make(const struct qs_policy *policy, const struct host_facts *facts, const struct plan *plan,
                        char *const *caller, struct env *ret_env, struct qs_error *err)
{
    struct env env = {0};
    bool all = LEFT_OUT(plan, ENVIRONMENT);
    bool done = pass_caller(policy, all, caller, &env) && set_fixed(facts, plan, &env);
    for (size_t i = 0; i < policy->env_set_count && done; i++) {
        const struct qs_pair *pair = &policy->env_set[i];
        if (name_redirects(pair->name)) {
            env_release(&env);
            error_set(err, QS_INVALID,
                      "executor.environment.set: %s loads code or redirects programs, and never passes", pair->name);
            return QS_INVALID;
        }
        done = set(&env, pair->name, pair->value);
    }
    if (!done) {
        env_release(&env);
        return error_memory(err);
    }
    qsort(env.items, env.count, sizeof *env.items, compare_items);
    settle_removed(&env);
    *ret_env = env;
    return QS_OK;
}
