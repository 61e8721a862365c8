/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean", over short names. */
#include "terminal/nearest.h"

#include "text/alike.h"

#include <stdint.h>
#include <string.h>

const char *nearest_name(const char *name, name_source *name_at, void *user, char *text, size_t size)
{
    size_t len = strlen(name);
    unsigned limit = len < 5 ? 1 : 2;
    const char *found = NULL, *other;
    if (len == 0)
        return NULL;
    for (size_t i = 0; (other = name_at(i, user)) != NULL; i++) {
        size_t other_len = strlen(other);
        if (other_len >= size || strcmp(name, other) == 0)
            continue;
        unsigned apart = alike_distance(name, len, other, other_len, limit);
        if (apart > limit || (found && apart == limit))
            continue;
        limit = apart;
        found = strcpy(text, other);
    }
    return found;
}

static const char *word_at(size_t index, void *user)
{
    return ((const char *const *)user)[index];
}

const char *nearest_word(const char *name, const char *const *words)
{
    char text[ALIKE_MAX_BYTES + 1];
    const char *near = nearest_name(name, word_at, (void *)(uintptr_t)words, text, sizeof text);
    for (; near && *words; words++)
        if (strcmp(*words, near) == 0)
            return *words;
    return NULL;
}

void nearest_advise(struct qs_error *err, const char *name)
{
    if (name)
        error_add_advice(err, NEAREST_QUESTION, name);
}
