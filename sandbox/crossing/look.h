/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the three sides of a repository once, into memory: the host's by its git, the private one's confined. */
#ifndef SANDBOX_CROSSING_LOOK_H
#define SANDBOX_CROSSING_LOOK_H

#include "sandbox/crossing/base_file.h"
#include "sandbox/crossing/command.h"
#include "sandbox/crossing/decide.h"
#include "sandbox/crossing/repository.h"
#include "sandbox/crossing/side.h"

#define LOOK_TRIES 3

/* Configuration that the private directory has a copy of. */
#define LOOK_COPIED_COUNT 6
extern const char *const look_copied[LOOK_COPIED_COUNT];

struct sides {
    struct git_refs private, base, host;
    struct {
        struct git_checkout private, base, host;
        struct base_signs signs;
        bool has_base;
        bool gone; /* the private directory has no such worktree any more: nothing of it crosses */
    } checkouts[REPOSITORY_CHECKOUTS_MAX];
    struct base_signs signs;
    uint8_t copied[LOOK_COPIED_COUNT][2 * QS_DIGEST_BYTES]; /* of the host's file, and of the copy */
};
void sides_release(struct sides *sides);

enum qs_status look_host_refs(const struct repository *repository, struct git_refs *refs,
                              struct qs_error *err) QS_MUST_USE;
enum qs_status look_host_checkout(const struct repository *repository, const struct checkout_place *place,
                                  struct git_checkout *checkout, struct qs_error *err) QS_MUST_USE;
enum qs_status look_host(const struct repository *repository, struct sides *sides, struct qs_error *err) QS_MUST_USE;

/* All of the private directory. Errors: QS_BUSY (it changed at each try), QS_INVALID (git cannot read it, or it is over
 * a bound), QS_IO. */
enum qs_status look_private(const struct repository *repository, struct sides *sides, struct qs_error *err) QS_MUST_USE;
/* Marks which of these entries are only intended to be added. */
enum qs_status look_intents(const struct repository *repository, const struct checkout_place *place,
                            struct git_checkout *checkout, struct qs_error *err) QS_MUST_USE;

/* The base; a checkout without one has has_base false. Errors: QS_ABSENT, QS_DAMAGED, QS_IO. */
enum qs_status look_base(const struct repository *repository, struct sides *sides, struct qs_error *err) QS_MUST_USE;
enum qs_status write_base(const struct repository *repository, const struct sides *sides,
                          struct qs_error *err) QS_MUST_USE;
enum qs_status write_base_checkout(const struct repository *repository, const struct checkout_place *place,
                                   const struct git_checkout *base, const struct base_signs *signs,
                                   struct qs_error *err) QS_MUST_USE;

/* Signatures as they are now; and whether they are those of the base's files, without reading more of them. */
enum qs_status sign_refs(int dir, uint8_t ret_sign[QS_DIGEST_BYTES], struct qs_error *err) QS_MUST_USE;
enum qs_status sign_checkout(int dir, uint8_t ret_sign[QS_DIGEST_BYTES], struct qs_error *err) QS_MUST_USE;
enum qs_status sign_private(const struct repository *repository, struct sides *sides, struct qs_error *err) QS_MUST_USE;
struct moved {
    bool private, host;
};
enum qs_status look_moved(const struct repository *repository, struct moved *ret_moved,
                          struct qs_error *err) QS_MUST_USE;

/* Of a file of look_copied; zeros where it is not there. False: it cannot be read. */
bool sign_copied(int dir, size_t which, uint8_t ret_sign[QS_DIGEST_BYTES]);

/* A confined git on the private directory, shown as its place on the host; its own alternates are shown, too. */
enum qs_status confine_private(const struct repository *repository, bool writable, struct git_command *command,
                               struct qs_error *err) QS_MUST_USE;

/*
 * Writes what both sides agree on; the base keeps its old value where they do not. The sides are those that the plans
 * were made from: what they took over is counted as the host's. stashes: the host has the private list now. Without
 * plans the sides are read after the change, and the private signature is kept only where nothing is left to cross.
 * Durability: after return the base is on the disk. Errors: QS_IO.
 */
struct settled {
    const struct ref_plan *refs;
    const struct checkout_plan *checkouts; /* one for each checkout */
    bool stashes;
};
enum qs_status settle(const struct repository *repository, struct sides *sides, const struct settled *settled,
                      struct qs_error *err) QS_MUST_USE;

#endif
