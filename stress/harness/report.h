/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: one record of what was tried and found, and its faces: TAP, JUnit, HTML. (JSON is each command's own.)
 *
 * A check is one claim ("never absent"), with how often it was broken. With expect_violation the thing tested is known
 * to be bad: then the checks are only told, and the one thing that can fail is that none of them was broken.
 */
#ifndef STRESS_REPORT_H
#define STRESS_REPORT_H

#include "stress/harness/histogram.h"
#include "stress/ways/absence_watch.h"

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_CHECKS_MAX 16u
#define REPORT_FACTS_MAX  32u
#define REPORT_NOTES_MAX  64u

struct report_check {
    const char *name; /* "never absent" */
    const char *kind; /* "absent" */
    uint64_t broken;  /* 0: it held */
    char text[200];   /* "3 of 51,234 reads" */
};
struct report_fact {
    const char *name;
    char value[256];
};
struct report_note { /* one violation, as seen */
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
    struct report_note notes[REPORT_NOTES_MAX];
    size_t note_count;
    const struct histogram *read_ns; /* NULL: no picture */
    const struct gaps *gaps;         /* NULL: no picture */
};

void report_check(struct report *report, const char *name, const char *kind, uint64_t broken, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void report_fact(struct report *report, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_note(struct report *report, const char *kind, double at_s, const char *who, const char *text);

uint64_t report_violations(const struct report *report);
/* As the exit status: violations against what was expected. */
bool report_passed(const struct report *report);

void report_tap(const struct report *report, struct buf *out);
void report_junit(const struct report *report, struct buf *out);
void report_html(const struct report *report, struct buf *out);

/* Text for XML and HTML: & < > " ' as entities; control characters, and bytes of a text
 * that is not UTF-8, as '?'. */
void report_escape(struct buf *out, const char *text);

/* Writes out to a file. False with errno. */
bool report_write(const struct buf *out, const char *file);

/* The files and the standard output that were asked for: junit and html may be NULL; json NULL means TAP. False: a
 * report could not be written, and standard error says which. */
bool report_emit(const struct report *report, const char *json, const char *junit, const char *html);

#endif
