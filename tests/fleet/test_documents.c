/* SPDX-License-Identifier: Apache-2.0 */
/* Key documents, bundles, heads and reports: closed, without reals or duplicate keys, each field within its bounds. */
#include "tests/support/fleet_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct qs_error err;

static enum qs_status bundle_status(const char *more)
{
    struct bundle bundle = {0};
    enum qs_status status = bundle_parse(bytes_of(bundle_text(1, 5, more)), &bundle, &err);
    bundle_release(&bundle);
    return status;
}

static void a_bundle_is_read_whole(void **state)
{
    (void)state;
    struct bundle bundle = {0};
    const char *text = bundle_text(
        2, 9,
        "\"rings\":[{\"group\":\"pilot\"},{\"percent\":25}],\"open\":1,\"battery\":\"report\",\"locks\":[\"b\",\"a\"],"
        "\"base\":{\"serial\":8,\"keys\":1,\"digest\":"
        "\"0011223344556677889900112233445566778899001122334455667788990011\"}");
    assert_int_equal(bundle_parse(bytes_of(text), &bundle, &err), QS_OK);
    assert_string_equal(bundle.fleet, "north");
    assert_int_equal(bundle.order.keys, 2);
    assert_int_equal(bundle.order.serial, 9);
    assert_string_equal(bundle.rings[0].group, "pilot");
    assert_int_equal(bundle.rings[0].percent, -1);
    assert_int_equal(bundle.rings[1].percent, 25);
    assert_true(bundle.has_base);
    assert_int_equal(bundle.base_digest[1], 0x11);
    assert_false(bundle.hold);
    assert_int_equal(bundle.locks.count, 2);
    assert_memory_equal(bundle.locks.items[0].key.data, "a", 1); /* sorted */
    struct fleet_order base;
    assert_true(bundle_base_peek(bytes_of(text), &base));
    assert_int_equal(base.serial, 8);
    assert_int_equal(base.keys, 1);
    assert_false(bundle_base_peek(bytes_of(bundle_text(1, 1, NULL)), &base));
    assert_false(bundle_base_peek(bytes_of("{\"base\":"), &base));
    bundle_release(&bundle);
}

static void a_bundle_that_is_not_of_the_form_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\"format\":\"qsettings-fleet-bundle-2\"",
        "\"fleet\":\"North\"",
        "\"fleet\":\"\"",
        "\"more\":1",
        "\"serial\":0",
        "\"serial\":1.0",
        "\"serial\":\"5\"",
        "\"serial\":9007199254740992",
        "\"serial\":-1",
        "\"keys\":0",
        "\"issued\":-1",
        "\"expires\":1000",
        "\"rollout\":\"a b\"",
        "\"rings\":[]",
        "\"rings\":{}",
        "\"rings\":[{\"percent\":101}]",
        "\"rings\":[{\"percent\":-1}]",
        "\"rings\":[{\"group\":\"\"}]",
        "\"rings\":[{\"ring\":1}]",
        "\"rings\":[1]",
        "\"open\":2",
        "\"open\":-1",
        "\"base\":{}",
        "\"base\":1",
        "\"base\":{\"serial\":5,\"keys\":1,"
        "\"digest\":\"0011223344556677889900112233445566778899001122334455667788990011\"}",
        "\"base\":{\"serial\":4,\"keys\":1,"
        "\"digest\":\"001122334455667788990011223344556677889900112233445566778899001\"}",
        "\"base\":{\"serial\":4,\"keys\":1,"
        "\"digest\":\"AA11223344556677889900112233445566778899001122334455667788990011\"}",
        "\"battery\":\"held\"",
        "\"battery\":null",
        "\"document\":[]",
        "\"document\":{\"fleet\":{}}",
        "\"document\":{\"x\":1.5}",
        "\"document\":{\"x\":{\"y\":[1e3]}}",
        "\"locks\":{}",
        "\"locks\":[1]",
        "\"locks\":[\"\"]",
        "\"locks\":[\"a\",\"a\"]",
        "\"locks\":[\"fleet.name\"]"};
    assert_int_equal(bundle_status(NULL), QS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (bundle_status(bad[i]) != QS_INVALID || !err.message[0])
            fail_msg("%s", bad[i]);
    static const char *const good[] = {"\"issued\":0", "\"open\":0", "\"rings\":[{},{\"percent\":0}],\"open\":2",
                                       "\"document\":{\"fleets\":{}}", "\"document\":{}"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (bundle_status(good[i]) != QS_OK)
            fail_msg("%s: %s", good[i], err.message);
}

static void texts_that_are_no_strict_json_are_refused(void **state)
{
    (void)state;
    struct bundle bundle = {0};
    static const char *const around[][2] = {
        {"\xef\xbb\xbf", ""}, {"", "//"}, {"", "{}"}, {"[", "]"}, {"{\"fleet\":\"x\",", NULL}};
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        struct buf text = {0};
        buf_add_str(&text, around[i][0]);
        buf_add_str(&text, bundle_text(1, 5, NULL) + (around[i][1] ? 0 : 1));
        buf_add_str(&text, around[i][1] ? around[i][1] : "");
        assert_int_equal(bundle_parse((struct qs_bytes){text.data, text.len}, &bundle, &err), QS_INVALID);
        buf_release(&text);
    }
    char *large = calloc(1, FLEET_BUNDLE_MAX_BYTES + 2);
    memset(large, ' ', FLEET_BUNDLE_MAX_BYTES + 1);
    const char *good = bundle_text(1, 5, NULL);
    memcpy(large, good, strlen(good));
    assert_int_equal(bundle_parse((struct qs_bytes){large, FLEET_BUNDLE_MAX_BYTES}, &bundle, &err), QS_OK);
    bundle_release(&bundle);
    assert_int_equal(bundle_parse((struct qs_bytes){large, FLEET_BUNDLE_MAX_BYTES + 1}, &bundle, &err), QS_INVALID);
    free(large);
}

