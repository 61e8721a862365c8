/* SPDX-License-Identifier: Apache-2.0 */
/* Names that look alike. */
#include "text/alike.h"

#include <string.h>

static int fold(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* The next letter that counts, -1 at the end. */
static int next_letter(const unsigned char **at, const unsigned char *end)
{
    while (*at < end && (**at == '-' || **at == '_'))
        (*at)++;
    return *at < end ? fold(*(*at)++) : -1;
}

bool alike_spelt(const void *a, size_t a_len, const void *b, size_t b_len)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    const unsigned char *x_end = x + a_len;
    const unsigned char *y_end = y + b_len;
    for (;;) {
        int p = next_letter(&x, x_end);
        int q = next_letter(&y, y_end);
        if (p != q)
            return false;
        if (p < 0)
            return true;
    }
}

unsigned alike_distance(const void *a, size_t a_len, const void *b, size_t b_len, unsigned limit)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    unsigned rows[3][ALIKE_MAX_BYTES + 1];
    size_t gap = a_len > b_len ? a_len - b_len : b_len - a_len;
    if (a_len > ALIKE_MAX_BYTES || b_len > ALIKE_MAX_BYTES || gap > limit)
        return limit + 1;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        unsigned *above = rows[(i - 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned best = above[j - 1] + (fold(x[i - 1]) != fold(y[j - 1]));
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && fold(x[i - 1]) == fold(y[j - 2]) && fold(x[i - 2]) == fold(y[j - 1])) {
                unsigned swapped = rows[(i - 2) % 3][j - 2] + 1;
                best = swapped < best ? swapped : best;
            }
            row[j] = best;
        }
    }
    unsigned distance = rows[a_len % 3][b_len];
    return distance > limit ? limit + 1 : distance;
}
