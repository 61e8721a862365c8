/* SPDX-License-Identifier: Apache-2.0 */
/* Steps 2 to 4: what the spool holds, key documents one by one, and the bundle, kept and seen before it is acted on. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/machine/machine.h"

#include <stdio.h>
#include <string.h>

/* A document and its signature. */
struct pair {
    struct buf text, signature;
};

static void pair_release(struct pair *pair)
{
    buf_release(&pair->text);
    buf_release(&pair->signature);
}

static enum qs_status read_pair(const struct machine *machine, enum site_dir dir, const char *name, size_t max,
                                struct pair *pair, struct qs_error *err)
{
    char signature[DOCUMENT_NAME_BYTES + 16];
    int stem = (int)(strlen(name) - strlen(".json"));
    (void)snprintf(signature, sizeof signature, "%.*s.json.minisig", stem, name);
    enum qs_status status = site_read(&machine->site, dir, name, max, &pair->text, err);
    if (!status)
        status = site_read(&machine->site, dir, signature, MINISIG_FILE_MAX_BYTES, &pair->signature, err);
    return status;
}

/* The signature first: it belongs to no other text, and without it the text is fetched again. */
static enum qs_status keep_pair(const struct machine *machine, const char *name, const struct pair *pair,
                                struct qs_error *err)
{
    char signature[DOCUMENT_NAME_BYTES + 16];
    (void)snprintf(signature, sizeof signature, "%s.minisig", name);
    enum qs_status status = site_write(&machine->site, SITE_STATE, signature, 0600, buf_bytes(&pair->signature), err);
    if (!status)
        status = site_write(&machine->site, SITE_STATE, name, 0600, buf_bytes(&pair->text), err);
    return status;
}

/* ---- key documents ---- */

enum qs_status next_keys_verify(const struct key_document *present, struct qs_bytes text, struct qs_bytes signature,
                                struct key_document *ret_keys, struct qs_error *err)
{
    struct minisig sig;
    struct key_document next;
    enum qs_status status = minisig_parse(signature.data, signature.len, &sig, err);
    if (!status)
        status = minisig_check(&sig, text, &present->root, NULL, err);
    if (!status)
        status = key_document_parse(text, &next, err);
    if (!status)
        status = minisig_check(&sig, text, &next.root, NULL, err);
    if (!status)
        status = decide_next_keys(present, &next, err);
    if (!status)
        *ret_keys = next;
    return status;
}

/* What fetch need not bring again. */
static enum qs_status write_have(const struct machine *machine, struct qs_error *err)
{
    AUTO(buf_release) struct buf there = {0};
    char line[32];
    (void)snprintf(line, sizeof line, "%llu\n", (unsigned long long)machine->keys.version);
    if (!site_read(&machine->site, SITE_OUT, "have", sizeof line, &there, NULL) && there.len == strlen(line) &&
        !memcmp(there.data, line, there.len))
        return QS_OK;
    return site_write(&machine->site, SITE_OUT, "have", 0644, (struct qs_bytes){line, strlen(line)}, err);
}

/* As far as the documents go; the first that is refused ends it. */
static enum qs_status walk_keys(struct machine *machine, enum qs_status *ret_refusal, struct qs_error *why,
                                struct qs_error *err)
{
    for (;;) {
        AUTO(pair_release) struct pair pair = {0};
        char name[DOCUMENT_NAME_BYTES];
        struct key_document next;
        document_name_format(&(struct document_name){DOCUMENT_KEYS, {machine->keys.version + 1, 0}}, name);
        enum qs_status status = read_pair(machine, SITE_SPOOL, name, FLEET_KEYS_MAX_BYTES, &pair, why);
        if (status == QS_NOT_FOUND)
            return write_have(machine, err);
        if (!status)
            status = next_keys_verify(&machine->keys, buf_bytes(&pair.text), buf_bytes(&pair.signature), &next, why);
        if (status) {
            error_add_file(why, name);
            *ret_refusal = status;
            return write_have(machine, err);
        }
        status = keep_pair(machine, "keys.json", &pair, err);
        if (status)
            return status;
        machine->keys = next;
    }
}

