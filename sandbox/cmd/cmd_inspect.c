/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox inspect: the plan that run would follow, in words or as JSON. Nothing is made, nothing is run. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/cmd/inspect.h"
#include "sandbox/host/probe.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <stdio.h>
#include <string.h>

static void print_scalar(const json_t *value)
{
    if (json_is_string(value))
        terminal_put(stdout, json_string_value(value));
    else if (json_is_integer(value))
        (void)printf("%lld", (long long)json_integer_value(value));
    else
        (void)printf("%s", json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-");
}

/* "path  (reason)" and the like: the first member, then the others in parentheses. */
static void print_entry(json_t *entry)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    json_object_foreach(entry, key, value)
    {
        (void)printf("%s", count == 0 ? "  " : count == 1 ? "  (" : ", ");
        if (count)
            (void)printf("%s: ", key);
        print_scalar(value);
        count++;
    }
    (void)printf("%s\n", count > 1 ? ")" : "");
}

static void print_section(const char *name, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    (void)printf("%s:", name);
    if (json_is_object(value)) {
        (void)printf("\n");
        json_object_foreach(value, key, item)
        {
            if (json_is_array(item) || json_is_object(item)) {
                (void)printf("  ");
                print_section(key, item);
            } else {
                (void)printf("  %s: ", key);
                print_scalar(item);
                (void)printf("\n");
            }
        }
    } else if (json_is_array(value)) {
        (void)printf("%s\n", json_array_size(value) ? "" : " none");
        json_array_foreach(value, i, item)
        {
            if (json_is_object(item)) {
                print_entry(item);
            } else {
                (void)printf("  ");
                print_scalar(item);
                (void)printf("\n");
            }
        }
    } else {
        (void)printf(" ");
        print_scalar(value);
        (void)printf("\n");
    }
}

static enum qs_status print(const struct options *options, json_t *report, struct qs_error *err)
{
    const char *key;
    json_t *value;
    if (!options->json) {
        json_object_foreach(report, key, value) print_section(key, value);
        return QS_OK;
    }
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = value_encode_pretty(report, &text, err);
    if (status == QS_OK)
        (void)printf("%s\n", text.data);
    return status;
}

int cmd_inspect(const struct options *options)
{
    struct context context;
    struct qs_error err = {0};
    AUTO(value_release) json_t *report = NULL;
    enum qs_status status = context_open(options, false, 0, &context, &err);
    if (status == QS_OK)
        status = probe_bwrap(PROBE_BWRAP, &err);
    if (status == QS_OK)
        report = inspect_report(&context);
    if (status == QS_OK)
        status = report ? print(options, report, &err) : error_set(&err, QS_IO, "out of memory");
    context_release(&context);
    return status == QS_OK ? 0 : report_error(&err, -status);
}
