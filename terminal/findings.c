/* SPDX-License-Identifier: Apache-2.0 */
/* A doctor's findings, as a list, as JSON and as lines. */
#include "terminal/findings.h"

#include "base/cleanup.h"
#include "terminal/paint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const result_names[] = {[FINDING_OK] = "ok", [FINDING_WARN] = "warn", [FINDING_FAIL] = "fail"};
static const enum paint result_paints[] = {
    [FINDING_OK] = PAINT_GOOD, [FINDING_WARN] = PAINT_WARN, [FINDING_FAIL] = PAINT_BAD};

void findings_release(struct findings *findings)
{
    json_decref(findings->list);
    *findings = (struct findings){0};
}

/* Paths and messages of the system may be no UTF-8; what is not becomes visible. */
static json_t *words(const char *text)
{
    AUTO(buf_release) struct buf clean = {0};
    if (!text)
        return json_null();
    terminal_text(&clean, text, strlen(text), TERMINAL_LINE);
    return clean.failed ? NULL : json_stringn(clean.data ? clean.data : "", clean.len);
}

static void append(struct findings *findings, json_t *check)
{
    if (!findings->list)
        findings->list = json_array();
    if (!check || json_array_append_new(findings->list, check) != 0)
        findings->failed = true;
}

void finding_add(struct findings *findings, const char *name, enum finding_result result, const char *advice,
                 const char *format, ...)
{
    AUTO_FREE char *detail = NULL;
    AUTO(buf_release) struct buf text = {0};
    va_list args;
    va_start(args, format);
    if (vasprintf(&detail, format, args) < 0)
        detail = NULL;
    va_end(args);
    if (advice && findings->line)
        add_advice(findings->line, advice, &text);
    append(findings,
           json_pack("{s:s, s:s, s:o, s:o}", "name", name, "result", result_names[result], "detail",
                     words(detail ? detail : "(no memory)"), "advice", words(text.data ? text.data : advice)));
}

void finding_add_error(struct findings *findings, const char *name, enum finding_result result,
                       const struct qs_error *err, const char *advice)
{
    const char *where = err->file[0] ? err->file : err->path;
    bool said = !where[0] || strstr(err->message, where);
    finding_add(findings, name, result, err->advice[0] ? err->advice : advice, "%s: %s%s%s",
                qs_status_name(err->status), err->message, said ? "" : ", ", said ? "" : where);
}

static bool result_of(const json_t *check, enum finding_result *ret_result)
{
    const char *name = json_string_value(json_object_get(check, "result"));
    for (size_t i = 0; name && i < sizeof result_names / sizeof result_names[0]; i++)
        if (strcmp(name, result_names[i]) == 0) {
            *ret_result = (enum finding_result)i;
            return true;
        }
    return false;
}

bool findings_join(struct findings *findings, const char *json, size_t len)
{
    AUTO(value_release) json_t *report = NULL;
    enum finding_result result;
    json_t *check;
    size_t i;
    if (value_decode(json, len, &report, NULL))
        return false;
    json_t *checks = json_object_get(report, "checks");
    if (!json_is_array(checks) || json_array_size(checks) == 0)
        return false;
    json_array_foreach(checks, i, check)
    {
        if (!result_of(check, &result) || !json_is_string(json_object_get(check, "name")) ||
            !json_is_string(json_object_get(check, "detail")))
            return false;
    }
    json_array_foreach(checks, i, check) append(findings, json_incref(check));
    return true;
}

enum finding_result findings_worst(const struct findings *findings)
{
    enum finding_result worst = findings->failed ? FINDING_FAIL : FINDING_OK, result;
    json_t *check;
    size_t i;
    json_array_foreach(findings->list, i, check)
    {
        if (!result_of(check, &result))
            result = FINDING_FAIL;
        worst = result > worst ? result : worst;
    }
    return worst;
}

json_t *findings_json(const struct findings *findings)
{
    if (findings->failed || !findings->list)
        return NULL;
    return json_pack("{s:O, s:s}", "checks", findings->list, "result", result_names[findings_worst(findings)]);
}

static const char *text_of(const json_t *check, const char *name)
{
    const char *text = json_string_value(json_object_get(check, name));
    return text ? text : "";
}

void findings_text(const struct findings *findings, struct buf *out)
{
    size_t columns = 0, i;
    json_t *check;
    json_array_foreach(findings->list, i, check)
    {
        size_t width = terminal_width(text_of(check, "name"), strlen(text_of(check, "name")));
        columns = width > columns ? width : columns;
    }
    json_array_foreach(findings->list, i, check)
    {
        enum finding_result result = FINDING_FAIL;
        const char *advice = text_of(check, "advice");
        (void)result_of(check, &result);
        paint(out, result_paints[result]);
        terminal_pad(out, result_names[result], 4);
        paint(out, PAINT_END);
        buf_add_str(out, "  ");
        terminal_pad(out, text_of(check, "name"), columns);
        buf_printf(out, "  %s%s%s\n", text_of(check, "detail"), advice[0] ? "; " : "", advice);
    }
}
