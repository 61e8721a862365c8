/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signature files, over a fixed text and role. Invariants: no crash; a file that passes has as many signers as the
 * threshold, and passes no more with a byte of the text changed.
 */
#include "fleet/rules/minisig.h"
#include "fuzz/fuzz.h"

#include <sodium.h>
#include <string.h>

static struct role make_role(uint8_t secrets[2][64])
{
    struct role role = {.threshold = 1, .count = 2};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t seed[crypto_sign_SEEDBYTES] = {(uint8_t)(i + 1)};
        MUST(!crypto_sign_seed_keypair(role.keys[i].bytes, secrets[i], seed));
        memcpy(role.keys[i].id, role.keys[i].bytes, MINISIG_ID_BYTES);
    }
    return role;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "{\"a\":1}", other[] = "{\"a\":2}";
    uint8_t secrets[2][64];
    struct role role = make_role(secrets);
    struct qs_error err = {0};
    struct minisig sig;
    struct buf made = {0};
    uint32_t signers = 0;
    char line[MINISIG_KEY_TEXT_BYTES] = "", again[MINISIG_KEY_TEXT_BYTES];
    struct public_key key;
    if (size)
        memcpy(line, data, size < sizeof line ? size : sizeof line - 1);
    if (!public_key_parse(line, &key, &err)) {
        public_key_format(&key, again);
        MUST(!strcmp(line, again));
    }
    enum qs_status status = minisig_parse(data, size, &sig, &err);
    MUST(status == QS_OK || ((status == QS_INVALID || status == QS_UNTRUSTED) && err.message[0]));
    if (!status && !minisig_check(&sig, (struct qs_bytes){text, 7}, &role, &signers, &err)) {
        MUST(signers && signers < 4);
        MUST(minisig_check(&sig, (struct qs_bytes){other, 7}, &role, NULL, &err) == QS_UNTRUSTED);
    }
    minisig_make(&role.keys[0], secrets[0], (struct qs_bytes){text, 7}, "x", &made);
    MUST(!minisig_parse(made.data, made.len, &sig, &err));
    MUST(!minisig_check(&sig, (struct qs_bytes){text, 7}, &role, &signers, &err) && signers == 1);
    buf_release(&made);
    return 0;
}
