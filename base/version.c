/* SPDX-License-Identifier: Apache-2.0 */
/* The library's version. */
#include "qsettings/version.h"

const char *qs_version(void)
{
    return QS_VERSION;
}
