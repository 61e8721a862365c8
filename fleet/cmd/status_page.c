/* SPDX-License-Identifier: Apache-2.0 */
/* status as a page: how many are where, serial by ring, and each machine. */
#include "fleet/cmd/qfleet.h"
#include "terminal/html.h"

#include <string.h>

/* "1-41 in ring 0: 12 machines", one row for each pair that there is. */
static void serials_by_ring(const struct standings *standings, struct buf *out)
{
    html_heading(out, "Serial by ring");
    html_table(out, (const char *const[]){"ring", "applied", "machines", NULL});
    for (size_t i = 0; i < standings->count; i++) {
        const struct standing *one = &standings->items[i];
        size_t count = 0, first = standings->count;
        for (size_t j = 0; j < standings->count; j++) {
            const struct standing *other = &standings->items[j];
            bool same = other->ring == one->ring && !fleet_order_compare(other->report.applied, one->report.applied);
            first = same && first == standings->count ? j : first;
            count += same;
        }
        if (first != i)
            continue;
        html_row(out);
        if (one->ring < 0)
            html_cell(out, NULL, "-");
        else
            html_cell(out, "number", "%d", one->ring);
        html_cell(out, NULL, "%llu-%llu", (unsigned long long)one->report.applied.keys,
                  (unsigned long long)one->report.applied.serial);
        html_cell(out, "number", "%zu", count);
        html_row_end(out);
    }
    html_table_end(out);
}

static void machine_row(const struct standing *standing, struct buf *out)
{
    AUTO(buf_release) struct buf flags = {0};
    for (int i = 0; i < FLAG_COUNT; i++)
        if (standing->flags & 1u << i)
            buf_printf(&flags, "%s%s", flags.len ? ", " : "", flag_name((enum flag)i));
    html_row(out);
    html_cell(out, NULL, "%s", standing->id);
    html_cell(out, NULL, "%s", standing->label);
    html_cell(out, NULL, "%s", standing->group);
    html_cell(out, NULL, "%llu-%llu", (unsigned long long)standing->report.applied.keys,
              (unsigned long long)standing->report.applied.serial);
    html_cell(out, standing->flags ? "bad" : "good", "%s",
              standing->reported ? machine_state_name(standing->report.state) : "-");
    html_cell(out, NULL, "%s", flags.data ? flags.data : "");
    html_cell(out, NULL, "%s", standing->report.reason);
    html_row_end(out);
}

void status_page(const struct work *work, const struct standings *standings, struct buf *out)
{
    size_t counts[FLAG_COUNT] = {0}, well = 0;
    for (size_t i = 0; i < standings->count; i++) {
        well += !standings->items[i].flags;
        for (int f = 0; f < FLAG_COUNT; f++)
            counts[f] += standings->items[i].flags >> f & 1;
    }
    html_begin(out, "qfleet status");
    html_paragraph(out, well == standings->count ? "good" : "bad",
                   "Fleet %s, bundle %llu-%llu: %zu of %zu machines are well.", work->fleet,
                   (unsigned long long)work->newest.keys, (unsigned long long)work->newest.serial, well,
                   standings->count);
    html_table(out, (const char *const[]){"", "machines", NULL});
    for (int f = 0; f < FLAG_COUNT; f++) {
        html_row(out);
        html_cell(out, counts[f] ? "bad" : NULL, "%s", flag_name((enum flag)f));
        html_cell(out, "number", "%zu", counts[f]);
        html_row_end(out);
    }
    html_table_end(out);
    serials_by_ring(standings, out);
    html_heading(out, "Machines");
    html_table(out, (const char *const[]){"id", "label", "group", "applied", "state", "note", "reason", NULL});
    for (size_t i = 0; i < standings->count; i++)
        machine_row(&standings->items[i], out);
    html_table_end(out);
    html_end(out);
}
