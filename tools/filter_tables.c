/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the system call filters as C, for this processor: libseccomp works at build time, not in a run. */
#include "base/cleanup.h"
#include "sandbox/plan/filter.h"

#include <linux/filter.h>
#include <stdio.h>
#include <string.h>

static int print_table(const char *name, const struct buf *program)
{
    size_t count = program->len / sizeof(struct sock_filter);
    (void)printf("static const struct sock_filter %s[] = {\n", name);
    for (size_t i = 0; i < count; i++) {
        struct sock_filter step;
        memcpy(&step, program->data + i * sizeof step, sizeof step);
        (void)printf("    {0x%02x, %u, %u, 0x%08x},\n", (unsigned)step.code, (unsigned)step.jt, (unsigned)step.jf,
                     (unsigned)step.k);
    }
    return printf("};\n") < 0;
}

int main(void)
{
    static const struct {
        enum qs_unix_sockets unix_sockets;
        const char *name, *constant;
    } tables[] = {
        {QS_UNIX_BLOCKED, "blocked", "QS_UNIX_BLOCKED"},
        {QS_UNIX_PRIVATE, "private", "QS_UNIX_PRIVATE"},
        {QS_UNIX_OPEN, "open", "QS_UNIX_OPEN"},
    };
    const size_t count = sizeof tables / sizeof tables[0];
    (void)printf("/* Made by tools/filter_tables.c with libseccomp; do not edit. */\n"
                 "#include \"sandbox/plan/filter.h\"\n\n#include <linux/filter.h>\n\n");
    for (size_t i = 0; i < count; i++) {
        AUTO(buf_release) struct buf program = {0};
        struct qs_error err = {0};
        if (filter_make(tables[i].unix_sockets, &program, &err) != QS_OK) {
            (void)fprintf(stderr, "filter-tables: %s\n", err.message);
            return 1;
        }
        if (print_table(tables[i].name, &program) != 0)
            return 1;
    }
    (void)printf("\nconst struct filter_table filter_tables[] = {\n");
    for (size_t i = 0; i < count; i++)
        (void)printf("    [%s] = {%s, sizeof %s},\n", tables[i].constant, tables[i].name, tables[i].name);
    return printf("};\n") < 0 || fflush(stdout) != 0;
}
