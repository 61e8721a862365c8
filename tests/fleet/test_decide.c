/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of decision: order, time, draw, target; and the texts of one line. */
#include "fleet/rules/decide.h"
#include "tests/support/fleet_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct qs_error err;

static struct key_document keys_of(uint64_t version)
{
    return (struct key_document){.fleet = "north", .version = version};
}

static struct bundle bundle_of(uint64_t keys, uint64_t serial)
{
    return (struct bundle){.fleet = "north",
                           .rollout = "r1",
                           .order = {keys, serial},
                           .issued = 1000,
                           .expires = 2000,
                           .ring_count = 2,
                           .rings = {{"pilot", -1}, {"", 50}},
                           .digest = {(uint8_t)serial},
                           .content = {(uint8_t)serial}};
}

static enum qs_status decide(const struct seen *seen, uint64_t version, const struct bundle *bundle, uint64_t clock,
                             struct seen *ret_next, bool *ret_behind)
{
    struct key_document keys = keys_of(version);
    return decide_bundle(seen, &keys, bundle, clock, ret_next, ret_behind, &err);
}

static void order_is_keys_first_and_an_equal_one_has_the_same_bytes(void **state)
{
    (void)state;
    struct seen seen = {.order = {2, 5}, .has_digest = true, .digest = {5}, .floor = 1000}, next;
    bool behind;
    struct bundle bundle = bundle_of(2, 5);
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_OK);
    bundle.digest[0] = 9;
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_UNTRUSTED);
    seen.has_digest = false; /* rebuilt: not known */
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_OK);
    bundle = bundle_of(2, 4);
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_UNTRUSTED);
    bundle = bundle_of(2, 6);
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_OK);
    assert_int_equal(next.order.serial, 6);
    bundle = bundle_of(3, 1); /* serials that a stolen key drove up end here */
    assert_int_equal(decide(&seen, 3, &bundle, 1500, &next, &behind), QS_OK);
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_ABSENT);
    bundle = bundle_of(2, 99);
    assert_int_equal(decide(&seen, 3, &bundle, 1500, &next, &behind), QS_UNTRUSTED);
    (void)snprintf(bundle.fleet, sizeof bundle.fleet, "south");
    assert_int_equal(decide(&seen, 2, &bundle, 1500, &next, &behind), QS_UNTRUSTED);
}

static void time_is_the_greater_of_clock_and_floor_under_one_key_version(void **state)
{
    (void)state;
    struct seen seen = {.order = {2, 5}, .has_digest = true, .digest = {5}, .floor = 1990}, next;
    bool behind;
    struct bundle bundle = bundle_of(2, 6);
    assert_int_equal(decide(&seen, 2, &bundle, 10, &next, &behind), QS_OK);
    assert_int_equal(next.floor, 1990);
    seen.floor = 2000;
    assert_int_equal(decide(&seen, 2, &bundle, 10, &next, &behind), QS_UNTRUSTED);
    seen.floor = 0;
    assert_int_equal(decide(&seen, 2, &bundle, 2000, &next, &behind), QS_UNTRUSTED);
    assert_int_equal(decide(&seen, 2, &bundle, 1999, &next, &behind), QS_OK);
    struct bundle same = bundle_of(2, 5); /* the one already seen may have expired */
    assert_int_equal(decide(&seen, 2, &same, 5000, &next, &behind), QS_OK);
    assert_true(decide_expired(&seen, &same, 2000));
    assert_false(decide_expired(&seen, &same, 1999));
    seen.floor = 9000; /* a stolen key's; the next key version starts anew */
    bundle = bundle_of(3, 1);
    assert_int_equal(decide(&seen, 3, &bundle, 1500, &next, &behind), QS_OK);
    assert_int_equal(next.floor, 1000);
}

