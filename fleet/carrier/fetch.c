/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch: as the user qfleet, with a network and without the store. Of all that comes it parses the head alone, and
 * looks into a bundle only for the numbers of its base. What it brings is verified by apply.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "fleet/carrier/carrier.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

#define CARRIERS_MAX    8u
#define KEYS_AT_ONCE    5u /* further key documents come when these are here: the spool has 16 files */
#define REPORT_PAUSE_S  60u
#define BACKOFF_MAX_S   3600u
#define FIRST_BACKOFF_S 5u

struct fetch {
    struct site site;
    struct config config;
    struct carrier *carriers[CARRIERS_MAX];
    size_t carrier_count;
    struct fleet_order head; /* the greatest that any carrier has told */
    struct document_name wanted[SPOOL_NAMES_MAX];
    size_t wanted_count;
    bool distrust; /* apply refused what is in the spool: it is fetched again */
    uint8_t sent[QS_DIGEST_BYTES];
    uint64_t sent_ms;
    bool unsent;
    struct qs_error trouble; /* the last; a machine with one carrier that answers goes on */
};

static void fetch_release(struct fetch *fetch)
{
    for (size_t i = 0; i < fetch->carrier_count; i++)
        carrier_close(&fetch->carriers[i]);
    config_release(&fetch->config);
}

/* ---- what this machine has ---- */

static uint64_t number_in(const struct fetch *fetch, enum site_dir dir, const char *name)
{
    AUTO(buf_release) struct buf text = {0};
    uint64_t number = 0;
    struct key_document keys;
    struct fleet_mark mark;
    if (site_read(&fetch->site, dir, name, FLEET_KEYS_MAX_BYTES, &text, NULL))
        return 0;
    if (number_line_parse(buf_bytes(&text), &number))
        return number;
    if (fleet_mark_parse(buf_bytes(&text), &mark))
        return strcmp(mark.fleet, fetch->config.fleet) ? 0 : mark.order.keys;
    return key_document_parse(buf_bytes(&text), &keys, NULL) ? 0 : keys.version;
}

/* The version of the newest key document here: of enrolment, or what apply tells. */
static uint64_t keys_here(const struct fetch *fetch)
{
    uint64_t enrolled = number_in(fetch, SITE_ETC, "fleet/keys.json"), have = number_in(fetch, SITE_OUT, "have");
    uint64_t demanded = number_in(fetch, SITE_ETC, FLEET_SERIAL_FILE);
    uint64_t most = enrolled > have ? enrolled : have;
    return most > demanded ? most : demanded;
}

static enum qs_status read_report(const struct fetch *fetch, struct buf *text, struct buf *signature,
                                  struct report *report)
{
    enum qs_status status = site_read(&fetch->site, SITE_OUT, "report.json", FLEET_REPORT_MAX_BYTES, text, NULL);
    if (!status)
        status = site_read(&fetch->site, SITE_OUT, "report.json.minisig", MINISIG_FILE_MAX_BYTES, signature, NULL);
    return status ? status : report_parse(buf_bytes(text), buf_bytes(signature), report, NULL);
}

/* ---- documents ---- */

static bool in_spool(const struct fetch *fetch, const char *name)
{
    char path[QS_PATH_MAX_BYTES + DOCUMENT_NAME_BYTES + 16];
    (void)snprintf(path, sizeof path, "%s/%s", fetch->site.dirs[SITE_SPOOL], name);
    return access(path, F_OK) == 0;
}

/* The signature first: who finds the text finds both. A base needs none. */
static enum qs_status bring(struct fetch *fetch, struct carrier *carrier, const struct document_name *document,
                            bool with_signature, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    char name[DOCUMENT_NAME_BYTES], signature[DOCUMENT_NAME_BYTES + 16];
    size_t max = document->kind == DOCUMENT_KEYS ? FLEET_KEYS_MAX_BYTES : FLEET_BUNDLE_MAX_BYTES;
    document_name_format(document, name);
    (void)snprintf(signature, sizeof signature, "%s.minisig", name);
    if (fetch->wanted_count < SPOOL_NAMES_MAX)
        fetch->wanted[fetch->wanted_count++] = *document;
    bool there = !fetch->distrust && in_spool(fetch, name);
    enum qs_status status = QS_OK;
    if (with_signature && !(there && in_spool(fetch, signature))) {
        status = carrier->row->get(carrier, signature, MINISIG_FILE_MAX_BYTES, &text, err);
        if (!status)
            status = site_write(&fetch->site, SITE_SPOOL, signature, 0640, buf_bytes(&text), err);
        there = false;
    }
    if (!status && !there)
        status = carrier->row->get(carrier, name, max, &text, err);
    if (!status && !there)
        status = site_write(&fetch->site, SITE_SPOOL, name, 0640, buf_bytes(&text), err);
    return status;
}

