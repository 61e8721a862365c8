/* SPDX-License-Identifier: Apache-2.0 */
/* The --json results. Their fields are a promise; qstress(1) lists them. */
#ifndef STRESS_REPORT_JSON_H
#define STRESS_REPORT_JSON_H

#include "stress/race/race.h"
#include "stress/sessions/sessions.h"

/* One object and a newline; heap text of the caller. NULL: no memory. */
char *report_json_race(const struct race *race, const struct race_result *result);

char *report_json_sessions(const struct session_result *result);

#endif
