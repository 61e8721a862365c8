/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a doctor finds: a list of checks, each with a result, what was seen, and what to do.
 *
 * Programs hand findings on as JSON, {"checks": [{"name", "result", "detail", "advice"}], "result"}; advice is null
 * where there is nothing to do. The result of the whole is the worst one.
 */
#ifndef TERMINAL_FINDINGS_H
#define TERMINAL_FINDINGS_H

#include "base/buf.h"
#include "base/error.h"
#include "terminal/voice.h"
#include "text/value.h"

#include <stdbool.h>

enum finding_result { FINDING_OK, FINDING_WARN, FINDING_FAIL };

/* Zero-initialised is empty. */
struct findings {
    json_t *list;
    const struct command_line *line; /* whose stores the commands in advices go to; NULL: as they stand */
    bool failed;                     /* no memory: the list lacks something */
};

void findings_release(struct findings *findings); /* for AUTO(findings_release) */

/* advice: what to do, a command where there is one; NULL: nothing. */
void finding_add(struct findings *findings, const char *name, enum finding_result result, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same of an error, with its own advice, or this where it has none. */
void finding_add_error(struct findings *findings, const char *name, enum finding_result result,
                       const struct qs_error *err, const char *advice);

/* Takes over the checks of another program's report. False where it is no such report; then nothing is added. */
bool findings_join(struct findings *findings, const char *json, size_t len);

enum finding_result findings_worst(const struct findings *findings);
/* The report; NULL without memory. */
json_t *findings_json(const struct findings *findings);
/* Lines for people: result, name and detail in columns, then what to do. */
void findings_text(const struct findings *findings, struct buf *out);

#endif
