/* SPDX-License-Identifier: Apache-2.0 */
/* The operator, who signs, and the adversary, who has the carrier. Both use the carrier's own functions. */
#include "stress/fleet/fleet.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct signer {
    struct public_key key;
    uint8_t secret[64];
};

struct fleet_side {
    struct fleet_run *run;
    struct stress_rng rng;
    struct carrier *carrier;
    struct fleet_servers *servers;
    struct signer operators[FLEET_OPERATORS], stranger;
    uint64_t serial;  /* of the newest */
    json_t *document; /* of the newest */
    char rollout[24];
    unsigned open;
    json_t *base;      /* of the next: the last that was fully open, or null */
    json_t *texts;     /* what was signed: "bundle-1-N.json" and its signature, to be put again */
    json_t *documents; /* by serial, for rollbacks */
};

void fleet_violation(struct fleet_board *board, unsigned host, const char *format, ...)
{
    va_list args;
    (void)atomic_fetch_add(&board->violations, 1);
    unsigned index = atomic_fetch_add(&board->text_count, 1);
    if (index >= FLEET_TEXTS)
        return;
    int len = snprintf(board->texts[index], sizeof board->texts[index], "machine %u: ", host);
    va_start(args, format);
    (void)vsnprintf(board->texts[index] + len, sizeof board->texts[index] - (size_t)len, format, args);
    va_end(args);
}

/* ---- keys ---- */

static void make_signer(struct signer *signer, uint64_t seed)
{
    uint8_t bytes[crypto_sign_SEEDBYTES] = {0};
    memcpy(bytes, &seed, sizeof seed);
    (void)crypto_sign_seed_keypair(signer->key.bytes, signer->secret, bytes);
    memcpy(signer->key.id, signer->key.bytes, MINISIG_ID_BYTES);
}

/* Controls believe others, or fewer, than the fleet does. */
static bool write_keys(struct fleet_side *side, const char *name, unsigned threshold, bool stranger)
{
    char text[MINISIG_KEY_TEXT_BYTES], path[600];
    json_t *keys = json_array();
    for (unsigned i = 0; i < FLEET_OPERATORS; i++) {
        public_key_format(&side->operators[i].key, text);
        (void)json_array_append_new(keys, json_string(text));
    }
    public_key_format(&side->stranger.key, text);
    if (stranger)
        (void)json_array_append_new(keys, json_string(text));
    AUTO(value_release)
    json_t *root = json_pack("{s:s, s:s, s:i, s:i, s:{s:i, s:O}, s:{s:i, s:o}}", "format", "qsettings-fleet-keys-1",
                             "fleet", "north", "version", 1, "issued", 1, "root", "threshold", 1, "keys", keys,
                             "bundle", "threshold", (int)threshold, "keys", keys);
    (void)snprintf(path, sizeof path, "%s/%s", side->run->scratch, name);
    return root && json_dump_file(root, path, 0) == 0;
}

/* ---- bundles ---- */

static json_t *make_document(struct fleet_side *side, uint64_t serial)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)serial);
    return json_pack("{s:{s:{s:s, s:s}}, s:{s:s}}", "tools", "executionSandbox", "filesystem", "workspace-write",
                     "network", stress_rng_next(&side->rng) % 2 ? "open" : "closed", "env", "SERIAL", text);
}

static bool put(struct fleet_side *side, uint64_t serial, const char *suffix, struct qs_bytes text)
{
    char name[DOCUMENT_NAME_BYTES + 16];
    (void)snprintf(name, sizeof name, "bundle-1-%llu.json%s", (unsigned long long)serial, suffix);
    return side->carrier->row->put(side->carrier, name, text, (struct qs_bytes){NULL, 0}, NULL) == QS_OK;
}

/* Whatever it is now, the head becomes this. */
static bool put_head(struct fleet_side *side, uint64_t serial)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf now = {0};
    head_format(&(struct head){{1, serial}}, &text);
    enum qs_status status = side->carrier->row->head(side->carrier, &now, NULL);
    if (status && status != QS_NOT_FOUND)
        return false;
    struct qs_bytes expect = {status ? NULL : now.data, status ? 0 : now.len};
    return side->carrier->row->put(side->carrier, HEAD_NAME, buf_bytes(&text), expect, NULL) == QS_OK;
}

