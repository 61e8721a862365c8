/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room text/: What does this text say, and where in it: JSON, YAML, keys, values?
 *
 * Documents: text in (JSON with comments, or YAML), a value with the place of each of its nodes; leaves out (key,
 * canonical text); leaves back to a value; a value to YAML.
 */
#ifndef TEXT_DOC_H
#define TEXT_DOC_H

#include "text/value.h"

enum doc_format {
    DOC_JSON, /* strict RFC 8259 after comments were blanked in place and a BOM was skipped */
    DOC_YAML, /* 1.2 core schema; no aliases, anchors, tags, second documents, duplicate or non-string-like keys */
};

struct doc; /* opaque: root value, file name, text, places */

/* The format by the file name's ending: .yaml and .yml are YAML, all else JSON. */
enum doc_format doc_format_of(const char *file_name);

/* Parses text. file_name is for messages and is copied; text is copied where it must outlive the call. The root must be
 * an object. Errors: QS_INVALID with file, line, column and, where the fault lies inside a value, its key path; QS_IO.
 */
enum qs_status doc_parse(const char *file_name, const void *text, size_t len, enum doc_format format,
                         struct doc **ret_doc, struct qs_error *err) QS_MUST_USE;

/* As doc_parse, for a value that need not be an object (a VALUE on a command line). */
enum qs_status doc_parse_value(const char *file_name, const void *text, size_t len, enum doc_format format,
                               struct doc **ret_doc, struct qs_error *err) QS_MUST_USE;

/* Reads a whole file ("-": standard input) up to max_bytes and parses it by its format; standard input is JSON where
 * its first character apart from white space and comments is '{' or '[', else YAML. Errors: as doc_parse, and
 * QS_NOT_FOUND, QS_UNTRUSTED (not permitted). */
enum qs_status doc_read(const char *file_name, size_t max_bytes, struct doc **ret_doc,
                        struct qs_error *err) QS_MUST_USE;

void doc_free(struct doc *doc);
void doc_release(struct doc **doc); /* for AUTO(doc_release) */

const json_t *doc_root(const struct doc *doc); /* owned by doc */
const char *doc_file(const struct doc *doc);

/* The place of the value at a key path (of its key, for `at_key`), 1-based, columns in bytes. A path that does not
 * exist gives the place of its nearest existing ancestor. Array elements are reached by their decimal index as a
 * segment. */
void doc_locate(const struct doc *doc, const struct qs_key *key, bool at_key, unsigned *ret_line, unsigned *ret_column);

/* As doc_locate, by segments, which need not fit a key (too long, empty). */
void doc_locate_segments(const struct doc *doc, const struct qs_bytes *segments, size_t count, bool at_key,
                         unsigned *ret_line, unsigned *ret_column);

/* Adds file, line, column of the value at key, and the key path, to an error that is set already. */
void doc_blame(const struct doc *doc, const struct qs_key *key, bool at_key, struct qs_error *err);

/* One leaf: an encoded key and a value's canonical text. */
struct leaf {
    struct qs_bytes key;
    struct qs_bytes value;
};

/* A sorted list of leaves that owns its bytes. Zero-initialised is empty. */
struct leaves {
    struct leaf *items;
    size_t count;
    void *arena; /* internal */
};
void leaves_release(struct leaves *leaves);

/* Splits a value into leaves below prefix (NULL: root). A value that is no object, or the empty object, is itself one
 * leaf at prefix; the empty root gives none. Errors: QS_INVALID (bounds of limits.h; key faults), with the key path in
 * err->path; where doc is not NULL the place too. */
enum qs_status flatten_value(const json_t *value, const struct qs_key *prefix, const struct doc *doc,
                             struct leaves *ret_leaves, struct qs_error *err) QS_MUST_USE;

/* Leaves (sorted) below prefix (NULL: root) back to one value; a new reference. No leaf: the empty object. */
enum qs_status unflatten_leaves(const struct leaf *items, size_t count, const struct qs_key *prefix, json_t **ret_value,
                                struct qs_error *err) QS_MUST_USE;

/* Appends YAML that doc_parse reads back as an equal value; strings that would read as another type are quoted. Keys
 * sorted. Ends with a newline. */
enum qs_status value_encode_yaml(const json_t *value, struct buf *out, struct qs_error *err) QS_MUST_USE;

#endif
