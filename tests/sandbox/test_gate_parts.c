/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's resolver and its reading of a ClientHello, byte by byte. */
#include "sandbox/gate/gate_dns.h"
#include "sandbox/gate/gate_hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t loop_address[4] = {198, 18, 0, 2};

/* A query for www.example.com of this type and class. */
static size_t query(uint8_t *out, uint8_t type, uint8_t class)
{
    static const uint8_t head[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    static const uint8_t name[] = "\3WWW\7example\3com";
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, name, sizeof name);
    size_t len = sizeof head + sizeof name;
    const uint8_t tail[] = {0, type, 0, class};
    memcpy(out + len, tail, sizeof tail);
    return len + sizeof tail;
}

static void an_address_is_given_for_a_and_nothing_for_other_types(void **state)
{
    (void)state;
    uint8_t message[DNS_MESSAGE_MAX];
    uint8_t out[DNS_ANSWER_MAX];
    struct dns_question question;
    size_t len = query(message, 1, 1);
    dns_question_read(message, len, &question);
    assert_int_equal(question.verdict, DNS_ASKS_A);
    assert_string_equal(question.name, "www.example.com");
    assert_true(question.is_name);
    size_t sent = dns_answer_write(&question, DNS_ADDRESS, loop_address, out);
    assert_int_equal(sent, len + 16);
    assert_memory_equal(out, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12);
    assert_memory_equal(out + 12, message + 12, len - 12); /* the question as it came, letter case included */
    assert_memory_equal(out + len, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\2", 16);

    (void)query(message, 28, 1);
    dns_question_read(message, len, &question);
    assert_int_equal(question.verdict, DNS_ASKS_OTHER);
    assert_int_equal(dns_answer_write(&question, DNS_ADDRESS, loop_address, out), len);
    assert_int_equal(out[3] & 15, 0);
    assert_int_equal(dns_answer_write(&question, DNS_NO_NAME, NULL, out), len);
    assert_int_equal(out[3] & 15, 3);
    assert_int_equal(dns_answer_write(&question, DNS_FAILED, NULL, out), len);
    assert_int_equal(out[3] & 15, 2);
}

static void expect_bad(const uint8_t *message, size_t len, uint8_t error)
{
    struct dns_question question;
    uint8_t out[DNS_ANSWER_MAX];
    dns_question_read(message, len, &question);
    assert_int_equal(question.verdict, DNS_BAD);
    assert_true(dns_answer_write(&question, DNS_ADDRESS, loop_address, out) >= 12);
    assert_int_equal(out[3] & 15, error);
    assert_int_equal(out[7], 0);
}

static void what_is_no_single_plain_question_is_refused(void **state)
{
    (void)state;
    uint8_t message[DNS_MESSAGE_MAX + 1] = {0};
    struct dns_question question;
    size_t len = query(message, 1, 1);
    for (size_t cut = 12; cut < len; cut++)
        expect_bad(message, cut, 1);
    dns_question_read(message, 11, &question);
    assert_int_equal(question.verdict, DNS_DROP);
    expect_bad(message, sizeof message, 1); /* too long */
    message[5] = 2;
    expect_bad(message, len, 1);
    message[5] = 1;
    message[7] = 1; /* an answer in a question */
    expect_bad(message, len, 1);
    message[7] = 0;
    message[12] = 0xc0; /* a pointer */
    expect_bad(message, len, 1);
    len = query(message, 1, 3); /* another class */
    expect_bad(message, len, 1);
    len = query(message, 1, 1);
    message[2] = 0x28; /* an update */
    expect_bad(message, len, 4);
    message[2] = 0x80; /* an answer */
    dns_question_read(message, len, &question);
    assert_int_equal(question.verdict, DNS_DROP);
    uint8_t out[DNS_ANSWER_MAX];
    assert_int_equal(dns_answer_write(&question, DNS_ADDRESS, loop_address, out), 0);
}

static void names_that_no_rule_can_allow_are_told_apart(void **state)
{
    (void)state;
    uint8_t message[DNS_MESSAGE_MAX];
    struct dns_question question;
    size_t len = query(message, 1, 1);
    message[13] = '\n';
    dns_question_read(message, len, &question);
    assert_string_equal(question.name, "?ww.example.com");
    assert_false(question.is_name);
    message[13] = '.';
    dns_question_read(message, len, &question);
    assert_string_equal(question.name, "?ww.example.com"); /* a dot within a label is no separator */
    assert_false(question.is_name);
}

/* A ClientHello with this server name (NULL: none); ret is the handshake message. */
static size_t hello_body(uint8_t *out, const char *name)
{
    size_t name_len = name ? strlen(name) : 0;
    size_t extension = name ? name_len + 9 : 0;
    size_t body = 2 + 32 + 1 + 4 + 2 + 2 + extension;
    const uint8_t head[] = {1, 0, (uint8_t)(body >> 8), (uint8_t)body, 3, 3};
    memcpy(out, head, sizeof head);
    uint8_t *at = out + sizeof head;
    memset(at, 'R', 32);
    at += 32;
    const uint8_t middle[] = {0, 0, 2, 0x13, 1, 1, 0, (uint8_t)(extension >> 8), (uint8_t)extension};
    memcpy(at, middle, sizeof middle);
    at += sizeof middle;
    if (name) {
        const uint8_t ext[] = {0, 0, 0, (uint8_t)(name_len + 5), 0, (uint8_t)(name_len + 3), 0, 0, (uint8_t)name_len};
        memcpy(at, ext, sizeof ext);
        memcpy(at + sizeof ext, name, name_len);
        at += sizeof ext + name_len;
    }
    return (size_t)(at - out);
}

static size_t records(uint8_t *out, const uint8_t *body, size_t len, size_t piece)
{
    size_t at = 0;
    for (size_t done = 0; done < len; done += piece) {
        size_t part = len - done < piece ? len - done : piece;
        const uint8_t head[] = {0x16, 3, 1, (uint8_t)(part >> 8), (uint8_t)part};
        memcpy(out + at, head, sizeof head);
        memcpy(out + at + sizeof head, body + done, part);
        at += sizeof head + part;
    }
    return at;
}

static void a_server_name_is_read_however_the_hello_is_cut(void **state)
{
    (void)state;
    uint8_t body[512];
    uint8_t stream[2048];
    size_t body_len = hello_body(body, "Registry.NPMjs.org");
    static const size_t pieces[] = {512, 40, 7, 1};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char name[DOMAIN_NAME_MAX + 1] = "untouched";
        size_t len = records(stream, body, body_len, pieces[i]);
        for (size_t cut = 0; cut < len; cut++)
            assert_int_equal(hello_read(stream, cut, name), HELLO_MORE);
        assert_string_equal(name, "untouched");
        assert_int_equal(hello_read(stream, len, name), HELLO_NAME);
        assert_string_equal(name, "registry.npmjs.org");
    }
}

