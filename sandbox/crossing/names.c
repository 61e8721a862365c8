/* SPDX-License-Identifier: Apache-2.0 */
/* Names and ids of a private git directory. */
#include "sandbox/crossing/names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define HEX          "0123456789abcdef"

bool name_is_id(const char *text)
{
    size_t len = strspn(text, HEX);
    return text[len] == '\0' && (len == 40 || len == 64);
}

bool name_is_null_id(const char *id)
{
    return id[strspn(id, "0")] == '\0';
}

/* ---- refs ---- */

static bool component_valid(const char *at, size_t len)
{
    if (len == 0 || at[0] == '.' || at[len - 1] == '.' || (len >= 5 && memcmp(at + len - 5, ".lock", 5) == 0))
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c <= 0x20 || c == 0x7f || strchr("~^:?*[\\", c))
            return false;
        if (i + 1 < len && ((c == '.' && at[i + 1] == '.') || (c == '@' && at[i + 1] == '{')))
            return false;
    }
    return true;
}

bool name_ref_valid(const char *name)
{
    if (strncmp(name, "refs/", 5) != 0)
        return false;
    for (const char *at = name + 5;;) {
        size_t len = strcspn(at, "/");
        if (!component_valid(at, len))
            return false;
        if (at[len] == '\0')
            return true;
        at += len + 1;
    }
}

static const char *const spaces[] = {"refs/heads/", "refs/tags/", "refs/notes/"};

const char *name_ref_short(const char *name)
{
    for (size_t i = 0; i < COUNT(spaces); i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
            return name + strlen(spaces[i]);
    return NULL;
}

/* What stands for something else wherever git takes a name. */
static bool reserved(const char *at, size_t len)
{
    static const char suffix[] = "_HEAD";
    return (len == 4 && memcmp(at, "HEAD", 4) == 0) || (len == 4 && memcmp(at, "refs", 4) == 0) ||
           (len == 1 && at[0] == '@') || (len >= 5 && memcmp(at + len - 5, suffix, 5) == 0);
}

const char *name_ref_refused(const char *name)
{
    const char *rest = name_ref_short(name);
    if (!name_ref_valid(name) || strlen(name) > REF_NAME_MAX_BYTES)
        return "has no valid name";
    if (!rest)
        return "is no branch, tag or note";
    for (const char *at = rest;; at++) {
        size_t len = strcspn(at, "/");
        if (at[0] == '-')
            return "has a name that begins like an option";
        if (reserved(at, len))
            return "has a name that git reads as something else";
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)at[i] == 0xc2 && (unsigned char)at[i + 1] >= 0x80 && (unsigned char)at[i + 1] <= 0x9f)
                return "has control characters in its name";
        if (at[len] == '\0')
            break;
        at += len;
    }
    return name_is_id(rest) ? "has a name that git reads as an object" : NULL;
}

bool name_abbreviates(const char *short_name)
{
    size_t len = strspn(short_name, HEX "ABCDEF");
    return short_name[len] == '\0' && len >= 4 && len <= OBJECT_ID_MAX;
}

/* The places in which git looks for a short form, one after the other: ref_rev_parse_rules of refs.c. */
bool name_ref_rival(const char *name, unsigned number, char rival[REF_RIVAL_BYTES])
{
    static const char *const rules[][2] = {
        {"refs/", ""}, {"refs/tags/", ""}, {"refs/heads/", ""}, {"refs/remotes/", ""}, {"refs/remotes/", "/HEAD"}};
    const char *forms[] = {name_ref_short(name), name + 5};
    if (number >= 2 * COUNT(rules))
        return false;
    const char *const *rule = rules[number % COUNT(rules)];
    const char *form = forms[number / COUNT(rules)];
    (void)snprintf(rival, REF_RIVAL_BYTES, "%s%s%s", rule[0], form ? form : name + 5, rule[1]);
    return true;
}

/* ---- the index ---- */

bool name_mode_valid(const char *mode)
{
    return strcmp(mode, "100644") == 0 || strcmp(mode, "100755") == 0 || strcmp(mode, "120000") == 0 ||
           strcmp(mode, "160000") == 0;
}

/* HFS+ ignores these when it compares names: utf8.c, next_hfs_char. */
static size_t hfs_ignored(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] == 0xe2 && c[1] == 0x80 && ((c[2] >= 0x8c && c[2] <= 0x8f) || (c[2] >= 0xaa && c[2] <= 0xae)))
        return 3; /* U+200C to U+200F, U+202A to U+202E */
    if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xaa && c[2] <= 0xaf)
        return 3;                                                /* U+206A to U+206F */
    return c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf ? 3 : 0; /* U+FEFF */
}

/* The component as the most forgiving of the file systems would compare it: without what HFS+ ignores, and without
 * what NTFS cuts off, blanks and dots at its end and what follows a colon. */
static void plain_form(const char *at, size_t len, char form[INDEX_NAME_MAX_BYTES + 1])
{
    size_t used = 0;
    for (const char *end = at + len; at < end && *at != ':';) {
        size_t skip = hfs_ignored(at);
        if (!skip)
            form[used++] = *at;
        at += skip ? skip : 1;
    }
    while (used && (form[used - 1] == ' ' || form[used - 1] == '.'))
        used--;
    form[used] = '\0';
}

/* GIT~1, and GITMOD~1 to ~4 or GI7EBA~1 for .gitmodules: the short names that NTFS makes. */
static bool short_form(const char *form, const char *prefix)
{
    const char *tilde = strchr(form, '~');
    return tilde && strncasecmp(form, prefix, strlen(prefix)) == 0 && tilde[1] >= '0' && tilde[1] <= '9';
}

static bool component_refused(const char *at, size_t len, bool link)
{
    char form[INDEX_NAME_MAX_BYTES + 1];
    if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
        return true;
    plain_form(at, len, form);
    if (form[0] == '\0' || strcasecmp(form, ".git") == 0 || strcasecmp(form, "git~1") == 0)
        return true;
    return link && (strcasecmp(form, ".gitmodules") == 0 || short_form(form, "gi"));
}

bool name_index_valid(const char *name, const char *mode)
{
    bool link = strcmp(mode, "120000") == 0;
    size_t whole = strlen(name);
    if (whole == 0 || whole > INDEX_NAME_MAX_BYTES)
        return false;
    /* Also a backslash ends a component where the work tree is ever shared with Windows. */
    for (const char *at = name;; at++) {
        size_t len = strcspn(at, "/\\");
        if (component_refused(at, len, link))
            return false;
        if (at[len] == '\0')
            return true;
        at += len;
    }
}
