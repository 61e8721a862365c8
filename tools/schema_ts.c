/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the TypeScript types of the settings and of the policy's document from the schema table and the table of the
 * policy's fields. `make node-types` writes them to bindings/node/schema.d.ts; a test holds the two together.
 *
 * Each object of the schema is an interface named by its path: mcpServers.<name> is McpServersEntry.
 */
#include "reader/policy_model.h"
#include "schema/schema_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES          256
#define DEFAULT_SHOWN_BYTES 60 /* a longer default is left to the manual page */

static void print(const char *text)
{
    (void)fputs(text, stdout);
}

/* Text within a comment: no end of the comment by accident. */
static void comment_text(const char *text)
{
    for (; *text; text++) {
        if (text[0] == '*' && text[1] == '/')
            print("*\\");
        else
            (void)putchar(*text);
    }
}

static void comment(const struct schema_entry *entry, const char *indent)
{
    (void)printf("%s/** ", indent);
    comment_text(entry->description);
    if (entry->flags & SCHEMA_SECRET)
        print(" Secret.");
    if (entry->default_json && strlen(entry->default_json) <= DEFAULT_SHOWN_BYTES) {
        print(" Default: ");
        comment_text(entry->default_json);
        print(".");
    }
    print(" */\n");
}

/* ---- names ---- */

static const struct schema_node *parent_of(const struct schema_node *node)
{
    size_t count;
    return schema_nodes(&count) + node->parent;
}

static bool is_root(const struct schema_node *node)
{
    size_t count;
    return node == schema_nodes(&count);
}

/* "ToolsExecutionSandbox"; the root is "SettingsDocument". */
static void interface_name(const struct schema_node *node, char *name)
{
    if (is_root(node)) {
        memcpy(name, "SettingsDocument", sizeof "SettingsDocument");
        return;
    }
    *name = '\0';
    if (!is_root(parent_of(node)))
        interface_name(parent_of(node), name);
    size_t at = strlen(name);
    if (node->wild)
        (void)snprintf(name + at, NAME_BYTES - at, "Entry");
    else
        (void)snprintf(name + at, NAME_BYTES - at, "%.*s", (int)node->len, node->segment);
    name[at] = (char)toupper((unsigned char)name[at]);
}

/* A path as people type it; false where a part of it is any name. */
static bool path_of(const struct schema_node *node, char *path)
{
    *path = '\0';
    if (is_root(node))
        return true;
    if (node->wild || !path_of(parent_of(node), path))
        return false;
    size_t at = strlen(path);
    (void)snprintf(path + at, NAME_BYTES - at, "%s%.*s", at ? "." : "", (int)node->len, node->segment);
    return true;
}

/* ---- types ---- */

static void words(const char *allowed)
{
    for (const char *at = allowed; *at; at += at[0] == '|') {
        size_t len = strcspn(at, "|");
        (void)printf("%s\"%.*s\"", at == allowed ? "" : " | ", (int)len, at);
        at += len;
    }
}

static void type_of_entry(const struct schema_entry *entry)
{
    switch (entry->type) {
    case SCHEMA_BOOL:
        print("boolean");
        break;
    case SCHEMA_INTEGER:
    case SCHEMA_COUNT:
        print("Integer");
        break;
    case SCHEMA_STRING:
        print("string");
        break;
    case SCHEMA_ENUM:
        words(entry->allowed);
        break;
    case SCHEMA_BOOL_OR_STRING:
        print("boolean | string");
        break;
    case SCHEMA_STRINGS:
    case SCHEMA_PATHS:
    case SCHEMA_RELATIVE_PATHS:
    case SCHEMA_GLOBS:
        print("readonly string[]");
        break;
    case SCHEMA_STRING_MAP:
    case SCHEMA_ENVIRONMENT:
        print("{ readonly [name: string]: string }");
        break;
    case SCHEMA_MATCHERS:
        print("readonly HookMatcher[]");
        break;
    case SCHEMA_OBJECT:
    case SCHEMA_CLOSED:
        print("{ readonly [name: string]: Json }");
        break;
    }
}

/* Has the node an interface of its own? Maps of strings need none, whatever their entries are called. */
static bool has_interface(const struct schema_node *node)
{
    const struct schema_entry *entry = schema_node_entry(node);
    return node->child && (!entry || entry->type == SCHEMA_OBJECT || entry->type == SCHEMA_CLOSED);
}

