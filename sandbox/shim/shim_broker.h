/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are granted in a read-only directory.
 *
 * In a linked worktree git replaces `packed-refs` of the common directory, and no mount can allow that without allowing
 * any other new name beside it (`commondir` redirects the host's git). So the directory stays read-only, and the calls
 * by which git would make, rename and remove files are shown to PID 1 first (seccomp_unotify(2)). It does what concerns
 * one of the few names below itself, by a descriptor of the directory; for everything else the kernel goes on as if
 * nobody had asked, and the read-only mount decides. What a call says is never trusted: a name that changes after it
 * was read leads to no other deed than one of these few.
 *
 *   packed-refs.lock, packed-refs.new, gc.pid.lock     made new (O_EXCL), and removed, if this run made them
 *   HEAD.lock                                          likewise; gc holds it while it expires the log of HEAD
 *   packed-refs.new -> packed-refs, gc.pid.lock -> gc.pid
 *   gc.pid                                             removed, if this run made it
 *
 * Until PID 1 has taken a call up (some microseconds), a signal interrupts it: a program with handlers that do not
 * restart calls (no SA_RESTART) can see EINTR from open, rename and unlink. Afterwards only a deadly one does, so that
 * nothing is done twice.
 *
 * Cost: two switches of the processor for each open that creates, rename and unlink, in such runs only.
 */
#ifndef SANDBOX_SHIM_BROKER_H
#define SANDBOX_SHIM_BROKER_H

#include "sandbox/wire/spec.h"

/* In the command's process, last before exec: what is called from here on is shown. Sends the listener through socket.
 * Errors: QS_IO. */
enum qs_status broker_offer(int socket, struct qs_error *err) QS_MUST_USE;

/* In PID 1: a thread that waits for the listener at the other end of socket, and serves. It ends with the process.
 * spec must live as long. Errors: QS_IO. */
enum qs_status broker_start(const struct spec *spec, int socket, struct qs_error *err) QS_MUST_USE;

#endif
