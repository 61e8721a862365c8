/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is executed as the shim. */
#ifndef SANDBOX_HOSTSHIM_H
#define SANDBOX_HOSTSHIM_H

#include "sandbox/host/host_path.h"

/*
 * The shim as a program of its own, linked statically because it starts in every run: `EXECUTABLE-shim`, or
 * `../libexec/qsettings/qsandbox-shim` from the executor's directory. It must be a file of the executor's owner or of
 * root, no more writable than the executor. Absent: the executor is its own shim (`--inner`), which is the same code.
 * Errors: QS_UNTRUSTED, QS_IO.
 */
enum qs_status shim_look(const char *executable, struct path_fact *ret_fact, struct qs_error *err) QS_MUST_USE;

#endif
