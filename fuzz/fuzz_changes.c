/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The change set. Input: eight bytes that say which of 64 keys are in the base, then pairs of bytes, each a key and its
 * new value, or that it goes.
 *
 * Invariants: after each change every key has the value that a plain table of 64 entries has for it; the merged list is
 * that table in order; the change set's own list is sorted, and a copy of the merged list equals it.
 */
#include "fuzz/fuzz.h"

#include "store/overlay.h"
#include "text/key_path.h"

#include <stdbool.h>
#include <string.h>

#define KEYS 64u
#define GONE 0xffu

struct model {
    char keys[KEYS][24];
    char values[256][8];
    uint8_t now[KEYS]; /* value of each key, or GONE */
};

/* Keys of different lengths of which some are prefixes of others, in ascending order. */
static void make_keys(struct model *model)
{
    for (unsigned i = 0; i < KEYS; i++)
        (void)snprintf(model->keys[i], sizeof model->keys[i], "k%c%.*s", (int)('A' + i / 4), (int)(i % 4) * 4,
                       "abcdefghijkl");
    for (unsigned i = 0; i < 256; i++)
        (void)snprintf(model->values[i], sizeof model->values[i], "%u", i);
}

static struct qs_bytes text(const char *s)
{
    return (struct qs_bytes){s, strlen(s)};
}

static bool same(struct qs_bytes a, struct qs_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static void check_values(const struct model *model, const struct overlay *overlay, const struct entry_list *base)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct qs_bytes value = overlay_value(overlay, base, text(model->keys[i]));
        MUST((value.data == NULL) == (model->now[i] == GONE));
        MUST(!value.data || same(value, text(model->values[model->now[i]])));
    }
    MUST(!overlay_value(overlay, base, text("no such key")).data);
    for (size_t i = 0; i < overlay->count; i++) {
        struct qs_bytes key = overlay->items[i].key;
        MUST(overlay_find(overlay, key) == i);
        MUST(!i || key_compare(overlay->items[i - 1].key.data, overlay->items[i - 1].key.len, key.data, key.len) < 0);
    }
    MUST(overlay_find(overlay, text("no such key")) == SIZE_MAX);
}

static void check_merged(const struct model *model, const struct overlay *overlay, const struct entry_list *base)
{
    struct entry_list merged = {0};
    struct leaves copy = {0};
    size_t at = 0;
    MUST(overlay_merge(overlay, base, &merged, NULL) == QS_OK);
    MUST(overlay_copy_list(&merged, &copy, NULL) == QS_OK && copy.count == merged.count);
    for (unsigned i = 0; i < KEYS; i++) {
        if (model->now[i] == GONE)
            continue;
        MUST(at < merged.count && same(merged.items[at].key, text(model->keys[i])));
        MUST(same(merged.items[at].value, text(model->values[model->now[i]])));
        MUST(same(merged.items[at].key, copy.items[at].key) && same(merged.items[at].value, copy.items[at].value));
        at++;
    }
    MUST(at == merged.count);
    leaves_release(&copy);
    free(merged.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model model;
    struct leaf items[KEYS];
    struct entry_list base = {items, 0};
    struct overlay overlay = {0};
    make_keys(&model);
    for (unsigned i = 0; i < KEYS; i++) {
        bool there = i / 8 < size && data[i / 8] >> i % 8 & 1;
        model.now[i] = there ? (uint8_t)i : GONE;
        if (there)
            items[base.count++] = (struct leaf){text(model.keys[i]), text(model.values[i])};
    }
    check_values(&model, &overlay, &base);
    for (size_t at = 8; at + 1 < size && at < 600; at += 2) {
        unsigned key = data[at] % KEYS;
        char passing[8]; /* the change set keeps copies */
        (void)snprintf(passing, sizeof passing, "%s", model.values[data[at + 1]]);
        struct qs_bytes value = data[at + 1] == GONE ? (struct qs_bytes){0} : text(passing);
        MUST(overlay_put(&overlay, text(model.keys[key]), value, NULL) == QS_OK);
        memset(passing, 'x', sizeof passing);
        model.now[key] = data[at + 1];
        check_values(&model, &overlay, &base);
    }
    check_merged(&model, &overlay, &base);
    overlay_release(&overlay);
    return 0;
}