/* ---- the bundle ---- */

enum qs_status bundle_verify(const struct key_document *keys, struct qs_bytes text, struct qs_bytes signature,
                             struct bundle *ret_bundle, uint32_t *ret_signers, struct qs_error *err)
{
    struct minisig sig;
    enum qs_status status = minisig_parse(signature.data, signature.len, &sig, err);
    if (!status)
        status = minisig_check(&sig, text, &keys->bundle, ret_signers, err);
    if (!status)
        status = bundle_parse(text, ret_bundle, err);
    return status;
}

/* The document whose digest a bundle names, from wherever it lies. QS_ABSENT: nowhere. */
static enum qs_status find_base(const struct machine *machine, const struct bundle *bundle, struct pair *pair,
                                struct bundle *ret_base, struct qs_error *err)
{
    char name[DOCUMENT_NAME_BYTES];
    document_name_format(&(struct document_name){DOCUMENT_BUNDLE, bundle->base}, name);
    const struct {
        enum site_dir dir;
        const char *name;
    } places[] = {{SITE_STATE, "base.json"}, {SITE_STATE, "bundle.json"}, {SITE_SPOOL, name}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint8_t digest[QS_DIGEST_BYTES];
        enum qs_status status =
            site_read(&machine->site, places[i].dir, places[i].name, FLEET_BUNDLE_MAX_BYTES, &pair->text, NULL);
        if (status)
            continue;
        digest_of(pair->text.data, pair->text.len, digest);
        if (!memcmp(digest, bundle->base_digest, QS_DIGEST_BYTES))
            return bundle_parse(buf_bytes(&pair->text), ret_base, err);
    }
    return error_set(err, QS_ABSENT, "%s, on which bundle %llu-%llu builds, is not here or is another document", name,
                     (unsigned long long)bundle->order.keys, (unsigned long long)bundle->order.serial);
}

static enum qs_status write_seen(const struct machine *machine, const struct seen *seen, struct qs_error *err)
{
    AUTO(buf_release) struct buf line = {0};
    seen_format(seen, &line);
    return site_write(&machine->site, SITE_STATE, "seen", 0600, buf_bytes(&line), err);
}

/* The bundle, its base if there is one and it is here, and who signed it, become the machine's. All are taken over. */
static void adopt(struct machine *machine, struct bundle *bundle, struct bundle *base, uint32_t signers)
{
    bundle_release(&machine->bundle);
    bundle_release(&machine->base);
    machine->bundle = *bundle;
    machine->base = *base;
    machine->signers = signers;
    *bundle = *base = (struct bundle){0};
}

/* Judges a candidate; good, it is kept and becomes what was seen. A refusal is in *ret_refusal, its reason in err. */
static enum qs_status consider(struct machine *machine, const struct pair *pair, bool kept, enum qs_status *ret_refusal,
                               struct qs_error *err)
{
    AUTO(bundle_release) struct bundle bundle = {0};
    AUTO(bundle_release) struct bundle base = {0};
    AUTO(pair_release) struct pair base_pair = {0};
    char id[FLEET_ID_TEXT_BYTES];
    struct draw_subject subject = machine_subject(machine, id);
    struct seen next;
    uint32_t signers = 0;
    struct qs_error absence = {0};
    enum qs_status status =
        bundle_verify(&machine->keys, buf_bytes(&pair->text), buf_bytes(&pair->signature), &bundle, &signers, err);
    if (!status)
        status =
            decide_bundle(&machine->seen, &machine->keys, &bundle, machine->clock, &next, &machine->clock_behind, err);
    enum qs_status found =
        status || !bundle.has_base ? QS_NOT_FOUND : find_base(machine, &bundle, &base_pair, &base, &absence);
    if (!status && bundle.has_base && found &&
        decide_target(&bundle, &subject, machine->has_applied ? machine->applied : NULL) == TARGET_BASE) {
        status = found;
        if (err)
            *err = absence;
    }
    *ret_refusal = status;
    if (status)
        return QS_OK;
    if (!found)
        status = site_write(&machine->site, SITE_STATE, "base.json", 0600, buf_bytes(&base_pair.text), err);
    if (!status && !kept)
        status = keep_pair(machine, "bundle.json", pair, err);
    if (!status)
        status = write_seen(machine, &next, err);
    if (status)
        return status;
    machine->seen = next;
    adopt(machine, &bundle, &base, signers);
    return QS_OK;
}

