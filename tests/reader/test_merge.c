/* SPDX-License-Identifier: Apache-2.0 */
/* Merging layers: each merge kind, locks, what of a workspace counts. Documents in, one document out. */
#include "reader/merge.h"

#include "base/cleanup.h"
#include "tests/support/gen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Layers as JSON texts (NULL: empty) and locks as key paths (NULL-terminated lists). */
struct setup {
    const char *texts[QS_LAYER_COUNT];
    const char *locks[QS_LAYER_COUNT][4];
};

struct built {
    struct leaves leaves[QS_LAYER_COUNT];
    struct qs_key keys[QS_LAYER_COUNT][4];
    struct leaf locks[QS_LAYER_COUNT][4];
    struct merge_input input;
};

static void built_release(struct built *built)
{
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++)
        leaves_release(&built->leaves[layer]);
}

static void build(const struct setup *setup, struct built *built)
{
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        AUTO(value_release) json_t *root = json_loads(setup->texts[layer] ? setup->texts[layer] : "{}", 0, NULL);
        struct merge_layer *into = &built->input.layers[layer];
        assert_non_null(root);
        assert_int_equal(flatten_value(root, NULL, NULL, &built->leaves[layer], NULL), QS_OK);
        into->items = built->leaves[layer].items;
        into->count = built->leaves[layer].count;
        into->locks = built->locks[layer];
        for (int i = 0; setup->locks[layer][i]; i++) {
            struct qs_key *key = &built->keys[layer][i];
            assert_int_equal(qs_key_parse(setup->locks[layer][i], key, NULL), QS_OK);
            built->locks[layer][into->lock_count++] =
                (struct leaf){.key = {key->bytes, key->len}, .value = {"true", 4}};
        }
    }
}

static void one_key_is_the_same(const struct built *built, const json_t *merged, const struct qs_key *key)
{
    AUTO(value_release) json_t *part = NULL;
    assert_int_equal(merge_document(&built->input, key, &part, NULL), QS_OK);
    const json_t *whole = merge_at(merged, key), *alone = merge_at(part, key);
    assert_int_equal(whole == NULL, alone == NULL);
    assert_true(!whole || value_equal(whole, alone));
}

/* Asked for one key, the merge builds only a part; at that key it is the same as the whole. Below arrays and scalars,
 * and beside what is there, it has nothing, as the whole. */
static void each_key_alone_is_the_same(const struct built *built, const json_t *merged, const json_t *node,
                                       const struct qs_key *at)
{
    const char *name;
    json_t *member;
    struct qs_key key = *at;
    assert_int_equal(qs_key_push(&key, "in no layer", 11, NULL), QS_OK);
    one_key_is_the_same(built, merged, &key);
    json_object_foreach((json_t *)node, name, member)
    {
        key = *at;
        assert_int_equal(qs_key_push(&key, name, strlen(name), NULL), QS_OK);
        one_key_is_the_same(built, merged, &key);
        each_key_alone_is_the_same(built, merged, member, &key);
    }
}

static void merges_to(const struct setup *setup, const char *result)
{
    AUTO(built_release) struct built built = {0};
    AUTO(value_release) json_t *merged = NULL;
    AUTO(buf_release) struct buf text = {0};
    build(setup, &built);
    assert_int_equal(merge_document(&built.input, NULL, &merged, NULL), QS_OK);
    each_key_alone_is_the_same(&built, merged, merged, &(struct qs_key){0});
    assert_int_equal(value_encode(merged, &text, NULL), QS_OK);
    assert_string_equal(text.data, result);
}

#define D    [QS_LAYER_DEFAULTS] =
#define U    [QS_LAYER_USER] =
#define W    [QS_LAYER_WORKSPACE] =
#define S    [QS_LAYER_SYSTEM] =
#define ROWS (sizeof rows / sizeof rows[0])

struct row {
    struct setup setup;
    const char *result;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        merges_to(&rows[i].setup, rows[i].result);
}

