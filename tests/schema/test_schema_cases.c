/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest of documents, tests/fixtures/cases/manifest.tsv: each file is read and judged as `qsettings check FILE`
 * does, and gives the status and the text that its row names.
 */
#include "base/cleanup.h"
#include "schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CASES "tests/fixtures/cases"

static const char *top(void)
{
    const char *dir = getenv("QS_TOP");
    return dir ? dir : ".";
}

static enum qs_status judge_file(const char *file, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    enum qs_status status = doc_read(file, QS_DOCUMENT_MAX_BYTES, &doc, err);
    return status ? status : schema_check_document(doc_root(doc), doc, 0, err);
}

/* As the programs print it: file:line:column: message; advice. The key path follows in the message or here. */
static void format_error(const struct qs_error *err, char *text, size_t size)
{
    (void)snprintf(text, size, "%s:%u:%u: %s (%s); %s", err->file, err->line, err->column, err->message, err->path,
                   err->advice);
}

static int check_row(const char *name, int expected, const char *named)
{
    char file[1024], text[4096];
    struct qs_error err = {0};
    (void)snprintf(file, sizeof file, "%s/%s/%s", top(), CASES, name);
    int got = -(int)judge_file(file, &err);
    format_error(&err, text, sizeof text);
    print_message("# %s: %d %s\n", name, got, got ? text : "");
    if (got != expected) {
        print_message("# %s gives %d, not %d\n", name, got, expected);
        return 1;
    }
    if (expected && !strstr(text, named)) {
        print_message("# %s: \"%s\" is not named\n", name, named);
        return 1;
    }
    return 0;
}

static void every_row_of_the_manifest_gives_its_result(void **state)
{
    (void)state;
    char file[1024], line[512];
    (void)snprintf(file, sizeof file, "%s/%s/manifest.tsv", top(), CASES);
    FILE *manifest = fopen(file, "re");
    int rows = 0, failed = 0;
    assert_non_null(manifest);
    while (fgets(line, sizeof line, manifest)) {
        line[strcspn(line, "\n")] = '\0';
        char *name = line, *status = strchr(line, '\t');
        if (line[0] == '#' || !status)
            continue;
        *status++ = '\0';
        char *named = strchr(status, '\t');
        if (named)
            *named++ = '\0';
        failed += check_row(name, atoi(status), named ? named : "");
        rows++;
    }
    (void)fclose(manifest);
    assert_true(rows >= 29);
    assert_int_equal(failed, 0);
}

static void a_fault_of_the_schema_has_the_place_of_its_value(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum doc_format format;
        unsigned line, column;
        const char *path;
    } rows[] = {
        {"{\n \"tools\": {\n  \"approvalMode\": 5}}", DOC_JSON, 3, 19, "tools.approvalMode"},
        {"{\n \"tools\": null}", DOC_JSON, 2, 11, "tools"},
        {"{\n \"Tools\": {\"x\": 1}}", DOC_JSON, 2, 2, "Tools"},
        {"tools:\n  executionSandbox:\n    filesystem: read-only\n", DOC_YAML, 3, 5, "tools.executionSandbox"},
        {"executor:\n  hiddenPaths:\n    - /a\n    - b\n", DOC_YAML, 4, 7, "executor.hiddenPaths"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(doc_release) struct doc *doc = NULL;
        struct qs_error err = {0};
        assert_int_equal(doc_parse("f", rows[i].text, strlen(rows[i].text), rows[i].format, &doc, &err), QS_OK);
        assert_int_equal(schema_check_document(doc_root(doc), doc, 0, &err), QS_INVALID);
        print_message("# %s:%u:%u %s: %s\n", err.file, err.line, err.column, err.path, err.message);
        assert_string_equal(err.path, rows[i].path);
        assert_int_equal(err.line, rows[i].line);
        assert_int_equal(err.column, rows[i].column);
        assert_string_equal(err.file, "f");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_manifest_gives_its_result),
        cmocka_unit_test(a_fault_of_the_schema_has_the_place_of_its_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
