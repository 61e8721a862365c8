/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine's files of one line, and the names of documents, each tried on the whole input. Invariants: what is taken
 * is written again as the same bytes.
 */
#include "fleet/rules/decide.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void same(struct buf *out, struct qs_bytes text)
{
    MUST(!out->failed && out->len == text.len && !memcmp(out->data, text.data, text.len));
    buf_clear(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    char *copy = calloc(1, size + 1);
    MUST(copy);
    if (size)
        memcpy(copy, data, size);
    struct qs_bytes text = {copy, size};
    struct seen seen;
    struct break_glass glass;
    struct fleet_mark mark;
    struct document_name name;
    uint64_t number = 0;
    if (seen_parse(text, &seen)) {
        seen_format(&seen, &out);
        same(&out, text);
    }
    if (break_glass_parse(text, &glass)) {
        break_glass_format(&glass, &out);
        same(&out, text);
    }
    if (fleet_mark_parse(text, &mark)) {
        mark_format(&mark, &out);
        same(&out, text);
    }
    if (number_line_parse(text, &number)) {
        buf_printf(&out, "%llu\n", (unsigned long long)number);
        same(&out, text);
    }
    if (strlen(copy) == size && document_name_parse(copy, &name)) {
        char again[DOCUMENT_NAME_BYTES];
        document_name_format(&name, again);
        MUST(!strcmp(copy, again));
    }
    buf_release(&out);
    free(copy);
    return 0;
}
