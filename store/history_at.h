/* SPDX-License-Identifier: Apache-2.0 */
/* The content of an older generation, by undoing records from the newest. */
#ifndef STORE_REWIND_H
#define STORE_REWIND_H

#include "store/history_read.h"

/* The settings, locks and flags as of generation, as a snapshot made of lists. Errors: as qs_history_at. */
enum qs_status rewind_to(struct qs_history *history, uint64_t generation, struct qs_snapshot **ret_snapshot,
                         struct qs_error *err) QS_MUST_USE;

#endif
