/* SPDX-License-Identifier: Apache-2.0 */
/* Rules by name and ranges of addresses: what is taken, in which form it is kept, what two of them have in common. */
#include "text/domain_rule.h"
#include "text/ip_range.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct domain_rule rule(const char *text)
{
    struct domain_rule parsed = {0};
    struct qs_error err = {0};
    if (domain_rule_parse(text, strlen(text), &parsed, &err))
        fail_msg("%s: %s", text, err.message);
    return parsed;
}

static void a_rule_is_kept_in_lower_case_without_a_final_dot(void **state)
{
    (void)state;
    static const char *const forms[][2] = {
        {"registry.npmjs.org", "registry.npmjs.org"},
        {"Registry.NPMjs.ORG.", "registry.npmjs.org"},
        {"registry.npmjs.org:443", "registry.npmjs.org"},
        {"*.example.com:8443", "*.example.com:8443"},
        {"*.Example.com.:443", "*.example.com"},
        {"_srv.a-b.c", "_srv.a-b.c"},
        {"a.1b", "a.1b"},
        {"a.b:65535", "a.b:65535"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[DOMAIN_RULE_TEXT];
        struct domain_rule parsed = rule(forms[i][0]);
        domain_rule_format(&parsed, text);
        assert_string_equal(text, forms[i][1]);
    }
}

static void what_is_no_rule_is_refused_with_what_to_write(void **state)
{
    (void)state;
    static const char *const faults[][2] = {
        {"", "empty label"},     {"localhost", "one label"}, {"com.", "one label"},    {".example.com", "empty label"},
        {"a..b", "empty label"}, {"a.b..", "empty label"},   {"1.2.3.4", "address"},   {"a.0x7f", "address"},
        {"a.123", "address"},    {"*", "in front"},          {"*.*.com", "in front"},  {"a.*.com", "in front"},
        {"*a.com", "in front"},  {"*.com", "one label"},     {"b\xc3\xbc.de", "xn--"}, {"a b.c", "letters"},
        {"a/b.c", "letters"},    {"https://a.b", "port"},    {"a.b:", "port"},         {"a.b:0", "port"},
        {"a.b:080", "port"},     {"a.b:65536", "port"},      {"a.b:+1", "port"},       {"a.b:443:1", "port"},
        {"[::1]:443", "port"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct domain_rule parsed = {.port = 7};
        struct qs_error err = {0};
        assert_int_equal(domain_rule_parse(faults[i][0], strlen(faults[i][0]), &parsed, &err), QS_INVALID);
        if (!strstr(err.message, faults[i][1]))
            fail_msg("%s: %s", faults[i][0], err.message);
        assert_int_equal(parsed.port, 7); /* untouched */
    }
}

static void lengths_are_bound(void **state)
{
    (void)state;
    char text[300];
    struct domain_rule parsed;
    memset(text, 'a', sizeof text);
    text[63] = '.';
    assert_int_equal(domain_rule_parse(text, 65, &parsed, NULL), QS_OK);
    text[63] = 'a';
    text[64] = '.';
    assert_int_equal(domain_rule_parse(text, 66, &parsed, NULL), QS_INVALID);
    text[64] = 'a';
    for (size_t i = 1; i < sizeof text; i += 2)
        text[i] = '.';
    assert_int_equal(domain_rule_parse(text, 253, &parsed, NULL), QS_OK);
    assert_int_equal(domain_rule_parse(text, 255, &parsed, NULL), QS_INVALID);
    char wild[300] = "*.";
    memcpy(wild + 2, text, 253);
    assert_int_equal(domain_rule_parse(wild, 2 + 251, &parsed, NULL), QS_OK);
    assert_int_equal(domain_rule_parse(wild, 2 + 253, &parsed, NULL), QS_INVALID);
}

static void a_wildcard_has_what_lies_below_and_never_the_name(void **state)
{
    (void)state;
    struct domain_rule wild = rule("*.example.com");
    struct domain_rule exact = rule("example.com:80");
    assert_true(domain_rule_allows(&wild, "a.example.com", 443));
    assert_true(domain_rule_allows(&wild, "a.b.example.com", 443));
    assert_false(domain_rule_allows(&wild, "example.com", 443));
    assert_false(domain_rule_allows(&wild, "aexample.com", 443));
    assert_false(domain_rule_allows(&wild, ".example.com", 443));
    assert_false(domain_rule_allows(&wild, "a.example.com.evil.org", 443));
    assert_false(domain_rule_allows(&wild, "a.example.com", 80));
    assert_true(domain_rule_allows(&exact, "example.com", 80));
    assert_false(domain_rule_allows(&exact, "a.example.com", 80));
}

static void two_rules_meet_in_the_narrower(void **state)
{
    (void)state;
    static const char *const meets[][3] = {
        {"a.example.com", "a.example.com", "a.example.com"},
        {"*.example.com", "a.example.com", "a.example.com"},
        {"*.example.com", "*.a.example.com", "*.a.example.com"},
        {"*.example.com", "*.example.com", "*.example.com"},
        {"*.example.com", "example.com", NULL},
        {"a.example.com", "b.example.com", NULL},
        {"*.example.com", "*.example.org", NULL},
        {"a.example.com", "a.example.com:80", NULL},
        {"*.example.com:80", "a.example.com:80", "a.example.com:80"},
    };
    for (size_t i = 0; i < sizeof meets / sizeof *meets; i++)
        for (int turned = 0; turned < 2; turned++) {
            struct domain_rule a = rule(meets[i][turned]);
            struct domain_rule b = rule(meets[i][!turned]);
            struct domain_rule met;
            bool any = domain_rule_meet(&a, &b, &met);
            assert_int_equal(any, meets[i][2] != NULL);
            char text[DOMAIN_RULE_TEXT];
            if (any)
                domain_rule_format(&met, text);
            if (any)
                assert_string_equal(text, meets[i][2]);
        }
}

static struct ip_range range(const char *text)
{
    struct ip_range parsed = {0};
    struct qs_error err = {0};
    if (ip_range_parse(text, strlen(text), &parsed, &err))
        fail_msg("%s: %s", text, err.message);
    return parsed;
}

static struct ip_address address(const char *text)
{
    struct ip_address parsed = {0};
    uint8_t four[4];
    if (inet_pton(AF_INET, text, four) == 1)
        return ip_from_v4(four);
    assert_int_equal(inet_pton(AF_INET6, text, parsed.byte), 1);
    return parsed;
}

static void a_range_is_written_whole_and_printed_back(void **state)
{
    (void)state;
    static const char *const right[] = {"10.0.0.0/8", "10.1.2.3/32", "0.0.0.0/0",
                                        "fd12::/16",  "::/0",        "2001:db8::1/128"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char text[IP_RANGE_TEXT];
        struct ip_range parsed = range(right[i]);
        ip_range_format(&parsed, text);
        assert_string_equal(text, right[i]);
    }
    static const char *const wrong[] = {
        "",           "10.0.0.0",     "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08",       "10.0.0/8",
        "fd12::/129", "10.0.0.0/8/8", "a/8",       "10.0.0.0/-1", "::ffff:10.0.0.0/1", "10.0.0.0/8 "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ip_range_parse(wrong[i], strlen(wrong[i]), &(struct ip_range){0}, NULL), QS_INVALID);
    struct qs_error err = {0};
    assert_int_equal(ip_range_parse("10.1.2.3/8", 10, &(struct ip_range){0}, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "write 10.0.0.0/8"));
}

static void what_leads_to_the_host_itself_cannot_be_opened(void **state)
{
    (void)state;
    static const char *const closed[] = {
        "127.0.0.0/8", "127.1.2.3/32",     "0.0.0.0/0",     "169.254.169.254/32", "169.254.0.0/16",
        "224.0.0.0/4", "::1/128",          "::/0",          "fe80::/10",          "fd00:ec2::254/128",
        "fd00::/8",    "168.63.129.16/32", "100.64.0.0/10", "64:ff9b::a00:0/104", "::ffff:127.0.0.1/128"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        struct ip_range parsed = range(closed[i]);
        if (ip_range_may_be_opened(&parsed, NULL) == QS_OK)
            fail_msg("%s may be opened", closed[i]);
    }
    static const char *const open[] = {"10.0.0.0/8", "192.168.1.0/24", "172.16.0.0/12", "fd12:3456::/32"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        struct ip_range parsed = range(open[i]);
        assert_int_equal(ip_range_may_be_opened(&parsed, NULL), QS_OK);
    }
}

static void only_global_addresses_are_dialled_without_leave(void **state)
{
    (void)state;
    static const char *const global[] = {"1.1.1.1", "104.16.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1",
                                         "::ffff:8.8.8.8"};
    static const char *const not [] = {"10.0.0.1",
                                       "172.31.255.255",
                                       "192.168.0.1",
                                       "100.64.0.1",
                                       "127.0.0.1",
                                       "0.0.0.0",
                                       "169.254.169.254",
                                       "192.0.0.1",
                                       "198.18.0.1",
                                       "198.19.255.254",
                                       "224.0.0.1",
                                       "240.0.0.1",
                                       "255.255.255.255",
                                       "168.63.129.16",
                                       "192.88.99.1",
                                       "::",
                                       "::1",
                                       "fe80::1",
                                       "fc00::1",
                                       "fd00::1",
                                       "ff02::1",
                                       "2001:0:1::1",
                                       "2001:db8::1",
                                       "2002:7f00:1::",
                                       "3fff::1",
                                       "::ffff:10.0.0.1",
                                       "::ffff:127.0.0.1",
                                       "64:ff9b::10.0.0.1",
                                       "64:ff9b::127.0.0.1",
                                       "64:ff9b:1::1",
                                       "::10.0.0.1",
                                       "4000::1"};
    for (size_t i = 0; i < sizeof global / sizeof *global; i++) {
        struct ip_address one = address(global[i]);
        if (!ip_is_global(&one) || !ip_may_be_dialled(&one, NULL, 0))
            fail_msg("%s is not global", global[i]);
    }
    struct ip_range opened[] = {range("10.0.0.0/8"), range("fd00:1::/32")};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
        struct ip_address one = address(not [i]);
        if (ip_is_global(&one) || ip_may_be_dialled(&one, NULL, 0))
            fail_msg("%s is global", not [i]);
    }
    struct ip_address within = address("64:ff9b::10.0.0.1");
    struct ip_address loopback = address("::1");
    assert_true(ip_may_be_dialled(&within, opened, 2));
    struct ip_range all = {0};
    assert_false(ip_may_be_dialled(&loopback, &all, 1)); /* whatever is listed */
}

static void ranges_meet_in_the_narrower(void **state)
{
    (void)state;
    struct ip_range wide = range("10.0.0.0/8");
    struct ip_range narrow = range("10.2.0.0/16");
    struct ip_range other = range("192.168.0.0/16");
    struct ip_range met;
    assert_true(ip_range_meet(&wide, &narrow, &met) && memcmp(&met, &narrow, sizeof met) == 0);
    assert_true(ip_range_meet(&narrow, &wide, &met) && memcmp(&met, &narrow, sizeof met) == 0);
    assert_false(ip_range_meet(&wide, &other, &met));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_kept_in_lower_case_without_a_final_dot),
        cmocka_unit_test(what_is_no_rule_is_refused_with_what_to_write),
        cmocka_unit_test(lengths_are_bound),
        cmocka_unit_test(a_wildcard_has_what_lies_below_and_never_the_name),
        cmocka_unit_test(two_rules_meet_in_the_narrower),
        cmocka_unit_test(a_range_is_written_whole_and_printed_back),
        cmocka_unit_test(what_leads_to_the_host_itself_cannot_be_opened),
        cmocka_unit_test(only_global_addresses_are_dialled_without_leave),
        cmocka_unit_test(ranges_meet_in_the_narrower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
