/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of __complete, each on a line of cli->out. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/cli.h"

/* One candidate, if it begins with word. description may be NULL. */
void complete_offer(struct cli *cli, const char *word, const char *candidate, const char *description);

/* What may stand where an argument of this kind is wanted. at says which stores the words so far name. */
void complete_argument(struct cli *cli, struct cli *at, enum argument kind, const char *word);

/* The values that the schema allows for a key. */
void complete_value(struct cli *cli, const char *key, const char *word);

#endif