static void a_bundle_a_day_ahead_is_accepted_and_the_clock_is_behind(void **state)
{
    (void)state;
    struct seen seen = {0}, next;
    bool behind;
    struct bundle bundle = bundle_of(1, 1);
    bundle.issued = 100000 + FLEET_BEHIND_S;
    bundle.expires = bundle.issued + 1;
    assert_int_equal(decide(&seen, 1, &bundle, 100000, &next, &behind), QS_OK);
    assert_true(behind);
    assert_int_equal(decide(&seen, 1, &bundle, 100001, &next, &behind), QS_OK);
    assert_false(behind);
}

static void key_documents_are_walked_one_by_one(void **state)
{
    (void)state;
    struct key_document two = keys_of(2), three = keys_of(3), four = keys_of(4);
    assert_int_equal(decide_next_keys(&two, &three, &err), QS_OK);
    assert_int_equal(decide_next_keys(&two, &four, &err), QS_UNTRUSTED);
    assert_int_equal(decide_next_keys(&three, &two, &err), QS_UNTRUSTED);
    (void)snprintf(three.fleet, sizeof three.fleet, "south");
    assert_int_equal(decide_next_keys(&two, &three, &err), QS_UNTRUSTED);
}

/* Computed by a script of another language from the words of docs/fleet.md. */
static void the_draw_is_as_written_down(void **state)
{
    (void)state;
    assert_int_equal(decide_draw("north", "r1", "00000000000000000000000000000000"), 80);
    assert_int_equal(decide_draw("north", "r2", "00000000000000000000000000000000"), 44);
}

static void the_draw_is_even_and_small_rings_lie_within_large_ones(void **state)
{
    (void)state;
    unsigned in_ten = 0;
    char id[FLEET_ID_TEXT_BYTES];
    struct bundle bundle = bundle_of(1, 1);
    bundle.rings[0] = (struct ring){"", 10};
    bundle.rings[1] = (struct ring){"", 25};
    for (unsigned i = 0; i < 10000; i++) {
        (void)snprintf(id, sizeof id, "%032x", i * 2654435761u);
        struct draw_subject subject = {.id = id};
        int ring = decide_ring(&bundle, 1, &subject);
        in_ten += ring == 0;
        if (ring == 0)
            assert_int_equal(decide_ring(&bundle, 2, &subject), 0);
        struct bundle next = bundle;
        next.order.serial = 7; /* another serial of the same rollout */
        assert_int_equal(decide_ring(&next, 1, &subject), ring);
    }
    assert_in_range(in_ten, 850, 1150);
}

static void groups_and_percent_must_both_agree(void **state)
{
    (void)state;
    static const fleet_name groups[] = {"lab", "pilot"};
    struct bundle bundle = bundle_of(1, 1);
    struct draw_subject subject = {"00000000000000000000000000000000", groups, 2}, plain = {subject.id, NULL, 0};
    int draw = (int)decide_draw("north", "r1", subject.id);
    bundle.rings[0].percent = draw + 1;
    bundle.rings[1].percent = 0;
    assert_int_equal(decide_ring(&bundle, 2, &subject), 0);
    assert_int_equal(decide_ring(&bundle, 2, &plain), -1);
    bundle.rings[0].percent = draw; /* greater than the draw, not equal */
    assert_int_equal(decide_ring(&bundle, 2, &subject), -1);
    bundle.rings[1].percent = -1;
    assert_int_equal(decide_ring(&bundle, 2, &plain), 1);
    assert_int_equal(decide_ring(&bundle, 1, &plain), -1);
}

static void the_target_is_ones_own_the_base_or_no_change(void **state)
{
    (void)state;
    struct draw_subject plain = {"00000000000000000000000000000000", NULL, 0};
    struct bundle bundle = bundle_of(1, 9);
    const uint8_t applied[QS_DIGEST_BYTES] = {9}, other[QS_DIGEST_BYTES] = {8};
    bundle.rings[1].percent = -1;
    bundle.open = 1; /* the pilots' */
    assert_int_equal(decide_target(&bundle, &plain, NULL), TARGET_NONE);
    assert_int_equal(decide_target(&bundle, &plain, other), TARGET_NONE);
    assert_int_equal(decide_target(&bundle, &plain, applied), TARGET_OWN); /* has it already: a pause undoes nothing */
    bundle.has_base = true;
    assert_int_equal(decide_target(&bundle, &plain, NULL), TARGET_BASE);
    assert_int_equal(decide_target(&bundle, &plain, applied), TARGET_OWN);
    bundle.open = 2;
    assert_int_equal(decide_target(&bundle, &plain, other), TARGET_OWN);
    bundle.open = 0;
    assert_int_equal(decide_target(&bundle, &plain, other), TARGET_BASE);
}

