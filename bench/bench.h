/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room bench/: What does it cost, beside other programs in the same run?
 *
 * The bench: this project beside others, in one run.
 *
 * A row compares two pieces of work. They are run in turn (A, B, A, B, ...), each pair gives one ratio, and the row's
 * ratio is the median of these: what disturbs the machine disturbs both sides of a pair. A call that fails ends the
 * bench.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/buf.h"
#include "qsettings/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_PATH_BYTES 1024

struct bench {
    bool quick, strict;
    char out[BENCH_PATH_BYTES];     /* where the report goes */
    char bin[BENCH_PATH_BYTES];     /* where the programs are */
    char scratch[BENCH_PATH_BYTES]; /* a directory of this run, on the disk that out is on */
    json_t *results, *curves, *counts, *skipped;
};

/* One side of a comparison: run is called batch times for one sample, whose time is divided by batch. */
struct side {
    const char *name;
    void (*run)(void *context);
    void *context;
    unsigned batch; /* 0: 1 */
};

struct pair_figures {
    double ratio, ours_us, theirs_us; /* medians */
    unsigned samples;
};

/* ---- measuring ---- */

/* Runs both sides in turn until budget_ms or the most pairs are spent, at least five pairs. */
struct pair_figures measure_pairs(const struct side *ours, const struct side *theirs, unsigned budget_ms,
                                  unsigned most_pairs);
/* The median time of one side in microseconds. */
double measure_one(const struct side *side, unsigned budget_ms, unsigned most_samples);
/* Nanoseconds of the monotonic clock. */
uint64_t bench_now_ns(void);
/* What one row may take: milliseconds, less when quick. */
unsigned bench_budget(const struct bench *bench);
/* Sorts the values. */
double bench_median(double *values, size_t count);

/* Measures a row and adds it to the results. limit 0: none is set. */
void bench_row(struct bench *bench, const char *name, double limit, const struct side *ours, const struct side *theirs);
/* Says why a row is missing. */
void bench_skip(struct bench *bench, const char *name, const char *reason);

/* ---- curves and counts ---- */

/* Adds a point; curve and series are made when they are new. */
void bench_point(struct bench *bench, const char *curve, const char *x_name, const char *series, double x, double us);

struct io_count {
    uint64_t flushes; /* fsync, fdatasync, and writes to a descriptor opened with O_SYNC or O_DSYNC */
    uint64_t writes, bytes;
};
/* What this process writes between the two calls, seen at the C library's functions. Regular files only. */
void count_start(void);
struct io_count count_stop(void);
/* Counts one run of side and adds it to the counts. */
void bench_count(struct bench *bench, const char *name, const struct side *side);

/* ---- the report ---- */

json_t *machine_describe(const struct bench *bench);
void report_table(const struct bench *bench, FILE *out);
unsigned report_above(const struct bench *bench, FILE *out); /* rows above their limit, printed; how many */
void report_json(const struct bench *bench, json_t *machine);
/* The page: bench's results, curves and counts as pictures. */
void report_html(const struct bench *bench, json_t *machine, struct buf *out);

/* ---- small help ---- */

/* Both end the program with status 2. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void bench_check(enum qs_status status, const struct qs_error *err, const char *step);
void bench_path(char path[BENCH_PATH_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_write_file(const char *path, const void *data, size_t len);

/* ---- the rows, a file each ---- */

void rows_read(struct bench *bench);
void rows_write(struct bench *bench);
void rows_policy(struct bench *bench);
void rows_process(struct bench *bench);
void rows_node(struct bench *bench);
void rows_sandbox(struct bench *bench);
void rows_storm(struct bench *bench);
void rows_curves(struct bench *bench);

#endif