static void higher_layers_win_and_objects_merge_deep(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{0}, {{0}}}, "{}"},
        {{{D "{\"a\":1}", U "{\"a\":2}", W "{\"a\":3}", S "{\"a\":4}"}, {{0}}}, "{\"a\":4}"},
        {{{D "{\"a\":1}", U "{\"a\":2}", W "{\"a\":3}"}, {{0}}}, "{\"a\":3}"},
        {{{D "{\"a\":{\"b\":1,\"c\":{\"d\":1}}}", S "{\"a\":{\"c\":{\"e\":2}}}"}, {{0}}},
         "{\"a\":{\"b\":1,\"c\":{\"d\":1,\"e\":2}}}"},
        {{{D "{\"a\":[1,2]}", U "{\"a\":[3]}"}, {{0}}}, "{\"a\":[3]}"},
        {{{D "{\"a\":{\"b\":1}}", U "{\"a\":5}"}, {{0}}}, "{\"a\":5}"},
        {{{D "{\"a\":5}", U "{\"a\":{\"b\":1}}"}, {{0}}}, "{\"a\":{\"b\":1}}"},
        {{{D "{\"a\":{\"b\":1}}", U "{\"a\":{}}"}, {{0}}}, "{\"a\":{\"b\":1}}"},
        {{{D "{\"a\":1}", U "{\"a\":null}"}, {{0}}}, "{\"a\":null}"},
        {{{D "{\"tools\":{\"core\":[\"a\"]}}", S "{\"tools\":{\"core\":[]}}"}, {{0}}}, "{\"tools\":{\"core\":[]}}"},
    };
    check_rows(rows, ROWS);
}

static void union_keys_keep_the_distinct_elements_of_all_layers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{D "{\"permissions\":{\"deny\":[\"a\",\"b\"]}}", U "{\"permissions\":{\"deny\":[\"b\",\"c\"]}}",
           S "{\"permissions\":{\"deny\":[\"d\",\"a\"]}}"},
          {{0}}},
         "{\"permissions\":{\"deny\":[\"a\",\"b\",\"c\",\"d\"]}}"},
        {{{U "{\"permissions\":{\"deny\":[\"a\"]}}", S "{\"permissions\":{\"deny\":[]}}"}, {{0}}},
         "{\"permissions\":{\"deny\":[\"a\"]}}"},
        {{{U "{\"permissions\":{\"deny\":[]}}", W "{\"permissions\":{\"deny\":[\"a\"]}}"}, {{0}}},
         "{\"permissions\":{\"deny\":[\"a\"]}}"},
    };
    check_rows(rows, ROWS);
}

static void concat_keys_keep_every_element_in_order(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{D "{\"mcp\":{\"allowed\":[\"a\"]}}", U "{\"mcp\":{\"allowed\":[\"a\",\"b\"]}}",
           S "{\"mcp\":{\"allowed\":[]}}"},
          {{0}}},
         "{\"mcp\":{\"allowed\":[\"a\",\"a\",\"b\"]}}"},
        {{{U "{\"hooks\":{\"Stop\":[{\"matcher\":\"x\"}],\"Start\":[]}}",
           S "{\"hooks\":{\"Stop\":[{\"matcher\":\"y\"}]}}"},
          {{0}}},
         "{\"hooks\":{\"Start\":[],\"Stop\":[{\"matcher\":\"x\"},{\"matcher\":\"y\"}]}}"},
    };
    check_rows(rows, ROWS);
}

static void shallow_keys_replace_whole_entries_and_keep_the_others(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{U "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[\"1\"]},\"b\":{\"command\":\"y\"}}}",
           S "{\"mcpServers\":{\"a\":{\"command\":\"z\"}}}"},
          {{0}}},
         "{\"mcpServers\":{\"a\":{\"command\":\"z\"},\"b\":{\"command\":\"y\"}}}"},
        {{{U "{\"env\":{\"A\":\"1\",\"B\":\"2\"}}", S "{\"env\":{\"A\":\"3\"}}"}, {{0}}},
         "{\"env\":{\"A\":\"3\",\"B\":\"2\"}}"},
    };
    check_rows(rows, ROWS);
}

static void replace_keys_are_the_highest_layers_as_a_whole(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{U "{\"modelProviders\":{\"a\":{\"x\":1},\"b\":2}}", S "{\"modelProviders\":{\"a\":{\"y\":1}}}"}, {{0}}},
         "{\"modelProviders\":{\"a\":{\"y\":1}}}"},
        {{{U "{\"tools\":{\"executionSandbox\":{\"backend\":\"bwrap\",\"filesystem\":\"read-only\",\"network\":"
             "\"open\"}}}",
           S "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}"},
          {{0}}},
         "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}"},
    };
    check_rows(rows, ROWS);
}

