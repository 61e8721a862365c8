/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room fleet/machine/: What does a machine do with them, and what does it report?
 *
 * A machine in a fleet, and the steps of `apply`. docs/fleet.md says what stands after a kill at each of them.
 *
 *   load      1  lock; configuration, state, one snapshot of the store; what a kill left behind made good
 *   take      2  the spool, 3 key documents one by one, 4 the bundle: verified, kept, and seen
 *   apply     5  the target, 6 schema, 7 battery, 8 one transaction, 9 require-serial, 10 files and report
 *
 * `seen` is written before anything is done with the bundle, require-serial after the commit.
 */
#ifndef FLEET_MACHINE_H
#define FLEET_MACHINE_H

#include "fleet/machine/site.h"
#include "qsettings/qsettings.h"

struct machine {
    struct site site;
    int lock_fd; /* -1 */
    uint64_t clock;
    struct config config;
    struct key_document keys; /* the newest accepted */
    struct seen seen;
    struct bundle bundle; /* the one of seen, if it was kept; else document is NULL */
    uint32_t signers;     /* of it: a bit for each key of keys.bundle */
    struct bundle base;   /* its base, likewise */
    /* the store */
    struct qs_store *store;
    struct qs_snapshot *snapshot;
    struct fleet_mark mark;           /* what the store holds; fleet "": nothing of a fleet */
    struct fleet_mark demanded;       /* require-serial */
    bool has_applied;                 /* fleet.content is known */
    uint8_t applied[QS_DIGEST_BYTES]; /* fleet.content */
    uint8_t content[QS_DIGEST_BYTES]; /* of what is there now */
    bool drift;
    struct break_glass glass; /* end 0: none */
    /* of this run, for the report */
    bool clock_behind;
    const char *battery; /* NULL: as in the last report */
    json_t *failed;
    enum qs_status refusal; /* of a candidate; the rest goes on */
    struct qs_error why;
};

/* ---- load.c ---- */

/* Waits up to wait_ms for the lock. Errors: QS_ABSENT (in no fleet), QS_DAMAGED (a state file), QS_BUSY, QS_UNTRUSTED,
 * those of reading a store. */
enum qs_status machine_open(struct machine *machine, const char *root, unsigned wait_ms,
                            struct qs_error *err) QS_MUST_USE;
/* Reads the store anew, and what follows from it. A store that does not exist is made. */
enum qs_status machine_read_store(struct machine *machine, struct qs_error *err) QS_MUST_USE;
void machine_close(struct machine *machine);
struct draw_subject machine_subject(const struct machine *machine, char id[FLEET_ID_TEXT_BYTES]);
enum qs_status machine_lock(struct machine *machine, unsigned wait_ms, struct qs_error *err) QS_MUST_USE;
/* The one line of a state file. Errors: QS_NOT_FOUND, QS_DAMAGED. */
enum qs_status state_number(const struct site *site, const char *name, uint64_t *ret_number,
                            struct qs_error *err) QS_MUST_USE;

/* ---- take.c ---- */

/* Steps 2 to 4. A candidate that is refused goes to machine->refusal; what was kept stays. Errors: those of files. */
enum qs_status machine_take(struct machine *machine, struct qs_error *err) QS_MUST_USE;
/* A key document that follows `present`: signed by the root roles of both. */
enum qs_status next_keys_verify(const struct key_document *present, struct qs_bytes text, struct qs_bytes signature,
                                struct key_document *ret_keys, struct qs_error *err) QS_MUST_USE;
/* A bundle under these keys: signatures on the bytes, then JSON and all fields. */
enum qs_status bundle_verify(const struct key_document *keys, struct qs_bytes text, struct qs_bytes signature,
                             struct bundle *ret_bundle, uint32_t *ret_signers, struct qs_error *err) QS_MUST_USE;

/* ---- commit.c ---- */

/* Steps 6 and 8. Errors: QS_INVALID (schema), QS_CONFLICT (the store moved on), those of a transaction. */
enum qs_status machine_commit(struct machine *machine, const struct bundle *content, struct qs_error *err) QS_MUST_USE;
/* Takes fleet.* away; content and locks stay. */
enum qs_status machine_disown(struct machine *machine, const char *message, struct qs_error *err) QS_MUST_USE;
/* A record in the history without a change. */
enum qs_status machine_note(struct machine *machine, const char *message, struct qs_error *err) QS_MUST_USE;
/* Step 9: never lowers. */
enum qs_status machine_raise(struct machine *machine, struct qs_error *err) QS_MUST_USE;

/* ---- battery.c ---- */

/* Step 7. Sets machine->battery and failed. *ret_held: the candidate is not to be committed. */
enum qs_status machine_battery(struct machine *machine, const struct bundle *content, bool *ret_held,
                               struct qs_error *err) QS_MUST_USE;

/* ---- report_write.c ---- */

enum qs_status machine_report(struct machine *machine, enum machine_state state, const char *reason,
                              struct qs_error *err) QS_MUST_USE;
enum qs_status machine_key_read(const struct machine *machine, struct public_key *ret_key, uint8_t secret[64],
                                struct qs_error *err) QS_MUST_USE;

/* ---- apply.c, enrol.c: the commands ---- */

struct apply_outcome {
    enum machine_state state;
    char reason[256];
    bool changed; /* a generation was committed */
    struct fleet_order applied;
};
/* *ret_outcome says what holds also if the candidate was refused, which is the status then. Errors: QS_FOLLOW_UP
 * (committed, but publishing or reporting failed) too. */
enum qs_status fleet_apply(const char *root, unsigned wait_ms, struct apply_outcome *ret_outcome,
                           struct qs_error *err) QS_MUST_USE;
enum qs_status fleet_enrol(const char *root, const char *config_file, const char *keys_file, bool adopt,
                           unsigned wait_ms, char id[FLEET_ID_TEXT_BYTES], char key[MINISIG_KEY_TEXT_BYTES],
                           struct qs_error *err) QS_MUST_USE;
enum qs_status fleet_leave(const char *root, const char *why, unsigned wait_ms, struct qs_error *err) QS_MUST_USE;
/* hours 0: ends it. */
enum qs_status fleet_break_glass(const char *root, unsigned hours, const char *why, unsigned wait_ms,
                                 struct qs_error *err) QS_MUST_USE;
/* A whole file of a command line. */
enum qs_status file_read(const char *path, size_t max, struct buf *out, struct qs_error *err) QS_MUST_USE;

#endif
