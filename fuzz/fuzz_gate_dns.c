/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message to the resolver inside. Invariants: nothing is answered to what is an answer; every answer repeats the id,
 * says that it is one, is within its bound, and has an address only if one was asked for.
 */
#include "fuzz/fuzz.h"
#include "sandbox/gate/gate_dns.h"

#include <string.h>

static void check_answer(const uint8_t *data, const struct dns_question *question, enum dns_answer answer)
{
    static const uint8_t address[4] = {198, 18, 0, 2};
    uint8_t out[DNS_ANSWER_MAX];
    size_t len = dns_answer_write(question, answer, address, out);
    MUST((len == 0) == (question->verdict == DNS_DROP));
    if (!len)
        return;
    MUST(len >= 12 && len <= sizeof out && memcmp(out, data, 2) == 0 && out[2] & 0x80);
    bool with_address = out[7] != 0;
    MUST(with_address == (answer == DNS_ADDRESS && question->verdict == DNS_ASKS_A));
    MUST(len == 12 + question->question_len + (with_address ? 16U : 0U));
    struct dns_question again;
    dns_question_read(out, len, &again);
    MUST(again.verdict == DNS_DROP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_question question;
    dns_question_read(data, size, &question);
    MUST(strlen(question.name) <= DOMAIN_NAME_MAX);
    for (const char *c = question.name; *c; c++)
        MUST((unsigned char)*c > ' ' && (unsigned char)*c < 0x7f);
    MUST(question.question_len <= 256 + 4);
    for (int answer = DNS_ADDRESS; answer <= DNS_FAILED; answer++)
        check_answer(data, &question, (enum dns_answer)answer);
    return 0;
}
