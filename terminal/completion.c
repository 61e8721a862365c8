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

void completion_offer_choices(const struct completion *to, const char *choices)
{
    offer_choices(to, choices, strlen(choices));
}

static const struct completion_option *find(const struct completion_option *options, size_t count, const char *word)
{
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < count; i++)
        if (len > 2 && strlen(options[i].name) == len - 2 && strncmp(word + 2, options[i].name, len - 2) == 0)
            return &options[i];
    return NULL;
}

static void offer_options(const struct completion *to, const struct completion_option *options, size_t count)
{
    char text[64];
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) < sizeof text - 2) {
            stpcpy(stpcpy(text, "--"), options[i].name);
            completion_offer(to, text, options[i].help);
        }
}

struct completion_line completion_walk(struct buf *out, const struct completion_option *options, size_t count,
                                       int word_count, char *const *words)
{
    struct completion_line line = {0};
    struct completion to = {.out = out, .word = word_count ? words[word_count - 1] : ""};
    const struct completion_option *pending = NULL;
    bool ended = false;
    for (int i = 0; i + 1 < word_count; i++) {
        bool is_option = !ended && !pending && words[i][0] == '-' && words[i][1];
        const struct completion_option *option = is_option ? find(options, count, words[i]) : NULL;
        if (!is_option && !pending) {
            ended = true;
            line.operands++;
        }
        pending = option && option->argument && !strchr(words[i], '=') ? option : NULL;
        ended = ended || (is_option && strcmp(words[i], "--") == 0);
    }
    const char *equals = strchr(to.word, '=');
    line.answered = pending || (!ended && to.word[0] == '-');
    if (!pending && line.answered && equals) {
        pending = find(options, count, to.word);
        to.lead = (size_t)(equals - to.word) + 1;
    } else if (!pending && line.answered) {
        offer_options(&to, options, count);
    }
    if (pending && pending->argument)
        completion_offer_named(&to, pending->argument, strlen(pending->argument));
    return line;
}
