/* SPDX-License-Identifier: Apache-2.0 */
/* All of libqsettings. */
#ifndef QSETTINGS_QSETTINGS_H
#define QSETTINGS_QSETTINGS_H

#include "qsettings/file.h"
#include "qsettings/history.h"
#include "qsettings/key.h"
#include "qsettings/limits.h"
#include "qsettings/maintenance.h"
#include "qsettings/policy.h"
#include "qsettings/publish.h"
#include "qsettings/settings.h"
#include "qsettings/status.h"
#include "qsettings/store.h"
#include "qsettings/txn.h"
#include "qsettings/version.h"
#include "qsettings/watch.h"

#endif