static void note_signed(struct fleet_side *side, const struct bundle *bundle, const struct signed_bundle *base)
{
    struct fleet_board *board = side->run->board;
    struct signed_bundle *slot = &board->list[atomic_load(&board->signed_count)];
    *slot = (struct signed_bundle){.order = bundle->order, .base = bundle->base, .has_base = bundle->has_base};
    memcpy(slot->content, bundle->content, QS_DIGEST_BYTES);
    if (base)
        memcpy(slot->base_content, base->content, QS_DIGEST_BYTES);
    slot->rule = *bundle;
    slot->rule.document = NULL;
    slot->rule.locks = (struct leaves){0};
    slot->pushed_ns = stress_now_ns();
    (void)atomic_fetch_add(&board->signed_count, 1);
}

static const struct signed_bundle *find_signed(const struct fleet_board *board, struct fleet_order order)
{
    for (unsigned i = 0; i < atomic_load(&board->signed_count); i++)
        if (!fleet_order_compare(board->list[i].order, order))
            return &board->list[i];
    return NULL;
}

static json_t *bundle_json(const struct fleet_side *side, uint64_t serial, json_t *document, unsigned open)
{
    json_int_t now = (json_int_t)clock_now();
    return json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:s, s:[{s:s}, {s:i}, {}], s:i, s:O, s:s, s:O, s:[]}", "format",
                     "qsettings-fleet-bundle-1", "fleet", "north", "keys", 1, "serial", (json_int_t)serial, "issued",
                     now, "expires", now + 30 * 86400, "rollout", side->rollout, "rings", "group", "pilot", "percent",
                     25, "open", (int)open, "base", side->base, "battery", "report", "document", document, "locks");
}

/* Signs the newest state and pushes it. Machines may have it from the moment it is noted. */
static bool publish(struct fleet_side *side)
{
    AUTO(bundle_release) struct bundle bundle = {0};
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    char digest[HEX_DIGEST_BYTES];
    AUTO(value_release) json_t *root = bundle_json(side, ++side->serial, side->document, side->open);
    if (!root || value_encode(root, &text, NULL) || bundle_parse(buf_bytes(&text), &bundle, NULL) ||
        side->serial >= FLEET_SIGNED_MAX)
        return false;
    for (unsigned i = 0; i < FLEET_OPERATORS; i++)
        minisig_make(&side->operators[i].key, side->operators[i].secret, buf_bytes(&text), "operator", &signature);
    note_signed(side, &bundle, bundle.has_base ? find_signed(side->run->board, bundle.base) : NULL);
    (void)json_array_append_new(side->texts, json_pack("[s%, s%]", text.data, text.len, signature.data, signature.len));
    (void)json_array_append(side->documents, side->document);
    if (side->open == 3) {
        hex_format(bundle.digest, QS_DIGEST_BYTES, digest);
        json_decref(side->base);
        side->base = json_pack("{s:I, s:i, s:s}", "serial", (json_int_t)side->serial, "keys", 1, "digest", digest);
    }
    return put(side, side->serial, ".minisig", buf_bytes(&signature)) &&
           put(side, side->serial, "", buf_bytes(&text)) && put_head(side, side->serial);
}

static void new_document(struct fleet_side *side, json_t *document, unsigned open)
{
    json_decref(side->document);
    side->document = document;
    side->open = open;
    (void)snprintf(side->rollout, sizeof side->rollout, "r%llu", (unsigned long long)side->serial + 1);
}

/* What could not be pushed when it was signed is pushed now: documents first, and all there are. */
static bool push_again(struct fleet_side *side)
{
    bool good = true;
    for (uint64_t serial = 1; serial <= side->serial; serial++) {
        const json_t *pair = json_array_get(side->texts, serial - 1);
        const json_t *text = json_array_get(pair, 0), *signature = json_array_get(pair, 1);
        bool recent = serial + 8 > side->serial || serial % 16 == 0;
        if (recent)
            good = put(side, serial, ".minisig",
                       (struct qs_bytes){json_string_value(signature), json_string_length(signature)}) &&
                   put(side, serial, "", (struct qs_bytes){json_string_value(text), json_string_length(text)}) && good;
    }
    return put_head(side, side->serial) && good;
}

/* ---- the adversary ---- */

