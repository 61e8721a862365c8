/* SPDX-License-Identifier: Apache-2.0 */
/* The key that was probably meant: from the settings that were looked through, and from the schema. */
#include "cli/cli.h"

#include "schema/schema.h"
#include "text/doc.h"

#include <string.h>

#define SUGGEST_MAX_BYTES (1024u * 1024u) /* of settings looked through for a likeness */

/* Keys and what lies above them: for each leaf a.b.c that is a.b.c, a.b and a. */
struct key_names {
    const char *path; /* what is looked for */
    const struct leaves *leaves;
    const struct schema_entry *schema;
    size_t schema_count;
    size_t leaf, next; /* the next name is that of this leaf, or schema entry, */
    size_t cut;        /* without its last segments */
    char text[QS_KEY_TEXT_BYTES];
};

/* The leaf's key without its last segments; NULL when none would be left. */
static const char *above(struct key_names *names, struct qs_bytes key)
{
    const char *bytes = key.data;
    size_t len = key.len;
    for (size_t cut = names->cut; cut > 0; cut--) {
        const char *zero = memrchr(bytes, 0, len);
        if (!zero)
            return NULL;
        len = (size_t)(zero - bytes);
    }
    return qs_key_format(bytes, len, names->text, sizeof names->text);
}

/* The same of the schema's paths, in which a name in <> stands for any. */
static const char *schema_name(struct key_names *names)
{
    for (; names->next < names->schema_count; names->next++, names->cut = 0) {
        const char *path = names->schema[names->next].path;
        size_t len = strcspn(path, "<");
        if (path[len] && len > 0)
            len--; /* the dot before it */
        for (size_t cut = names->cut; cut > 0 && len > 0; cut--) {
            const char *dot = memrchr(path, '.', len);
            len = dot ? (size_t)(dot - path) : 0;
        }
        if (len == 0 || len >= sizeof names->text)
            continue;
        names->cut++;
        memcpy(names->text, path, len);
        names->text[len] = '\0';
        return names->text;
    }
    return NULL;
}

static const char *next_name(struct key_names *names)
{
    while (names->leaf < names->leaves->count) {
        const char *name = above(names, names->leaves->items[names->leaf].key);
        names->cut++;
        if (name)
            return name;
        names->leaf++;
        names->cut = 0;
    }
    return schema_name(names);
}

/* Whoever writes tools.x does not mean tools. */
static bool is_above(const char *name, const char *path)
{
    size_t len = strlen(name);
    return strncmp(path, name, len) == 0 && path[len] == '.';
}

static const char *name_at(size_t index, void *user)
{
    struct key_names *names = user;
    const char *name;
    (void)index; /* asked for in order */
    while ((name = next_name(names)) && (is_above(name, names->path) || is_above(names->path, name)))
        continue;
    return name;
}

static bool in_schema(const char *path)
{
    struct qs_key key;
    bool exact = false;
    return !qs_key_parse(path, &key, NULL) && schema_find(&key, &exact) && exact;
}

static const char *find(const char *document, size_t len, const char *path, char near[QS_KEY_TEXT_BYTES])
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(leaves_release) struct leaves leaves = {0};
    if (in_schema(path))
        return NULL; /* spelt well, only not set */
    if (document && len <= SUGGEST_MAX_BYTES && !value_decode(document, len, &value, NULL) &&
        flatten_value(value, NULL, NULL, &leaves, NULL))
        return NULL;
    AUTO_FREE struct key_names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    names->path = path;
    names->leaves = &leaves;
    names->schema = schema_table(&names->schema_count);
    return nearest_name(path, name_at, names, near, QS_KEY_TEXT_BYTES);
}

void suggest_key(const char *document, size_t len, const char *path, struct qs_error *err)
{
    char near[QS_KEY_TEXT_BYTES];
    nearest_advise(err, find(document, len, path, near));
}

void suggest_key_note(const struct cli *cli, const char *document, size_t len, const char *path)
{
    char near[QS_KEY_TEXT_BYTES];
    const char *found = find(document, len, path, near);
    if (found)
        voice_note(&cli->line, NULL, "'%s' is not set; " NEAREST_QUESTION, path, found);
}
