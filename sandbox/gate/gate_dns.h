/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/gate/: Which server does this query or connection name?
 *
 * The resolver inside: one question in, one answer out, nothing asked outside. Pure; the caller decides by name.
 * Source: RFC 1035; RFC 6891 only in that an OPT record in the additional section is ignored.
 */
#ifndef SANDBOX_GATE_DNS_H
#define SANDBOX_GATE_DNS_H

#include "text/domain_rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_MESSAGE_MAX 1232 /* bytes; DNS Flag Day 2020 */
#define DNS_ANSWER_MAX  (12 + 256 + 4 + 16)
#define DNS_TTL_SECONDS 60

enum dns_verdict {
    DNS_DROP,   /* too short for a header, or an answer itself: nothing is sent back */
    DNS_BAD,    /* answered with FORMERR or NOTIMP */
    DNS_ASKS_A, /* an address is asked for */
    DNS_ASKS_OTHER,
};

struct dns_question {
    enum dns_verdict verdict;
    uint16_t id, flags;
    uint8_t error;                  /* with DNS_BAD */
    size_t question_len;            /* name, type and class as they came; 0: cannot be repeated */
    const uint8_t *question;        /* points into the message */
    char name[DOMAIN_NAME_MAX + 1]; /* as asked for, without final dot, in lower case; "" is the root */
    bool is_name;                   /* a rule could allow it */
};

void dns_question_read(const uint8_t *message, size_t len, struct dns_question *ret_question);

enum dns_answer {
    DNS_ADDRESS, /* the address, for DNS_ASKS_A */
    DNS_NOTHING, /* the name is there, with no record of this type */
    DNS_NO_NAME,
    DNS_FAILED, /* no more names in this run */
};

/* Writes the answer and returns its length; 0 for DNS_DROP. */
size_t dns_answer_write(const struct dns_question *question, enum dns_answer answer, const uint8_t address[4],
                        uint8_t out[DNS_ANSWER_MAX]);

#endif
