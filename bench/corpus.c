/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that all sides hold. */
#include "base/buf.h"
#include "bench/world.h"

#include <string.h>

/* In the order of their names, so that the corpus ascends as stores do. */
static const char *const names[CORPUS_GROUP] = {"args",     "command", "cwd",     "description", "enabled",
                                                "endpoint", "label",   "retries", "timeoutMs",   "weight"};

static void value_of(char *out, size_t size, size_t group, unsigned item)
{
    unsigned n = (unsigned)group;
    switch (item) {
    case 0:
        (void)snprintf(out, size, "[\"--port\",\"%u\",\"--stdio\",\"--log=warn\"]", 1024 + n % 60000);
        return;
    case 1:
        (void)snprintf(out, size, "\"/usr/lib/agent-tools/bin/service-helper-%u\"", n);
        return;
    case 2:
        (void)snprintf(out, size, "\"/srv/agents/workspaces/team-%u/project-%u\"", n % 40, n);
        return;
    case 3:
        (void)snprintf(out, size,
                       "\"Service number %u, kept by the operators of group %u: tools for builds, tests and "
                       "reviews\"",
                       n, n % 17);
        return;
    case 4:
        (void)snprintf(out, size, "%s", n % 3 ? "true" : "false");
        return;
    case 5:
        (void)snprintf(out, size, "\"https://tools-%u.example.org/api/v%u/endpoint\"", n, n % 4);
        return;
    case 6:
        (void)snprintf(out, size, "\"label %u\"", n);
        return;
    case 7:
        (void)snprintf(out, size, "%u", n % 9);
        return;
    case 8:
        (void)snprintf(out, size, "%u", 1000 + n % 90000);
        return;
    default:
        (void)snprintf(out, size, "%u.5", n % 1000);
    }
}

static void *need(void *memory)
{
    if (!memory)
        bench_fail("out of memory");
    return memory;
}

static void fill_entry(struct corpus *c, size_t i)
{
    char text[128];
    char value[256];
    struct qs_error err = {0};
    size_t group = i / CORPUS_GROUP;
    unsigned item = (unsigned)(i % CORPUS_GROUP);
    (void)snprintf(text, sizeof text, "services.service-%05zu.%s", group, names[item]);
    value_of(value, sizeof value, group, item);
    c->texts[i] = need(strdup(text));
    c->values[i] = need(strdup(value));
    bench_check(qs_key_parse(text, &c->keys[i], &err), &err, text);
}

static void write_json(struct corpus *c)
{
    struct buf out = {0};
    buf_add_str(&out, "{\"services\":{");
    for (size_t i = 0; i < c->count; i++) {
        if (i % CORPUS_GROUP == 0)
            buf_printf(&out, "%s\n  \"service-%05zu\":{", i ? "}," : "", i / CORPUS_GROUP);
        buf_printf(&out, "%s\"%s\":%s", i % CORPUS_GROUP ? "," : "", names[i % CORPUS_GROUP], c->values[i]);
    }
    buf_add_str(&out, "}}}\n");
    c->json = need(buf_steal(&out, &c->json_len));
}

static void shuffle(struct corpus *c)
{
    uint64_t state = 88172645463325252u; /* xorshift64, fixed seed: every run asks in the same order */
    for (size_t i = 0; i < c->count; i++)
        c->order[i] = i;
    for (size_t i = c->count; i > 1; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t other = (size_t)(state % i);
        size_t kept = c->order[i - 1];
        c->order[i - 1] = c->order[other];
        c->order[other] = kept;
    }
}

struct corpus *corpus_make(size_t count)
{
    struct corpus *c = need(calloc(1, sizeof *c));
    struct qs_error err = {0};
    char text[64];
    c->count = count;
    c->texts = need(calloc(count, sizeof *c->texts));
    c->values = need(calloc(count, sizeof *c->values));
    c->keys = need(calloc(count, sizeof *c->keys));
    c->order = need(calloc(count, sizeof *c->order));
    for (size_t i = 0; i < count; i++)
        fill_entry(c, i);
    write_json(c);
    shuffle(c);
    size_t group = count / CORPUS_GROUP / 2;
    c->group_first = group * CORPUS_GROUP;
    (void)snprintf(c->group, sizeof c->group, "service-%05zu", group);
    (void)snprintf(text, sizeof text, "services.%s", c->group);
    bench_check(qs_key_parse(text, &c->subtree, &err), &err, text);
    return c;
}

void corpus_free(struct corpus *corpus)
{
    if (!corpus)
        return;
    for (size_t i = 0; i < corpus->count; i++) {
        free(corpus->texts[i]);
        free(corpus->values[i]);
    }
    free(corpus->texts);
    free(corpus->values);
    free(corpus->keys);
    free(corpus->order);
    free(corpus->json);
    free(corpus);
}
