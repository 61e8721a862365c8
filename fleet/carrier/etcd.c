/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The carrier that is an etcd cluster, through its JSON gateway:
 *
 *   qsettings/FLEET/head, /keys/N.json, /bundle/K-S.json (each with .minisig), /report/ID (document, LF, signature)
 *
 *   1  a range of the head, linearizable          2  a watch of the head alone, from the next revision
 *   3  news, or the watch tells no more, or 300 s with jitter have passed: again from 1, at the next member
 *
 * A stopped member keeps a watch open and silent, and only the clock finds that.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "fleet/carrier/etcd_answer.h"
#include "fleet/carrier/http.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ENDPOINTS_MAX    16u
#define WATCH_MS         300000u
#define SPREAD_MS        2000u  /* machines do not ask for a new bundle all at once */
#define TOKEN_PAUSE_MS   30000u /* nor for a token */
#define WATCH_LEAST_MS   1000u  /* a watch that ends at once is not begun anew at once */
#define KEY_BYTES        (FLEET_NAME_MAX_BYTES + DOCUMENT_NAME_BYTES + 48u)
#define ANSWER_MAX_BYTES (2 * ETCD_LINE_MAX_BYTES)

struct etcd {
    struct carrier carrier;
    struct http http;
    json_t *endpoints;
    size_t at; /* the member that is asked */
    char *prefix, *user, *password_file;
    struct buf token;
    uint64_t revision, head_mod; /* of the last range of the head; 0: none */
    uint64_t spread_ms;
};

