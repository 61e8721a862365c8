/* SPDX-License-Identifier: Apache-2.0 */
/* What every format of documents must do. */
#include "tests/support/documents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void document_faults_are_told(enum doc_format format, const struct document_fault *faults, size_t count)
{
    for (const struct document_fault *fault = faults; fault < faults + count; fault++) {
        struct doc *doc = NULL;
        struct qs_error err = {0};
        enum qs_status status = doc_parse("a/b", fault->text, strlen(fault->text), format, &doc, &err);
        if (status != QS_INVALID || doc || err.status != status || err.line != fault->line ||
            err.column != fault->column || strcmp(err.path, fault->path) != 0 || strcmp(err.file, "a/b") != 0 ||
            !strstr(err.message, fault->says))
            fail_msg("%s: %d %u:%u [%s] %s", fault->text, status, err.line, err.column, err.path, err.message);
        assert_int_equal(doc_parse("b", fault->text, strlen(fault->text), format, &doc, NULL), QS_INVALID);
    }
}

void document_place_is(const struct doc *doc, const char *path, bool at_key, unsigned line, unsigned column)
{
    struct qs_key key;
    unsigned got_line = 0, got_column = 0;
    if (path)
        assert_int_equal(qs_key_parse(path, &key, NULL), QS_OK);
    doc_locate(doc, path ? &key : NULL, at_key, &got_line, &got_column);
    if (got_line != line || got_column != column)
        fail_msg("%s: %u:%u instead of %u:%u", path ? path : "root", got_line, got_column, line, column);
}
