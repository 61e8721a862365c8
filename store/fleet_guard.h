/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fleet leaves for everyone who reads or writes the system scope: whose it is, how old it may be, and whether
 * local writes are let through for a while.
 *
 *   the settings `fleet.*`              the fleet that owns the scope, and the bundle its content came with
 *   require-serial, beside the scopes   FLEET KEYS SERIAL: a policy read refuses a store that is older (QS_STALE)
 *   /var/lib/qfleet/break-glass         START END UID REASON: local writes from START to END
 *
 * If stores were named with a root, the last is ROOT/var/lib/qfleet/break-glass.
 */
#ifndef STORE_FLEET_GUARD_H
#define STORE_FLEET_GUARD_H

#include "store/snapshot.h"

#include <stdbool.h>
#include <string.h>

#define FLEET_NAME_MAX_BYTES  64u
#define FLEET_NUMBER_MAX      ((INT64_C(1) << 53) - 1)
#define FLEET_SERIAL_FILE     "require-serial"
#define FLEET_GLASS_FILE      "break-glass"
#define BREAK_GLASS_HOURS_MAX 72u

typedef char fleet_name[FLEET_NAME_MAX_BYTES + 1];

/* Keys first, so that serials driven up with a stolen key end with the next key document. */
struct fleet_order {
    uint64_t keys, serial;
};
static inline int fleet_order_compare(struct fleet_order a, struct fleet_order b)
{
    return a.keys != b.keys ? (a.keys > b.keys) - (a.keys < b.keys) : (a.serial > b.serial) - (a.serial < b.serial);
}

struct fleet_mark {
    fleet_name fleet; /* "": none */
    struct fleet_order order;
};

static inline bool fleet_mark_same(const struct fleet_mark *a, const struct fleet_mark *b)
{
    return strcmp(a->fleet, b->fleet) == 0 && fleet_order_compare(a->order, b->order) == 0;
}

struct break_glass {
    uint64_t start, end, uid;
    char reason[201];
};

/* ---- texts; false: not of the form ---- */

bool fleet_name_valid(const char *text, size_t len); /* 1 to 64 of a-z 0-9 - */
bool fleet_key_covers(struct qs_bytes key);          /* `fleet`, or below it */
/* A number up to 2^53-1 without sign or leading zeros, and past the character after it, which must be next. */
bool fleet_take_number(struct qs_bytes *text, char next, uint64_t *ret_number);
bool fleet_mark_parse(struct qs_bytes text, struct fleet_mark *ret_mark);
bool break_glass_parse(struct qs_bytes text, struct break_glass *ret_glass);
/* From start on, so that a clock set back ends it. */
static inline bool break_glass_holds(const struct break_glass *glass, uint64_t clock)
{
    return glass->start <= clock && clock < glass->end;
}

/* ---- what holds now ---- */

/* The mark in a store's settings; fleet "" if there is none. Errors: QS_INVALID (not of the form). */
enum qs_status fleet_mark_of(const struct qs_snapshot *snapshot, struct fleet_mark *ret_mark,
                             struct qs_error *err) QS_MUST_USE;
/* What require-serial demands; fleet "" if the file is not there. Errors: QS_DAMAGED (its text), QS_UNTRUSTED, QS_IO.
 */
enum qs_status fleet_required(const struct store_dir *dir, struct fleet_mark *ret_mark,
                              struct qs_error *err) QS_MUST_USE;
/* QS_STALE unless the mark is at least what is demanded. */
enum qs_status fleet_check_stale(const struct fleet_mark *demanded, const struct fleet_mark *found,
                                 struct qs_error *err) QS_MUST_USE;
/* Is the glass broken now? Errors: QS_DAMAGED (its text), QS_UNTRUSTED, QS_IO. */
enum qs_status fleet_glass_broken(const struct store_dir *dir, bool *ret_broken, struct qs_error *err) QS_MUST_USE;

#endif
