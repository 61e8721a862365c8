/* SPDX-License-Identifier: Apache-2.0 */
/* The C locale as an object, so that numbers read and write the same whatever the program around us has set. */
#ifndef BASE_CLOCALE_H
#define BASE_CLOCALE_H

#include <locale.h>

/* Made once; never freed. Threads: any. */
locale_t clocale(void);

#endif
