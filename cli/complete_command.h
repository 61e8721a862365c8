/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of __complete. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/cli.h"
#include "terminal/completion.h"

/* What may stand where an argument of this kind is wanted. at says which stores the words so far name. */
void complete_argument(const struct completion *to, struct cli *at, enum argument kind);

/* What may stand for a key's value: those that the schema allows, and files after "@". */
void complete_value(const struct completion *to, const char *key);

#endif
