/* SPDX-License-Identifier: Apache-2.0 */
/* What every format of documents must do, for the suite of each. Every function here fails the test. */
#ifndef TESTS_SUPPORT_DOCUMENTS_H
#define TESTS_SUPPORT_DOCUMENTS_H

#include "text/doc.h"

struct document_fault {
    const char *text;
    unsigned line, column;
    const char *path, *says;
};

/* Each text is refused with file, line, column and path, and a message that says this. */
void document_faults_are_told(enum doc_format format, const struct document_fault *faults, size_t count);

/* The key or the value at path (NULL: the root) stands there. */
void document_place_is(const struct doc *doc, const char *path, bool at_key, unsigned line, unsigned column);

#endif
