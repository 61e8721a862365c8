/* SPDX-License-Identifier: Apache-2.0 */
/* What the schema says about a key, as far as output needs it: which values are secret. */
#include "cli/cli.h"

#include "schema/schema.h"

#include <string.h>

bool secret_key(const void *key, size_t len)
{
    return schema_secret(key, len);
}

static void mask_object(struct cli *cli, json_t *object, const struct qs_key *key)
{
    const char *name;
    json_t *member;
    void *next;
    json_object_foreach_safe(object, next, name, member)
    {
        struct qs_key below = *key;
        if (qs_key_push(&below, name, strlen(name), NULL) || !secret_key(below.bytes, below.len))
            continue;
        if (json_is_object(member) && json_object_size(member) > 0)
            mask_object(cli, member, &below);
        else
            put(cli, object, name, json_string(SECRET_TEXT));
    }
}

void secret_mask(struct cli *cli, json_t **value, const struct qs_key *key)
{
    static const struct qs_key root;
    if (cli->reveal || !*value || (key && !secret_key(key->bytes, key->len)))
        return;
    if (json_is_object(*value) && json_object_size(*value) > 0) {
        mask_object(cli, *value, key ? key : &root);
        return;
    }
    if (!key)
        return;
    json_decref(*value);
    *value = json_string(SECRET_TEXT);
}
