/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' keys, documents and signatures for tests of fleets. Keys come from a number, so that runs are the same. */
#ifndef TESTS_SUPPORT_FLEET_FIXTURE_H
#define TESTS_SUPPORT_FLEET_FIXTURE_H

#include "fleet/rules/documents.h"

struct operator_key {
    struct public_key key;
    uint8_t secret[64];
    char text[MINISIG_KEY_TEXT_BYTES];
};

void operator_key_make(unsigned number, struct operator_key *ret_key);
struct qs_bytes bytes_of(const char *text);
/* Appends a block by this key. */
void operator_sign(const struct operator_key *key, const char *text, struct buf *out);
/* A key document: root and bundle roles of the keys with these numbers (0 ends a list). Static memory of 8 buffers. */
const char *key_document_text(unsigned version, unsigned root_threshold, const unsigned *root, unsigned threshold,
                              const unsigned *keys);
/* A bundle of fleet "north": `more` replaces members, as JSON members ("\"open\":0"), NULL for none. Static likewise.
 */
const char *bundle_text(unsigned keys, unsigned serial, const char *more);

#endif