static void etcd_close(struct carrier *carrier)
{
    struct etcd *etcd = (struct etcd *)carrier;
    http_release(&etcd->http);
    json_decref(etcd->endpoints);
    buf_release(&etcd->token);
    free(etcd->prefix);
    free(etcd->user);
    free(etcd->password_file);
    free(etcd);
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static enum qs_status check_endpoints(const json_t *endpoints, struct qs_error *err)
{
    size_t i;
    json_t *endpoint;
    bool good = json_array_size(endpoints) >= 1 && json_array_size(endpoints) <= ENDPOINTS_MAX;
    json_array_foreach(endpoints, i, endpoint) good =
        good && json_is_string(endpoint) && !strncmp(json_string_value(endpoint), "https://", 8);
    return good ? QS_OK : error_set(err, QS_INVALID, "carrier: endpoints: 1 to 16 URLs that begin with https://");
}

static enum qs_status etcd_open(json_t *config, const char *fleet, struct carrier **ret_carrier, struct qs_error *err)
{
    static const char *const names[] = {HTTP_STRINGS, "user", "passwordFile"};
    const char *values[HTTP_STRING_COUNT + 2];
    json_t *endpoints = json_object_get(config, "endpoints"), *spread = json_object_get(config, "spreadMs");
    enum qs_status status = carrier_strings(config, names, HTTP_STRING_COUNT + 2, 0, values, err);
    if (!status)
        status = check_endpoints(endpoints, err);
    if (!status && (!values[4] != !values[5]))
        status = error_set(err, QS_INVALID, "carrier: user and passwordFile go together");
    if (status)
        return status;
    struct etcd *etcd = calloc(1, sizeof *etcd);
    if (!etcd)
        return error_memory(err);
    etcd->carrier.row = &carrier_etcd;
    etcd->endpoints = json_incref(endpoints);
    etcd->at = randombytes_uniform((uint32_t)json_array_size(endpoints));
    etcd->spread_ms =
        json_is_integer(spread) && json_integer_value(spread) >= 0 ? (uint64_t)json_integer_value(spread) : SPREAD_MS;
    etcd->user = copy(values[4]);
    etcd->password_file = copy(values[5]);
    if (asprintf(&etcd->prefix, "qsettings/%s/", fleet) < 0)
        etcd->prefix = NULL;
    status = etcd->prefix ? http_init(&etcd->http, values, err) : error_memory(err);
    if (status)
        etcd_close(&etcd->carrier);
    else
        *ret_carrier = &etcd->carrier;
    return status;
}

/* ---- requests ---- */

static void next_member(struct etcd *etcd)
{
    etcd->at = (etcd->at + 1) % json_array_size(etcd->endpoints);
}

static const char *member_url(const struct etcd *etcd, const char *path, char *url, size_t size)
{
    const char *endpoint = json_string_value(json_array_get(etcd->endpoints, etcd->at));
    size_t len = strlen(endpoint);
    (void)snprintf(url, size, "%.*s%s", (int)(endpoint[len - 1] == '/' ? len - 1 : len), endpoint, path);
    return url;
}

static enum qs_status ask_once(struct etcd *etcd, const char *path, const struct buf *body, struct buf *out,
                               long *ret_code, struct qs_error *err)
{
    AUTO(buf_release) struct buf token = {0};
    char url[1024];
    struct http_request request = {.url = member_url(etcd, path, url, sizeof url),
                                   .body = buf_bytes(body),
                                   .max = ANSWER_MAX_BYTES,
                                   .out = out};
    buf_clear(out);
    buf_printf(&token, "Authorization: %s", etcd->token.data ? etcd->token.data : "");
    if (etcd->token.len)
        request.headers[0] = token.data;
    enum qs_status status = http_perform(&etcd->http, &request, err);
    *ret_code = request.code;
    return status;
}

static enum qs_status authenticate(struct etcd *etcd, struct qs_error *err)
{
    AUTO(buf_release) struct buf body = {0};
    AUTO(buf_release) struct buf out = {0};
    long code = 0;
    if (!etcd->user)
        return error_set(err, QS_UNTRUSTED, "etcd wants a user, and the carrier's configuration names none");
    FILE *file = fopen(etcd->password_file, "re");
    char line[512] = "";
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        (void)fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (!read)
        return error_set(err, QS_INVALID, "the password file %s cannot be read", etcd->password_file);
    if (etcd->token.len) /* one that was good has gone: for all machines at once */
        qs_os->sleep_ms(randombytes_uniform(TOKEN_PAUSE_MS));
    buf_clear(&etcd->token);
    etcd_authenticate(etcd->user, line, &body);
    sodium_memzero(line, sizeof line);
    enum qs_status status = ask_once(etcd, "/v3/auth/authenticate", &body, &out, &code, err);
    if (!status && code != 200)
        status = error_set(err, QS_UNTRUSTED, "etcd does not let user %s in: status %ld", etcd->user, code);
    return status ? status : etcd_token_parse(buf_bytes(&out), &etcd->token, err);
}

/* A member that does not answer is passed over. Not for what must not happen twice: once says so. */
static enum qs_status ask(struct etcd *etcd, const char *path, const struct buf *body, bool once, struct buf *out,
                          struct qs_error *err)
{
    enum qs_status status = body->failed ? error_memory(err) : QS_OK;
    bool asked_token = false;
    long code = 0;
    for (size_t i = 0; i < json_array_size(etcd->endpoints) + 1 && !body->failed; i++) {
        status = ask_once(etcd, path, body, out, &code, err);
        if (!status && code == 200)
            return QS_OK;
        if (!status && etcd_wants_token(code, buf_bytes(out)) && !asked_token) {
            asked_token = true;
            status = authenticate(etcd, err);
            if (!status)
                continue;
            if (status == QS_UNTRUSTED)
                return status;
        }
        if (!status)
            status = error_set(err, code == 403 || code == 401 ? QS_UNTRUSTED : QS_IO, "etcd answers %ld: %.200s", code,
                               out->data ? out->data : "");
        next_member(etcd);
        if (once)
            break;
    }
    return status == QS_IO && once && !code ? QS_BUSY : status;
}

/* The key of a name, and whether a part of a report is meant. */
static void key_of(const struct etcd *etcd, const char *name, char key[KEY_BYTES])
{
    const char *rest = name;
    const char *kind = !strncmp(name, "keys-", 5)      ? "keys/"
                       : !strncmp(name, "bundle-", 7)  ? "bundle/"
                       : !strncmp(name, "reports/", 8) ? "report/"
                                                       : NULL;
    if (kind)
        rest = name + strlen(kind) + (kind[0] == 'r');
    if (kind && kind[0] == 'r')
        (void)snprintf(key, KEY_BYTES, "%s%s%.32s", etcd->prefix, kind, rest);
    else
        (void)snprintf(key, KEY_BYTES, "%s%s%s", etcd->prefix, kind ? kind : "", kind ? rest : "head");
}

static enum qs_status range(struct etcd *etcd, const char *key, struct etcd_answer *answer, struct buf *value,
                            struct qs_error *err)
{
    AUTO(buf_release) struct buf body = {0};
    AUTO(buf_release) struct buf out = {0};
    etcd_range(key, &body);
    enum qs_status status = ask(etcd, "/v3/kv/range", &body, false, &out, err);
    return status ? status : etcd_answer_parse(buf_bytes(&out), answer, value, err);
}

/* Document and signature of a report lie in one value. */
static void split_report(const char *name, struct buf *value)
{
    static const char mark[] = "\nuntrusted comment: ";
    size_t len = strlen(name);
    char *at = value->data ? memmem(value->data, value->len, mark, sizeof mark - 1) : NULL;
    size_t head = at ? (size_t)(at - value->data) : value->len;
    if (len > 8 && !strcmp(name + len - 8, ".minisig")) {
        struct buf rest = {0};
        if (at)
            buf_add(&rest, at + 1, value->len - head - 1);
        buf_release(value);
        *value = rest;
    } else {
        value->len = head;
    }
}

static enum qs_status etcd_get(struct carrier *carrier, const char *name, size_t max, struct buf *out,
                               struct qs_error *err)
{
    struct etcd *etcd = (struct etcd *)carrier;
    struct etcd_answer answer;
    char key[KEY_BYTES];
    key_of(etcd, name, key);
    buf_clear(out);
    enum qs_status status = range(etcd, key, &answer, out, err);
    if (!status && !answer.found)
        return error_set(err, QS_NOT_FOUND, "there is no key %s", key);
    if (!status && !strncmp(name, "reports/", 8))
        split_report(name, out);
    if (!status && out->len > max)
        status = error_set(err, QS_INVALID, "%s has more than %zu bytes", key, max);
    return status;
}

static enum qs_status etcd_head(struct carrier *carrier, struct buf *out, struct qs_error *err)
{
    struct etcd *etcd = (struct etcd *)carrier;
    struct etcd_answer answer = {0};
    char key[KEY_BYTES];
    key_of(etcd, HEAD_NAME, key);
    buf_clear(out);
    enum qs_status status = range(etcd, key, &answer, out, err);
    etcd->revision = status ? 0 : answer.revision;
    etcd->head_mod = status ? 0 : answer.mod_revision;
    if (!status && !answer.found)
        return error_set(err, QS_NOT_FOUND, "there is no key %s", key);
    return status;
}

static enum qs_status exchange(struct etcd *etcd, const char *key, uint64_t mod_revision, struct qs_bytes text,
                               bool *ret_done, struct qs_error *err)
{
    AUTO(buf_release) struct buf body = {0};
    AUTO(buf_release) struct buf out = {0};
    struct etcd_answer answer = {0};
    etcd_exchange(key, mod_revision, text, &body);
    enum qs_status status = ask(etcd, "/v3/kv/txn", &body, true, &out, err);
    if (!status)
        status = etcd_answer_parse(buf_bytes(&out), &answer, NULL, err);
    *ret_done = answer.succeeded;
    return status;
}

static enum qs_status etcd_put_name(struct carrier *carrier, const char *name, struct qs_bytes text,
                                    struct qs_bytes expect, struct qs_error *err)
{
    struct etcd *etcd = (struct etcd *)carrier;
    AUTO(buf_release) struct buf there = {0};
    char key[KEY_BYTES];
    bool head = !strcmp(name, HEAD_NAME), done = false;
    enum qs_status status =
        head ? etcd_head(carrier, &there, err) : etcd_get(carrier, name, FLEET_BUNDLE_MAX_BYTES, &there, err);
    if (status && status != QS_NOT_FOUND)
        return status;
    struct qs_bytes wanted = head ? expect : text;
    bool same = !status && wanted.data && there.len == wanted.len && !memcmp(there.data, wanted.data, wanted.len);
    if (same && !head)
        return QS_OK;
    if (!same && !(status && (!head || !expect.data)))
        return error_set(err, QS_CONFLICT, "%s at the carrier is another one", name);
    key_of(etcd, name, key);
    status = exchange(etcd, key, status ? 0 : etcd->head_mod, text, &done, err);
    return status || done ? status : error_set(err, QS_CONFLICT, "%s at the carrier was changed just now", name);
}

static enum qs_status etcd_report(struct carrier *carrier, const char *id, struct qs_bytes text,
                                  struct qs_bytes signature, struct qs_error *err)
{
    struct etcd *etcd = (struct etcd *)carrier;
    AUTO(buf_release) struct buf body = {0};
    AUTO(buf_release) struct buf out = {0};
    AUTO(buf_release) struct buf value = {0};
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof key, "%sreport/%s", etcd->prefix, id);
    buf_add(&value, text.data, text.len);
    buf_add_char(&value, '\n');
    buf_add(&value, signature.data, signature.len);
    etcd_put(key, buf_bytes(&value), &body);
    return ask(etcd, "/v3/kv/put", &body, false, &out, err);
}

