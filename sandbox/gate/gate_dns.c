/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gate/gate_dns.h"

#include <string.h>

#define HEADER_BYTES 12
#define FLAG_ANSWER  0x8000U
#define FLAG_RECURSE 0x0100U
#define FLAG_CAN     0x0080U
#define OPCODE       0x7800U
#define TYPE_A       1
#define CLASS_IN     1

#define ERROR_FORM    1
#define ERROR_SERVER  2
#define ERROR_NAME    3
#define ERROR_UNKNOWN 4

static uint16_t read_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void write_u16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static char printable_lower(uint8_t byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte - 'A' + 'a');
    return byte <= ' ' || byte >= 0x7f || byte == '.' ? '?' : (char)byte;
}

/* Reads the labels from at; returns the bytes that they take, 0 if they are malformed (a pointer is). */
static size_t labels_read(const uint8_t *at, size_t left, char out[DOMAIN_NAME_MAX + 1])
{
    size_t used = 0;
    size_t len = 0;
    while (used < left && at[used]) {
        size_t label = at[used];
        if (label > DOMAIN_LABEL_MAX || used + 1 + label > left || len + label + (len ? 1 : 0) > DOMAIN_NAME_MAX)
            return 0;
        if (len)
            out[len++] = '.';
        for (size_t i = 0; i < label; i++)
            out[len++] = printable_lower(at[used + 1 + i]);
        used += 1 + label;
    }
    out[len] = '\0';
    return used < left ? used + 1 : 0;
}

static void refuse(struct dns_question *question, uint8_t error)
{
    question->verdict = DNS_BAD;
    question->error = error;
}

void dns_question_read(const uint8_t *message, size_t len, struct dns_question *ret_question)
{
    *ret_question = (struct dns_question){.verdict = DNS_DROP};
    if (len < HEADER_BYTES)
        return;
    ret_question->id = read_u16(message);
    ret_question->flags = read_u16(message + 2);
    if (ret_question->flags & FLAG_ANSWER)
        return;
    if (ret_question->flags & OPCODE) {
        refuse(ret_question, ERROR_UNKNOWN);
        return;
    }
    refuse(ret_question, ERROR_FORM);
    if (len > DNS_MESSAGE_MAX || read_u16(message + 4) != 1 || read_u16(message + 6) || read_u16(message + 8))
        return;
    const uint8_t *at = message + HEADER_BYTES;
    size_t left = len - HEADER_BYTES;
    size_t used = labels_read(at, left, ret_question->name);
    if (!used || left - used < 4 || read_u16(at + used + 2) != CLASS_IN)
        return;
    ret_question->question = at;
    ret_question->question_len = used + 4;
    char canonical[DOMAIN_NAME_MAX + 1];
    ret_question->is_name = domain_name_canonical(ret_question->name, strlen(ret_question->name), canonical);
    ret_question->verdict = read_u16(at + used) == TYPE_A ? DNS_ASKS_A : DNS_ASKS_OTHER;
}

static uint8_t code_of(const struct dns_question *question, enum dns_answer answer)
{
    if (question->verdict == DNS_BAD)
        return question->error;
    switch (answer) {
    case DNS_ADDRESS:
    case DNS_NOTHING:
        return 0;
    case DNS_NO_NAME:
        return ERROR_NAME;
    case DNS_FAILED:
        break;
    }
    return ERROR_SERVER;
}

/* A pointer to the name in the question, then the record. */
static size_t record_write(uint8_t *out, const uint8_t address[4])
{
    static const uint8_t head[] = {0xc0, HEADER_BYTES, 0, TYPE_A, 0, CLASS_IN, 0, 0, 0, DNS_TTL_SECONDS, 0, 4};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, address, 4);
    return sizeof head + 4;
}

size_t dns_answer_write(const struct dns_question *question, enum dns_answer answer, const uint8_t address[4],
                        uint8_t out[DNS_ANSWER_MAX])
{
    if (question->verdict == DNS_DROP)
        return 0;
    bool with_address = answer == DNS_ADDRESS && question->verdict == DNS_ASKS_A;
    memset(out, 0, HEADER_BYTES);
    write_u16(out, question->id);
    write_u16(out + 2,
              FLAG_ANSWER | (question->flags & (OPCODE | FLAG_RECURSE)) | FLAG_CAN | code_of(question, answer));
    write_u16(out + 4, question->question_len ? 1 : 0);
    write_u16(out + 6, with_address ? 1 : 0);
    if (question->question_len)
        memcpy(out + HEADER_BYTES, question->question, question->question_len);
    size_t len = HEADER_BYTES + question->question_len;
    return with_address ? len + record_write(out + len, address) : len;
}