/* Under the next serial, so that the operator's own never meets it: one far ahead. */
static void forge(struct fleet_side *side, bool twice)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    uint64_t serial = 1000000 + side->serial;
    AUTO(value_release) json_t *wide = make_document(side, serial);
    AUTO(value_release) json_t *root = bundle_json(side, serial, wide, 3);
    if (!root || value_encode(root, &text, NULL))
        return;
    const struct signer *signer = twice ? &side->operators[0] : &side->stranger;
    for (unsigned i = 0; i < FLEET_OPERATORS; i++)
        minisig_make(&signer->key, signer->secret, buf_bytes(&text), "forged", &signature);
    if (put(side, serial, ".minisig", buf_bytes(&signature)) && put(side, serial, "", buf_bytes(&text)))
        (void)put_head(side, serial);
}

static void disturb(struct fleet_side *side)
{
    switch (stress_rng_next(&side->rng) % 4) {
    case 0: /* an older one */
        (void)put_head(side, 1 + stress_rng_next(&side->rng) % side->serial);
        break;
    case 1:
        forge(side, false);
        break;
    case 2: /* both signatures by one key */
        forge(side, true);
        break;
    default:
        if (side->servers)
            fleet_servers_disturb(side->servers, &side->rng);
    }
    stress_sleep_ns(100000000 + stress_rng_next(&side->rng) % 400000000);
    if (side->servers)
        fleet_servers_mend(side->servers);
    (void)push_again(side);
}

void fleet_side_step(struct fleet_side *side)
{
    uint64_t dice = stress_rng_next(&side->rng) % 100;
    if (dice < 30) {
        disturb(side);
        return;
    }
    if (dice < 60)
        new_document(side, make_document(side, side->serial + 1), (unsigned)(stress_rng_next(&side->rng) % 4));
    else if (dice < 80)
        side->open = side->open < 3 ? side->open + 1 : 3;
    else if (dice < 88)
        side->open = 0;
    else
        new_document(side, json_incref(json_array_get(side->documents, stress_rng_next(&side->rng) % side->serial)), 3);
    (void)publish(side);
    stress_sleep_ns(50000000 + stress_rng_next(&side->rng) % 300000000);
}

bool fleet_side_settle(struct fleet_side *side, struct fleet_order *ret_order)
{
    if (side->servers)
        fleet_servers_mend(side->servers);
    atomic_store(&side->run->board->well, true);
    new_document(side, make_document(side, side->serial + 1), 3);
    bool pushed = publish(side);
    for (int i = 0; i < 100 && !pushed; i++) {
        stress_sleep_ns(100000000);
        pushed = push_again(side);
    }
    *ret_order = (struct fleet_order){1, side->serial};
    return pushed;
}

/* ---- begin and end ---- */

void fleet_side_free(struct fleet_side *side)
{
    if (!side)
        return;
    carrier_close(&side->carrier);
    fleet_servers_end(side->servers);
    json_decref(side->document);
    json_decref(side->base);
    json_decref(side->texts);
    json_decref(side->documents);
    free(side);
}

struct fleet_side *fleet_side_new(struct fleet_run *run, char reason[256])
{
    struct fleet_side *side = calloc(1, sizeof *side);
    struct qs_error err = {0};
    if (!side)
        return NULL;
    side->run = run;
    side->base = json_null();
    side->texts = json_array();
    side->documents = json_array();
    stress_rng_init(&side->rng, run->options->seed, 0);
    for (unsigned i = 0; i < FLEET_OPERATORS; i++)
        make_signer(&side->operators[i], 100 + i);
    make_signer(&side->stranger, 666);
    side->servers = fleet_servers_start(run, reason);
    bool fine = side->servers && write_keys(side, "keys-1.json", 2, false) &&
                write_keys(side, "keys-one.json", 1, false) && write_keys(side, "keys-any.json", 1, true);
    if (fine && carrier_open(run->carrier_config, "north", &side->carrier, &err)) {
        (void)snprintf(reason, 256, "%.200s", err.message);
        fine = false;
    }
    new_document(side, make_document(side, 1), 3);
    if (fine && !publish(side) && !push_again(side)) {
        (void)snprintf(reason, 256, "the first bundle cannot be pushed");
        fine = false;
    }
    if (!fine) {
        fleet_side_free(side);
        return NULL;
    }
    return side;
}