static void a_system_lock_silences_every_lower_layer_for_every_merge_kind(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{D "{\"permissions\":{\"deny\":[\"d\"]}}", U "{\"permissions\":{\"deny\":[\"u\"]}}",
           W "{\"permissions\":{\"deny\":[\"w\"]}}", S "{\"permissions\":{\"deny\":[\"s\"]}}"},
          {S{"permissions.deny"}}},
         "{\"permissions\":{\"deny\":[\"s\"]}}"},
        {{{U "{\"mcp\":{\"allowed\":[\"u\"]}}", S "{\"mcp\":{\"allowed\":[]}}"}, {S{"mcp"}}},
         "{\"mcp\":{\"allowed\":[]}}"},
        {{{U "{\"a\":{\"b\":1,\"c\":2}}"}, {S{"a.b"}}}, "{\"a\":{\"c\":2}}"},
        {{{D "{\"a\":{\"b\":1}}", U "{\"a\":{\"b\":2}}"}, {S{"a"}}}, "{}"},
        {{{U "{\"mcpServers\":{\"a\":{\"command\":\"u\"},\"b\":{\"command\":\"u\"}}}",
           S "{\"mcpServers\":{\"a\":{\"command\":\"s\"}}}"},
          {S{"mcpServers"}}},
         "{\"mcpServers\":{\"a\":{\"command\":\"s\"}}}"},
        {{{U "{\"ab\":1,\"a\":2}"}, {S{"a"}}}, "{\"ab\":1}"},
    };
    check_rows(rows, ROWS);
}

static void a_defaults_lock_binds_user_and_workspace_but_not_the_system(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{D "{\"a\":1}", U "{\"a\":2}", W "{\"a\":3}"}, {D{"a"}}}, "{\"a\":1}"},
        {{{D "{\"a\":1}", U "{\"a\":2}", W "{\"a\":3}", S "{\"a\":4}"}, {D{"a"}}}, "{\"a\":4}"},
        {{{D "{\"permissions\":{\"deny\":[\"d\"]}}", U "{\"permissions\":{\"deny\":[\"u\"]}}",
           S "{\"permissions\":{\"deny\":[\"s\"]}}"},
          {D{"permissions.deny"}}},
         "{\"permissions\":{\"deny\":[\"d\",\"s\"]}}"},
        {{{U "{\"a\":2}"}, {D{"a"}}}, "{}"},
    };
    check_rows(rows, ROWS);
}

static void a_user_lock_binds_the_workspace_alone(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{D "{\"p\":{\"x\":1}}", U "{\"p\":{\"y\":2}}", W "{\"p\":{\"y\":3,\"z\":4}}"}, {U{"p"}}},
         "{\"p\":{\"x\":1,\"y\":2}}"},
        {{{U "{\"a\":2}", S "{\"a\":4}"}, {U{"a"}}}, "{\"a\":4}"},
    };
    check_rows(rows, ROWS);
}

static void no_layer_reaches_into_a_locked_subtree_by_replacing_what_holds_it(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* A scalar above the locked key. */
        {{{D "{\"a\":{\"b\":1}}", U "{\"a\":5}"}, {D{"a.b"}}}, "{\"a\":{\"b\":1}}"},
        /* Objects that are replaced as a whole. */
        {{{D "{\"modelProviders\":{\"a\":1,\"b\":1}}", U "{\"modelProviders\":{\"b\":2}}"}, {D{"modelProviders.a"}}},
         "{\"modelProviders\":{\"a\":1,\"b\":2}}"},
        {{{D "{\"mcpServers\":{\"s\":{\"command\":\"d\"}}}", U "{\"mcpServers\":{\"s\":{\"args\":[]}}}"},
          {D{"mcpServers.s.command"}}},
         "{\"mcpServers\":{\"s\":{\"args\":[],\"command\":\"d\"}}}"},
        /* A lock within a lock. */
        {{{D "{\"a\":{\"b\":1,\"c\":1}}", U "{\"a\":{\"b\":2,\"c\":2}}", S "{\"a\":{\"c\":3}}"}, {D{"a"}, S{"a.c"}}},
         "{\"a\":{\"b\":1,\"c\":3}}"},
        {{{D "{\"a\":{\"b\":1}}", S "{\"a\":{\"c\":3}}"}, {S{"a.b"}}}, "{\"a\":{\"c\":3}}"},
    };
    check_rows(rows, ROWS);
}

