/* SPDX-License-Identifier: Apache-2.0 */
/* A path that must not be exchanged or changed from inside: itself and every link on the way to it. */
#include "sandbox/host/guard.h"

#include "base/cleanup.h"

#include <string.h>

static enum qs_status add_link(const char *link, struct path_facts *facts, struct qs_error *err)
{
    struct path_fact fact = {.fd = -1};
    enum qs_status status = path_look_itself(link, &fact, err);
    if (status != QS_OK)
        return status;
    if (fact.kind != PATH_LINK) {
        path_fact_release(&fact);
        return error_set(err, QS_INVALID, "%s changed while it was being looked at", link);
    }
    return path_facts_add(facts, &fact) ? QS_OK : error_memory(err);
}

enum qs_status guard_closed(const char *dir, struct qs_error *err)
{
    error_set(err, QS_UNTRUSTED,
              "%s is closed to its own runner: what is in it cannot be guarded, and could be opened inside", dir);
    error_add_advice(err, "chmod u+rx it, once you have looked who closed it");
    return QS_UNTRUSTED;
}

enum qs_status guard_seen(const char *top, const struct path_fact *fact, struct qs_error *err)
{
    return fact->closed && path_within(fact->closed, top) ? guard_closed(fact->closed, err) : QS_OK;
}

/* top: the writable place; NULL: none that matters. */
static enum qs_status guard_what(const char *top, const char *path, struct path_facts *facts, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    enum qs_status status = path_look(path, "/", false, &fact, err);
    if (status == QS_OK && top)
        status = guard_seen(top, &fact, err);
    if (status != QS_OK)
        return status;
    if (fact.kind == PATH_ABSENT && fact.link_count) {
        status = error_set(err, QS_INVALID, "%s is a protected path and leads through a link to nothing", path);
        error_add_advice(err, "remove the link, or make what it leads to");
        return status;
    }
    for (size_t i = 0; i < fact.link_count && status == QS_OK; i++)
        status = add_link(fact.links[i], facts, err);
    if (status != QS_OK || fact.kind == PATH_ABSENT)
        return status;
    return path_facts_add(facts, &fact) ? QS_OK : error_memory(err);
}

enum qs_status guard_path(const char *path, struct path_facts *facts, struct qs_error *err)
{
    return guard_what(NULL, path, facts, err);
}

static bool has(const struct path_facts *facts, const char *path)
{
    for (size_t i = facts->count; i > 0; i--) /* the last ones are the likeliest */
        if (strcmp(facts->items[i - 1].path, path) == 0)
            return true;
    return false;
}

/* The directories between top and path, the outermost first. */
enum qs_status guard_way(const char *top, const char *path, struct path_facts *pins, struct qs_error *err)
{
    AUTO_FREE char *way = strdup(path);
    if (!way)
        return error_memory(err);
    for (char *slash = strchr(way + strlen(top) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct path_fact fact = {.fd = -1};
        *slash = '\0';
        enum qs_status status = has(pins, way) ? QS_OK : path_look_itself(way, &fact, err);
        if (status != QS_OK)
            return status;
        if (fact.kind == PATH_DIR && !path_facts_add(pins, &fact))
            return error_memory(err);
        path_fact_release(&fact);
        *slash = '/';
    }
    return QS_OK;
}

enum qs_status guard_below(const char *top, const char *path, struct path_facts *facts, struct path_facts *pins,
                           struct qs_error *err)
{
    size_t before = facts->count;
    enum qs_status status = guard_what(top, path, facts, err);
    for (size_t i = before; i < facts->count && status == QS_OK; i++)
        if (strcmp(facts->items[i].path, top) != 0 && path_within(facts->items[i].path, top))
            status = guard_way(top, facts->items[i].path, pins, err);
    return status;
}
