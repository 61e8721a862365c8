/* SPDX-License-Identifier: Apache-2.0 */
/* bench-page BENCH.JSON: draws the page of a bench again, on standard output. */
#include "bench/bench.h"

int main(int argc, char **argv)
{
    json_error_t error;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench-page BENCH.JSON >index.html\n");
        return 2;
    }
    json_t *figures = json_load_file(argv[1], 0, &error);
    struct bench bench = {.results = json_object_get(figures, "results"),
                          .curves = json_object_get(figures, "curves"),
                          .counts = json_object_get(figures, "counts")};
    json_t *machine = json_object_get(figures, "machine");
    if (!json_is_array(bench.results) || !json_is_array(bench.curves) || !json_is_array(bench.counts) ||
        !json_is_object(machine)) {
        (void)fprintf(stderr, "bench-page: not the figures of a bench, %s:%d: %s\n", argv[1], figures ? 1 : error.line,
                      figures ? "results, curves, counts or machine is missing" : error.text);
        json_decref(figures);
        return 3;
    }
    struct buf page = {0};
    report_html(&bench, machine, &page);
    bool written = !page.failed && fwrite(page.data, 1, page.len, stdout) == page.len && fflush(stdout) == 0;
    int status = written ? 0 : 10;
    buf_release(&page);
    json_decref(figures);
    return status;
}
