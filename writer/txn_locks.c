/* SPDX-License-Identifier: Apache-2.0 */
/* What a transaction changes beside the settings: locks, flags, publish targets. */
#include "base/error.h"
#include "writer/txn_internal.h"

static const struct qs_bytes LOCK_VALUE = {"true", 4};

enum qs_status qs_txn_lock(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = qs_key_parse(key, &parsed, err);
    if (!status)
        status = overlay_put(&txn->areas[AREA_LOCKS], (struct qs_bytes){parsed.bytes, parsed.len}, LOCK_VALUE, err);
    return status;
}

enum qs_status qs_txn_unlock(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = qs_key_parse(key, &parsed, err);
    if (status)
        return status;
    struct qs_bytes bytes = {parsed.bytes, parsed.len};
    if (!overlay_value(&txn->areas[AREA_LOCKS], &txn->base->areas[AREA_LOCKS], bytes).data) {
        status = error_set(err, QS_NOT_FOUND, "scope %s holds no lock on this key", qs_scope_name(txn->place.scope));
        error_add_path(err, key);
        return status;
    }
    return overlay_put(&txn->areas[AREA_LOCKS], bytes, (struct qs_bytes){NULL, 0}, err);
}

enum qs_status qs_txn_require_policy(struct qs_txn *txn, bool required, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        txn->flags = required ? txn->flags | RECORD_REQUIRE_POLICY : txn->flags & ~RECORD_REQUIRE_POLICY;
    return status;
}

enum qs_status txn_put_target(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (!status && (key.len == 0 || key.len > QS_KEY_MAX_BYTES))
        status = error_set(err, QS_INVALID, "a target's name has 1 to %u bytes", QS_KEY_MAX_BYTES);
    return status ? status : overlay_put(&txn->areas[AREA_TARGETS], key, value, err);
}
