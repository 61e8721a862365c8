/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document that races write. Every value in it begins with the same tag, "GENERATION.WRITER:", so that one put
 * together from two saves is seen, even from two saves of the same generation; and it has one counter for each writer,
 * which only that writer raises, so that a lost change is seen.
 *
 *     {"counters": {"w0": "12.1:3", "w1": "12.1:9"}, "values": {"k000": "12.1:xxxxxxxx", ...}}
 */
#ifndef STRESS_DOCUMENT_H
#define STRESS_DOCUMENT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOCUMENT_WRITERS_MAX 64u
#define DOCUMENT_NOBODY      DOCUMENT_WRITERS_MAX /* the writer of the first document */
#define STRESS_REASON_BYTES  200

struct document {
    uint64_t generation; /* 0: the empty document, which a careless writer makes of a missing file */
    unsigned writer;
    uint64_t counters[DOCUMENT_WRITERS_MAX];
};

/* How many counters and values belong to a complete document. */
struct document_shape {
    unsigned writers, values;
};

/* Appends the whole document, or one of its two objects, as JSON. Lengths vary with the generation. */
void document_write(const struct document *document, struct document_shape shape, struct buf *out);
void document_write_counters(const struct document *document, struct document_shape shape, struct buf *out);
void document_write_values(const struct document *document, struct document_shape shape, struct buf *out);

/* Reading entry by entry: name is "k007" or "w3", value its text without quotes. */
struct document_reader {
    struct document document;
    struct document_shape shape;
    size_t values, counters;
    size_t tag_len;
    char tag[48];
    char reason[STRESS_REASON_BYTES]; /* why it is torn; "" as long as it is not */
};
void document_read_begin(struct document_reader *reader, struct document_shape shape);
void document_read_entry(struct document_reader *reader, const char *name, size_t name_len, const char *value,
                         size_t value_len);
/* True: complete, and reader->document is it. False: torn, and reader->reason says why. */
bool document_read_end(struct document_reader *reader);

/* The whole text at once. */
bool document_read(struct document_reader *reader, struct document_shape shape, const char *text, size_t len);

#endif
