/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a JSON object, sorted. */
#include "text/sorted_members.h"

#include "base/error.h"
#include "text/key_path.h"

#include <errno.h>
#include <stdlib.h>

static int compare_members(const void *a, const void *b)
{
    const struct sorted_member *left = a;
    const struct sorted_member *right = b;
    return key_compare(left->key, left->key_len, right->key, right->key_len);
}

enum qs_status sorted_members_init(struct sorted_members *members, const json_t *object, struct qs_error *err)
{
    size_t count = json_object_size(object);
    size_t at = 0;
    members->items = members->fixed;
    members->count = 0;
    if (count > SORTED_MEMBERS_FIXED) {
        members->items = malloc(count * sizeof *members->items);
        if (!members->items)
            return error_memory(err);
    }
    /* jansson's iterators take a pointer to non-const but change nothing. */
    json_t *walked = (json_t *)object;
    bool sorted = true;
    for (void *iter = json_object_iter(walked); iter; iter = json_object_iter_next(walked, iter), at++) {
        members->items[at] = (struct sorted_member){
            .key = json_object_iter_key(iter),
            .key_len = json_object_iter_key_len(iter),
            .value = json_object_iter_value(iter),
        };
        sorted = sorted && (at == 0 || compare_members(&members->items[at - 1], &members->items[at]) < 0);
    }
    members->count = at;
    if (!sorted) /* what comes out of a store is sorted already */
        qsort(members->items, at, sizeof *members->items, compare_members);
    return QS_OK;
}

void sorted_members_release(struct sorted_members *members)
{
    if (members->items != members->fixed)
        free(members->items);
    members->items = members->fixed;
    members->count = 0;
}
