/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the shim, in order; each is called once, by shim_main or in the command's own process. */
#ifndef SANDBOX_SHIM_STEPS_H
#define SANDBOX_SHIM_STEPS_H

#include "sandbox/wire/spec.h"

/* No further user namespaces. Errors: QS_IO (the kernel refused). */
enum qs_status shim_close_userns(const struct spec *spec, struct qs_error *err) QS_MUST_USE;

/* New mount namespace, inner mounts, masks, read-only parts of /proc; checks of device, inode and flags.
 * Errors: QS_CONFLICT (something is no longer what was planned), QS_IO (the kernel refused). */
enum qs_status shim_mounts(const struct spec *spec, struct qs_error *err) QS_MUST_USE;

/* A new session keyring, no new privileges, Landlock, no capabilities, and last the system call filter. Errors: QS_IO
 * (the kernel refused), QS_CONFLICT (a check afterwards failed). */
enum qs_status shim_confine(const struct spec *spec, struct qs_error *err) QS_MUST_USE;
enum qs_status shim_landlock(const struct spec *spec, struct qs_error *err) QS_MUST_USE;

/* The limits of the policy; in the command's own process, so that PID 1 is not bound by them. */
enum qs_status shim_limits(const struct spec *spec, struct qs_error *err) QS_MUST_USE;

#endif