static void lines_come_back_as_they_were_and_no_other_form_is_taken(void **state)
{
    (void)state;
    struct buf text = {0};
    struct seen seen = {.order = {2, 5}, .floor = 77, .has_digest = true, .digest = {1, 2}}, back;
    seen_format(&seen, &text);
    assert_true(seen_parse((struct qs_bytes){text.data, text.len}, &back));
    assert_memory_equal(&seen, &back, sizeof seen);
    assert_true(seen_parse(bytes_of("0 0 - 0\n"), &back));
    static const char *const bad[] = {"", "1 2 - 3", "1 2 - 3\n\n", "1 2 x 3\n", "1 2  3\n", "01 2 - 3\n", "1 2 -\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(seen_parse(bytes_of(bad[i]), &back));
    uint64_t number;
    assert_true(number_line_parse(bytes_of("9007199254740991\n"), &number));
    assert_false(number_line_parse(bytes_of("9007199254740992\n"), &number));
    assert_false(number_line_parse(bytes_of("99999999999999999999999\n"), &number));
    struct break_glass glass = {10, 20, 0, "why not"}, glass_back;
    buf_clear(&text);
    break_glass_format(&glass, &text);
    assert_true(break_glass_parse((struct qs_bytes){text.data, text.len}, &glass_back));
    assert_string_equal(glass_back.reason, "why not");
    assert_true(break_glass_holds(&glass, 10));
    assert_false(break_glass_holds(&glass, 20));
    assert_false(break_glass_holds(&glass, 9));
    assert_false(break_glass_parse(bytes_of("10 9 0 x\n"), &glass_back));
    assert_false(break_glass_parse(bytes_of("0 259201 0 more than 72 hours\n"), &glass_back));
    assert_false(break_glass_parse(bytes_of("10 20 0 \n\n"), &glass_back));
    buf_release(&text);
}

static void document_names_have_one_spelling(void **state)
{
    (void)state;
    static const char *const good[] = {"keys-1.json", "bundle-1-1.json", "bundle-12-9007199254740991.json"};
    static const char *const bad[] = {"",
                                      "keys-.json",
                                      "keys-0.json",
                                      "keys-01.json",
                                      "keys-1.json.minisig",
                                      "bundle-1.json",
                                      "bundle-1-0.json",
                                      "bundle-0-1.json",
                                      "bundle-1-1.jsonx",
                                      "../keys-1.json",
                                      "keys-+1.json",
                                      "keys-1 .json",
                                      "head.json",
                                      ".keys-1.json",
                                      "bundle-1-9007199254740992.json",
                                      "KEYS-1.json",
                                      "keys-1.JSON"};
    struct document_name name;
    char text[DOCUMENT_NAME_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(document_name_parse(good[i], &name));
        document_name_format(&name, text);
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (document_name_parse(bad[i], &name))
            fail_msg("%s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_keys_first_and_an_equal_one_has_the_same_bytes),
        cmocka_unit_test(time_is_the_greater_of_clock_and_floor_under_one_key_version),
        cmocka_unit_test(a_bundle_a_day_ahead_is_accepted_and_the_clock_is_behind),
        cmocka_unit_test(key_documents_are_walked_one_by_one),
        cmocka_unit_test(the_draw_is_as_written_down),
        cmocka_unit_test(the_draw_is_even_and_small_rings_lie_within_large_ones),
        cmocka_unit_test(groups_and_percent_must_both_agree),
        cmocka_unit_test(the_target_is_ones_own_the_base_or_no_change),
        cmocka_unit_test(lines_come_back_as_they_were_and_no_other_form_is_taken),
        cmocka_unit_test(document_names_have_one_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