static enum hello_verdict verdict_of(const char *name)
{
    uint8_t body[512];
    uint8_t stream[1024];
    char found[DOMAIN_NAME_MAX + 1];
    size_t len = records(stream, body, hello_body(body, name), 512);
    return hello_read(stream, len, found);
}

static void other_names_and_none_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(NULL), HELLO_NONE);
    assert_int_equal(verdict_of("a.example.com"), HELLO_NAME);
    assert_int_equal(verdict_of("1.2.3.4"), HELLO_BAD);
    assert_int_equal(verdict_of("localhost"), HELLO_BAD);
    assert_int_equal(verdict_of(""), HELLO_BAD);
    assert_int_equal(verdict_of("a b.c"), HELLO_BAD);
}

static void what_is_no_hello_is_refused_at_once(void **state)
{
    (void)state;
    char name[DOMAIN_NAME_MAX + 1];
    static const char *const streams[] = {"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n",    "\x15\3\1\0\2\1",
                                          "\x16\2\1",           "\x16\3\1\x7f\xff", "\x16\3\1\0\5\2"};
    static const size_t lens[] = {16, 11, 6, 3, 5, 6};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        assert_int_equal(hello_read((const uint8_t *)streams[i], lens[i], name), HELLO_BAD);
    static uint8_t slow[HELLO_MAX_BYTES + 1] = {0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xff};
    assert_int_equal(hello_read(slow, HELLO_MAX_BYTES - 1, name), HELLO_MORE);
    assert_int_equal(hello_read(slow, HELLO_MAX_BYTES, name), HELLO_BAD);
    assert_int_equal(hello_read(slow, HELLO_MAX_BYTES + 1, name), HELLO_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_given_for_a_and_nothing_for_other_types),
        cmocka_unit_test(what_is_no_single_plain_question_is_refused),
        cmocka_unit_test(names_that_no_rule_can_allow_are_told_apart),
        cmocka_unit_test(a_server_name_is_read_however_the_hello_is_cut),
        cmocka_unit_test(other_names_and_none_are_told_apart),
        cmocka_unit_test(what_is_no_hello_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
