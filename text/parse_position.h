/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a parser is within a document: the containers that are open and the key or index in each. It tells the key path
 * of a fault, and, given a target, remembers the place of the target or of its nearest existing ancestor.
 *
 *     parse_position_key(...)    an object's key was read
 *     parse_position_value(...)  a value begins (in an object after its key)
 *     parse_position_open(...)   that value is a container ... parse_position_close(...)
 *     parse_position_done(...)   that value has ended
 */
#ifndef TEXT_PARSE_POSITION_H
#define TEXT_PARSE_POSITION_H

#include "base/buf.h"
#include "qsettings/key.h"

struct parse_frame {
    struct buf key;  /* object: the key being worked on; its memory is used again for the next */
    size_t key_at;   /* offset of that key */
    size_t index;    /* array: the element being worked on */
    size_t elements; /* array: begun so far */
    bool object;
    bool inside; /* within a member or element, not between two */
    bool on;     /* the member or element and all above it are on the way to the target */
};

struct parse_position {
    struct parse_frame frames[QS_DOCUMENT_MAX_DEPTH];
    unsigned depth;
    const struct qs_bytes *target; /* the segments looked for; borrowed */
    size_t target_count;
    size_t found;            /* how many of them exist, so far */
    size_t key_at, value_at; /* offsets for those */
    bool failed;             /* no memory */
};

void parse_position_init(struct parse_position *position, const struct qs_bytes *target, size_t target_count);
void parse_position_release(struct parse_position *position);

void parse_position_key(struct parse_position *position, const char *key, size_t len, size_t at);
void parse_position_value(struct parse_position *position, size_t at);
bool parse_position_open(struct parse_position *position, bool object); /* false: deeper than QS_DOCUMENT_MAX_DEPTH */
void parse_position_close(struct parse_position *position);
void parse_position_done(struct parse_position *position);

/* The key path of where the position is; a path that makes no key (too long, an empty segment) is cut there. */
void parse_position_path(const struct parse_position *position, char *text, size_t size);

/* Line and column (1-based, in bytes) of an offset. */
void parse_position_of(const char *text, size_t offset, unsigned *ret_line, unsigned *ret_column);

#endif
