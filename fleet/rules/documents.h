/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of a fleet as values: key document, bundle, head, report. Pure: bytes in, a value or a refusal out.
 *
 * All are closed JSON objects without comments, byte order mark, duplicate keys or reals; integers are 0 to 2^53-1.
 * What is signed is the bytes of the file, so nothing is ever written again to be compared.
 *
 * Errors: QS_INVALID with the field, QS_IO (memory).
 */
#ifndef FLEET_DOCUMENTS_H
#define FLEET_DOCUMENTS_H

#include "base/digest.h"
#include "fleet/rules/minisig.h"
#include "store/fleet_guard.h"
#include "text/doc.h"

#define FLEET_BUNDLE_MAX_BYTES ((size_t)1024 * 1024)
#define FLEET_KEYS_MAX_BYTES   ((size_t)16 * 1024)
#define FLEET_HEAD_MAX_BYTES   ((size_t)256)
#define FLEET_REPORT_MAX_BYTES ((size_t)4 * 1024)
#define FLEET_RINGS_MAX        16u
#define FLEET_GROUPS_MAX       16u
#define FLEET_ID_TEXT_BYTES    (32u + 1u)
#define HEX_DIGEST_BYTES       (2u * QS_DIGEST_BYTES + 1u)

bool name_ok(const char *text); /* fleet_name_valid of the whole text */
void hex_format(const uint8_t *bytes, size_t len, char *text);
bool hex_parse(const char *text, size_t len, uint8_t *bytes, size_t size); /* exactly size bytes, lower case */

struct key_document {
    fleet_name fleet;
    uint64_t version, issued;
    struct role root, bundle;
};
enum qs_status key_document_parse(struct qs_bytes text, struct key_document *ret_keys,
                                  struct qs_error *err) QS_MUST_USE;

struct ring {
    fleet_name group; /* "": any */
    int percent;      /* -1: all */
};

struct bundle {
    fleet_name fleet, rollout;
    struct fleet_order order;
    uint64_t issued, expires;
    struct ring rings[FLEET_RINGS_MAX];
    unsigned ring_count, open;
    bool has_base, hold;
    struct fleet_order base;
    uint8_t base_digest[QS_DIGEST_BYTES];
    json_t *document;
    struct leaves locks;              /* values are "true" */
    uint8_t digest[QS_DIGEST_BYTES];  /* of the file's bytes */
    uint8_t content[QS_DIGEST_BYTES]; /* of settings and locks, as fleet_content_digest has it */
};
enum qs_status bundle_parse(struct qs_bytes text, struct bundle *ret_bundle, struct qs_error *err) QS_MUST_USE;
void bundle_release(struct bundle *bundle);

/* The digest of settings (the key `fleet` apart) and locks, both sorted: each count, then its fields with lengths. */
void fleet_content_digest(const struct leaf *settings, size_t count, const struct leaf *locks, size_t lock_count,
                          uint8_t out[QS_DIGEST_BYTES]);

struct head {
    struct fleet_order order;
};
enum qs_status head_parse(struct qs_bytes text, struct head *ret_head, struct qs_error *err) QS_MUST_USE;
void head_format(const struct head *head, struct buf *out);

/* What a bundle's base is, without building the document: for `fetch`, whose memory is bounded. False: it has none. */
bool bundle_base_peek(struct qs_bytes text, struct fleet_order *ret_base);

enum machine_state {
    MACHINE_CURRENT,
    MACHINE_WAITING, /* no open ring has it */
    MACHINE_HELD,    /* by the battery */
    MACHINE_REFUSED,
    MACHINE_EXPIRED,
    MACHINE_BROKEN_GLASS,
    MACHINE_LEFT,
};
const char *machine_state_name(enum machine_state state);

struct report {
    fleet_name fleet;
    char id[FLEET_ID_TEXT_BYTES];
    struct public_key key;
    uint64_t sequence, time, generation;
    struct fleet_order seen, applied; /* applied {0, 0}: nothing yet */
    char document[HEX_DIGEST_BYTES];  /* content digest; "": nothing yet */
    int ring;                         /* -1: none has this machine */
    char battery[8];                  /* pass, held, report, broken, none */
    json_t *failed;                   /* array of strings */
    enum machine_state state;
    char reason[256];
    bool drift, clock_behind;
    char version[32];
    fleet_name groups[FLEET_GROUPS_MAX];
    size_t group_count;
};
/* Checks the signature by the key that the report itself names, and that id is that key's. Errors: QS_UNTRUSTED too. */
enum qs_status report_parse(struct qs_bytes text, struct qs_bytes signature, struct report *ret_report,
                            struct qs_error *err) QS_MUST_USE;
enum qs_status report_format(const struct report *report, struct buf *out, struct qs_error *err) QS_MUST_USE;
void report_release(struct report *report);
void machine_id_of(const struct public_key *key, char id[FLEET_ID_TEXT_BYTES]);

/* ---- shared by the parsers ---- */

/* The object in the text, without reals. A new reference. */
enum qs_status document_load(const char *what, struct qs_bytes text, size_t max_bytes, json_t **ret_root,
                             struct qs_error *err) QS_MUST_USE;
/* QS_INVALID: "what: fault". */
enum qs_status document_fault(const char *what, const char *fault, struct qs_error *err);
bool number_ok(json_int_t number, json_int_t least);

#endif