static void a_workspace_never_contributes_an_operator_only_key(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{W "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"open\"},"
             "\"approvalMode\":\"yolo\",\"workflowsEnabled\":true},\"executor\":{\"unixSockets\":\"open\","
             "\"limits\":{\"wallSeconds\":0}},\"security\":{\"allowedHttpHookUrls\":[\"x\"],"
             "\"allowPrivateNetworkHooks\":true,\"allowedInsecureVoiceBaseUrls\":[\"x\"]},"
             "\"goals\":{\"modelProposed\":true},\"outboundCorrelation\":{\"allowDynamicHeaderValues\":true}}"},
          {{0}}},
         "{\"tools\":{\"approvalMode\":\"yolo\"}}"},
        {{{U "{\"security\":{\"allowedHttpHookUrls\":[\"u\"]}}", W "{\"security\":{\"allowedHttpHookUrls\":[\"w\"]}}"},
          {{0}}},
         "{\"security\":{\"allowedHttpHookUrls\":[\"u\"]}}"},
        {{{U "{\"goals\":{\"modelProposed\":true}}"}, {{0}}}, "{\"goals\":{\"modelProposed\":true}}"},
    };
    check_rows(rows, ROWS);
}

static void the_legacy_sandbox_counts_from_a_workspace_until_a_policy_exists(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{W "{\"tools\":{\"sandbox\":\"docker\"}}"}, {{0}}}, "{\"tools\":{\"sandbox\":\"docker\"}}"},
        {{{D "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}",
           W "{\"tools\":{\"sandbox\":false}}"},
          {{0}}},
         "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}"},
        {{{W
           "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"},\"sandbox\":true}}"},
          {{0}}},
         "{\"tools\":{\"sandbox\":true}}"},
    };
    check_rows(rows, ROWS);
}

static void a_workspace_may_only_narrow_what_is_tighten_only(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{W "{\"agents\":{\"crossSessionMessaging\":true,\"crossSessionInbound\":false}}"}, {{0}}},
         "{\"agents\":{\"crossSessionInbound\":false}}"},
        {{{U "{\"agents\":{\"crossSessionMessaging\":true}}", W "{\"agents\":{\"crossSessionMessaging\":false}}"},
          {{0}}},
         "{\"agents\":{\"crossSessionMessaging\":false}}"},
        {{{U "{\"agents\":{\"crossSessionMessaging\":false}}", W "{\"agents\":{\"crossSessionMessaging\":true}}"},
          {{0}}},
         "{\"agents\":{\"crossSessionMessaging\":false}}"},
        {{{U "{\"agents\":{\"crossSessionMessaging\":true}}", W "{\"agents\":{\"crossSessionMessaging\":true}}"},
          {{0}}},
         "{\"agents\":{\"crossSessionMessaging\":true}}"},
        {{{W "{\"tools\":{\"workflowNameOnly\":true}}"}, {{0}}}, "{\"tools\":{\"workflowNameOnly\":true}}"},
        {{{W "{\"tools\":{\"workflowNameOnly\":false}}"}, {{0}}}, "{}"},
        {{{U "{\"tools\":{\"workflowNameOnly\":true}}", W "{\"tools\":{\"workflowNameOnly\":false}}"}, {{0}}},
         "{\"tools\":{\"workflowNameOnly\":true}}"},
    };
    check_rows(rows, ROWS);
}

static void a_verdict_names_the_layer_whose_lock_binds(void **state)
{
    (void)state;
    AUTO(built_release) struct built built = {0};
    static const struct setup setup = {{D "{\"a\":1}", U "{\"a\":2}", W "{\"executor\":{}}"}, {D{"a"}}};
    enum qs_layer binding = QS_LAYER_COUNT;
    build(&setup, &built);
    assert_int_equal(merge_verdict(&built.input, QS_LAYER_USER, &built.leaves[QS_LAYER_USER].items[0], &binding),
                     MERGE_LOCKED);
    assert_int_equal(binding, QS_LAYER_DEFAULTS);
    assert_int_equal(merge_verdict(&built.input, QS_LAYER_DEFAULTS, &built.leaves[QS_LAYER_DEFAULTS].items[0], NULL),
                     MERGE_COUNTS);
    assert_int_equal(merge_verdict(&built.input, QS_LAYER_WORKSPACE, &built.leaves[QS_LAYER_WORKSPACE].items[0], NULL),
                     MERGE_OPERATOR);
}

