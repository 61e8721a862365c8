/* SPDX-License-Identifier: Apache-2.0 */
/* A machine: three processes, one that fetches, one that applies, and one that reads, judges and kills the others. */
#include "stress/fleet/fleet.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "writer/txn_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct host {
    const struct fleet_run *run;
    struct fleet_board *board;
    unsigned number;
    struct stress_rng rng;
    char root[512], id[FLEET_ID_TEXT_BYTES];
    fleet_name groups[1];
    pid_t fetcher, applier;
    bool begun; /* it has had a policy */
    struct fleet_order last;
    uint8_t last_content[QS_DIGEST_BYTES];
};

bool fleet_control_is(const struct fleet_run *run, const char *name)
{
    return run->options->control && !strcmp(run->options->control, name);
}

/* ---- the processes that are killed ---- */

static int64_t clock_jump_s;

static int jumping_realtime(int64_t *ret_s, uint32_t *ret_ns)
{
    int code = os_real.realtime(ret_s, ret_ns);
    *ret_s += clock_jump_s;
    return code;
}

/* Controls: what the real code does not do is done beside it, by the same means. */
static void spoil_before(const struct host *host)
{
    char path[600];
    const char *files[] = {"var/lib/qfleet/seen", "require-serial"};
    if (fleet_control_is(host->run, "no-order")) { /* nothing is remembered of what was seen */
        struct machine machine = {.lock_fd = -1};
        for (size_t i = 0; i < 2; i++) {
            (void)snprintf(path, sizeof path, "%s/%s", host->root, files[i]);
            (void)unlink(path);
        }
        if (!machine_open(&machine, host->root, 1000, NULL))
            (void)!machine_disown(&machine, "a control", NULL);
        machine_close(&machine);
        (void)snprintf(path, sizeof path, "%s/var/lib/qfleet/seen", host->root);
        (void)unlink(path);
    }
    if (fleet_control_is(host->run, "serial-first") && host->begun) { /* the demand of the bundle that is to come */
        struct document_name names[SPOOL_NAMES_MAX], highest = {0};
        struct site site;
        size_t count = 0;
        AUTO(buf_release) struct buf line = {0};
        struct fleet_mark mark = {.fleet = "north"};
        if (site_init(&site, host->root, NULL) || site_spool(&site, names, &count, NULL))
            return;
        for (size_t i = 0; i < count; i++)
            if (names[i].kind == DOCUMENT_BUNDLE && fleet_order_compare(names[i].order, highest.order) > 0)
                highest = names[i];
        mark.order = highest.order;
        mark_format(&mark, &line);
        if (highest.order.keys)
            (void)!site_write(&site, SITE_ETC, FLEET_SERIAL_FILE, 0644, buf_bytes(&line), NULL);
        stress_sleep_ns(20000000);
    }
    if (fleet_control_is(host->run, "two-transactions") && host->begun) { /* the settings, and then the key fleet */
        struct qs_store *store = NULL;
        struct qs_txn *txn = NULL;
        static const char text[] = "{\"env\":{\"SERIAL\":\"half\"}}";
        if (!qs_store_open(QS_SCOPE_SYSTEM,
                           &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = host->root},
                           &store, NULL) &&
            !qs_txn_begin(store, 1000, &txn, NULL)) {
            txn->fleet = true;
            if (!qs_txn_apply(txn, "x", text, sizeof text - 1, QS_FORMAT_JSON, false, NULL))
                (void)!qs_txn_commit(txn, NULL, NULL, NULL);
        }
        qs_txn_free(txn);
        qs_store_close(store);
        stress_sleep_ns(20000000);
    }
}

/* As qfleet-apply.path would start it, and once in a while whatever there is. */
static bool something_came(const struct host *host, struct timespec *seen, unsigned *idle)
{
    char path[600];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/var/spool/qfleet", host->root);
    bool changed = !stat(path, &st) && memcmp(&st.st_mtim, seen, sizeof *seen) != 0;
    if (changed)
        *seen = st.st_mtim;
    *idle = changed ? 0 : *idle + 1;
    return changed || *idle % 50 == 0;
}