static enum qs_status etcd_list_reports(struct carrier *carrier, json_t **ret_ids, struct qs_error *err)
{
    struct etcd *etcd = (struct etcd *)carrier;
    AUTO(buf_release) struct buf last = {0};
    AUTO(value_release) json_t *ids = json_array();
    char prefix[KEY_BYTES];
    enum qs_status status = QS_OK;
    size_t before = SIZE_MAX;
    (void)snprintf(prefix, sizeof prefix, "%sreport/", etcd->prefix);
    while (!status && before != json_array_size(ids)) {
        AUTO(buf_release) struct buf body = {0};
        AUTO(buf_release) struct buf out = {0};
        before = json_array_size(ids);
        if (last.len)
            buf_add_char(&last, '\0'); /* the key after it */
        etcd_list(prefix, buf_bytes(&last), &body);
        status = ask(etcd, "/v3/kv/range", &body, false, &out, err);
        if (!status)
            status = etcd_keys_parse(buf_bytes(&out), prefix, ids, &last, err);
    }
    if (!status)
        *ret_ids = STEAL(ids);
    return status;
}

/* ---- the watch ---- */

/* Whole lines in the buffer, and what stands behind them: an error has no newline. */
static enum etcd_watch read_lines(struct buf *buffer, uint64_t asked)
{
    enum etcd_watch last = ETCD_WATCH_ON;
    char *lf;
    while (last == ETCD_WATCH_ON && buffer->len) {
        lf = memchr(buffer->data, '\n', buffer->len);
        size_t len = lf ? (size_t)(lf - buffer->data) : buffer->len;
        last = etcd_watch_line((struct qs_bytes){buffer->data, len}, asked);
        if (last == ETCD_WATCH_PART && lf)
            return ETCD_WATCH_AGAIN; /* a line that is no JSON */
        if (last != ETCD_WATCH_PART) {
            memmove(buffer->data, buffer->data + len + (lf != NULL), buffer->len - len - (lf != NULL));
            buffer->len -= len + (lf != NULL);
        }
    }
    return last;
}

