/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private directory: a copy of the host's git directory without its objects, in which a command may do what it
 * likes. It lasts from run to run; the host's own changes are brought into it before each.
 */
#ifndef SANDBOX_CROSSING_PRIVATE_DIR_H
#define SANDBOX_CROSSING_PRIVATE_DIR_H

#include "sandbox/crossing/repository.h"

/*
 * Makes the private directory where there is none, and brings in what the host changed: refs that the command has left
 * alone; and the whole checkout where the command has changed nothing of it and no run is active. Under the
 * repository's lock. After return repository->private is open. Errors: QS_INVALID (too much to copy; git cannot read
 * one of the sides), QS_DAMAGED (the base), QS_IO.
 */
enum qs_status private_prepare(struct repository *repository, struct qs_error *err) QS_MUST_USE;

/* Removes the private directory and all of the base: the next run makes them anew. */
enum qs_status private_forget(struct repository *repository, struct qs_error *err) QS_MUST_USE;

/* A configuration file as the private directory may have it: without what names programs that run by themselves, and
 * without credentials. Pure. */
struct buf;
void private_config(const char *text, struct buf *out);

#endif
