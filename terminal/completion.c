/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates. */
#include "terminal/completion.h"

#include <string.h>

void completion_offer(const struct completion *to, const char *candidate, const char *description)
{
    const char *rest = to->word + to->lead;
    if (strncmp(candidate, rest, strlen(rest)) != 0)
        return;
    buf_add(to->out, to->word, to->lead);
    buf_add_str(to->out, candidate);
    if (description && description[0])
        buf_printf(to->out, "\t%.*s", (int)strcspn(description, "\n"), description);
    buf_add_char(to->out, '\n');
}

static void offer_choices(const struct completion *to, const char *choices, size_t size)
{
    char choice[64];
    for (const char *at = choices, *end = choices + size; at < end;) {
        size_t len = strcspn(at, "| ");
        if (len < sizeof choice) {
            memcpy(choice, at, len);
            choice[len] = '\0';
            completion_offer(to, choice, NULL);
        }
        at += len + 1;
    }
}

void completion_offer_files(const struct completion *to)
{
    buf_printf(to->out, ":files\t%zu\n", to->lead);
}

void completion_offer_dirs(const struct completion *to)
{
    buf_printf(to->out, ":dirs\t%zu\n", to->lead);
}

void completion_offer_programs(const struct completion *to)
{
    buf_printf(to->out, ":commands\t%zu\n", to->lead);
}

void completion_offer_named(const struct completion *to, const char *name, size_t len)
{
    static const struct {
        const char *name;
        void (*offer)(const struct completion *to);
    } kinds[] = {{"FILE", completion_offer_files},
                 {"DIR", completion_offer_dirs},
                 {"PROGRAM", completion_offer_programs},
                 {"ARGUMENT", completion_offer_files}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].name) == len && strncmp(name, kinds[i].name, len) == 0)
            kinds[i].offer(to);
    if (name[0] >= 'a' && name[0] <= 'z')
        offer_choices(to, name, len);
}