static enum etcd_watch run_watch(CURLM *multi, struct buf *buffer, uint64_t asked, int wake_fd, uint64_t deadline_ms)
{
    struct curl_waitfd wake = {.fd = wake_fd, .events = CURL_WAIT_POLLIN};
    for (;;) {
        int running = 0;
        if (curl_multi_perform(multi, &running))
            return ETCD_WATCH_AGAIN;
        enum etcd_watch told = read_lines(buffer, asked);
        if (told == ETCD_WATCH_NEWS || told == ETCD_WATCH_AGAIN)
            return told;
        uint64_t now = qs_os->monotonic_ms();
        if (!running || now >= deadline_ms || wake.revents)
            return wake.revents ? ETCD_WATCH_ON : ETCD_WATCH_AGAIN;
        if (curl_multi_poll(multi, &wake, 1, (int)(deadline_ms - now), NULL))
            return ETCD_WATCH_AGAIN;
    }
}

static enum etcd_watch watch_head(struct etcd *etcd, int wake_fd, uint64_t deadline_ms)
{
    AUTO(buf_release) struct buf buffer = {0};
    AUTO(buf_release) struct buf body = {0};
    AUTO(buf_release) struct buf token = {0};
    char key[KEY_BYTES], url[1024];
    struct curl_slist *headers = NULL;
    key_of(etcd, HEAD_NAME, key);
    etcd_watch_request(key, etcd->revision + 1, &body);
    struct http_request request = {.url = member_url(etcd, "/v3/watch", url, sizeof url),
                                   .headers = {"Grpc-Metadata-hasleader: true"},
                                   .body = buf_bytes(&body),
                                   .max = ETCD_LINE_MAX_BYTES,
                                   .out = &buffer};
    buf_printf(&token, "Authorization: %s", etcd->token.data ? etcd->token.data : "");
    if (etcd->token.len)
        request.headers[1] = token.data;
    CURLM *multi = curl_multi_init();
    enum etcd_watch told = ETCD_WATCH_AGAIN;
    if (multi && !body.failed && !http_prepare(&etcd->http, &request, &headers, NULL)) {
        http_without_limits(&etcd->http);
        if (!curl_multi_add_handle(multi, etcd->http.curl))
            told = run_watch(multi, &buffer, etcd->revision + 1, wake_fd, deadline_ms);
        (void)curl_multi_remove_handle(multi, etcd->http.curl);
    }
    curl_slist_free_all(headers);
    (void)curl_easy_setopt(etcd->http.curl, CURLOPT_HTTPHEADER, NULL);
    (void)curl_multi_cleanup(multi);
    return told;
}