static enum qs_status bring_base(struct fetch *fetch, struct carrier *carrier, const struct document_name *bundle,
                                 struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    struct document_name base = {.kind = DOCUMENT_BUNDLE};
    char name[DOCUMENT_NAME_BYTES];
    document_name_format(bundle, name);
    enum qs_status status = site_read(&fetch->site, SITE_SPOOL, name, FLEET_BUNDLE_MAX_BYTES, &text, err);
    if (status || !bundle_base_peek(buf_bytes(&text), &base.order))
        return status;
    buf_release(&text);
    return bring(fetch, carrier, &base, false, err);
}

/* Everything that the head hints at. Key documents come first: without them the bundle says nothing. */
static enum qs_status bring_all(struct fetch *fetch, struct carrier *carrier, struct fleet_order head,
                                struct qs_error *err)
{
    uint64_t from = keys_here(fetch) + 1;
    enum qs_status status = QS_OK;
    fetch->wanted_count = 0;
    for (uint64_t version = from; version <= head.keys && version < from + KEYS_AT_ONCE && !status; version++)
        status = bring(fetch, carrier, &(struct document_name){DOCUMENT_KEYS, {version, 0}}, true, err);
    const struct document_name bundle = {DOCUMENT_BUNDLE, head};
    if (!status)
        status = bring(fetch, carrier, &bundle, true, err);
    return status ? status : bring_base(fetch, carrier, &bundle, err);
}

static bool is_wanted(const struct fetch *fetch, const struct document_name *name)
{
    for (size_t i = 0; i < fetch->wanted_count; i++)
        if (fetch->wanted[i].kind == name->kind && !fleet_order_compare(fetch->wanted[i].order, name->order))
            return true;
    return false;
}

static void clean_spool(const struct fetch *fetch)
{
    struct document_name names[SPOOL_NAMES_MAX];
    size_t count = 0;
    char name[DOCUMENT_NAME_BYTES + 16];
    if (site_spool(&fetch->site, names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(fetch, &names[i]))
            continue;
        document_name_format(&names[i], name);
        (void)!site_remove(&fetch->site, SITE_SPOOL, name, NULL);
        (void)strcat(name, ".minisig");
        (void)!site_remove(&fetch->site, SITE_SPOOL, name, NULL);
    }
}

/* Of several carriers the one that is furthest on counts, whichever is asked first. */
static enum qs_status fetch_documents(struct fetch *fetch, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    struct carrier *best = NULL;
    struct head head = {0}, found = {0};
    enum qs_status worst = QS_OK;
    for (size_t i = 0; i < fetch->carrier_count; i++) {
        struct carrier *carrier = fetch->carriers[i];
        enum qs_status status = carrier->row->head(carrier, &text, err);
        if (!status)
            status = head_parse(buf_bytes(&text), &head, err);
        if (status)
            worst = status;
        else if (!best || fleet_order_compare(head.order, found.order) > 0) {
            best = carrier;
            found = head;
        }
    }
    if (!best)
        return worst == QS_NOT_FOUND ? error_set(err, QS_ABSENT, "no carrier has a bundle yet") : worst;
    enum qs_status status = bring_all(fetch, best, found.order, err);
    if (!status) {
        fetch->head = found.order;
        clean_spool(fetch);
    }
    return status;
}

/* ---- the report ---- */

static enum qs_status send_report(struct fetch *fetch, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    AUTO(report_release) struct report report = {0};
    uint8_t digest[QS_DIGEST_BYTES];
    uint64_t now = qs_os->monotonic_ms();
    enum qs_status status = QS_OK;
    fetch->unsent = false;
    if (read_report(fetch, &text, &signature, &report))
        return QS_OK; /* there is none, or it is being written */
    fetch->distrust = report.state == MACHINE_REFUSED;
    digest_of(text.data, text.len, digest);
    if (!memcmp(digest, fetch->sent, sizeof digest))
        return QS_OK;
    fetch->unsent = true;
    if (fetch->sent_ms && now < fetch->sent_ms + REPORT_PAUSE_S * 1000)
        return QS_OK;
    for (size_t i = 0; i < fetch->carrier_count && !status; i++)
        status = fetch->carriers[i]->row->report(fetch->carriers[i], report.id, buf_bytes(&text), buf_bytes(&signature),
                                                 err);
    if (status)
        return status;
    fetch->unsent = false;
    fetch->sent_ms = now;
    memcpy(fetch->sent, digest, sizeof digest);
    return QS_OK;
}

