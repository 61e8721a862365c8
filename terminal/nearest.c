/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the edit distance with transpositions (optimal string alignment), over short names. */
#include "terminal/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NEAREST_MAX 96

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][NEAREST_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            int left = tolower((unsigned char)a[i - 1]), right = tolower((unsigned char)b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_len];
}

const char *nearest_name(const char *name, name_source *name_at, void *user, char *text, size_t size)
{
    size_t len = strlen(name), best = len < 5 ? 2 : 3; /* smaller than this is near */
    const char *found = NULL, *other;
    if (len == 0 || len > NEAREST_MAX)
        return NULL;
    for (size_t i = 0; (other = name_at(i, user)) != NULL; i++) {
        size_t other_len = strlen(other);
        if (other_len > NEAREST_MAX || other_len >= size)
            continue;
        size_t apart = distance(name, len, other, other_len);
        if (apart < best && strcmp(name, other) != 0) {
            best = apart;
            found = strcpy(text, other);
        }
    }
    return found;
}

static const char *word_at(size_t index, void *user)
{
    return ((const char *const *)user)[index];
}

const char *nearest_word(const char *name, const char *const *words)
{
    char text[NEAREST_MAX + 1];
    const char *near = nearest_name(name, word_at, (void *)(uintptr_t)words, text, sizeof text);
    for (; near && *words; words++)
        if (strcmp(*words, near) == 0)
            return *words;
    return NULL;
}