/* The bundle that was kept. If it is the one of seen it was verified then, maybe under keys that have gone since. */
static enum qs_status take_kept(struct machine *machine, const struct pair *pair, struct qs_error *err)
{
    AUTO(bundle_release) struct bundle bundle = {0};
    AUTO(bundle_release) struct bundle base = {0};
    AUTO(pair_release) struct pair base_pair = {0};
    enum qs_status ignored = QS_OK;
    uint32_t signers = 0;
    struct minisig sig;
    if (bundle_parse(buf_bytes(&pair->text), &bundle, NULL))
        return QS_OK;
    if (!machine->seen.has_digest || memcmp(bundle.digest, machine->seen.digest, QS_DIGEST_BYTES) != 0)
        return consider(machine, pair, true, &ignored, err);
    if (bundle.has_base)
        (void)!find_base(machine, &bundle, &base_pair, &base, NULL);
    if (!minisig_parse(pair->signature.data, pair->signature.len, &sig, NULL))
        (void)!minisig_check(&sig, buf_bytes(&pair->text), &machine->keys.bundle, &signers, NULL);
    machine->clock_behind = bundle.issued >= machine->clock + FLEET_BEHIND_S;
    adopt(machine, &bundle, &base, signers);
    return QS_OK;
}

static bool highest_in_spool(const struct machine *machine, struct document_name *ret_name)
{
    struct document_name names[SPOOL_NAMES_MAX];
    size_t count = 0;
    bool found = false;
    if (site_spool(&machine->site, names, &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (names[i].kind == DOCUMENT_BUNDLE && (!found || fleet_order_compare(names[i].order, ret_name->order) > 0)) {
            *ret_name = names[i];
            found = true;
        }
    return found;
}

enum qs_status machine_take(struct machine *machine, struct qs_error *err)
{
    AUTO(pair_release) struct pair kept = {0};
    AUTO(pair_release) struct pair fetched = {0};
    struct document_name name = {0};
    char text[DOCUMENT_NAME_BYTES];
    enum qs_status refusal = QS_OK;
    enum qs_status status = walk_keys(machine, &machine->refusal, &machine->why, err);
    if (!status && !read_pair(machine, SITE_STATE, "bundle.json", FLEET_BUNDLE_MAX_BYTES, &kept, NULL))
        status = take_kept(machine, &kept, err);
    if (status || !highest_in_spool(machine, &name) || machine->refusal)
        return status;
    document_name_format(&name, text);
    struct qs_error why = {0};
    refusal = read_pair(machine, SITE_SPOOL, text, FLEET_BUNDLE_MAX_BYTES, &fetched, &why);
    if (!refusal && machine->bundle.document && buf_bytes(&fetched.text).len == kept.text.len &&
        !memcmp(fetched.text.data, kept.text.data, kept.text.len))
        return QS_OK; /* it is the one that was kept */
    if (!refusal)
        status = consider(machine, &fetched, false, &refusal, &why);
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    if (refusal == QS_NOT_FOUND)
        refusal = QS_ABSENT; /* its signature has not come yet */
    if (refusal) {
        error_add_file(&why, text);
        machine->refusal = refusal;
        machine->why = why;
    }
    return QS_OK;
}
