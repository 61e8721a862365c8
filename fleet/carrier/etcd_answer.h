/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What etcd's JSON gateway says, and what is said to it: pure. Absent fields are zero, false or empty, 64-bit numbers
 * are strings, and the gateway passes over what it does not know, so that requests are made from fixed templates.
 */
#ifndef FLEET_ETCD_ANSWER_H
#define FLEET_ETCD_ANSWER_H

#include "base/buf.h"
#include "fleet/rules/documents.h"

#define ETCD_LINE_MAX_BYTES ((size_t)2 << 20)

/* The answer to a range of one key, or to a transaction. */
struct etcd_answer {
    uint64_t revision; /* of the header */
    bool found;        /* range: there is such a key */
    uint64_t mod_revision;
    bool succeeded; /* transaction */
};
/* value may be NULL. Errors: QS_INVALID. */
enum qs_status etcd_answer_parse(struct qs_bytes text, struct etcd_answer *ret_answer, struct buf *value,
                                 struct qs_error *err) QS_MUST_USE;
/* The keys of a range, without this prefix; *ret_last is the last whole key, for the next page. */
enum qs_status etcd_keys_parse(struct qs_bytes text, const char *prefix, json_t *keys, struct buf *ret_last,
                               struct qs_error *err) QS_MUST_USE;
/* The token of an authentication. */
enum qs_status etcd_token_parse(struct qs_bytes text, struct buf *token, struct qs_error *err) QS_MUST_USE;
/* Does this error mean that the token is not known any more? */
bool etcd_wants_token(long code, struct qs_bytes text);

/* One line of a watch. asked: the revision it was to begin at. */
enum etcd_watch {
    ETCD_WATCH_ON,    /* nothing has changed */
    ETCD_WATCH_NEWS,  /* the key has */
    ETCD_WATCH_AGAIN, /* it tells no more: begin anew from a range */
    ETCD_WATCH_PART,  /* no whole object yet */
};
enum etcd_watch etcd_watch_line(struct qs_bytes line, uint64_t asked);

/* Requests. A key is text; values are any bytes. */
void etcd_range(const char *key, struct buf *out);
void etcd_list(const char *prefix, struct qs_bytes after, struct buf *out);
void etcd_put(const char *key, struct qs_bytes value, struct buf *out);
/* Puts if the key's mod revision is this one; 0: if it is not there. */
void etcd_exchange(const char *key, uint64_t mod_revision, struct qs_bytes value, struct buf *out);
void etcd_watch_request(const char *key, uint64_t revision, struct buf *out);
void etcd_authenticate(const char *user, const char *password, struct buf *out);

#endif
