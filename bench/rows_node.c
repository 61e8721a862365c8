/* SPDX-License-Identifier: Apache-2.0 */
/* A program for Node.js at its start: the policy through the binding, beside three JSON files read and parsed. */
#include "bench/process.h"
#include "bench/world.h"

#include <string.h>
#include <unistd.h>

#define POLICY_TEXT "\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}},"

static const char ours_text[] = "const { readPolicySync } = require(process.argv[2]);\n"
                                "console.log(readPolicySync({ root: process.argv[3] }).policy.network);\n";
static const char theirs_text[] = "const { readFileSync } = require(\"node:fs\");\n"
                                  "let policy = null;\n"
                                  "for (const file of process.argv.slice(2))\n"
                                  "  policy = JSON.parse(readFileSync(file, \"utf8\")).tools.executionSandbox;\n"
                                  "console.log(policy.network);\n";

struct starts {
    char node[BENCH_PATH_BYTES], package[BENCH_PATH_BYTES], root[BENCH_PATH_BYTES], json[3][BENCH_PATH_BYTES];
    char ours_file[BENCH_PATH_BYTES], theirs_file[BENCH_PATH_BYTES], home[BENCH_PATH_BYTES];
    const char *environment[3];
    struct process ours, theirs;
};

static void prepare(struct bench *bench, struct starts *s, const struct corpus *corpus)
{
    static const enum qs_scope scopes[] = {QS_SCOPE_DEFAULTS, QS_SCOPE_USER, QS_SCOPE_SYSTEM};
    size_t size = sizeof POLICY_TEXT + corpus->json_len;
    char *text = malloc(size);
    bench_path(s->root, "%s/node", bench->scratch);
    bench_path(s->ours_file, "%s/ours.cjs", bench->scratch);
    bench_path(s->theirs_file, "%s/theirs.cjs", bench->scratch);
    bench_path(s->home, "HOME=%s", bench->scratch);
    s->environment[0] = s->home;
    s->environment[1] = "LC_ALL=C";
    bench_write_file(s->ours_file, ours_text, sizeof ours_text - 1);
    bench_write_file(s->theirs_file, theirs_text, sizeof theirs_text - 1);
    if (!text)
        bench_fail("out of memory");
    int len = snprintf(text, size, "{" POLICY_TEXT "%s", corpus->json + 1);
    for (size_t i = 0; i < 3; i++) {
        world_policy(world_store_of(s->root, scopes[i], corpus));
        bench_path(s->json[i], "%s/node-%zu.json", bench->scratch, i);
        bench_write_file(s->json[i], text, (size_t)len);
    }
    free(text);
}

void rows_node(struct bench *bench)
{
    struct starts s = {0};
    char addon[BENCH_PATH_BYTES];
    bench_path(s.package, "%s/../node", bench->bin);
    bench_path(addon, "%s/build/Release/qsettings.node", s.package);
    if (access(addon, R_OK) != 0 || !process_find("node", s.node)) {
        bench_skip(bench, "Node.js at its start", "the binding is not built");
        return;
    }
    struct corpus *corpus = corpus_make(200);
    prepare(bench, &s, corpus);
    s.ours = (struct process){.file = s.node,
                              .args = {"node", s.ours_file, s.package, s.root},
                              .environment = s.environment};
    s.theirs = (struct process){.file = s.node,
                                .args = {"node", s.theirs_file, s.json[0], s.json[1], s.json[2]},
                                .environment = s.environment};
    process_expect(&s.ours, "closed");
    process_expect(&s.theirs, "closed");
    bench_row(bench, "node, binding loaded and policy read, whole process", 1.2,
              &(struct side){"policy of three stores of 200 settings", process_run, &s.ours, 1},
              &(struct side){"node, three JSON files read and parsed", process_run, &s.theirs, 1});
    corpus_free(corpus);
}