static void apply_for_ever(struct host *host)
{
    struct timespec seen = {0};
    unsigned idle = 0;
    static struct os_calls calls;
    struct apply_outcome outcome;
    calls = os_real;
    calls.realtime = jumping_realtime;
    qs_os = &calls;
    while (!atomic_load(&host->board->stop)) {
        bool well = atomic_load(&host->board->well);
        clock_jump_s = well || stress_rng_next(&host->rng) % 8
                           ? 0
                           : (int64_t)(stress_rng_next(&host->rng) % 200) * 86400 - 8640000;
        if (something_came(host, &seen, &idle)) {
            spoil_before(host);
            (void)!fleet_apply(host->root, 5000, &outcome, NULL);
            host->begun = host->begun || outcome.changed;
        }
        stress_sleep_ns((5000000 + stress_rng_next(&host->rng) % 10000000) * (1 + host->run->options->hosts / 40));
    }
}

static pid_t begin(struct host *host, bool fetch)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    stress_rng_init(&host->rng, stress_rng_next(&host->rng), (uint64_t)getpid());
    if (fetch) {
        bool deaf = fleet_control_is(host->run, "deaf-watch"); /* looks once, and hears nothing more */
        if (freopen("/dev/null", "w", stderr))                 /* the carrier is not well most of the time */
            (void)!fleet_fetch(&(struct fetch_options){.root = host->root, .once = deaf}, NULL);
        if (deaf)
            for (;;)
                (void)pause();
    } else {
        apply_for_ever(host);
    }
    _exit(0);
}

