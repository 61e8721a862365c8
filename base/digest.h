/* SPDX-License-Identifier: Apache-2.0 */
/* BLAKE2b-256 over bytes and over length-prefixed fields. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "qsettings/limits.h"

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

/* What was hashed so far; nothing is gathered beside it. */
struct digest_state {
    crypto_generichash_state hash;
};

/* Small pieces are gathered before they are hashed: a store's content is thousands of fields of a few bytes. */
struct digest {
    crypto_generichash_state state;
    size_t gathered;
    uint8_t room[1024];
};

void digest_init(struct digest *digest);
void digest_add(struct digest *digest, const void *data, size_t len);
void digest_add_u64(struct digest *digest, uint64_t v);                     /* 8 bytes, little-endian */
void digest_add_field(struct digest *digest, const void *data, size_t len); /* its length as u64, then the bytes */
/* The state between two fields, and going on from it: as often as wanted. */
void digest_save(struct digest *digest, struct digest_state *ret_state);
void digest_resume(struct digest *digest, const struct digest_state *state);
void digest_finish(struct digest *digest, uint8_t out[QS_DIGEST_BYTES]);
void digest_of(const void *data, size_t len, uint8_t out[QS_DIGEST_BYTES]);

/* "blake2b-256:" and 64 hex digits, and back (false where text is not of that form). */
#define DIGEST_TEXT_BYTES (12 + 64 + 1)
void digest_format(const uint8_t digest[QS_DIGEST_BYTES], char text[DIGEST_TEXT_BYTES]);

#endif
