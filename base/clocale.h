/* SPDX-License-Identifier: Apache-2.0 */
/* The C locale as an object, so that numbers read and write the same whatever the program around us has set. */
#ifndef STORE_CLOCALE_H
#define STORE_CLOCALE_H

#include <locale.h>

/* Made once; never freed. Threads: any. */
locale_t clocale(void);

#endif
