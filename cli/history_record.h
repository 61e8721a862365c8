/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the history, for people and for programs; log, show and watch print the same. */
#ifndef CLI_HISTORY_RECORD_H
#define CLI_HISTORY_RECORD_H

#include "cli/cli.h"

/* {generation, time, actor, message, action, scope, changed, digest, previous}; with key only the changes that concern
 * it. */
json_t *record_json(struct cli *cli, enum qs_scope scope, const struct qs_history *history,
                    const struct qs_record *record, const struct qs_key *key);

/* Does the record change something at, below or above the key? */
bool record_concerns(const struct qs_history *history, const struct qs_record *record, const struct qs_key *key);

/* A line for the record, its message, and a line or two for each change. */
void record_text(struct cli *cli, enum qs_scope scope, const struct qs_history *history, const struct qs_record *record,
                 const struct qs_key *key, struct buf *out);

/* The same with digests. */
void record_text_full(struct cli *cli, enum qs_scope scope, const struct qs_history *history,
                      const struct qs_record *record, struct buf *out);

/* Text from elsewhere (a message, a user's name, a program's) as it may stand within output. indent, where it is not
 * empty, begins each of its lines; with an empty one the text stays one line. */
void plain_text(struct buf *out, const char *indent, const char *text);

#endif
