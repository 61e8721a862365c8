/* SPDX-License-Identifier: Apache-2.0 */
/* qsbench --out DIR --bin DIR [--quick] [--strict] [--only NAME]: runs the rows and writes the report. */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    void (*run)(struct bench *bench);
} parts[] = {
    {"read", rows_read}, {"policy", rows_policy},   {"write", rows_write}, {"process", rows_process},
    {"node", rows_node}, {"sandbox", rows_sandbox}, {"storm", rows_storm}, {"curves", rows_curves},
};

static char to_remove[BENCH_PATH_BYTES];
static pid_t remover;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_scratch(void)
{
    if (to_remove[0] && getpid() == remover)
        (void)nftw(to_remove, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "qsbench: ");
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

void bench_check(enum qs_status status, const struct qs_error *err, const char *step)
{
    if (status)
        bench_fail("%s: %s: %s %s", step, qs_status_name(status), err->message, err->file);
}

void bench_path(char path[BENCH_PATH_BYTES], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(path, BENCH_PATH_BYTES, format, args);
    va_end(args);
    if (len < 0 || len >= BENCH_PATH_BYTES)
        bench_fail("a path is too long");
}

void bench_write_file(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd))
        bench_fail("%s cannot be written: %s", path, strerror(errno));
}

static const char *absolute(const char *path, char out[PATH_MAX])
{
    if (!realpath(path, out))
        bench_fail("%s: %s", path, strerror(errno));
    return out;
}

static void prepare(struct bench *bench, const char *out, const char *bin)
{
    char path[PATH_MAX];
    if (mkdir(out, 0755) && errno != EEXIST)
        bench_fail("%s cannot be made: %s", out, strerror(errno));
    bench_path(bench->out, "%s", absolute(out, path));
    if (bin && realpath(bin, path))
        bench_path(bench->bin, "%s", path);
    bench_path(bench->scratch, "%s/scratch-XXXXXX", bench->out);
    if (!mkdtemp(bench->scratch) || chmod(bench->scratch, 0755))
        bench_fail("%s cannot be made: %s", bench->scratch, strerror(errno));
    remover = getpid();
    bench_path(to_remove, "%s", bench->scratch);
    (void)atexit(remove_scratch);
    bench->results = json_array();
    bench->curves = json_array();
    bench->counts = json_array();
    bench->skipped = json_array();
}

static void write_page(const struct bench *bench, json_t *machine)
{
    char path[BENCH_PATH_BYTES];
    bench_path(path, "%s/index.html", bench->out);
    struct buf page = {0};
    report_html(bench, machine, &page);
    if (page.failed)
        bench_fail("out of memory");
    bench_write_file(path, page.data, page.len);
    buf_release(&page);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    const char *out = NULL, *bin = NULL, *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            bench.quick = true;
        else if (strcmp(argv[i], "--strict") == 0)
            bench.strict = true;
        else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            out = argv[++i];
        else if (strcmp(argv[i], "--bin") == 0 && i + 1 < argc)
            bin = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            bench_fail("usage: qsbench --out DIR [--bin DIR] [--quick] [--strict] [--only PART]");
    }
    if (!out)
        bench_fail("--out DIR is missing");
    (void)umask(022);
    prepare(&bench, out, bin);
    json_t *machine = machine_describe(&bench);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!only || strcmp(only, parts[i].name) == 0)
            parts[i].run(&bench);
    report_table(&bench, stdout);
    report_json(&bench, machine);
    write_page(&bench, machine);
    printf("\n%s/bench.json and index.html were written\n", bench.out);
    unsigned count = report_above(&bench, stdout);
    return count && bench.strict ? 1 : 0;
}
