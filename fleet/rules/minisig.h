/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures in minisign's format (https://jedisct1.github.io/minisign/), only its prehashed algorithm "ED": Ed25519
 * over BLAKE2b-512 of the file. A signature file is 1 to 16 blocks of four lines, each ended by one LF:
 *
 *     untrusted comment: TEXT
 *     base64(algorithm, 8 bytes of key id, 64 bytes of signature)
 *     trusted comment: TEXT
 *     base64(64 bytes of signature over the first signature and TEXT)
 *
 * Signers are counted by public key. Key ids only say which keys to try, and comments mean nothing.
 */
#ifndef FLEET_MINISIG_H
#define FLEET_MINISIG_H

#include "base/buf.h"
#include "qsettings/key.h"

#include <stdbool.h>
#include <stdint.h>

#define MINISIG_BLOCKS_MAX     16u
#define MINISIG_FILE_MAX_BYTES 8192u
#define MINISIG_ID_BYTES       8u
#define MINISIG_KEY_BYTES      32u
#define MINISIG_BYTES          64u
#define MINISIG_KEY_TEXT_BYTES (56u + 1u)
#define ROLE_KEYS_MAX          16u

struct public_key {
    uint8_t id[MINISIG_ID_BYTES];
    uint8_t bytes[MINISIG_KEY_BYTES];
};

/* Keys of which threshold must have signed. */
struct role {
    unsigned threshold, count;
    struct public_key keys[ROLE_KEYS_MAX];
};

struct minisig_block {
    uint8_t key_id[MINISIG_ID_BYTES];
    uint8_t signature[MINISIG_BYTES], global[MINISIG_BYTES];
    struct qs_bytes comment; /* the trusted one; borrowed from the file's bytes */
};

struct minisig {
    size_t count;
    struct minisig_block blocks[MINISIG_BLOCKS_MAX];
};

/* minisign's base64 of a public key, without the comment line. Errors: QS_INVALID. */
enum qs_status public_key_parse(const char *text, struct public_key *ret_key, struct qs_error *err) QS_MUST_USE;
void public_key_format(const struct public_key *key, char text[MINISIG_KEY_TEXT_BYTES]);

/* Errors: QS_INVALID (not of the form above, with the line), QS_UNTRUSTED (the algorithm "Ed": its signature over 64
 * bytes passes as one of "ED" if two bytes are changed). */
enum qs_status minisig_parse(const void *data, size_t len, struct minisig *ret_sig, struct qs_error *err) QS_MUST_USE;

/* Have at least role->threshold distinct keys of the role signed these bytes? *ret_signers (may be NULL) gets a bit for
 * each key that did. Errors: QS_UNTRUSTED (too few; a block with the id of a key of the role that none of them made).
 */
enum qs_status minisig_check(const struct minisig *sig, struct qs_bytes text, const struct role *role,
                             uint32_t *ret_signers, struct qs_error *err) QS_MUST_USE;

/* Appends one block made with a machine's secret key (64 bytes, as libsodium has it). */
void minisig_make(const struct public_key *key, const uint8_t secret[64], struct qs_bytes text, const char *comment,
                  struct buf *out);

#endif
