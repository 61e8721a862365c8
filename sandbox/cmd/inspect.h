/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a report: what is writable and why, what is hidden, which barriers hold, what remains. */
#ifndef SANDBOX_INSPECT_H
#define SANDBOX_INSPECT_H

#include "sandbox/run/prepare.h"

#include <jansson.h>

/* A new reference; NULL without memory. Starts bubblewrap twice, to see what it can. */
json_t *inspect_report(const struct context *context);

#endif
