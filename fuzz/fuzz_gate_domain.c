/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules by name and ranges of addresses. Invariants: a text is refused with a message or gives a rule whose canonical
 * text parses to the same rule; a name that a rule allows is canonical; likewise for a range, whose meet with itself is
 * itself.
 */
#include "fuzz/fuzz.h"
#include "text/domain_rule.h"
#include "text/ip_range.h"

#include <string.h>

static void check_rule(const char *text, size_t len)
{
    struct domain_rule rule;
    struct qs_error err = {0};
    if (domain_rule_parse(text, len, &rule, &err)) {
        MUST(err.status == QS_INVALID && err.message[0]);
        return;
    }
    char form[DOMAIN_RULE_TEXT];
    struct domain_rule again;
    domain_rule_format(&rule, form);
    MUST(domain_rule_parse(form, strlen(form), &again, NULL) == QS_OK);
    MUST(again.port == rule.port && again.wildcard == rule.wildcard && strcmp(again.name, rule.name) == 0);
    char name[DOMAIN_NAME_MAX + 1];
    MUST(domain_name_canonical(rule.name, strlen(rule.name), name) && strcmp(name, rule.name) == 0);
    MUST(domain_rule_matches_name(&rule, rule.name) != rule.wildcard);
    MUST(domain_rule_covers(&rule, &rule));
}

static void check_range(const char *text, size_t len)
{
    struct ip_range range;
    struct qs_error err = {0};
    if (ip_range_parse(text, len, &range, &err)) {
        MUST(err.status == QS_INVALID && err.message[0]);
        return;
    }
    char form[IP_RANGE_TEXT];
    struct ip_range again;
    ip_range_format(&range, form);
    MUST(ip_range_parse(form, strlen(form), &again, NULL) == QS_OK && memcmp(&again, &range, sizeof range) == 0);
    MUST(ip_range_has(&range, &range.base) && ip_range_covers(&range, &range));
    /* An address of a range that may be opened is dialled exactly if the range is listed or it is global. */
    if (ip_range_may_be_opened(&range, NULL) == QS_OK)
        MUST(ip_may_be_dialled(&range.base, &range, 1));
    MUST(!(ip_is_global(&range.base) && ip_is_forbidden(&range.base)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_rule((const char *)data, size);
    check_range((const char *)data, size);
    return 0;
}
