/* SPDX-License-Identifier: Apache-2.0 */
/* Signature files: the strict form, and who has signed. */
#include "fleet/rules/minisig.h"

#include "base/error.h"

#include <sodium.h>
#include <string.h>

#define UNTRUSTED_COMMENT "untrusted comment: "
#define TRUSTED_COMMENT   "trusted comment: "
#define SIGNATURE_BYTES   (2u + MINISIG_ID_BYTES + MINISIG_BYTES)
#define KEY_BYTES         (2u + MINISIG_ID_BYTES + MINISIG_KEY_BYTES)
#define HASH_BYTES        64u

/* Exactly size bytes in strict base64, padding and unused bits included. */
static bool decode(const char *text, size_t len, uint8_t *out, size_t size)
{
    size_t got = 0;
    const char *end = NULL;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x80) /* libsodium 1.0.18 takes some of these for "/" */
            return false;
    return !sodium_base642bin(out, size, text, len, NULL, &got, &end, sodium_base64_VARIANT_ORIGINAL) && got == size &&
           end == text + len;
}

enum qs_status public_key_parse(const char *text, struct public_key *ret_key, struct qs_error *err)
{
    uint8_t raw[KEY_BYTES];
    if (!decode(text, strlen(text), raw, sizeof raw) || raw[0] != 'E' || raw[1] != 'd')
        return error_set(err, QS_INVALID, "\"%.60s\" is no public key of minisign: 56 base64 characters that begin RW",
                         text);
    memcpy(ret_key->id, raw + 2, MINISIG_ID_BYTES);
    memcpy(ret_key->bytes, raw + 2 + MINISIG_ID_BYTES, MINISIG_KEY_BYTES);
    if (!crypto_core_ed25519_is_valid_point(ret_key->bytes))
        return error_set(err, QS_INVALID, "\"%.60s\" is no point of Ed25519 that can be a key", text);
    return QS_OK;
}

void public_key_format(const struct public_key *key, char text[MINISIG_KEY_TEXT_BYTES])
{
    uint8_t raw[KEY_BYTES] = {'E', 'd'};
    memcpy(raw + 2, key->id, MINISIG_ID_BYTES);
    memcpy(raw + 2 + MINISIG_ID_BYTES, key->bytes, MINISIG_KEY_BYTES);
    (void)sodium_bin2base64(text, MINISIG_KEY_TEXT_BYTES, raw, sizeof raw, sodium_base64_VARIANT_ORIGINAL);
}

/* ---- parsing ---- */

struct lines {
    const char *at, *end;
    unsigned number; /* of the line last taken */
};

/* The next line without its LF, which must be there. */
static bool next_line(struct lines *lines, struct qs_bytes *ret_line)
{
    const char *lf = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    lines->number++;
    if (!lf || memchr(lines->at, '\0', (size_t)(lf - lines->at)))
        return false;
    *ret_line = (struct qs_bytes){lines->at, (size_t)(lf - lines->at)};
    lines->at = lf + 1;
    return true;
}

static bool comment_line(struct lines *lines, const char *prefix, struct qs_bytes *ret_text)
{
    size_t skip = strlen(prefix);
    if (!next_line(lines, ret_text) || ret_text->len < skip || memcmp(ret_text->data, prefix, skip) != 0)
        return false;
    *ret_text = (struct qs_bytes){(const char *)ret_text->data + skip, ret_text->len - skip};
    return true;
}

static bool base64_line(struct lines *lines, uint8_t *out, size_t size)
{
    struct qs_bytes line;
    return next_line(lines, &line) && decode(line.data, line.len, out, size);
}

static bool parse_block(struct lines *lines, struct minisig_block *block, bool *ret_legacy)
{
    struct qs_bytes ignored;
    uint8_t raw[SIGNATURE_BYTES];
    if (!comment_line(lines, UNTRUSTED_COMMENT, &ignored) || !base64_line(lines, raw, sizeof raw) || raw[0] != 'E' ||
        (raw[1] != 'D' && raw[1] != 'd'))
        return false;
    *ret_legacy = *ret_legacy || raw[1] == 'd';
    memcpy(block->key_id, raw + 2, MINISIG_ID_BYTES);
    memcpy(block->signature, raw + 2 + MINISIG_ID_BYTES, MINISIG_BYTES);
    return comment_line(lines, TRUSTED_COMMENT, &block->comment) && base64_line(lines, block->global, MINISIG_BYTES);
}

