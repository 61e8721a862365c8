/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three texts, one a line: two rules (or ranges) and a name (or address). Invariant: what the meet allows is exactly
 * what both allow, whichever comes first.
 */
#include "fuzz/fuzz.h"
#include "text/domain_rule.h"
#include "text/ip_range.h"

#include <string.h>

struct line {
    const char *text;
    size_t len;
};

static struct line next_line(const char **at, const char *end)
{
    const char *newline = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    struct line line = {*at, (size_t)((newline ? newline : end) - *at)};
    *at = newline ? newline + 1 : end;
    return line;
}

static void check_rules(struct line a_line, struct line b_line, struct line name_line)
{
    struct domain_rule a, b, ab, ba;
    char name[DOMAIN_NAME_MAX + 1];
    if (domain_rule_parse(a_line.text, a_line.len, &a, NULL) || domain_rule_parse(b_line.text, b_line.len, &b, NULL) ||
        !domain_name_canonical(name_line.text, name_line.len, name))
        return;
    bool any = domain_rule_meet(&a, &b, &ab);
    MUST(any == domain_rule_meet(&b, &a, &ba));
    bool both = domain_rule_allows(&a, name, a.port) && domain_rule_allows(&b, name, a.port);
    MUST(both == (any && domain_rule_allows(&ab, name, a.port)));
    if (any)
        MUST(domain_rule_covers(&a, &ab) && domain_rule_covers(&b, &ab) && domain_rule_covers(&ab, &ba));
}

static void check_ranges(struct line a_line, struct line b_line, struct line probe_line)
{
    struct ip_range a, b, probe, met;
    if (ip_range_parse(a_line.text, a_line.len, &a, NULL) || ip_range_parse(b_line.text, b_line.len, &b, NULL) ||
        ip_range_parse(probe_line.text, probe_line.len, &probe, NULL))
        return;
    bool any = ip_range_meet(&a, &b, &met);
    bool both = ip_range_has(&a, &probe.base) && ip_range_has(&b, &probe.base);
    MUST(both == (any && ip_range_has(&met, &probe.base)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    const char *end = at + size;
    struct line a = next_line(&at, end);
    struct line b = next_line(&at, end);
    struct line probe = next_line(&at, end);
    check_rules(a, b, probe);
    check_ranges(a, b, probe);
    return 0;
}
