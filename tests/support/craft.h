/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that ask a reader for more than they hold: made from a healthy store by somebody who knows its format. Each
 * leaves every hash right that a reader looks at before the part that is crafted.
 */
#ifndef TESTS_SUPPORT_CRAFT_H
#define TESTS_SUPPORT_CRAFT_H

#include <stddef.h>

struct craft {
    const char *name;     /* as docs/durability.md calls it */
    void (*make)(int fd); /* of a healthy store, open for reading and writing */
    unsigned harmless;    /* enum craft_reader: whom it does not stop, since he does not look there */
};
enum craft_reader { CRAFT_GET = 1, CRAFT_SET = 2, CRAFT_FSCK = 4, CRAFT_LOG = 8, CRAFT_WATCH = 16 };

extern const struct craft crafts[];
extern const size_t craft_count;

#endif