/* ---- any layers and locks ---- */

static const char *const some_names[] = {"a", "b", "env", "mcpServers", "permissions", "allow", "hooks", "tools"};
static const char *const some_values[] = {"1", "\"x\"", "{}", "[1]", "[\"x\",\"y\"]", "false"};

static const char *some_name(struct gen *gen)
{
    return some_names[gen_below(gen, sizeof some_names / sizeof some_names[0])];
}

/* An object of up to three members, each a value or (depth allowing) an object again. */
static json_t *some_object(struct gen *gen, unsigned depth)
{
    json_t *object = json_object();
    for (uint64_t members = 1 + gen_below(gen, 3); members; members--) {
        json_t *value = depth && gen_below(gen, 3)
                            ? some_object(gen, depth - 1)
                            : json_loads(some_values[gen_below(gen, sizeof some_values / sizeof some_values[0])],
                                         JSON_DECODE_ANY, NULL);
        assert_int_equal(json_object_set_new(object, some_name(gen), value), 0);
    }
    return object;
}

static void some_setup(struct gen *gen, char *texts[QS_LAYER_COUNT], char locks[QS_LAYER_COUNT][64],
                       struct setup *setup)
{
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        AUTO(value_release) json_t *object = some_object(gen, 3);
        texts[layer] = json_dumps(object, 0);
        setup->texts[layer] = texts[layer];
        if (layer == QS_LAYER_WORKSPACE || gen_below(gen, 2))
            continue;
        (void)snprintf(locks[layer], sizeof locks[layer], "%s.%s", some_name(gen), some_name(gen));
        if (gen_below(gen, 3) == 0)
            *strchr(locks[layer], '.') = '\0';
        setup->locks[layer][0] = locks[layer];
    }
}

static void any_key_alone_gives_what_the_whole_document_has_there(void **state)
{
    (void)state;
    struct gen gen;
    const uint64_t seed = 20261129;
    print_message("# seed %llu, 3000 times four layers\n", (unsigned long long)seed);
    gen_init(&gen, seed);
    for (int round = 0; round < 3000; round++) {
        AUTO(built_release) struct built built = {0};
        AUTO(value_release) json_t *merged = NULL;
        char *texts[QS_LAYER_COUNT] = {NULL}, locks[QS_LAYER_COUNT][64];
        struct setup setup = {.texts = {NULL}};
        some_setup(&gen, texts, locks, &setup);
        build(&setup, &built);
        assert_int_equal(merge_document(&built.input, NULL, &merged, NULL), QS_OK);
        each_key_alone_is_the_same(&built, merged, merged, &(struct qs_key){0});
        for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
            for (size_t i = 0; i < built.leaves[layer].count; i++) { /* also what others replace */
                struct qs_key key = {.len = built.leaves[layer].items[i].key.len};
                memcpy(key.bytes, built.leaves[layer].items[i].key.data, key.len);
                one_key_is_the_same(&built, merged, &key);
            }
            free(texts[layer]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(higher_layers_win_and_objects_merge_deep),
        cmocka_unit_test(union_keys_keep_the_distinct_elements_of_all_layers),
        cmocka_unit_test(concat_keys_keep_every_element_in_order),
        cmocka_unit_test(shallow_keys_replace_whole_entries_and_keep_the_others),
        cmocka_unit_test(replace_keys_are_the_highest_layers_as_a_whole),
        cmocka_unit_test(a_system_lock_silences_every_lower_layer_for_every_merge_kind),
        cmocka_unit_test(a_defaults_lock_binds_user_and_workspace_but_not_the_system),
        cmocka_unit_test(a_user_lock_binds_the_workspace_alone),
        cmocka_unit_test(no_layer_reaches_into_a_locked_subtree_by_replacing_what_holds_it),
        cmocka_unit_test(a_workspace_never_contributes_an_operator_only_key),
        cmocka_unit_test(the_legacy_sandbox_counts_from_a_workspace_until_a_policy_exists),
        cmocka_unit_test(a_workspace_may_only_narrow_what_is_tighten_only),
        cmocka_unit_test(a_verdict_names_the_layer_whose_lock_binds),
        cmocka_unit_test(any_key_alone_gives_what_the_whole_document_has_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
