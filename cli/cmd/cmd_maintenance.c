/* SPDX-License-Identifier: Apache-2.0 */
/* Care of a store: fsck, repair, compact, backup, restore. */
#include "cli/cli.h"

#include "terminal/progress.h"

#include <stdio.h>
#include <sys/stat.h>

enum qs_status cmd_fsck(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_fsck_report found = {.size = sizeof found};
    char digest[DIGEST_TEXT_BYTES];
    (void)count;
    (void)operands;
    AUTO(progress_drop) struct progress *progress = progress_begin("fsck");
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_fsck(store, &found, err);
    progress_drop(&progress);
    if (status)
        return status;
    if (!cli->line.json) {
        buf_printf(
            &cli->out,
            "%s: ok, generation %llu\n  %llu settings, %llu history records, %llu pages in use, %llu free\n  %s\n",
            qs_scope_name(qs_store_scope(store)), (unsigned long long)found.generation,
            (unsigned long long)found.entries, (unsigned long long)found.records, (unsigned long long)found.pages,
            (unsigned long long)found.free_pages, digest_text(found.digest, digest));
        return QS_OK;
    }
    json_t *report = json_object();
    put(cli, report, "status", json_string("ok"));
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "generation", json_integer((json_int_t)found.generation));
    put(cli, report, "pages", json_integer((json_int_t)found.pages));
    put(cli, report, "freePages", json_integer((json_int_t)found.free_pages));
    put(cli, report, "entries", json_integer((json_int_t)found.entries));
    put(cli, report, "records", json_integer((json_int_t)found.records));
    put(cli, report, "digest", json_digest(found.digest));
    out_json(cli, report);
    return QS_OK;
}

/* ---- repair ---- */

static void repair_text(struct cli *cli, const struct qs_store *store, const struct qs_repair_report *found,
                        bool applied)
{
    const char *name = qs_scope_name(qs_store_scope(store));
    if (found->healthy) {
        buf_printf(&cli->out, "%s: nothing to repair, generation %llu\n", name, (unsigned long long)found->generation);
        return;
    }
    buf_printf(&cli->out, "%s: damaged: ", name);
    if (found->damage->page >= 0)
        buf_printf(&cli->out, "page %lld: ", (long long)found->damage->page);
    buf_printf(&cli->out, "%s\n  newest recoverable generation: %llu", found->damage->message,
               (unsigned long long)found->generation);
    if (found->newest_known > found->generation)
        buf_printf(&cli->out, "; lost: the generations after it, up to %llu", (unsigned long long)found->newest_known);
    buf_printf(&cli->out, "\n  history records that verify: %llu, lost: %llu\n", (unsigned long long)found->records,
               (unsigned long long)found->lost_records);
    if (applied)
        buf_printf(&cli->out, "  repaired: continues at generation %llu; the damaged file was kept as %s/%s\n",
                   (unsigned long long)found->new_generation, qs_store_path(store), found->kept_aside);
    else
        buf_printf(&cli->out, "  nothing was changed; 'qsettings --%s repair --yes' rolls back to generation %llu\n",
                   name, (unsigned long long)found->generation);
}

static void repair_json(struct cli *cli, const struct qs_store *store, const struct qs_repair_report *found,
                        bool applied)
{
    json_t *report = json_object();
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "status", json_string(found->healthy ? "ok" : applied ? "repaired" : "damaged"));
    put(cli, report, "generation", json_integer((json_int_t)found->generation));
    put(cli, report, "newestKnown", json_integer((json_int_t)found->newest_known));
    put(cli, report, "records", json_integer((json_int_t)found->records));
    put(cli, report, "lostRecords", json_integer((json_int_t)found->lost_records));
    put(cli, report, "newGeneration",
        applied && !found->healthy ? json_integer((json_int_t)found->new_generation) : json_null());
    put(cli, report, "keptAside", found->kept_aside ? json_words(found->kept_aside) : json_null());
    put(cli, report, "damage", found->healthy ? json_null() : json_words(found->damage->message));
    put(cli, report, "page",
        !found->healthy && found->damage->page >= 0 ? json_integer(found->damage->page) : json_null());
    out_json(cli, report);
}

static void repair_report_release(struct qs_repair_report **report)
{
    qs_repair_report_free(*report);
}

enum qs_status cmd_repair(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO(repair_report_release) struct qs_repair_report *found = NULL;
    bool apply = cli->yes;
    (void)count;
    (void)operands;
    AUTO(progress_drop) struct progress *progress = progress_begin("repair");
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_repair(store, apply, cli->wait_ms, &found, err);
    progress_drop(&progress);
    if (status == QS_DAMAGED)
        error_add_advice(err, "restore a backup with 'qsettings --%s restore FILE'",
                         qs_scope_name(qs_store_scope(store)));
    if (status)
        return status;
    if (cli->line.json)
        repair_json(cli, store, found, apply);
    else
        repair_text(cli, store, found, apply);
    if (!found->healthy && !apply)
        cli->exit_status = -QS_DAMAGED; /* it still is */
    if (found->healthy || !apply)
        return QS_OK;
    cli_note_stored(cli, store, found->new_generation);
    return cli_publish_registered(cli, store, NULL, err);
}

/* ---- compact, backup, restore ---- */

static long long store_bytes(const struct qs_store *store)
{
    struct stat st;
    AUTO_FREE char *name = NULL;
    if (asprintf(&name, "%s/data.mdb", qs_store_path(store)) < 0) {
        name = NULL;
        return -1;
    }
    return stat(name, &st) == 0 ? (long long)st.st_size : -1;
}

enum qs_status cmd_compact(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    (void)count;
    (void)operands;
    enum qs_status status = cli_open_one(cli, &store, err);
    if (status)
        return status;
    long long before = store_bytes(store);
    AUTO(progress_drop) struct progress *progress = progress_begin("compact");
    status = qs_store_compact(store, cli->wait_ms, err);
    progress_drop(&progress);
    if (status)
        return status;
    long long after = store_bytes(store);
    if (!cli->line.json) {
        buf_printf(&cli->out, "%s: compacted from %lld to %lld bytes\n", qs_scope_name(qs_store_scope(store)), before,
                   after);
        return QS_OK;
    }
    json_t *report = json_object();
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "bytesBefore", json_integer(before));
    put(cli, report, "bytesAfter", json_integer(after));
    out_json(cli, report);
    return QS_OK;
}

enum qs_status cmd_backup(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    (void)count;
    AUTO(progress_drop) struct progress *progress = progress_begin("backup");
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_backup(store, operands[0], cli->force, err);
    progress_drop(&progress);
    if (status)
        return status;
    if (!cli->line.json) {
        buf_printf(&cli->out, "%s: written to %s\n", qs_scope_name(qs_store_scope(store)), operands[0]);
        return QS_OK;
    }
    json_t *report = json_object();
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "file", json_words(operands[0]));
    out_json(cli, report);
    return QS_OK;
}

enum qs_status cmd_restore(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    (void)count;
    AUTO(progress_drop) struct progress *progress = progress_begin("restore");
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_restore(store, operands[0], cli->wait_ms, &info, err);
    progress_drop(&progress);
    if (status)
        return status;
    cli_report_commit(cli, store, &info, NULL);
    return cli_publish_registered(cli, store, &info, err);
}
