/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated documents for property tests: seeded, so that a failure can be run again; print the seed.
 *
 *     struct gen gen;
 *     gen_init(&gen, seed);
 *     json_t *document = gen_document(&gen); ... json_decref(document);
 */
#ifndef TESTS_SUPPORT_GEN_H
#define TESTS_SUPPORT_GEN_H

#include "base/buf.h"

#include <jansson.h>

struct gen {
    uint64_t state;
    unsigned values_left; /* bound on the size of one document */
};

void gen_init(struct gen *gen, uint64_t seed);
uint64_t gen_next(struct gen *gen);
uint64_t gen_below(struct gen *gen, uint64_t bound); /* 0 to bound - 1; bound > 0 */

/* An object that a store without a schema accepts: keys within QS_KEY_MAX_BYTES and not empty (within arrays they may
 * be), no zero bytes, depth within QS_DOCUMENT_MAX_DEPTH. Strings and keys come from a list of texts that are known to
 * be taken for something else, from all of Unicode, and from sheer length. */
json_t *gen_document(struct gen *gen);

/* Any value of at most depth containers. */
json_t *gen_value(struct gen *gen, unsigned depth);

/* Text of a string or key, not empty. */
void gen_text(struct gen *gen, struct buf *out);

/* A finite real, all bit patterns and the simple ones. */
double gen_real(struct gen *gen);

#endif