static void end(pid_t *pid)
{
    if (*pid > 0) {
        (void)kill(*pid, SIGKILL);
        while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    *pid = 0;
}

/* ---- judging ---- */

static const struct signed_bundle *find(const struct fleet_board *board, struct fleet_order order)
{
    for (unsigned i = atomic_load(&board->signed_count); i-- > 0;)
        if (!fleet_order_compare(board->list[i].order, order))
            return &board->list[i];
    return NULL;
}

static bool same(const uint8_t *a, const uint8_t *b)
{
    return !memcmp(a, b, QS_DIGEST_BYTES);
}

static void judge_content(struct host *host, const struct qs_snapshot *snapshot, const struct fleet_mark *mark)
{
    uint8_t now[QS_DIGEST_BYTES], told[QS_DIGEST_BYTES];
    struct qs_bytes text;
    const struct entry_list *areas = snapshot->areas;
    struct draw_subject subject = {host->id, (const fleet_name *)host->groups, host->groups[0][0] != 0};
    fleet_content_digest(areas[AREA_SETTINGS].items, areas[AREA_SETTINGS].count, areas[AREA_LOCKS].items,
                         areas[AREA_LOCKS].count, now);
    if (qs_snapshot_get(snapshot, "fleet.content", &text, NULL) ||
        !hex_parse((const char *)text.data + 1, text.len - 2, told, sizeof told) || !same(now, told)) {
        fleet_violation(host->board, host->number, "settings and the key fleet are of two commits");
        return;
    }
    const struct signed_bundle *bundle = find(host->board, mark->order);
    if (!bundle) {
        fleet_violation(host->board, host->number, "bundle %llu-%llu was never signed",
                        (unsigned long long)mark->order.keys, (unsigned long long)mark->order.serial);
        return;
    }
    bool own = same(now, bundle->content), had = same(now, host->last_content);
    bool drawn = decide_ring(&bundle->rule, bundle->rule.open, &subject) >= 0;
    if (!(own && (drawn || had)) && !(bundle->has_base && same(now, bundle->base_content)))
        fleet_violation(host->board, host->number, "the content of bundle %llu-%llu is not what this machine may have",
                        (unsigned long long)mark->order.keys, (unsigned long long)mark->order.serial);
    memcpy(host->last_content, now, sizeof now);
}

static void note_commit(struct host *host, const struct fleet_mark *mark)
{
    struct host_state *state = &host->board->hosts[host->number];
    const struct signed_bundle *bundle = find(host->board, mark->order);
    if (!fleet_order_compare(mark->order, host->last))
        return;
    atomic_fetch_add(&state->commits, 1);
    atomic_store(&state->serial, mark->order.serial);
    if (bundle && bundle->pushed_ns && atomic_load(&host->board->well))
        histogram_add(&state->latency_us, (stress_now_ns() - bundle->pushed_ns) / 1000);
}

static void judge(struct host *host, struct qs_store *store)
{
    struct qs_policy_result *result = NULL;
    struct qs_snapshot *snapshot = NULL;
    struct fleet_mark mark;
    struct qs_error err = {0};
    enum qs_status status =
        qs_policy_read(&(struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = host->root},
                       &result, &err);
    qs_policy_free(result);
    if (status && status != QS_BUSY && host->begun)
        fleet_violation(host->board, host->number, "a session would be refused: %.180s", err.message);
    if (status || qs_snapshot_take(store, &snapshot, NULL))
        return;
    atomic_fetch_add(&host->board->hosts[host->number].reads, 1);
    if (!fleet_mark_of(snapshot, &mark, &err) && mark.fleet[0]) {
        if (fleet_order_compare(mark.order, host->last) < 0)
            fleet_violation(host->board, host->number, "went back from %llu-%llu to %llu-%llu",
                            (unsigned long long)host->last.keys, (unsigned long long)host->last.serial,
                            (unsigned long long)mark.order.keys, (unsigned long long)mark.order.serial);
        judge_content(host, snapshot, &mark);
        note_commit(host, &mark);
        host->last = mark.order;
        host->begun = true;
    } else if (host->begun) {
        fleet_violation(host->board, host->number, "the fleet's mark is gone");
    }
    qs_snapshot_unref(snapshot);
}

/* ---- all of it ---- */

static bool enrol(struct host *host)
{
    char config[600], keys[600], key[MINISIG_KEY_TEXT_BYTES];
    struct qs_error err = {0};
    AUTO(value_release)
    json_t *root = json_pack("{s:s, s:s, s:[O], s:i}", "format", "qsettings-fleet-config-1", "fleet", "north",
                             "carriers", host->run->carrier_config, "interval", 1);
    (void)snprintf(config, sizeof config, "%s.config", host->root);
    (void)snprintf(keys, sizeof keys, "%s/%s", host->run->scratch,
                   fleet_control_is(host->run, "duplicate-signature") ? "keys-one.json"
                   : fleet_control_is(host->run, "no-signature")      ? "keys-any.json"
                                                                      : "keys-1.json");
    if (host->number % 4 == 0) {
        (void)snprintf(host->groups[0], sizeof host->groups[0], "pilot");
        (void)json_object_set_new(root, "groups", json_pack("[s]", "pilot"));
    }
    if (mkdir(host->root, 0755) || json_dump_file(root, config, 0) ||
        fleet_enrol(host->root, config, keys, false, 5000, host->id, key, &err)) {
        fleet_violation(host->board, host->number, "enrol: %s", err.message);
        return false;
    }
    if (fleet_control_is(host->run, "unsalted-draw")) /* drawn as another machine than it is */
        host->id[0] = host->id[0] == '0' ? '1' : '0';
    return true;
}

void fleet_host_run(const struct fleet_run *run, unsigned number)
{
    struct host host = {.run = run, .board = run->board, .number = number};
    struct qs_store *store = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    stress_rng_init(&host.rng, run->options->seed, number + 1);
    (void)snprintf(host.root, sizeof host.root, "%s/m%u", run->scratch, number);
    if (!enrol(&host) ||
        qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = host.root}, &store,
                      NULL))
        _exit(1);
    host.fetcher = begin(&host, true);
    host.applier = begin(&host, false);
    while (!atomic_load(&host.board->stop)) {
        judge(&host, store);
        bool well = atomic_load(&host.board->well);
        uint64_t dice = stress_rng_next(&host.rng) % 128;
        if (!well && dice < 2) {
            pid_t *victim = dice ? &host.applier : &host.fetcher;
            end(victim);
            *victim = begin(&host, !dice);
        }
        stress_sleep_ns((2000000 + stress_rng_next(&host.rng) % 8000000) * (1 + run->options->hosts / 8));
    }
    end(&host.fetcher);
    end(&host.applier);
    qs_store_close(store);
    _exit(0);
}
