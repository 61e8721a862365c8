/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room fleet/rules/: Which signed documents may a machine believe, and what follows from them?
 *
 * The rules of decision, pure: what a machine has seen, a document, and a clock in; what follows out.
 *
 *   order   (keys, serial), keys first. Lower than what was seen: refused. Equal: must be the same bytes.
 *   time    the greater of the clock and the floor, the greatest `issued` accepted under this key version.
 *   draw    0 to 99 for each machine and rollout. The serial is not in it, so that 10 % lie within 25 %.
 *   target  the bundle's own document, that of its base, or no change.
 */
#ifndef FLEET_DECIDE_H
#define FLEET_DECIDE_H

#include "fleet/rules/documents.h"

#define FLEET_BEHIND_S (24u * 3600u) /* a bundle issued this far ahead: the clock is behind */

/* What was accepted last. Zero: nothing. */
struct seen {
    struct fleet_order order;
    uint64_t floor;
    bool has_digest; /* false: rebuilt from what remained when the file was lost */
    uint8_t digest[QS_DIGEST_BYTES];
};

/* Who a machine is to the rings. */
struct draw_subject {
    const char *id;
    const fleet_name *groups;
    size_t group_count;
};

/* Is next the document after present, as far as fields say? Signatures are minisig_check's. Errors: QS_UNTRUSTED. */
enum qs_status decide_next_keys(const struct key_document *present, const struct key_document *next,
                                struct qs_error *err) QS_MUST_USE;

/* May the bundle become what was seen last? *ret_next is what to remember then, *ret_behind whether the clock is
 * behind. Errors: QS_UNTRUSTED (fleet, keys, order, time), QS_ABSENT (it needs a newer key document). */
enum qs_status decide_bundle(const struct seen *seen, const struct key_document *keys, const struct bundle *bundle,
                             uint64_t clock, struct seen *ret_next, bool *ret_behind, struct qs_error *err) QS_MUST_USE;

/* Has what was seen expired by now? It stays in force. */
bool decide_expired(const struct seen *seen, const struct bundle *bundle, uint64_t clock);

unsigned decide_draw(const char *fleet, const char *rollout, const char *id);
/* The first of the first count rings that has the machine; -1: none. */
int decide_ring(const struct bundle *bundle, unsigned count, const struct draw_subject *subject);

enum target { TARGET_OWN, TARGET_BASE, TARGET_NONE };
/* applied: the content digest in force under the fleet, NULL: none yet. */
enum target decide_target(const struct bundle *bundle, const struct draw_subject *subject,
                          const uint8_t applied[QS_DIGEST_BYTES]);

/* ---- the one-line files of a machine; false: not of the form ---- */

bool seen_parse(struct qs_bytes text, struct seen *ret_seen); /* KEYS SERIAL DIGEST FLOOR; DIGEST may be - */
void seen_format(const struct seen *seen, struct buf *out);

void break_glass_format(const struct break_glass *glass, struct buf *out);
void mark_format(const struct fleet_mark *mark, struct buf *out);
bool number_line_parse(struct qs_bytes text, uint64_t *ret_number); /* N and LF, 0 to 2^53-1 */

/* ---- names in the spool and at a carrier ---- */

enum document_kind { DOCUMENT_KEYS, DOCUMENT_BUNDLE };
struct document_name {
    enum document_kind kind;
    struct fleet_order order; /* of keys: the version alone */
};
#define DOCUMENT_NAME_BYTES 64u
/* keys-N.json, bundle-K-S.json; numbers from 1 without leading zeros. */
bool document_name_parse(const char *text, struct document_name *ret_name);
void document_name_format(const struct document_name *name, char text[DOCUMENT_NAME_BYTES]);

#endif
