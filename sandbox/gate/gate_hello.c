/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gate/gate_hello.h"

#include <stdbool.h>
#include <string.h>

#define RECORD_HEADER    5
#define RECORD_MAX       ((size_t)16 << 10)
#define HANDSHAKE_HEADER 4
#define CLIENT_HELLO     1
#define SERVER_NAME      0
#define NAME_TYPE_HOST   0

/* A big-endian reader; the first read past the end sets failed, and all later ones give zero. */
struct reader {
    const uint8_t *at, *end;
    bool failed;
};

static size_t take(struct reader *reader, size_t bytes)
{
    size_t value = 0;
    if (reader->failed || (size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return 0;
    }
    while (bytes--)
        value = value << 8 | *reader->at++;
    return value;
}

/* The next part, which a length of so many bytes precedes. */
static struct reader take_part(struct reader *reader, size_t length_bytes)
{
    size_t len = take(reader, length_bytes);
    if (reader->failed || (size_t)(reader->end - reader->at) < len) {
        reader->failed = true;
        return (struct reader){.failed = true};
    }
    struct reader part = {.at = reader->at, .end = reader->at + len};
    reader->at += len;
    return part;
}

static bool at_end(const struct reader *reader)
{
    return !reader->failed && reader->at == reader->end;
}

/* One name of one type; RFC 6066 allows no second of the same, and knows no other type. */
static enum hello_verdict name_read(struct reader extension, char ret_name[DOMAIN_NAME_MAX + 1])
{
    struct reader list = take_part(&extension, 2);
    if (!at_end(&extension) || take(&list, 1) != NAME_TYPE_HOST)
        return HELLO_BAD;
    struct reader name = take_part(&list, 2);
    if (!at_end(&list) || name.failed || name.at == name.end)
        return HELLO_BAD;
    const char *text = (const char *)name.at;
    size_t len = (size_t)(name.end - name.at);
    return domain_name_canonical(text, len, ret_name) ? HELLO_NAME : HELLO_BAD;
}

static enum hello_verdict extensions_read(struct reader extensions, char ret_name[DOMAIN_NAME_MAX + 1])
{
    char found[DOMAIN_NAME_MAX + 1];
    bool seen = false;
    while (!extensions.failed && extensions.at < extensions.end) {
        size_t type = take(&extensions, 2);
        struct reader body = take_part(&extensions, 2);
        if (extensions.failed)
            return HELLO_BAD;
        if (type != SERVER_NAME)
            continue;
        if (seen || name_read(body, found) != HELLO_NAME)
            return HELLO_BAD;
        seen = true;
    }
    if (extensions.failed)
        return HELLO_BAD;
    if (seen)
        memcpy(ret_name, found, sizeof found);
    return seen ? HELLO_NAME : HELLO_NONE;
}

static enum hello_verdict body_read(struct reader body, char ret_name[DOMAIN_NAME_MAX + 1])
{
    (void)take(&body, 2); /* legacy_version */
    if ((size_t)(body.end - body.at) < 32)
        return HELLO_BAD;
    body.at += 32;             /* random */
    (void)take_part(&body, 1); /* legacy_session_id */
    (void)take_part(&body, 2); /* cipher_suites */
    (void)take_part(&body, 1); /* legacy_compression_methods */
    if (body.failed)
        return HELLO_BAD;
    if (at_end(&body))
        return HELLO_NONE;
    struct reader extensions = take_part(&body, 2);
    return at_end(&body) ? extensions_read(extensions, ret_name) : HELLO_BAD;
}

/* Is there a whole message in what has come of it? */
static enum hello_verdict message_read(const uint8_t *data, size_t len, char ret_name[DOMAIN_NAME_MAX + 1])
{
    if (len && data[0] != CLIENT_HELLO)
        return HELLO_BAD;
    if (len < HANDSHAKE_HEADER)
        return HELLO_MORE;
    size_t body = (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
    if (body > HELLO_MAX_BYTES)
        return HELLO_BAD;
    if (len - HANDSHAKE_HEADER < body)
        return HELLO_MORE;
    const uint8_t *start = data + HANDSHAKE_HEADER;
    return body_read((struct reader){.at = start, .end = start + body}, ret_name);
}

/* The header of a record: type, a version 3.x, a length of 1 to 2^14. */
static bool header_possible(const uint8_t *at, size_t left)
{
    if (at[0] != HELLO_HANDSHAKE_TLS || (left > 1 && at[1] != 3))
        return false;
    if (left < RECORD_HEADER)
        return true;
    size_t len = (size_t)at[3] << 8 | at[4];
    return len >= 1 && len <= RECORD_MAX;
}

enum hello_verdict hello_read(const uint8_t *data, size_t len, char ret_name[DOMAIN_NAME_MAX + 1])
{
    uint8_t message[HELLO_MAX_BYTES];
    size_t have = 0;
    size_t at = 0;
    bool over = len > HELLO_MAX_BYTES;
    if (over)
        len = HELLO_MAX_BYTES;
    while (at < len) {
        if (!header_possible(data + at, len - at))
            return HELLO_BAD;
        if (len - at < RECORD_HEADER)
            break;
        size_t record = (size_t)data[at + 3] << 8 | data[at + 4];
        at += RECORD_HEADER;
        size_t part = record < len - at ? record : len - at;
        memcpy(message + have, data + at, part);
        have += part;
        at += part;
        enum hello_verdict verdict = message_read(message, have, ret_name);
        if (verdict != HELLO_MORE)
            return verdict;
    }
    return over || len == HELLO_MAX_BYTES ? HELLO_BAD : HELLO_MORE;
}