/* ---- the loop ---- */

static enum qs_status fetch_open(struct fetch *fetch, const char *root, struct qs_error *err)
{
    enum qs_status status = site_init(&fetch->site, root, err);
    if (!status)
        status = config_read(&fetch->site, &fetch->config, err);
    if (!status && (!json_array_size(fetch->config.carriers) || json_array_size(fetch->config.carriers) > CARRIERS_MAX))
        status = error_set(err, QS_INVALID, "config.json: carriers: 1 to %u objects", CARRIERS_MAX);
    for (size_t i = 0; i < json_array_size(fetch->config.carriers) && !status; i++) {
        status = carrier_open(json_array_get(fetch->config.carriers, i), fetch->config.fleet, &fetch->carriers[i], err);
        fetch->carrier_count += !status;
    }
    return status;
}

static uint64_t random_below(uint64_t bound)
{
    return bound ? randombytes_uniform((uint32_t)bound) : 0;
}

/* Until something may be new: the carrier says so, apply has written a report, or the time has come. False: ended. */
static bool wait_for_news(struct fetch *fetch, int wake_fd, int signal_fd, int any_fd, uint64_t ms)
{
    struct pollfd ended = {signal_fd, POLLIN, 0}, ready = {any_fd, POLLIN, 0};
    char events[4096];
    uint64_t until = qs_os->monotonic_ms() + ms;
    if (fetch->unsent && fetch->sent_ms + REPORT_PAUSE_S * 1000 < until)
        until = fetch->sent_ms + REPORT_PAUSE_S * 1000;
    uint64_t now = qs_os->monotonic_ms();
    uint64_t left = now < until ? until - now : 0;
    struct carrier *first = fetch->carriers[0];
    if (fetch->carrier_count == 1 && first->row->wait && !fetch->trouble.status && poll(&ready, 1, 0) == 0)
        first->row->wait(first, any_fd, left);
    else
        (void)poll(&ready, 1, (int)left);
    while (wake_fd >= 0 && read(wake_fd, events, sizeof events) > 0)
        ;
    return !(poll(&ended, 1, 0) > 0);
}

static int wake_on_reports(const struct fetch *fetch)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0)
        (void)inotify_add_watch(fd, fetch->site.dirs[SITE_OUT], IN_MOVED_TO);
    return fd;
}

static int signals_of_ending(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Readable when either is. */
static int either(int one, int other)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(fd, EPOLL_CTL_ADD, one, &event);
    (void)epoll_ctl(fd, EPOLL_CTL_ADD, other, &event);
    return fd;
}

static void go_on(struct fetch *fetch)
{
    AUTO_FD int wake_fd = wake_on_reports(fetch);
    AUTO_FD int signal_fd = signals_of_ending();
    AUTO_FD int any_fd = either(wake_fd, signal_fd);
    const uint64_t first = fetch->config.interval < FIRST_BACKOFF_S ? fetch->config.interval : FIRST_BACKOFF_S;
    uint64_t backoff = first, ms = 0;
    do {
        struct qs_error err = {0};
        enum qs_status sent = send_report(fetch, &err);
        enum qs_status status = fetch_documents(fetch, &err);
        bool fine = (!status || status == QS_ABSENT) && !sent;
        if (!fine && strcmp(err.message, fetch->trouble.message) != 0)
            (void)fprintf(stderr, "qfleet: fetch: %s\n", err.message);
        fetch->trouble = fine ? (struct qs_error){0} : err;
        uint64_t seconds = fine ? fetch->config.interval : backoff;
        backoff = fine ? first : 2 * backoff < BACKOFF_MAX_S ? 2 * backoff : BACKOFF_MAX_S;
        ms = seconds * 900 + random_below(seconds * 200 + 1); /* 20 % jitter */
    } while (wait_for_news(fetch, wake_fd, signal_fd, any_fd, ms));
}

enum qs_status fleet_fetch(const struct fetch_options *options, struct qs_error *err)
{
    AUTO(fetch_release) struct fetch fetch = {0};
    struct qs_error later = {0};
    enum qs_status status = fetch_open(&fetch, options->root, err);
    if (status)
        return status;
    if (!options->once) {
        go_on(&fetch);
        return QS_OK;
    }
    enum qs_status sent = send_report(&fetch, &later);
    status = fetch_documents(&fetch, err);
    if (!status && sent && err)
        *err = later;
    return status ? status : sent;
}