static void type_of(const struct schema_node *node)
{
    char name[NAME_BYTES];
    if (has_interface(node)) {
        interface_name(node, name);
        print(name);
    } else {
        type_of_entry(schema_node_entry(node));
    }
}

static void member(const struct schema_node *node)
{
    const struct schema_entry *entry = schema_node_entry(node);
    if (entry)
        comment(entry, "  ");
    if (node->wild)
        print("  readonly [name: string]: ");
    else
        (void)printf("  readonly %.*s%s: ", (int)node->len, node->segment,
                     entry && entry->flags & SCHEMA_REQUIRED ? "" : "?");
    type_of(node);
    print(";\n");
}

static void interface_of(const struct schema_node *nodes, const struct schema_node *node)
{
    char name[NAME_BYTES];
    const struct schema_entry *entry = schema_node_entry(node);
    bool open = !entry || entry->type != SCHEMA_CLOSED;
    print("\n");
    interface_name(node, name);
    if (entry)
        comment(entry, "");
    else if (is_root(node))
        print("/** A whole document of settings. */\n");
    (void)printf("export interface %s {\n", name);
    for (uint16_t at = node->child; at; at = nodes[at].sibling) {
        member(&nodes[at]);
        open = open && !nodes[at].wild;
    }
    if (open)
        print("  /** What the schema does not know is kept as it is. */\n  readonly [name: string]: unknown;\n");
    print("}\n");
}

/* ---- the parts ---- */

static void interfaces(void)
{
    size_t count;
    const struct schema_node *nodes = schema_nodes(&count);
    for (size_t i = 0; i < count; i++)
        if (has_interface(&nodes[i]))
            interface_of(nodes, &nodes[i]);
}

static void paths(void)
{
    size_t count;
    const struct schema_node *nodes = schema_nodes(&count);
    print("\n/** The type of each setting that the schema knows, by its path. */\nexport interface SettingTypes {\n");
    for (size_t i = 1; i < count; i++) {
        char path[NAME_BYTES];
        if (!path_of(&nodes[i], path))
            continue;
        (void)printf("  \"%s\": ", path);
        type_of(&nodes[i]);
        print(";\n");
    }
    print("}\n");
}

static void policy_field(const struct policy_field *field, const char *indent)
{
    struct qs_key key;
    if (qs_key_parse(field->path, &key, NULL) != QS_OK || !schema_find(&key, NULL))
        exit(10);
    comment(schema_find(&key, NULL), indent);
    (void)printf("%sreadonly %s: ", indent, field->name);
    switch (field->kind) {
    case POLICY_ENUM:
        words(field->words);
        break;
    case POLICY_CONTAINED:
    case POLICY_UNITED:
        print("readonly string[]");
        break;
    case POLICY_PASS:
        print("readonly (readonly string[])[]");
        break;
    case POLICY_PAIRS:
        print("{ readonly [name: string]: string }");
        break;
    case POLICY_LIMIT:
        print("Integer");
        break;
    }
    print(";\n");
}

/* The fields of one group stand together in the table. */
static void policy(void)
{
    const char *group = NULL;
    print(
        "\n/** The policy's document: every field is there, and nothing is implied. environment.pass holds lists that\n"
        " * must all have a match for a variable's name. */\nexport interface ExecutionPolicy {\n");
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];
        if (group && (!field->group || strcmp(group, field->group) != 0))
            print("  };\n");
        if (field->group && (!group || strcmp(group, field->group) != 0))
            (void)printf("  readonly %s: {\n", field->group);
        group = field->group;
        policy_field(field, group ? "    " : "  ");
    }
    print(group ? "  };\n}\n" : "}\n");
}

int main(void)
{
    print("// SPDX-License-Identifier: Apache-2.0\n"
          "// Made from schema/schema_table.h by `make node-types`; edit the table, not this file.\n"
          "\n"
          "/** A value of a setting. */\n"
          "export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [name: string]: "
          "Json };\n"
          "\n"
          "/** Settings hold 64-bit integers: a bigint where a number would not be exact, else a number. */\n"
          "export type Integer = number | bigint;\n"
          "\n"
          "/** What runs at an event. */\n"
          "export interface HookMatcher {\n"
          "  readonly matcher?: string;\n"
          "  readonly sequential?: boolean;\n"
          "  readonly hooks?: readonly Json[];\n"
          "  readonly [name: string]: unknown;\n"
          "}\n");
    interfaces();
    paths();
    policy();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 10;
}
