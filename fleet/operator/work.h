/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room fleet/operator/: What is signed next, who has it, and who is behind?
 *
 * The operator's work directory: what was signed, what is to be signed next, and which machines there are.
 *
 *   fleet.json                   the fleet's name, its carriers, its rings
 *   keys-N.json, .minisig        key documents, all of them
 *   bundle-K-S.json, .minisig    bundles; the newest is signed, then pushed
 *   machines.json                the registry
 *   log                          one line for each bundle: when, which, by which command, why
 */
#ifndef FLEET_WORK_H
#define FLEET_WORK_H

#include "fleet/carrier/carrier.h"

#include <time.h>

struct work {
    const char *dir; /* borrowed */
    fleet_name fleet;
    json_t *config;        /* fleet.json */
    uint64_t keys_version; /* the newest key document; 0: none */
    bool has_newest;       /* there is a bundle */
    struct fleet_order newest;
    struct bundle bundle; /* the newest */
    json_t *machines;     /* the registry's array */
};

/* Errors: QS_ABSENT (no fleet.json), QS_INVALID, those of files. */
enum qs_status work_open(struct work *work, const char *dir, struct qs_error *err) QS_MUST_USE;
void work_close(struct work *work);
enum qs_status work_read(const struct work *work, const char *name, size_t max, struct buf *out,
                         struct qs_error *err) QS_MUST_USE;
enum qs_status work_write(const struct work *work, const char *name, struct qs_bytes text,
                          struct qs_error *err) QS_MUST_USE;
enum qs_status work_bundle(const struct work *work, struct fleet_order order, struct bundle *ret_bundle,
                           struct qs_error *err) QS_MUST_USE;
enum qs_status work_carrier(const struct work *work, struct carrier **ret_carrier, struct qs_error *err) QS_MUST_USE;
enum qs_status work_save_machines(const struct work *work, struct qs_error *err) QS_MUST_USE;
void work_log(const struct work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the next bundle (build.c) ---- */

struct next {
    const char *file;    /* build: the document's */
    uint64_t serial;     /* rollback: whose document */
    const char *rollout; /* NULL: a name by the serial */
    const char *rings;   /* "pilot,10%,all"; NULL: fleet.json's, or one ring of all */
    const char *locks;   /* "KEY,KEY"; NULL: those of the bundle before */
    const char *battery; /* NULL: hold */
    uint64_t open, days;
};
/* Writes it unsigned, and tells into out what changes and who is drawn. *ret_name: its file. */
enum qs_status next_build(struct work *work, const struct next *next, char ret_name[DOCUMENT_NAME_BYTES],
                          struct buf *out, struct qs_error *err) QS_MUST_USE;
enum qs_status next_rollback(struct work *work, const struct next *next, char ret_name[DOCUMENT_NAME_BYTES],
                             struct buf *out, struct qs_error *err) QS_MUST_USE;
/* The same document with so many rings open; days 0: valid for as long as the last was. */
enum qs_status next_open(struct work *work, uint64_t open, uint64_t days, char ret_name[DOCUMENT_NAME_BYTES],
                         struct buf *out, struct qs_error *err) QS_MUST_USE;

/* ---- verify and push (push.c) ---- */

/* All that a machine would check: the chain of key documents, then the newest bundle. */
enum qs_status work_verify(const struct work *work, struct key_document *ret_keys, struct qs_error *err) QS_MUST_USE;
enum qs_status work_push(const struct work *work, bool *ret_pushed, struct qs_error *err) QS_MUST_USE;

/* ---- reports and registry (status.c) ---- */

enum flag {
    FLAG_BEHIND,
    FLAG_HELD,
    FLAG_REFUSED,
    FLAG_EXPIRED,
    FLAG_DRIFTING,
    FLAG_SILENT,
    FLAG_WENT_BACK,
    FLAG_DUPLICATE,
    FLAG_UNKNOWN,
    FLAG_BROKEN_GLASS,
    FLAG_COUNT
};
const char *flag_name(enum flag flag);

struct standing {
    const char *id, *label, *group; /* borrowed from the registry, "" if it has none; id from ids */
    bool reported;
    struct report report;
    uint8_t digest[QS_DIGEST_BYTES]; /* of the report's bytes */
    unsigned flags;                  /* bits 1 << enum flag */
    int ring;                        /* of the newest bundle; -1: none */
};
struct standings {
    struct standing *items;
    size_t count;
    json_t *ids;
};
void standings_release(struct standings *standings);

/* Judges one machine, pure: what the registry remembers, what it reported, the newest bundle, and the clock. */
unsigned standing_flags(const json_t *machine, const struct report *report, const uint8_t digest[QS_DIGEST_BYTES],
                        struct fleet_order newest, uint64_t clock);
/* Reads all reports, judges, and notes in the registry what was seen. */
enum qs_status work_status(struct work *work, struct standings *ret_standings, struct qs_error *err) QS_MUST_USE;
enum qs_status work_admit(struct work *work, const char *id, const char *label, const char *group,
                          struct qs_error *err) QS_MUST_USE;
/* May the next ring be opened? Of the registry's machines in open rings `need` percent must have succeeded, and none
 * failed. Errors: QS_NOT_FOUND with the figures. */
enum qs_status work_may_promote(struct work *work, uint64_t need, struct qs_error *err) QS_MUST_USE;
/* How many of the registry are in each ring. */
void work_draw(const struct work *work, const struct bundle *bundle, struct buf *out);

#endif
