/* SPDX-License-Identifier: Apache-2.0 */
/* Order, time, draw and target. */
#include "fleet/rules/decide.h"

#include "base/error.h"

#include <string.h>

enum qs_status decide_next_keys(const struct key_document *present, const struct key_document *next,
                                struct qs_error *err)
{
    if (strcmp(present->fleet, next->fleet) != 0)
        return error_set(err, QS_UNTRUSTED, "the key document is of fleet %s, this machine's is %s", next->fleet,
                         present->fleet);
    if (next->version != present->version + 1)
        return error_set(err, QS_UNTRUSTED, "the key document has version %llu; after %llu comes %llu",
                         (unsigned long long)next->version, (unsigned long long)present->version,
                         (unsigned long long)present->version + 1);
    return QS_OK;
}

static enum qs_status check_keys(const struct key_document *keys, const struct bundle *bundle, struct qs_error *err)
{
    if (strcmp(keys->fleet, bundle->fleet) != 0)
        return error_set(err, QS_UNTRUSTED, "the bundle is of fleet %s, this machine's is %s", bundle->fleet,
                         keys->fleet);
    if (bundle->order.keys > keys->version)
        return error_set(err, QS_ABSENT,
                         "the bundle is signed under key document %llu, and key document %llu is not here",
                         (unsigned long long)bundle->order.keys, (unsigned long long)keys->version + 1);
    if (bundle->order.keys < keys->version)
        return error_set(err, QS_UNTRUSTED, "the bundle is signed under key document %llu; %llu has replaced it",
                         (unsigned long long)bundle->order.keys, (unsigned long long)keys->version);
    return QS_OK;
}

static uint64_t time_of(const struct seen *seen, uint64_t keys, uint64_t clock)
{
    return seen->order.keys == keys && seen->floor > clock ? seen->floor : clock;
}

enum qs_status decide_bundle(const struct seen *seen, const struct key_document *keys, const struct bundle *bundle,
                             uint64_t clock, struct seen *ret_next, bool *ret_behind, struct qs_error *err)
{
    enum qs_status status = check_keys(keys, bundle, err);
    if (status)
        return status;
    int order = fleet_order_compare(bundle->order, seen->order);
    if (order < 0)
        return error_set(err, QS_UNTRUSTED, "bundle %llu-%llu is older than %llu-%llu, which was seen already",
                         (unsigned long long)bundle->order.keys, (unsigned long long)bundle->order.serial,
                         (unsigned long long)seen->order.keys, (unsigned long long)seen->order.serial);
    if (order == 0 && seen->has_digest && memcmp(seen->digest, bundle->digest, QS_DIGEST_BYTES) != 0)
        return error_set(err, QS_UNTRUSTED, "bundle %llu-%llu is not the one that was seen under these numbers",
                         (unsigned long long)bundle->order.keys, (unsigned long long)bundle->order.serial);
    uint64_t now = time_of(seen, bundle->order.keys, clock);
    if (order != 0 && bundle->expires <= now)
        return error_set(err, QS_UNTRUSTED, "bundle %llu-%llu expired at %llu; it is %llu now",
                         (unsigned long long)bundle->order.keys, (unsigned long long)bundle->order.serial,
                         (unsigned long long)bundle->expires, (unsigned long long)now);
    uint64_t floor = seen->order.keys == bundle->order.keys ? seen->floor : 0;
    *ret_next = (struct seen){.order = bundle->order,
                              .floor = bundle->issued > floor ? bundle->issued : floor,
                              .has_digest = true};
    memcpy(ret_next->digest, bundle->digest, QS_DIGEST_BYTES);
    *ret_behind = bundle->issued >= clock + FLEET_BEHIND_S;
    return QS_OK;
}

bool decide_expired(const struct seen *seen, const struct bundle *bundle, uint64_t clock)
{
    return bundle->expires <= time_of(seen, bundle->order.keys, clock);
}

unsigned decide_draw(const char *fleet, const char *rollout, const char *id)
{
    static const char domain[] = "qsettings-fleet-ring";
    uint8_t digest[QS_DIGEST_BYTES];
    struct digest state;
    digest_init(&state);
    digest_add(&state, domain, sizeof domain);
    digest_add(&state, fleet, strlen(fleet) + 1);
    digest_add(&state, rollout, strlen(rollout) + 1);
    digest_add(&state, id, strlen(id));
    digest_finish(&state, digest);
    return (unsigned)(load_u64(digest) % 100);
}

static bool has_group(const struct draw_subject *subject, const char *group)
{
    for (size_t i = 0; i < subject->group_count; i++)
        if (!strcmp(subject->groups[i], group))
            return true;
    return false;
}

int decide_ring(const struct bundle *bundle, unsigned count, const struct draw_subject *subject)
{
    int draw = (int)decide_draw(bundle->fleet, bundle->rollout, subject->id);
    for (unsigned i = 0; i < count && i < bundle->ring_count; i++) {
        const struct ring *ring = &bundle->rings[i];
        if ((!ring->group[0] || has_group(subject, ring->group)) && (ring->percent < 0 || ring->percent > draw))
            return (int)i;
    }
    return -1;
}

enum target decide_target(const struct bundle *bundle, const struct draw_subject *subject,
                          const uint8_t applied[QS_DIGEST_BYTES])
{
    bool has_it = applied && !memcmp(applied, bundle->content, QS_DIGEST_BYTES);
    if (has_it || decide_ring(bundle, bundle->open, subject) >= 0)
        return TARGET_OWN;
    return bundle->has_base ? TARGET_BASE : TARGET_NONE;
}
