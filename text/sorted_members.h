/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a JSON object in the order of canonical text: by key, bytewise. */
#ifndef STORE_MEMBERS_H
#define STORE_MEMBERS_H

#include "qsettings/status.h"

#include <jansson.h>
#include <stddef.h>

struct member {
    const char *key; /* borrowed from the object, as is value */
    size_t key_len;
    json_t *value;
};

#define MEMBERS_FIXED 16

/* Small objects, which is nearly all of them, need no heap. */
struct members {
    struct member *items;
    size_t count;
    struct member fixed[MEMBERS_FIXED];
};

/* Errors: QS_IO (memory). members_release is right after either outcome; the struct must not be copied. */
enum qs_status members_init(struct members *members, const json_t *object, struct qs_error *err) QS_MUST_USE;
void members_release(struct members *members);

#endif
