/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real numbers as text: the fewest digits that read back as the same double, whatever the locale.
 *
 * The C library's conversions are exact in both directions, so the fewest digits are found by trying. Fifteen always
 * survive decimal -> double -> decimal (DBL_DIG), so where 15 digits read back equal, the same without their final
 * zeros are the fewest; 17 always read back equal. Two exceptions: below DBL_MIN fewer digits are precise, so all
 * lengths are tried; and just below a power of two doubles lie twice as dense as above it, so the nearest decimal of n
 * digits may miss where the next one up hits.
 */
#include "text/value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17

/* DIGITS without a point, and the power of ten of the first: 1234 with exponent 1 is 12.34. */
struct decimal {
    char digits[DIGITS_MAX + 2];
    int count, exponent;
};

/* A mantissa without a point keeps strtod free of the locale. */
static bool reads_back(const struct decimal *decimal, double real)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.*se%d", decimal->count, decimal->digits,
                   decimal->exponent - (decimal->count - 1));
    return strtod(text, NULL) == real;
}

static void round_to(double real, int count, struct decimal *decimal)
{
    char text[48]; /* "d" radix "ddd" "e" sign exponent; the radix is the locale's and is skipped */
    (void)snprintf(text, sizeof text, "%.*e", count - 1, real);
    const char *e = strchr(text, 'e');
    decimal->count = 0;
    for (const char *p = text; p < e; p++)
        if (*p >= '0' && *p <= '9')
            decimal->digits[decimal->count++] = *p;
    decimal->exponent = (int)strtol(e + 1, NULL, 10);
}

static bool next_up(struct decimal *decimal)
{
    int i = decimal->count - 1;
    for (; i >= 0 && decimal->digits[i] == '9'; i--)
        decimal->digits[i] = '0';
    if (i < 0)
        return false; /* 999 to 1000: a shorter decimal, tried before */
    decimal->digits[i]++;
    return true;
}

static void shortest(double real, struct decimal *decimal)
{
    int unused;
    bool power_of_two = frexp(real, &unused) == 0.5;
    for (int count = real < DBL_MIN ? 1 : DBL_DIG; count <= DIGITS_MAX; count++) {
        round_to(real, count, decimal);
        if (reads_back(decimal, real))
            break;
        if (power_of_two && next_up(decimal) && reads_back(decimal, real))
            break;
    }
    while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0')
        decimal->count--;
}

/* Plain notation from 0.0001 up to 16 digits before the point, exponents beyond. */
#define EXPONENT_PLAIN_MIN (-4)
#define EXPONENT_PLAIN_MAX 15

static void put_plain(const struct decimal *decimal, struct buf *out)
{
    static const char zeros[] = "0000000000000000";
    int before = decimal->exponent + 1; /* digits before the point */
    if (before <= 0) {
        buf_add(out, "0.", 2);
        buf_add(out, zeros, (size_t)-before);
        buf_add(out, decimal->digits, (size_t)decimal->count);
    } else if (before >= decimal->count) {
        buf_add(out, decimal->digits, (size_t)decimal->count);
        buf_add(out, zeros, (size_t)(before - decimal->count));
        buf_add(out, ".0", 2);
    } else {
        buf_add(out, decimal->digits, (size_t)before);
        buf_add_char(out, '.');
        buf_add(out, decimal->digits + before, (size_t)(decimal->count - before));
    }
}

void value_encode_real(double real, struct buf *out)
{
    struct decimal decimal = {.digits = "0", .count = 1, .exponent = 0};
    if (signbit(real))
        buf_add_char(out, '-');
    if (real != 0)
        shortest(fabs(real), &decimal);
    if (decimal.exponent >= EXPONENT_PLAIN_MIN && decimal.exponent <= EXPONENT_PLAIN_MAX) {
        put_plain(&decimal, out);
        return;
    }
    buf_add(out, decimal.digits, 1);
    if (decimal.count > 1) {
        buf_add_char(out, '.');
        buf_add(out, decimal.digits + 1, (size_t)(decimal.count - 1));
    }
    buf_printf(out, "e%d", decimal.exponent);
}
