/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a crossing: its texts cut up, ordered and compared. */
#include "sandbox/crossing/side.h"

#include "base/cleanup.h"
#include "sandbox/crossing/names.h"

#include <string.h>

#define ENTRY_HEAD_BYTES 9 /* "H 100644 " */

const char *const side_state_names[SIDE_STATE_COUNT] = {
#define SIDE_STATE_NAME(id, name, kind) name,
    SIDE_STATES(SIDE_STATE_NAME)
#undef SIDE_STATE_NAME
};

static bool ids_valid(const char *text)
{
    char id[OBJECT_ID_MAX + 1];
    for (unsigned lines = 0; *text; lines++) {
        size_t len = strcspn(text, "\n");
        if (len > OBJECT_ID_MAX || lines == 64)
            return false;
        memcpy(id, text, len);
        id[len] = '\0';
        if (!name_is_id(id))
            return false;
        text += len + (text[len] == '\n');
    }
    return true;
}

static bool text_valid(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

bool side_state_valid(enum side_state state, const char *text)
{
    enum { IDS, MODE, TEXT };
    static const unsigned char kinds[SIDE_STATE_COUNT] = {
#define SIDE_STATE_KIND(id, name, kind) kind,
        SIDE_STATES(SIDE_STATE_KIND)
#undef SIDE_STATE_KIND
    };
    if (kinds[state] == IDS)
        return text[0] && ids_valid(text);
    if (kinds[state] == MODE)
        return text[0] == '\0' || strcmp(text, "no-ff") == 0 || strcmp(text, "no-ff\n") == 0;
    return text_valid(text);
}

void git_refs_release(struct git_refs *refs)
{
    free(refs->items);
    free(refs->stashes);
    free(refs->lines);
    free(refs->stash_lines);
    buf_release(&refs->text);
    buf_release(&refs->stash_text);
    *refs = (struct git_refs){0};
}

void git_checkout_release(struct git_checkout *checkout)
{
    free(checkout->head);
    free(checkout->entries);
    free(checkout->index_lines);
    for (size_t i = 0; i < SIDE_STATE_COUNT; i++)
        free(checkout->states[i]);
    buf_release(&checkout->index_text);
    *checkout = (struct git_checkout){0};
}

static char *copy_text(const struct buf *text)
{
    char *copy = malloc(text->len + 1);
    if (copy && text->len)
        memcpy(copy, text->data, text->len);
    if (copy)
        copy[text->len] = '\0';
    return copy;
}

static size_t count_of(const struct buf *text, char end)
{
    size_t count = 0;
    for (size_t i = 0; i < text->len; i++)
        count += text->data[i] == end;
    return count;
}

/* ---- refs ---- */

/* "ID NAME [TARGET]". */
static bool cut_ref(char *line, struct git_ref *ref)
{
    char *name = strchr(line, ' ');
    char *target = name ? strchr(name + 1, ' ') : NULL;
    if (!target)
        return false;
    *name++ = *target++ = '\0';
    *ref = (struct git_ref){.name = name, .value = *target ? target : line, .symbolic = *target != '\0'};
    return name_is_id(line) && name_ref_valid(name) && strpbrk(target, " ") == NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct git_ref *)a)->name, ((const struct git_ref *)b)->name);
}

enum qs_status side_parse_refs(struct git_refs *refs, struct qs_error *err)
{
    const struct buf *text = &refs->text;
    size_t count = count_of(text, '\n');
    if (text->failed || count > SIDE_REFS_MAX || (text->len && text->data[text->len - 1] != '\n') ||
        (text->len && memchr(text->data, '\0', text->len)))
        return error_set(err, QS_INVALID, "the list of refs is not of git's form, or longer than %u", SIDE_REFS_MAX);
    refs->lines = copy_text(text);
    refs->items = calloc(count + 1, sizeof *refs->items);
    if (!refs->lines || !refs->items)
        return error_memory(err);
    for (char *line = refs->lines, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        if (!cut_ref(line, &refs->items[refs->count++]))
            return error_set(err, QS_INVALID, "a line of the list of refs is not of git's form");
    }
    if (refs->count)
        qsort(refs->items, refs->count, sizeof *refs->items, by_name);
    for (size_t i = 1; i < refs->count; i++)
        if (strcmp(refs->items[i - 1].name, refs->items[i].name) == 0)
            return error_set(err, QS_INVALID, "a ref is listed twice");
    return QS_OK;
}

const struct git_ref *git_refs_find(const struct git_refs *refs, const char *name)
{
    const struct git_ref key = {.name = name};
    return refs->count ? bsearch(&key, refs->items, refs->count, sizeof *refs->items, by_name) : NULL;
}

bool git_ref_same(const struct git_ref *a, const struct git_ref *b)
{
    if (!a || !b)
        return a == b;
    return a->symbolic == b->symbolic && strcmp(a->value, b->value) == 0;
}

/* A line of a log: "OLD NEW WHO <MAIL> TIME ZONE\tTEXT". */
static bool cut_stash(char *line, struct git_stash *stash)
{
    char *id = strchr(line, ' ');
    char *who = id ? strchr(id + 1, ' ') : NULL;
    char *text = who ? strchr(who + 1, '\t') : NULL;
    if (!who)
        return false;
    *id++ = *who = '\0';
    *stash = (struct git_stash){.id = id, .text = text ? text + 1 : ""};
    return name_is_id(id) && !name_is_null_id(id) && text_valid(stash->text);
}

