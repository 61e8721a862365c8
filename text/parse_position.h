/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a parser is within a document: the containers that are open and the key or index in each. It tells the key path
 * of a fault, and, given a target, remembers the place of the target or of its nearest existing ancestor.
 *
 *     trail_key(...)    an object's key was read
 *     trail_value(...)  a value begins (in an object after its key)
 *     trail_open(...)   that value is a container ... trail_close(...)
 *     trail_done(...)   that value has ended
 */
#ifndef STORE_TRAIL_H
#define STORE_TRAIL_H

#include "base/buf.h"
#include "qsettings/key.h"

struct trail_frame {
    struct buf key;  /* object: the key being worked on; its memory is used again for the next */
    size_t key_at;   /* offset of that key */
    size_t index;    /* array: the element being worked on */
    size_t elements; /* array: begun so far */
    bool object;
    bool inside; /* within a member or element, not between two */
    bool on;     /* the member or element and all above it are on the way to the target */
};

struct trail {
    struct trail_frame frames[QS_DOCUMENT_MAX_DEPTH];
    unsigned depth;
    const struct qs_bytes *target; /* the segments looked for; borrowed */
    size_t target_count;
    size_t found;            /* how many of them exist, so far */
    size_t key_at, value_at; /* offsets for those */
    bool failed;             /* no memory */
};

void trail_init(struct trail *trail, const struct qs_bytes *target, size_t target_count);
void trail_release(struct trail *trail);

void trail_key(struct trail *trail, const char *key, size_t len, size_t at);
void trail_value(struct trail *trail, size_t at);
bool trail_open(struct trail *trail, bool object); /* false: deeper than QS_DOCUMENT_MAX_DEPTH */
void trail_close(struct trail *trail);
void trail_done(struct trail *trail);

/* The key path of where the trail is; a path that makes no key (too long, an empty segment) is cut there. */
void trail_path(const struct trail *trail, char *text, size_t size);

/* Line and column (1-based, in bytes) of an offset. */
void text_place(const char *text, size_t offset, unsigned *ret_line, unsigned *ret_column);

#endif
