/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The carrier that is a web server: the tree of the file carrier below a URL. GET, the head with If-None-Match; PUT for
 * reports, and for push if the server allows it. TLS is verified, and a redirect to another host or scheme is no
 * answer.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/carrier/http.h"

#include <stdio.h>
#include <string.h>

#define ETAG_SETTLES_S 2

struct https_carrier {
    struct carrier carrier;
    struct http http;
    char *url;
    bool reports;
    char etag[128]; /* of head */
    struct buf head;
};

static void https_close(struct carrier *carrier)
{
    struct https_carrier *https = (struct https_carrier *)carrier;
    http_release(&https->http);
    buf_release(&https->head);
    free(https->url);
    free(https);
}

static enum qs_status https_open(json_t *config, const char *fleet, struct carrier **ret_carrier, struct qs_error *err)
{
    static const char *const names[] = {"url", HTTP_STRINGS};
    const char *values[1 + HTTP_STRING_COUNT];
    (void)fleet;
    enum qs_status status = carrier_strings(config, names, 1 + HTTP_STRING_COUNT, 1, values, err);
    if (!status && strncmp(values[0], "https://", 8) != 0)
        status = error_set(err, QS_INVALID, "carrier: url: begins with https://");
    if (status)
        return status;
    struct https_carrier *https = calloc(1, sizeof *https);
    if (!https || !(https->url = strdup(values[0]))) {
        free(https);
        return error_memory(err);
    }
    https->carrier.row = &carrier_https;
    https->reports = !json_is_false(json_object_get(config, "report"));
    status = http_init(&https->http, values + 1, err);
    if (status)
        https_close(&https->carrier);
    else
        *ret_carrier = &https->carrier;
    return status;
}

static enum qs_status ask(struct https_carrier *https, struct http_request *request, const char *name,
                          struct qs_error *err)
{
    AUTO_FREE char *url = NULL;
    size_t len = strlen(https->url);
    if (asprintf(&url, "%s%s%s", https->url, https->url[len - 1] == '/' ? "" : "/", name) < 0) {
        url = NULL;
        return error_memory(err);
    }
    request->url = url;
    enum qs_status status = http_perform(&https->http, request, err);
    if (status || (request->code >= 200 && request->code < 300) || request->code == 304)
        return status;
    enum qs_status kind = request->code == 404 || request->code == 410   ? QS_NOT_FOUND
                          : request->code == 412 || request->code == 409 ? QS_CONFLICT
                          : request->code == 401 || request->code == 403 ? QS_UNTRUSTED
                                                                         : QS_IO;
    return error_set(err, kind, "%s: the server answers %ld", url, request->code);
}

static enum qs_status https_get(struct carrier *carrier, const char *name, size_t max, struct buf *out,
                                struct qs_error *err)
{
    struct http_request request = {.max = max, .out = out};
    buf_clear(out);
    return ask((struct https_carrier *)carrier, &request, name, err);
}

static enum qs_status https_head(struct carrier *carrier, struct buf *out, struct qs_error *err)
{
    struct https_carrier *https = (struct https_carrier *)carrier;
    char condition[160];
    struct http_request request = {.max = FLEET_HEAD_MAX_BYTES, .out = out, .etag = https->etag};
    (void)snprintf(condition, sizeof condition, "If-None-Match: %s", https->etag);
    if (https->etag[0])
        request.headers[0] = condition;
    buf_clear(out);
    enum qs_status status = ask(https, &request, HEAD_NAME, err);
    if (status)
        return status;
    if (request.code == 304) {
        buf_clear(out);
        buf_add(out, https->head.data, https->head.len);
        return QS_OK;
    }
    /* Servers make the tag of a file from its time in seconds and its size: one that was written just now may change
     * once more and keep it. */
    if (request.modified > 0 && request.date - request.modified < ETAG_SETTLES_S)
        https->etag[0] = '\0';
    buf_clear(&https->head);
    buf_add(&https->head, out->data, out->len);
    return out->failed || https->head.failed ? error_memory(err) : QS_OK;
}

static enum qs_status https_upload(struct https_carrier *https, const char *name, struct qs_bytes text,
                                   const char *condition, struct qs_error *err)
{
    AUTO(buf_release) struct buf ignored = {0};
    struct http_request request = {.method = "PUT", .body = text, .max = 65536, .out = &ignored};
    request.headers[0] = condition;
    return ask(https, &request, name, err);
}

/* The condition is for servers that know it; those that do not are asked before. */
static enum qs_status https_put(struct carrier *carrier, const char *name, struct qs_bytes text, struct qs_bytes expect,
                                struct qs_error *err)
{
    struct https_carrier *https = (struct https_carrier *)carrier;
    AUTO(buf_release) struct buf there = {0};
    char condition[160] = "If-None-Match: *";
    bool head = !strcmp(name, HEAD_NAME);
    enum qs_status status =
        head ? https_head(carrier, &there, err) : https_get(carrier, name, FLEET_BUNDLE_MAX_BYTES, &there, err);
    if (status && status != QS_NOT_FOUND)
        return status;
    struct qs_bytes wanted = head ? expect : text;
    bool same = !status && wanted.data && there.len == wanted.len && !memcmp(there.data, wanted.data, wanted.len);
    if (same && !head)
        return QS_OK;
    if (head ? !(same || (status && !expect.data)) : !status)
        return error_set(err, QS_CONFLICT, "%s at the carrier is another one", name);
    if (head && !status)
        (void)snprintf(condition, sizeof condition, "If-Match: %s", https->etag);
    return https_upload(https, name, text, head && !status && !https->etag[0] ? NULL : condition, err);
}

static enum qs_status https_report(struct carrier *carrier, const char *id, struct qs_bytes text,
                                   struct qs_bytes signature, struct qs_error *err)
{
    struct https_carrier *https = (struct https_carrier *)carrier;
    char name[FLEET_ID_TEXT_BYTES + 32];
    if (!https->reports)
        return QS_OK;
    (void)snprintf(name, sizeof name, "reports/%s.json.minisig", id);
    enum qs_status status = https_upload(https, name, signature, NULL, err);
    (void)snprintf(name, sizeof name, "reports/%s.json", id);
    return status ? status : https_upload(https, name, text, NULL, err);
}

const struct carrier_row carrier_https = {.type = "https",
                                          .open = https_open,
                                          .close = https_close,
                                          .head = https_head,
                                          .get = https_get,
                                          .put = https_put,
                                          .report = https_report};
