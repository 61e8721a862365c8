/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to a server, through libcurl, as the https and etcd carriers want it. */
#ifndef FLEET_HTTP_H
#define FLEET_HTTP_H

#include "fleet/carrier/carrier.h"

#include <curl/curl.h>

/* Members of a configuration, in this order: files; tokenFile is sent as "Authorization: Bearer". */
#define HTTP_STRINGS      "ca", "certificate", "key", "tokenFile"
#define HTTP_STRING_COUNT 4u

struct http {
    CURL *curl;
    CURLSH *share;    /* so that a watch and the requests beside it use one connection */
    char *token_file; /* read for each request */
    char fault[CURL_ERROR_SIZE];
};

struct http_request {
    const char *url, *method; /* NULL: GET */
    const char *headers[2];   /* "Name: value", or NULL */
    struct qs_bytes body;
    size_t max;            /* bytes of an answer */
    struct buf *out;       /* the answer's body */
    char *etag;            /* 128 bytes, or NULL; "" if the answer has none */
    time_t date, modified; /* of the answer's headers; 0: none */
    long code;
};

enum qs_status http_init(struct http *http, const char *const strings[HTTP_STRING_COUNT],
                         struct qs_error *err) QS_MUST_USE;
void http_release(struct http *http);
/* Whatever the server answers is QS_OK, with request->code. Errors: QS_INVALID (more than max bytes), QS_UNTRUSTED (a
 * redirect that leads away; a certificate), QS_BUSY (no answer in time), QS_IO. */
enum qs_status http_perform(struct http *http, struct http_request *request, struct qs_error *err) QS_MUST_USE;
/* The same in two parts, for a request that runs in a multi handle. */
enum qs_status http_prepare(struct http *http, struct http_request *request, struct curl_slist **ret_headers,
                            struct qs_error *err) QS_MUST_USE;

/* Takes the time limits of a prepared request away, for one that stays open. */
void http_without_limits(struct http *http);

#endif
