/* SPDX-License-Identifier: Apache-2.0 */
/* The C locale as an object. glibc keeps it in static memory, so making it does not fail there. */
#include "base/clocale.h"

#include <pthread.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t clocale(void)
{
    (void)pthread_once(&c_locale_once, make_c_locale);
    return c_locale;
}