enum qs_status side_parse_stashes(struct git_refs *refs, struct qs_error *err)
{
    const struct buf *text = &refs->stash_text;
    size_t count = count_of(text, '\n');
    if (text->failed || count > SIDE_STASHES_MAX || (text->len && text->data[text->len - 1] != '\n') ||
        (text->len && memchr(text->data, '\0', text->len)))
        return error_set(err, QS_INVALID, "the list of stashes is not of git's form, or longer than %u",
                         SIDE_STASHES_MAX);
    refs->stash_lines = copy_text(text);
    refs->stashes = calloc(count + 1, sizeof *refs->stashes);
    if (!refs->stash_lines || !refs->stashes)
        return error_memory(err);
    refs->stash_count = count;
    for (char *line = refs->stash_lines, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        if (!cut_stash(line, &refs->stashes[--count]))
            return error_set(err, QS_INVALID, "a line of the list of stashes is not of git's form");
    }
    return QS_OK;
}

bool git_stashes_same(const struct git_refs *a, const struct git_refs *b)
{
    bool same = a->stash_count == b->stash_count;
    for (size_t i = 0; same && i < a->stash_count; i++)
        same = strcmp(a->stashes[i].id, b->stashes[i].id) == 0;
    return same;
}

/* ---- checkouts ---- */

char *side_parse_head(const char *text)
{
    char *head = strdup(text);
    if (!head)
        return NULL;
    head[strcspn(head, "\n")] = '\0';
    const char *branch = SIDE_HEAD_BRANCH(head);
    if (branch ? name_ref_valid(branch) : name_is_id(head))
        return head;
    free(head);
    return NULL;
}

/* "F MODE ID STAGE\tNAME". */
static bool cut_entry(char *line, struct git_entry *entry)
{
    /* The analyzer takes the text for one of two bytes, whatever its length. */
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    if (strlen(line) < ENTRY_HEAD_BYTES || line[1] != ' ' || line[ENTRY_HEAD_BYTES - 1] != ' ')
        return false;
    char *id = line + ENTRY_HEAD_BYTES;
    char *stage = strchr(id, ' ');
    if (!stage || stage[1] < '0' || stage[1] > '3' || stage[2] != '\t')
        return false;
    id[-1] = *stage = stage[2] = '\0';
    *entry = (struct git_entry){.flag = line[0], .stage = stage[1], .mode = line + 2, .id = id, .name = stage + 3};
    return name_is_id(id) && entry->name[0];
}

static int compare_entries(const struct git_entry *a, const struct git_entry *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : (int)a->stage - (int)b->stage;
}

enum qs_status side_parse_index(struct git_checkout *checkout, struct qs_error *err)
{
    const struct buf *text = &checkout->index_text;
    size_t count = count_of(text, '\0');
    if (text->failed || count > SIDE_ENTRIES_MAX || (text->len && text->data[text->len - 1] != '\0'))
        return error_set(err, QS_INVALID, "the list of the index is not of git's form, or longer than %u",
                         SIDE_ENTRIES_MAX);
    checkout->index_lines = copy_text(text);
    checkout->entries = calloc(count + 1, sizeof *checkout->entries);
    if (!checkout->index_lines || !checkout->entries)
        return error_memory(err);
    checkout->entry_count = count;
    char *line = checkout->index_lines;
    for (size_t i = 0; i < count; i++) {
        char *end = line + strlen(line);
        if (!cut_entry(line, &checkout->entries[i]))
            return error_set(err, QS_INVALID, "an entry of the index is not of git's form");
        if (i && compare_entries(&checkout->entries[i - 1], &checkout->entries[i]) >= 0)
            return error_set(err, QS_INVALID, "the entries of the index are out of order");
        line = end + 1;
    }
    return QS_OK;
}

size_t git_entries_of(const struct git_checkout *checkout, size_t at)
{
    size_t count = 1;
    if (at >= checkout->entry_count)
        return 0;
    while (at + count < checkout->entry_count &&
           strcmp(checkout->entries[at].name, checkout->entries[at + count].name) == 0)
        count++;
    return count;
}

size_t git_entries_find(const struct git_checkout *checkout, const char *name)
{
    size_t low = 0, high = checkout->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(checkout->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < checkout->entry_count && strcmp(checkout->entries[low].name, name) == 0 ? low : checkout->entry_count;
}

bool git_entries_same(const struct git_checkout *a, size_t at_a, size_t count_a, const struct git_checkout *b,
                      size_t at_b, size_t count_b)
{
    if (count_a != count_b)
        return false;
    for (size_t i = 0; i < count_a; i++) {
        const struct git_entry *x = &a->entries[at_a + i], *y = &b->entries[at_b + i];
        if (x->stage != y->stage || strcmp(x->mode, y->mode) != 0 || strcmp(x->id, y->id) != 0 ||
            strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

const char *git_entries_next(const struct git_checkout *const *sides, const size_t *at, size_t count)
{
    const char *least = NULL;
    for (size_t i = 0; i < count; i++)
        if (at[i] < sides[i]->entry_count && (!least || strcmp(sides[i]->entries[at[i]].name, least) < 0))
            least = sides[i]->entries[at[i]].name;
    return least;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool git_checkout_same(const struct git_checkout *a, const struct git_checkout *b)
{
    bool same = same_text(a->head, b->head) && a->entry_count == b->entry_count;
    for (size_t i = 0; same && i < SIDE_STATE_COUNT; i++)
        same = same_text(a->states[i], b->states[i]);
    return same && git_entries_same(a, 0, a->entry_count, b, 0, b->entry_count);
}
