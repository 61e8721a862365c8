/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: what was tried and found, and its formats: TAP, JUnit, HTML. (JSON is each command's own.)
 *
 * A check is one claim ("never absent"), with how often it was broken. With expect_violation the thing tested is known
 * to be bad: then the checks are only listed, and the report fails only if none of them was broken.
 */
#ifndef STRESS_REPORT_H
#define STRESS_REPORT_H

#include "stress/harness/measures.h"

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_CHECKS_MAX    16u
#define REPORT_FACTS_MAX     32u
#define REPORT_SIGHTINGS_MAX 64u

struct report_check {
    const char *name; /* "never absent" */
    const char *kind; /* "absent" */
    uint64_t broken;  /* 0: it was kept */
    char text[200];   /* "3 of 51,234 reads" */
};
struct report_fact {
    const char *name;
    char value[256];
};
struct report_sighting { /* one violation, as seen */
    const char *kind;
    double at_s;
    const char *who, *text; /* borrowed */
};

struct report {
    const char *command; /* "race" */
    const char *subject; /* the backend */
    bool expect_violation;
    double seconds;
    struct report_check checks[REPORT_CHECKS_MAX];
    size_t check_count;
    struct report_fact facts[REPORT_FACTS_MAX];
    size_t fact_count;
    struct report_sighting sightings[REPORT_SIGHTINGS_MAX];
    size_t sighting_count;
    const struct histogram *read_ns; /* NULL: no picture */
    const struct gaps *gaps;         /* NULL: no picture */
};

void report_check(struct report *report, const char *name, const char *kind, uint64_t broken, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void report_fact(struct report *report, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_sighting(struct report *report, const char *kind, double at_s, const char *who, const char *text);

uint64_t report_violations(const struct report *report);
/* As the exit status: violations against what was expected. */
bool report_passed(const struct report *report);

void report_tap(const struct report *report, struct buf *out);
void report_junit(const struct report *report, struct buf *out);
void report_html(const struct report *report, struct buf *out);

/* For the --json results, whose fields are a promise; qstress(1) lists them. Each command makes its own object. */
json_t *report_count(uint64_t n);
json_t *report_micro(double ns); /* in microseconds, to a tenth: more would only look exact */
json_t *report_percentiles(const struct histogram *histogram);
/* The object as text and a newline; heap text of the caller. NULL: no memory. Takes the object. */
char *report_json(json_t *root);

/* Writes out to a file. False with errno. */
bool report_write(const struct buf *out, const char *file);

/* The files and the standard output that were asked for: junit and html may be NULL; json NULL means TAP. False: a
 * report could not be written, and standard error says which. */
bool report_emit(const struct report *report, const char *json, const char *junit, const char *html);

/* ---- a board in shared memory, on which processes pin the first few violations of each kind that they saw ---- */

#define SIGHTING_KINDS 8u
#define SIGHTINGS_KEPT 6u /* of each kind */

struct sighting {
    atomic_bool ready;
    uint64_t at_ns; /* since the start */
    char who[24];
    char text[240];
};

struct sightings { /* zero is empty */
    atomic_uint count[SIGHTING_KINDS];
    struct sighting kept[SIGHTING_KINDS][SIGHTINGS_KEPT];
};

/* Drops what is over the first few. The text may come from a torn file, so each byte that is not printable becomes '?'.
 */
void sightings_add(struct sightings *sightings, unsigned kind, uint64_t at_ns, const char *who, const char *text);

/* Puts the sightings of a kind into a report, which borrows them. */
void sightings_report(const struct sightings *sightings, unsigned kind, const char *name, struct report *report);

#endif
