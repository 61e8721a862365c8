/* SPDX-License-Identifier: Apache-2.0 */
/* The board of notes. */
#include "stress/harness/findings_board.h"

#include <stdio.h>

void notes_add(struct notes *notes, unsigned kind, uint64_t at_ns, const char *who, const char *text)
{
    if (atomic_load(&notes->count[kind]) >= NOTES_KEPT)
        return;
    unsigned index = atomic_fetch_add(&notes->count[kind], 1);
    if (index >= NOTES_KEPT)
        return;
    struct note *note = &notes->kept[kind][index];
    note->at_ns = at_ns;
    (void)snprintf(note->who, sizeof note->who, "%s", who);
    (void)snprintf(note->text, sizeof note->text, "%s", text);
    for (char *at = note->text; *at; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    atomic_store(&note->ready, true);
}

void notes_report(const struct notes *notes, unsigned kind, const char *name, struct report *report)
{
    for (unsigned i = 0; i < NOTES_KEPT; i++) {
        const struct note *note = &notes->kept[kind][i];
        if (atomic_load(&note->ready))
            report_note(report, name, (double)note->at_ns / 1e9, note->who, note->text);
    }
}
