/* SPDX-License-Identifier: Apache-2.0 */
/* What a report contains, and the sightings that processes leave for it. */
#include "stress/harness/report.h"

#include "stress/harness/stress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

void report_check(struct report *report, const char *name, const char *kind, uint64_t broken, const char *format, ...)
{
    if (report->check_count == REPORT_CHECKS_MAX)
        return;
    struct report_check *check = &report->checks[report->check_count++];
    va_list args;
    check->name = name;
    check->kind = kind;
    check->broken = broken;
    va_start(args, format);
    (void)vsnprintf(check->text, sizeof check->text, format, args);
    va_end(args);
}

void report_fact(struct report *report, const char *name, const char *format, ...)
{
    if (report->fact_count == REPORT_FACTS_MAX)
        return;
    struct report_fact *fact = &report->facts[report->fact_count++];
    va_list args;
    fact->name = name;
    va_start(args, format);
    (void)vsnprintf(fact->value, sizeof fact->value, format, args);
    va_end(args);
    for (char *at = fact->value; *at; at++) /* a command may have lines; TAP is line by line */
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
}

void report_sighting(struct report *report, const char *kind, double at_s, const char *who, const char *text)
{
    if (report->sighting_count < REPORT_SIGHTINGS_MAX)
        report->sightings[report->sighting_count++] = (struct report_sighting){kind, at_s, who, text};
}

uint64_t report_violations(const struct report *report)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->check_count; i++)
        sum += report->checks[i].broken;
    return sum;
}

bool report_passed(const struct report *report)
{
    return (report_violations(report) > 0) == report->expect_violation;
}

bool report_write(const struct buf *out, const char *file)
{
    if (out->failed) {
        errno = ENOMEM;
        return false;
    }
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    for (size_t at = 0; at < out->len;) {
        ssize_t n = write(fd, out->data + at, out->len - at);
        if (n < 0 && errno != EINTR) {
            int saved = errno;
            (void)close(fd);
            errno = saved;
            return false;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return close(fd) == 0;
}

static bool write_one(const struct report *report, void (*face)(const struct report *, struct buf *), const char *file)
{
    if (!file)
        return true;
    struct buf out = {0};
    face(report, &out);
    bool ok = report_write(&out, file);
    if (!ok)
        (void)stress_fail(STRESS_FAILED, "cannot write %s: %s", file, strerrordesc_np(errno));
    buf_release(&out);
    return ok;
}

bool report_emit(const struct report *report, const char *json, const char *junit, const char *html)
{
    struct buf tap = {0};
    report_tap(report, &tap);
    bool ok = !tap.failed && fputs(json ? json : tap.data, stdout) >= 0 && fflush(stdout) == 0;
    buf_release(&tap);
    if (!ok)
        (void)stress_fail(STRESS_FAILED, "cannot write to standard output");
    ok = write_one(report, report_junit, junit) && ok;
    return write_one(report, report_html, html) && ok;
}

/* ---- sightings in shared memory ---- */

void sightings_add(struct sightings *sightings, unsigned kind, uint64_t at_ns, const char *who, const char *text)
{
    if (atomic_load(&sightings->count[kind]) >= SIGHTINGS_KEPT)
        return;
    unsigned index = atomic_fetch_add(&sightings->count[kind], 1);
    if (index >= SIGHTINGS_KEPT)
        return;
    struct sighting *sighting = &sightings->kept[kind][index];
    sighting->at_ns = at_ns;
    (void)snprintf(sighting->who, sizeof sighting->who, "%s", who);
    (void)snprintf(sighting->text, sizeof sighting->text, "%s", text);
    for (char *at = sighting->text; *at; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    atomic_store(&sighting->ready, true);
}

void sightings_report(const struct sightings *sightings, unsigned kind, const char *name, struct report *report)
{
    for (unsigned i = 0; i < SIGHTINGS_KEPT; i++) {
        const struct sighting *sighting = &sightings->kept[kind][i];
        if (atomic_load(&sighting->ready))
            report_sighting(report, name, (double)sighting->at_ns / 1e9, sighting->who, sighting->text);
    }
}