enum qs_status minisig_parse(const void *data, size_t len, struct minisig *ret_sig, struct qs_error *err)
{
    struct minisig sig = {0};
    bool legacy = false;
    if (len == 0 || len > MINISIG_FILE_MAX_BYTES)
        return error_set(err, QS_INVALID, "a signature file has 1 to %u bytes, not %zu", MINISIG_FILE_MAX_BYTES, len);
    for (struct lines lines = {data, (const char *)data + len, 0}; lines.at < lines.end; sig.count++) {
        if (sig.count == MINISIG_BLOCKS_MAX)
            return error_set(err, QS_INVALID, "more than %u signatures", MINISIG_BLOCKS_MAX);
        if (!parse_block(&lines, &sig.blocks[sig.count], &legacy)) {
            (void)error_set(err, QS_INVALID,
                            "no signature of minisign: a comment, a signature, a trusted comment and "
                            "its signature, each on a line of its own");
            error_add_place(err, lines.number, 1);
            return QS_INVALID;
        }
    }
    if (legacy) {
        (void)error_set(err, QS_UNTRUSTED, "a signature of minisign's legacy algorithm Ed, which is not accepted");
        error_add_advice(err, "sign again with minisign -S -H");
        return QS_UNTRUSTED;
    }
    *ret_sig = sig;
    return QS_OK;
}

/* ---- who has signed ---- */

static bool holds(const struct minisig_block *block, const uint8_t hash[HASH_BYTES], const struct public_key *key)
{
    uint8_t signed_text[MINISIG_BYTES + MINISIG_FILE_MAX_BYTES];
    memcpy(signed_text, block->signature, MINISIG_BYTES);
    memcpy(signed_text + MINISIG_BYTES, block->comment.data, block->comment.len);
    return !crypto_sign_verify_detached(block->signature, hash, HASH_BYTES, key->bytes) &&
           !crypto_sign_verify_detached(block->global, signed_text, MINISIG_BYTES + block->comment.len, key->bytes);
}

enum qs_status minisig_check(const struct minisig *sig, struct qs_bytes text, const struct role *role,
                             uint32_t *ret_signers, struct qs_error *err)
{
    uint8_t hash[HASH_BYTES];
    uint32_t signers = 0;
    (void)crypto_generichash(hash, sizeof hash, text.data, text.len, NULL, 0);
    for (size_t i = 0; i < sig->count; i++) {
        bool named = false, made = false;
        for (unsigned k = 0; k < role->count && !made; k++) {
            bool tried = !memcmp(sig->blocks[i].key_id, role->keys[k].id, MINISIG_ID_BYTES);
            named = named || tried;
            made = tried && holds(&sig->blocks[i], hash, &role->keys[k]);
            signers |= made ? 1u << k : 0;
        }
        if (named && !made)
            return error_set(err, QS_UNTRUSTED, "signature %zu names a key of the fleet, which did not make it", i + 1);
    }
    unsigned count = (unsigned)__builtin_popcount(signers);
    if (count < role->threshold)
        return error_set(err, QS_UNTRUSTED, "signed by %u of the keys that may sign it; %u must have", count,
                         role->threshold);
    if (ret_signers)
        *ret_signers = signers;
    return QS_OK;
}

/* ---- a machine's own ---- */

static void add_base64(const uint8_t *data, size_t len, struct buf *out)
{
    char text[sodium_base64_ENCODED_LEN(SIGNATURE_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    buf_add_str(out, sodium_bin2base64(text, sizeof text, data, len, sodium_base64_VARIANT_ORIGINAL));
    buf_add_char(out, '\n');
}

void minisig_make(const struct public_key *key, const uint8_t secret[64], struct qs_bytes text, const char *comment,
                  struct buf *out)
{
    uint8_t hash[HASH_BYTES], raw[SIGNATURE_BYTES] = {'E', 'D'}, global[MINISIG_BYTES];
    struct buf covered = {0};
    (void)crypto_generichash(hash, sizeof hash, text.data, text.len, NULL, 0);
    memcpy(raw + 2, key->id, MINISIG_ID_BYTES);
    (void)crypto_sign_detached(raw + 2 + MINISIG_ID_BYTES, NULL, hash, sizeof hash, secret);
    buf_add(&covered, raw + 2 + MINISIG_ID_BYTES, MINISIG_BYTES);
    buf_add_str(&covered, comment);
    (void)crypto_sign_detached(global, NULL, (const uint8_t *)covered.data, covered.len, secret);
    buf_add_str(out, UNTRUSTED_COMMENT "qfleet report\n");
    add_base64(raw, sizeof raw, out);
    buf_printf(out, TRUSTED_COMMENT "%s\n", comment);
    add_base64(global, sizeof global, out);
    out->failed = out->failed || covered.failed;
    buf_release(&covered);
}
