/* SPDX-License-Identifier: Apache-2.0 */
/* Requests through libcurl: bounded in size and time, TLS verified, redirects only within one host and scheme. */
#include "fleet/carrier/http.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

#define CONNECT_SECONDS 10L
#define REQUEST_SECONDS 120L
#define SILENT_SECONDS  10L /* no answer at all: a stopped server keeps the connection open */
#define REDIRECTS_MAX   3

void http_release(struct http *http)
{
    curl_easy_cleanup(http->curl);
    (void)curl_share_cleanup(http->share);
    free(http->token_file);
    *http = (struct http){0};
}

enum qs_status http_init(struct http *http, const char *const strings[HTTP_STRING_COUNT], struct qs_error *err)
{
    http->curl = curl_easy_init();
    http->share = curl_share_init();
    if (!http->curl || !http->share || (strings[3] && !(http->token_file = strdup(strings[3])))) {
        http_release(http);
        return error_memory(err);
    }
    CURL *curl = http->curl;
    (void)curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    (void)curl_easy_setopt(curl, CURLOPT_SHARE, http->share);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    (void)curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->fault);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 16384L);
    (void)curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (strings[0]) {
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, strings[0]);
        (void)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, strings[1]);
    (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, strings[2]);
    return QS_OK;
}

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    struct http_request *request = context;
    if (request->out->len + size * count > request->max)
        return 0;
    buf_add(request->out, data, size * count);
    return request->out->failed ? 0 : size * count;
}

/* The value of a header of this name, ended by a zero byte; NULL: it is another. */
static const char *header_is(const char *data, size_t len, const char *name, char text[128])
{
    size_t skip = strlen(name);
    if (len < skip || strncasecmp(data, name, skip) != 0 || len - skip >= 128)
        return NULL;
    memcpy(text, data + skip, len - skip);
    text[len - skip] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
    struct http_request *request = context;
    size_t len = size * count;
    char text[128];
    if (request->etag && header_is(data, len, "etag: ", text))
        memcpy(request->etag, text, sizeof text);
    else if (header_is(data, len, "date: ", text))
        request->date = curl_getdate(text, NULL);
    else if (header_is(data, len, "last-modified: ", text))
        request->modified = curl_getdate(text, NULL);
    return len;
}

static enum qs_status add_header(struct curl_slist **headers, const char *text, struct qs_error *err)
{
    struct curl_slist *longer = text ? curl_slist_append(*headers, text) : *headers;
    if (text && !longer)
        return error_memory(err);
    *headers = longer;
    return QS_OK;
}

static enum qs_status add_token(const struct http *http, struct curl_slist **headers, struct qs_error *err)
{
    AUTO(buf_release) struct buf line = {0};
    char token[4096] = "";
    if (!http->token_file)
        return QS_OK;
    FILE *file = fopen(http->token_file, "re");
    if (!file || !fgets(token, sizeof token, file))
        token[0] = '\0';
    if (file)
        (void)fclose(file);
    token[strcspn(token, "\r\n")] = '\0';
    if (!token[0])
        return error_set(err, QS_INVALID, "the token file %s cannot be read, or is empty", http->token_file);
    buf_printf(&line, "Authorization: Bearer %s", token);
    return line.failed ? error_memory(err) : add_header(headers, line.data, err);
}

enum qs_status http_prepare(struct http *http, struct http_request *request, struct curl_slist **ret_headers,
                            struct qs_error *err)
{
    CURL *curl = http->curl;
    struct curl_slist *headers = NULL;
    enum qs_status status = add_token(http, &headers, err);
    for (size_t i = 0; i < 2 && !status; i++)
        status = add_header(&headers, request->headers[i], err);
    if (!status)
        status = add_header(&headers, "Expect:", err);
    if (status) {
        curl_slist_free_all(headers);
        return status;
    }
    http->fault[0] = '\0';
    (void)curl_easy_setopt(curl, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, REQUEST_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENT_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, request);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, request);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, NULL);
    if (request->body.data) {
        (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)request->body.len);
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    *ret_headers = headers;
    return QS_OK;
}

void http_without_limits(struct http *http)
{
    (void)curl_easy_setopt(http->curl, CURLOPT_TIMEOUT, 0L);
    (void)curl_easy_setopt(http->curl, CURLOPT_LOW_SPEED_TIME, 0L);
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *left = NULL, *right = NULL;
    bool same = !curl_url_get(a, part, &left, CURLU_DEFAULT_PORT) &&
                !curl_url_get(b, part, &right, CURLU_DEFAULT_PORT) && !strcasecmp(left, right);
    curl_free(left);
    curl_free(right);
    return same;
}

static bool same_server(const char *from, const char *to)
{
    CURLU *a = curl_url(), *b = curl_url();
    bool same = a && b && !curl_url_set(a, CURLUPART_URL, from, 0) && !curl_url_set(b, CURLUPART_URL, to, 0) &&
                same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) && same_part(a, b, CURLUPART_PORT);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return same;
}

static enum qs_status failure(const struct http *http, const struct http_request *request, CURLcode code,
                              struct qs_error *err)
{
    enum qs_status status = code == CURLE_WRITE_ERROR                ? QS_INVALID
                            : code == CURLE_OPERATION_TIMEDOUT       ? QS_BUSY
                            : code == CURLE_PEER_FAILED_VERIFICATION ? QS_UNTRUSTED
                                                                     : QS_IO;
    const char *why = http->fault[0] ? http->fault : curl_easy_strerror(code);
    return error_set(err, status, "%s: %s", request->url,
                     code == CURLE_WRITE_ERROR ? "the answer is larger than anything that may be there" : why);
}

enum qs_status http_perform(struct http *http, struct http_request *request, struct qs_error *err)
{
    AUTO_FREE char *moved = NULL;
    for (int i = 0; i <= REDIRECTS_MAX; i++) {
        struct curl_slist *headers = NULL;
        char *next = NULL;
        if (request->etag && !request->headers[0])
            request->etag[0] = '\0';
        enum qs_status status = http_prepare(http, request, &headers, err);
        if (status)
            return status;
        CURLcode code = curl_easy_perform(http->curl);
        curl_slist_free_all(headers);
        (void)curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, NULL);
        if (code)
            return failure(http, request, code, err);
        (void)curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &request->code);
        (void)curl_easy_getinfo(http->curl, CURLINFO_REDIRECT_URL, &next);
        if (request->code < 300 || request->code >= 400 || request->code == 304 || !next)
            return QS_OK;
        if (!same_server(request->url, next))
            return error_set(err, QS_UNTRUSTED, "%s: the server sends us to another host or scheme: %s", request->url,
                             next);
        char *copy = strdup(next);
        if (!copy)
            return error_memory(err);
        free(moved);
        request->url = moved = copy;
        buf_clear(request->out);
    }
    return error_set(err, QS_IO, "the server redirects more than %d times", REDIRECTS_MAX);
}
