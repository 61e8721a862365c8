/* SPDX-License-Identifier: Apache-2.0 */
/* rollback: an older generation's content as the content of a transaction. */
#include "base/cleanup.h"
#include "base/error.h"
#include "qsettings/history.h"
#include "store/history_at.h"
#include "store/history_read.h"
#include "writer/txn_internal.h"

enum qs_status qs_txn_rollback(struct qs_txn *txn, uint64_t generation, struct qs_error *err)
{
    struct history_pages pages = {0};
    struct qs_history *history = NULL;
    AUTO(snapshot_release) struct qs_snapshot *present = NULL;
    AUTO(snapshot_release) struct qs_snapshot *content = NULL;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = snapshot_walk(txn->hold.data_fd, -1, SNAPSHOT_HISTORY, history_visit, &pages, &present, err);
    if (!status)
        status = history_make(&present, &pages, &history, err);
    if (!status)
        status = rewind_to(history, generation, &content, err);
    if (!status)
        status = txn_become(txn, content, err);
    if (!status)
        txn->action = JOURNAL_ROLLBACK;
    if (status)
        error_add_file(err, txn->place.dir);
    qs_history_close(history);
    history_pages_release(&pages);
    return status;
}
