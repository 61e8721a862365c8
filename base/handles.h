/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup attributes for the handles of the library's public interface. */
#ifndef BASE_HANDLES_H
#define BASE_HANDLES_H

#include "qsettings/qsettings.h"

static inline void handle_store(struct qs_store **store)
{
    qs_store_close(*store);
}

static inline void handle_snapshot(struct qs_snapshot **snapshot)
{
    qs_snapshot_unref(*snapshot);
}

static inline void handle_txn(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

static inline void handle_history(struct qs_history **history)
{
    qs_history_close(*history);
}

static inline void handle_settings(struct qs_settings **settings)
{
    qs_settings_close(*settings);
}

static inline void handle_policy(struct qs_policy_result **result)
{
    qs_policy_free(*result);
}

#define AUTO_STORE    __attribute__((cleanup(handle_store)))
#define AUTO_SNAPSHOT __attribute__((cleanup(handle_snapshot)))
#define AUTO_TXN      __attribute__((cleanup(handle_txn)))
#define AUTO_HISTORY  __attribute__((cleanup(handle_history)))
#define AUTO_SETTINGS __attribute__((cleanup(handle_settings)))
#define AUTO_POLICY   __attribute__((cleanup(handle_policy)))

#endif
