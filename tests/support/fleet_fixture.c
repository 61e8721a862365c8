/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' keys, documents and signatures for tests. */
#include "tests/support/fleet_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void operator_key_make(unsigned number, struct operator_key *ret_key)
{
    uint8_t seed[crypto_sign_SEEDBYTES] = {(uint8_t)number, (uint8_t)(number >> 8)};
    *ret_key = (struct operator_key){0};
    assert_int_equal(crypto_sign_seed_keypair(ret_key->key.bytes, ret_key->secret, seed), 0);
    memcpy(ret_key->key.id, ret_key->key.bytes, MINISIG_ID_BYTES);
    public_key_format(&ret_key->key, ret_key->text);
}

struct qs_bytes bytes_of(const char *text)
{
    return (struct qs_bytes){text, strlen(text)};
}

void operator_sign(const struct operator_key *key, const char *text, struct buf *out)
{
    minisig_make(&key->key, key->secret, bytes_of(text), "a test", out);
    assert_false(out->failed);
}

static char *next_text(void)
{
    static char texts[8][4096];
    static unsigned at;
    return texts[at++ % 8];
}

static json_t *role_json(unsigned threshold, const unsigned *numbers)
{
    json_t *keys = json_array();
    for (; *numbers; numbers++) {
        struct operator_key key;
        operator_key_make(*numbers, &key);
        assert_int_equal(json_array_append_new(keys, json_string(key.text)), 0);
    }
    return json_pack("{s:i, s:o}", "threshold", (int)threshold, "keys", keys);
}

static const char *dumped(json_t *root)
{
    char *text = next_text();
    size_t len = json_dumpb(root, text, 4095, JSON_COMPACT);
    assert_in_range(len, 1, 4095);
    text[len] = '\0';
    json_decref(root);
    return text;
}

const char *key_document_text(unsigned version, unsigned root_threshold, const unsigned *root, unsigned threshold,
                              const unsigned *keys)
{
    return dumped(json_pack("{s:s, s:s, s:i, s:i, s:o, s:o}", "format", "qsettings-fleet-keys-1", "fleet", "north",
                            "version", (int)version, "issued", 1000, "root", role_json(root_threshold, root), "bundle",
                            role_json(threshold, keys)));
}

const char *bundle_text(unsigned keys, unsigned serial, const char *more)
{
    char members[2048];
    json_t *root = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:[{}], s:i, s:n, s:s, s:{s:i}, s:[]}", "format",
                             "qsettings-fleet-bundle-1", "fleet", "north", "keys", (int)keys, "serial", (int)serial,
                             "issued", 1000, "expires", 2000, "rollout", "r1", "rings", "open", 1, "base", "battery",
                             "hold", "document", "x", (int)serial, "locks");
    (void)snprintf(members, sizeof members, "{%s}", more ? more : "");
    json_t *changes = json_loads(members, 0, NULL);
    assert_non_null(root);
    assert_non_null(changes);
    assert_int_equal(json_object_update(root, changes), 0);
    json_decref(changes);
    return dumped(root);
}
