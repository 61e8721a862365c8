/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the name that is nearest to what was typed. */
#ifndef TERMINAL_NEAREST_H
#define TERMINAL_NEAREST_H

#include "base/error.h"

/* The question itself, for a format with the name. */
#define NEAREST_QUESTION "did you mean '%s'?"

/* The nearest other name within two typing errors (one for a short name), copied to text, or NULL. name_at gives names
 * by index and NULL at the end. */
typedef const char *name_source(size_t index, void *user);
const char *nearest_name(const char *name, name_source *name_at, void *user, char *text, size_t size);

/* The same among words that end with NULL; returns the word itself. */
const char *nearest_word(const char *name, const char *const *words);

/* Asks, as the error's advice, whether this name was meant. NULL: asks nothing. */
void nearest_advise(struct qs_error *err, const char *name);

#endif