static void the_content_digest_is_of_settings_and_locks_alone(void **state)
{
    (void)state;
    struct bundle a = {0}, b = {0};
    static const char *const same[] = {"\"rollout\":\"r9\"", "\"open\":0"};
    static const char *const other[] = {"\"document\":{\"x\":6}", "\"locks\":[\"x\"]", "\"document\":{\"y\":5}"};
    assert_int_equal(bundle_parse(bytes_of(bundle_text(1, 5, NULL)), &a, &err), QS_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(bundle_parse(bytes_of(bundle_text(1, 5, i < 2 ? same[i] : other[i - 2])), &b, &err), QS_OK);
        assert_int_equal(memcmp(a.content, b.content, QS_DIGEST_BYTES) == 0, i < 2);
        assert_memory_not_equal(a.digest, b.digest, QS_DIGEST_BYTES);
        bundle_release(&b);
    }
    bundle_release(&a);
}

static void a_key_document_is_read_whole_or_refused(void **state)
{
    (void)state;
    static const unsigned three[] = {1, 2, 3, 0}, one[] = {4, 0}, twice[] = {1, 1, 0}, none[] = {0};
    struct key_document keys;
    assert_int_equal(key_document_parse(bytes_of(key_document_text(3, 2, three, 1, one)), &keys, &err), QS_OK);
    assert_int_equal(keys.version, 3);
    assert_int_equal(keys.root.threshold, 2);
    assert_int_equal(keys.root.count, 3);
    assert_int_equal(keys.bundle.count, 1);
    const char *bad[] = {key_document_text(0, 2, three, 1, one),
                         key_document_text(1, 4, three, 1, one),
                         key_document_text(1, 0, three, 1, one),
                         key_document_text(1, 2, twice, 1, one),
                         key_document_text(1, 1, three, 1, none),
                         "{}",
                         "[]",
                         "{\"format\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (key_document_parse(bytes_of(bad[i]), &keys, &err) != QS_INVALID)
            fail_msg("%s", bad[i]);
}

static void a_head_is_a_hint_of_fixed_form(void **state)
{
    (void)state;
    struct head head;
    struct buf text = {0};
    head_format(&(struct head){{3, 41}}, &text);
    assert_int_equal(head_parse((struct qs_bytes){text.data, text.len}, &head, &err), QS_OK);
    assert_int_equal(head.order.serial, 41);
    static const char *const bad[] = {"", "{}", "{\"format\":\"qsettings-fleet-head-1\",\"keys\":0,\"serial\":1}",
                                      "{\"format\":\"qsettings-fleet-head-2\",\"keys\":1,\"serial\":1}",
                                      "{\"format\":\"qsettings-fleet-head-1\",\"keys\":1,\"serial\":1,\"x\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(head_parse(bytes_of(bad[i]), &head, &err), QS_INVALID);
    buf_release(&text);
}

static void a_report_comes_back_as_it_was_and_only_from_its_own_key(void **state)
{
    (void)state;
    struct operator_key machine, other;
    operator_key_make(77, &machine);
    operator_key_make(78, &other);
    struct report report = {.fleet = "north",
                            .key = machine.key,
                            .sequence = 12,
                            .time = 5000,
                            .generation = 3,
                            .seen = {1, 9},
                            .ring = -1,
                            .battery = "broken",
                            .state = MACHINE_WAITING,
                            .reason = "ring closed",
                            .clock_behind = true,
                            .version = "0.1.0",
                            .group_count = 1,
                            .groups = {"pilot"}};
    struct report back;
    struct buf text = {0}, sig = {0}, forged = {0};
    machine_id_of(&machine.key, report.id);
    report.failed = json_pack("[s]", "files");
    assert_int_equal(report_format(&report, &text, &err), QS_OK);
    assert_true(text.len < 900);
    operator_sign(&machine, text.data, &sig);
    operator_sign(&other, text.data, &forged);
    struct qs_bytes bytes = {text.data, text.len};
    assert_int_equal(report_parse(bytes, (struct qs_bytes){forged.data, forged.len}, &back, &err), QS_UNTRUSTED);
    assert_int_equal(report_parse(bytes, (struct qs_bytes){sig.data, sig.len}, &back, &err), QS_OK);
    assert_string_equal(back.id, report.id);
    assert_int_equal(back.seen.serial, 9);
    assert_int_equal(back.applied.keys, 0);
    assert_int_equal(back.ring, -1);
    assert_string_equal(back.battery, "broken");
    assert_string_equal(machine_state_name(back.state), "waiting");
    assert_string_equal(back.groups[0], "pilot");
    assert_true(back.clock_behind);
    report_release(&back);
    report_release(&report);
    buf_release(&text);
    buf_release(&sig);
    buf_release(&forged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle_is_read_whole),
        cmocka_unit_test(a_bundle_that_is_not_of_the_form_is_refused),
        cmocka_unit_test(texts_that_are_no_strict_json_are_refused),
        cmocka_unit_test(the_content_digest_is_of_settings_and_locks_alone),
        cmocka_unit_test(a_key_document_is_read_whole_or_refused),
        cmocka_unit_test(a_head_is_a_hint_of_fixed_form),
        cmocka_unit_test(a_report_comes_back_as_it_was_and_only_from_its_own_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
