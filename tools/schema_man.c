/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the manual page qsettings-policy(5), in mdoc(7), from the schema table. `make man` writes it to
 * docs/man/qsettings-policy.5; a test holds the two together.
 */
#include "base/cleanup.h"
#include "schema/schema.h"

#include <stdio.h>
#include <string.h>

/* Text for a line of its own: backslashes are spelt out, and no control line begins by accident. */
static void text(const char *words)
{
    char last = '\0';
    if (*words == '.' || *words == '\'')
        (void)fputs("\\&", stdout);
    for (; *words; last = *words++) {
        if (*words == '\\')
            (void)fputs("\\e", stdout);
        else if (*words == ' ' && last == '.')
            (void)putchar('\n'); /* new sentence, new line */
        else
            (void)putchar(*words);
    }
    (void)putchar('\n');
}

/* One argument of a macro. Short words would be taken for macros; quotes end arguments; <> and - are kept as typed. */
static void argument(const char *words)
{
    (void)fputs("\"\\&", stdout);
    for (; *words; words++) {
        if (*words == '"')
            (void)fputs("\\(dq", stdout);
        else if (*words == '-')
            (void)fputs("\\-", stdout);
        else
            (void)putchar(*words);
    }
    (void)putchar('"');
}

/* "a|b|c" as "a, b or c", each marked. */
static void allowed(const struct schema_entry *entry)
{
    char word[64], next[64];
    (void)fputs(".Pp\nAllowed:\n", stdout);
    for (size_t i = 0; schema_allowed_at(entry, i, word, sizeof word); i++) {
        bool more = schema_allowed_at(entry, i + 1, next, sizeof next);
        (void)fputs(".Cm ", stdout);
        argument(word);
        (void)puts(more ? " ," : " .");
    }
}

/* A default that is a long list is set as a column of its own. */
static void default_of(const struct schema_entry *entry)
{
    AUTO(value_release) json_t *value = NULL;
    size_t index;
    json_t *item;
    if (!entry->default_json)
        return;
    if (value_decode(entry->default_json, strlen(entry->default_json), &value, NULL))
        exit(10);
    if (json_array_size(value) < 2) {
        (void)fputs(".Pp\nDefault:\n.Li ", stdout);
        argument(entry->default_json);
        (void)puts(" .");
        return;
    }
    (void)puts(".Pp\nDefault:");
    json_array_foreach(value, index, item)
    {
        (void)fputs(".Li ", stdout);
        argument(json_string_value(item));
        (void)puts(index + 1 < json_array_size(value) ? " ," : " .");
    }
}

static void facts(const struct schema_entry *entry)
{
    if (entry->type == SCHEMA_ENUM)
        allowed(entry);
    default_of(entry);
    (void)puts(".Pp");
    (void)printf("Merged: %s.\n", schema_merge_name(entry->merge));
    switch (entry->restriction) {
    case SCHEMA_ANYONE:
        break;
    case SCHEMA_OPERATOR:
        (void)puts("Ignored from a workspace.");
        break;
    case SCHEMA_OPERATOR_WITH_POLICY:
        (void)puts("Ignored from a workspace once a policy exists.");
        break;
    case SCHEMA_TIGHTEN_TRUE:
        (void)puts("A workspace may only narrow it, which is to say true.");
        break;
    case SCHEMA_TIGHTEN_FALSE:
        (void)puts("A workspace may only narrow it, which is to say false.");
        break;
    }
    if (entry->flags & SCHEMA_REQUIRED)
        (void)puts("Required.");
    if (entry->flags & SCHEMA_SECRET)
        (void)puts("Secret: refused in the scopes that everyone can read, and not shown.");
}

static void entries(bool policy)
{
    size_t count;
    const struct schema_entry *table = schema_table(&count);
    (void)puts(".Bl -tag -width Ds");
    for (size_t i = 0; i < count; i++) {
        bool of_policy = strncmp(table[i].path, "tools.executionSandbox", 22) == 0 ||
                         strcmp(table[i].path, "executor") == 0 || strncmp(table[i].path, "executor.", 9) == 0;
        if (of_policy != policy)
            continue;
        (void)fputs(".It Ic ", stdout);
        argument(table[i].path);
        (void)fputs(" Pq ", stdout);
        argument(table[i].type == SCHEMA_ENUM ? "string" : schema_type_text(&table[i]));
        (void)putchar('\n');
        text(table[i].description);
        facts(&table[i]);
    }
    (void)puts(".El");
}

