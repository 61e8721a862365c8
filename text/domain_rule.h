/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of executor.domains: which names, at which port, a command may reach.
 *
 *   NAME[:PORT]     that name alone
 *   *.NAME[:PORT]   each name with one or more labels before NAME, never NAME itself
 *
 * The port is 443 if none is given. NAME has two labels or more of letters, digits, '-' and '_', at most 253 bytes, and
 * is kept in lower case without a final dot. A last label of digits, or one that begins with 0x, is an address, not a
 * name (WHATWG URL, "ends in a number"). Pure functions; any thread.
 */
#ifndef TEXT_DOMAIN_RULE_H
#define TEXT_DOMAIN_RULE_H

#include "qsettings/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOMAIN_NAME_MAX       253 /* RFC 1035, without the final dot */
#define DOMAIN_LABEL_MAX      63
#define DOMAIN_RULE_TEXT      (DOMAIN_NAME_MAX + 2 + 6 + 1) /* "*." NAME ":65535" and the zero byte */
#define DOMAIN_RULE_PORT      443
#define DOMAIN_RULES_MAX      256 /* entries of one scope */
#define DOMAIN_RULE_PORTS_MAX 16  /* distinct ports of one scope: each is a listener */

struct domain_rule {
    char name[DOMAIN_NAME_MAX + 1];
    bool wildcard;
    uint16_t port;
};

/* Errors: QS_INVALID, with what is wrong and what to write instead. */
enum qs_status domain_rule_parse(const char *text, size_t len, struct domain_rule *ret_rule,
                                 struct qs_error *err) QS_MUST_USE;

/* The canonical text, which parses to the same rule; the port is left out if it is 443. */
void domain_rule_format(const struct domain_rule *rule, char out[DOMAIN_RULE_TEXT]);

/* Writes a name as a query has it in canonical form. False: it is not a name that a rule can allow. */
bool domain_name_canonical(const char *text, size_t len, char out[DOMAIN_NAME_MAX + 1]);

/* name is canonical. */
bool domain_rule_matches_name(const struct domain_rule *rule, const char *name);
bool domain_rule_allows(const struct domain_rule *rule, const char *name, uint16_t port);

/* Does outer allow all that inner allows? */
bool domain_rule_covers(const struct domain_rule *outer, const struct domain_rule *inner);

/* What both allow, which is one of the two, or nothing: false. */
bool domain_rule_meet(const struct domain_rule *a, const struct domain_rule *b, struct domain_rule *ret_rule);

#endif
