/* SPDX-License-Identifier: Apache-2.0 */
/* The whole policy read in process: three stores, verified, judged, narrowed, with its digest. */
#include "bench/world.h"

struct policy_reading {
    char root[BENCH_PATH_BYTES], json[3][BENCH_PATH_BYTES];
    const struct corpus *corpus;
};

static void ours_policy(void *context)
{
    const struct policy_reading *r = context;
    struct qs_error err = {0};
    struct qs_policy_result *result = NULL;
    bench_check(qs_policy_read(&(struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = r->root},
                               &result, &err),
                &err, "policy");
    if (qs_policy_source_count(result) != 3 || !qs_policy_get(result))
        bench_fail("the policy was read from %zu stores", qs_policy_source_count(result));
    qs_policy_free(result);
}

static void json_files(void *context)
{
    const struct policy_reading *r = context;
    for (int i = 0; i < 3; i++)
        if (plain_json_read(r->json[i], r->corpus->group) != CORPUS_GROUP)
            bench_fail("a JSON file lacks settings");
}

void rows_policy(struct bench *bench)
{
    static const enum qs_scope scopes[] = {QS_SCOPE_DEFAULTS, QS_SCOPE_USER, QS_SCOPE_SYSTEM};
    struct corpus *corpus = corpus_make(200);
    struct policy_reading r = {.corpus = corpus};
    bench_path(r.root, "%s/policy", bench->scratch);
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        world_policy(world_store_of(r.root, scopes[i], corpus));
        bench_path(r.json[i], "%s/policy-%zu.json", bench->scratch, i);
        bench_write_file(r.json[i], corpus->json, corpus->json_len);
    }
    bench_row(bench, "policy read, three stores of 200 settings", 1.2, &(struct side){"ours", ours_policy, &r, 10},
              &(struct side){"three JSON files, read and parsed with jansson", json_files, &r, 10});
    corpus_free(corpus);
}
