/* SPDX-License-Identifier: Apache-2.0 */
/* The library's version. */
#ifndef QSETTINGS_VERSION_H
#define QSETTINGS_VERSION_H

#include "qsettings/status.h"

#define QS_VERSION_MAJOR 0
#define QS_VERSION_MINOR 1
#define QS_VERSION_PATCH 0
#define QS_VERSION       "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs (QS_VERSION is that of the headers). Static storage. */
QS_API const char *qs_version(void);

#ifdef __cplusplus
}
#endif
#endif
