/* SPDX-License-Identifier: Apache-2.0 */
#include "text/domain_rule.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum name_fault {
    NAME_OK,
    NAME_LONG,
    NAME_LABEL_EMPTY,
    NAME_LABEL_LONG,
    NAME_ONE_LABEL,
    NAME_ADDRESS,
    NAME_STAR,
    NAME_NOT_ASCII,
    NAME_CHARACTER,
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum name_fault character_fault(char c)
{
    if ((c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_' || c == '.')
        return NAME_OK;
    if (c == '*')
        return NAME_STAR;
    return (unsigned char)c >= 0x80 ? NAME_NOT_ASCII : NAME_CHARACTER;
}

static bool is_number(const char *label, size_t len)
{
    if (len >= 2 && label[0] == '0' && label[1] == 'x')
        return true;
    for (size_t i = 0; i < len; i++)
        if (!is_digit(label[i]))
            return false;
    return true;
}

static enum name_fault labels_fault(const char *name, size_t len)
{
    size_t start = 0;
    size_t labels = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '.')
            continue;
        if (i == start)
            return NAME_LABEL_EMPTY;
        if (i - start > DOMAIN_LABEL_MAX)
            return NAME_LABEL_LONG;
        labels++;
        if (i == len && is_number(name + start, i - start))
            return NAME_ADDRESS;
        start = i + 1;
    }
    return labels < 2 ? NAME_ONE_LABEL : NAME_OK;
}

static enum name_fault name_read(const char *text, size_t len, char out[DOMAIN_NAME_MAX + 1])
{
    if (len && text[len - 1] == '.')
        len--;
    if (len > DOMAIN_NAME_MAX)
        return NAME_LONG;
    char name[DOMAIN_NAME_MAX + 1];
    for (size_t i = 0; i < len; i++) {
        name[i] = lower(text[i]);
        enum name_fault fault = character_fault(name[i]);
        if (fault != NAME_OK)
            return fault;
    }
    name[len] = '\0';
    enum name_fault fault = labels_fault(name, len);
    if (fault == NAME_OK)
        memcpy(out, name, len + 1);
    return fault;
}

bool domain_name_canonical(const char *text, size_t len, char out[DOMAIN_NAME_MAX + 1])
{
    return name_read(text, len, out) == NAME_OK;
}

static enum qs_status refuse_name(struct qs_error *err, enum name_fault fault)
{
    switch (fault) {
    case NAME_LONG:
        return error_set(err, QS_INVALID, "the name is longer than %d bytes", DOMAIN_NAME_MAX);
    case NAME_LABEL_EMPTY:
        return error_set(err, QS_INVALID, "the name has an empty label");
    case NAME_LABEL_LONG:
        return error_set(err, QS_INVALID, "a label of the name is longer than %d bytes", DOMAIN_LABEL_MAX);
    case NAME_ONE_LABEL:
        return error_set(err, QS_INVALID, "the name has one label; write the whole name, as in registry.npmjs.org");
    case NAME_ADDRESS:
        return error_set(err, QS_INVALID, "an address is not a name; list private ranges in executor.privateAddresses");
    case NAME_STAR:
        return error_set(err, QS_INVALID, "'*' may stand only in front, as in *.example.com");
    case NAME_NOT_ASCII:
        return error_set(err, QS_INVALID, "the name is not ASCII; write its xn-- form");
    case NAME_CHARACTER:
    case NAME_OK:
        break;
    }
    return error_set(err, QS_INVALID,
                     "a name has letters, digits, '-' and '_', as in registry.npmjs.org or *.example.com:8443");
}

/* The decimal port after the colon: 1 to 65535, without a sign or a leading zero. */
static bool port_read(const char *text, size_t len, uint16_t *ret_port)
{
    unsigned port = 0;
    if (!len || len > 5 || text[0] == '0')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(text[i]))
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (port > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

enum qs_status domain_rule_parse(const char *text, size_t len, struct domain_rule *ret_rule, struct qs_error *err)
{
    struct domain_rule rule = {.port = DOMAIN_RULE_PORT};
    const char *colon = memchr(text, ':', len);
    size_t name_len = colon ? (size_t)(colon - text) : len;
    if (colon && !port_read(colon + 1, len - name_len - 1, &rule.port))
        return error_set(err, QS_INVALID, "a port is a number from 1 to 65535, as in registry.npmjs.org:443");
    if (name_len >= 2 && text[0] == '*' && text[1] == '.') {
        rule.wildcard = true;
        text += 2;
        name_len -= 2;
    }
    enum name_fault fault = name_read(text, name_len, rule.name);
    if (fault != NAME_OK)
        return refuse_name(err, fault);
    /* The shortest name that "*.NAME" matches is two bytes longer than NAME. */
    if (rule.wildcard && strlen(rule.name) + 2 > DOMAIN_NAME_MAX)
        return refuse_name(err, NAME_LONG);
    *ret_rule = rule;
    return QS_OK;
}

void domain_rule_format(const struct domain_rule *rule, char out[DOMAIN_RULE_TEXT])
{
    const char *star = rule->wildcard ? "*." : "";
    if (rule->port == DOMAIN_RULE_PORT)
        (void)snprintf(out, DOMAIN_RULE_TEXT, "%s%s", star, rule->name);
    else
        (void)snprintf(out, DOMAIN_RULE_TEXT, "%s%s:%u", star, rule->name, (unsigned)rule->port);
}

/* Does name end in a dot and suffix, with a label before them? */
static bool lies_below(const char *name, const char *suffix)
{
    size_t name_len = strlen(name);
    size_t suffix_len = strlen(suffix);
    if (name_len < suffix_len + 2)
        return false;
    size_t at = name_len - suffix_len;
    return name[at - 1] == '.' && memcmp(name + at, suffix, suffix_len) == 0;
}

bool domain_rule_matches_name(const struct domain_rule *rule, const char *name)
{
    return rule->wildcard ? lies_below(name, rule->name) : strcmp(name, rule->name) == 0;
}

bool domain_rule_allows(const struct domain_rule *rule, const char *name, uint16_t port)
{
    return rule->port == port && domain_rule_matches_name(rule, name);
}

bool domain_rule_covers(const struct domain_rule *outer, const struct domain_rule *inner)
{
    if (outer->port != inner->port)
        return false;
    if (outer->wildcard == inner->wildcard && strcmp(outer->name, inner->name) == 0)
        return true;
    return outer->wildcard && lies_below(inner->name, outer->name);
}

bool domain_rule_meet(const struct domain_rule *a, const struct domain_rule *b, struct domain_rule *ret_rule)
{
    if (domain_rule_covers(a, b)) {
        *ret_rule = *b;
        return true;
    }
    if (domain_rule_covers(b, a)) {
        *ret_rule = *a;
        return true;
    }
    return false;
}
