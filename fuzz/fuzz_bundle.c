/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of a fleet: the first byte says which, the rest is its text. Invariants: refused with QS_INVALID and a
 * reason, or each field lies within its bounds; peeking at a bundle's base finds what parsing found.
 */
#include "fleet/rules/decide.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void refused_or_good(enum qs_status status, const struct qs_error *err)
{
    MUST(status == QS_OK || ((status == QS_INVALID || status == QS_UNTRUSTED) && err->message[0]));
}

static void check_bundle(struct qs_bytes text)
{
    struct qs_error err = {0};
    struct bundle bundle = {0};
    struct fleet_order base = {0};
    enum qs_status status = bundle_parse(text, &bundle, &err);
    refused_or_good(status, &err);
    bool peeked = bundle_base_peek(text, &base);
    if (status)
        return;
    MUST(name_ok(bundle.fleet) && name_ok(bundle.rollout) && bundle.issued < bundle.expires);
    MUST(bundle.order.keys >= 1 && bundle.order.serial >= 1 && bundle.ring_count >= 1);
    MUST(bundle.ring_count <= FLEET_RINGS_MAX && bundle.open <= bundle.ring_count);
    MUST(peeked == bundle.has_base && (!peeked || !fleet_order_compare(base, bundle.base)));
    MUST(!json_object_get(bundle.document, "fleet"));
    struct draw_subject subject = {.id = "0"};
    MUST(decide_ring(&bundle, bundle.ring_count, &subject) < (int)bundle.ring_count);
    bundle_release(&bundle);
}

static void check_keys(struct qs_bytes text)
{
    struct qs_error err = {0};
    struct key_document keys;
    enum qs_status status = key_document_parse(text, &keys, &err);
    refused_or_good(status, &err);
    if (status)
        return;
    const struct role *roles[] = {&keys.root, &keys.bundle};
    for (size_t i = 0; i < 2; i++)
        MUST(roles[i]->count >= 1 && roles[i]->count <= ROLE_KEYS_MAX && roles[i]->threshold >= 1 &&
             roles[i]->threshold <= roles[i]->count);
    MUST(name_ok(keys.fleet) && keys.version >= 1);
}

static void check_head(struct qs_bytes text)
{
    struct qs_error err = {0};
    struct head head, again;
    struct buf out = {0};
    enum qs_status status = head_parse(text, &head, &err);
    refused_or_good(status, &err);
    if (!status) {
        head_format(&head, &out);
        MUST(head_parse((struct qs_bytes){out.data, out.len}, &again, &err) == QS_OK);
        MUST(!fleet_order_compare(head.order, again.order));
    }
    buf_release(&out);
}

/* A zero byte parts text and signature. */
static void check_report(struct qs_bytes input)
{
    struct qs_error err = {0};
    struct report report;
    const char *zero = input.len ? memchr(input.data, '\0', input.len) : NULL;
    size_t len = zero ? (size_t)(zero - (const char *)input.data) : input.len;
    struct qs_bytes signature = {zero ? zero + 1 : "", zero ? input.len - len - 1 : 0};
    enum qs_status status = report_parse((struct qs_bytes){input.data, len}, signature, &report, &err);
    refused_or_good(status, &err);
    if (status)
        return;
    struct buf again = {0};
    MUST(report_format(&report, &again, &err) == QS_OK && again.len <= FLEET_REPORT_MAX_BYTES + 1024);
    buf_release(&again);
    report_release(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char *copy = malloc(size);
    MUST(copy);
    memcpy(copy, data + 1, size - 1);
    struct qs_bytes text = {copy, size - 1};
    switch (data[0]) {
    case 'k':
        check_keys(text);
        break;
    case 'h':
        check_head(text);
        break;
    case 'r':
        check_report(text);
        break;
    default:
        check_bundle(text);
    }
    free(copy);
    return 0;
}
