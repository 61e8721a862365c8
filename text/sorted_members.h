/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a JSON object in the order of canonical text: by key, bytewise. */
#ifndef TEXT_SORTED_MEMBERS_H
#define TEXT_SORTED_MEMBERS_H

#include "qsettings/status.h"

#include <jansson.h>
#include <stddef.h>

struct sorted_member {
    const char *key; /* borrowed from the object, as is value */
    size_t key_len;
    json_t *value;
};

#define SORTED_MEMBERS_FIXED 16

/* Small objects, which is nearly all of them, need no heap. */
struct sorted_members {
    struct sorted_member *items;
    size_t count;
    struct sorted_member fixed[SORTED_MEMBERS_FIXED];
};

/* Errors: QS_IO (memory). sorted_members_release is right after either outcome; the struct must not be copied. */
enum qs_status sorted_members_init(struct sorted_members *members, const json_t *object,
                                   struct qs_error *err) QS_MUST_USE;
void sorted_members_release(struct sorted_members *members);

#endif