static void etcd_wait(struct carrier *carrier, int wake_fd, uint64_t ms)
{
    struct etcd *etcd = (struct etcd *)carrier;
    struct pollfd wake = {wake_fd, POLLIN, 0};
    uint64_t begun = qs_os->monotonic_ms();
    uint64_t most = WATCH_MS - randombytes_uniform(WATCH_MS / 5);
    enum etcd_watch told =
        etcd->revision ? watch_head(etcd, wake_fd, begun + (ms < most ? ms : most)) : ETCD_WATCH_AGAIN;
    if (told == ETCD_WATCH_NEWS && etcd->spread_ms)
        (void)poll(&wake, 1, (int)randombytes_uniform((uint32_t)etcd->spread_ms));
    if (told != ETCD_WATCH_AGAIN)
        return;
    next_member(etcd);
    uint64_t lasted = qs_os->monotonic_ms() - begun;
    if (lasted < WATCH_LEAST_MS)
        (void)poll(&wake, 1, (int)(WATCH_LEAST_MS - lasted + randombytes_uniform(WATCH_LEAST_MS)));
}

const struct carrier_row carrier_etcd = {.type = "etcd",
                                         .open = etcd_open,
                                         .close = etcd_close,
                                         .head = etcd_head,
                                         .get = etcd_get,
                                         .put = etcd_put_name,
                                         .report = etcd_report,
                                         .list = etcd_list_reports,
                                         .wait = etcd_wait};