static const char head[] =
    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
    ".\\\" Made from schema/schema_table.h by `make man`; edit the table, not this page.\n"
    ".Dd November 29, 2026\n"
    ".Dt QSETTINGS-POLICY 5\n"
    ".Os\n"
    ".Sh NAME\n"
    ".Nm qsettings-policy\n"
    ".Nd the settings that qsettings knows, and the execution policy among them\n"
    ".Sh DESCRIPTION\n"
    "Settings are one document of nested objects in each scope.\n"
    "The scopes are, from the weakest,\n"
    ".Cm defaults ,\n"
    ".Cm user ,\n"
    "the workspace's file, which is not a store, and\n"
    ".Cm system .\n"
    "Keys that this page does not name are stored as they are, but for the objects that it calls closed.\n"
    "Near misses of a name on this page are refused when they are written: another spelling, a flat key with dots in "
    "it at\n"
    "the place of an object,\n"
    ".Li null\n"
    "or another type where an object belongs.\n"
    ".Ss How values merge\n"
    "A higher scope's value joins a lower scope's in one of these ways:\n"
    ".Bl -tag -width replace\n"
    ".It deep\n"
    "Objects merge member by member; everything else is replaced.\n"
    ".It union\n"
    "The distinct elements of all scopes' arrays, the lowest scope's first.\n"
    "An empty array removes nothing.\n"
    ".It concat\n"
    "All elements of all scopes' arrays, the lowest scope's first.\n"
    ".It shallow\n"
    "A higher scope's entry replaces the whole entry of that name.\n"
    ".It replace\n"
    "The highest scope's value as a whole.\n"
    ".El\n"
    ".Pp\n"
    "A lock on a key in\n"
    ".Cm system\n"
    "makes all other scopes' values at and below it count for nothing, for every way of merging; one in\n"
    ".Cm defaults\n"
    "binds the user and the workspace; one in\n"
    ".Cm user\n"
    "binds the workspace.\n"
    ".Sh THE EXECUTION POLICY\n"
    "A policy exists where one of the stores sets\n"
    ".Ic tools.executionSandbox .\n"
    "The highest scope that does fixes it, with the defaults below for what it leaves out; whatever else\n"
    ".Cm system\n"
    "and\n"
    ".Cm user\n"
    "set of the keys below narrows it.\n"
    ".Cm defaults\n"
    "serve where neither of the two sets a policy; beside a policy of theirs only what\n"
    ".Cm defaults\n"
    "hold under a lock of their own narrows.\n"
    "A workspace, an environment variable and an approval mode have no part in it, and no lock widens it.\n"
    ".Pp\n"
    "To narrow is to take what both allow: the narrower word; of roots, sockets and devices what lies within both, by "
    "the\n"
    "paths' text; of hidden and protected paths and of secrets all; of environment names those that match each "
    "scope's\n"
    "list; of variables that are set those that are equal; of limits the smaller, where 0 is none.\n"
    "An empty list is not the same as none: it allows nothing.\n"
    ".Pp\n"
    "Values are literals: a text with\n"
    ".Li $NAME\n"
    "in it is refused.\n"
    "Paths are absolute or begin with\n"
    ".Li ~/ ,\n"
    "which stands for the home that the password database gives; they have no\n"
    ".Li ..\n"
    "in them.\n";

static const char tail[] =
    ".Sh ENVIRONMENT\n"
    "No variable sets, moves or widens the policy.\n"
    ".Sh FILES\n"
    ".Bl -tag -width \"~/.config/qsettings/user\" -compact\n"
    ".It Pa /etc/qsettings/system\n"
    "the mandatory scope\n"
    ".It Pa /etc/qsettings/defaults\n"
    "values that a user may override\n"
    ".It Pa ~/.config/qsettings/user\n"
    "the user's own\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    ".Ic qsettings policy\n"
    "exits with 0 where there is a policy, with 4 where all stores are healthy and none sets one, and\n"
    "with another status where it cannot tell.\n"
    ".Sh EXAMPLES\n"
    "A policy for a build host, as\n"
    ".Xr qsettings 1\n"
    "takes it with\n"
    ".Ic apply :\n"
    ".Bd -literal -offset indent\n"
    "tools:\n"
    "  executionSandbox:\n"
    "    filesystem: workspace-write\n"
    "    network: closed\n"
    "executor:\n"
    "  environment:\n"
    "    pass: [PATH, HOME, LANG, \"LC_*\", CARGO_HOME]\n"
    "  limits:\n"
    "    wallSeconds: 300\n"
    ".Ed\n"
    ".Sh SEE ALSO\n"
    ".Xr qsandbox 1 ,\n"
    ".Xr qsettings 1 ,\n"
    ".Xr qsettings 5\n";

int main(void)
{
    (void)fputs(head, stdout);
    entries(true);
    (void)puts(".Sh OTHER SETTINGS\nSettings of Qwen Code 0.24.4 that bear on security.");
    entries(false);
    (void)fputs(tail, stdout);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 10;
}
