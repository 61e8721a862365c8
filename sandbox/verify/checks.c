/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `verify`, and how a report is read. */
#include "sandbox/verify/checks.h"

static const struct {
    const char *name;
    enum verify_scene scene;
} table[] = {
#define VERIFY_ROW(id, text, where, function) {text, SCENE_##where},
    VERIFY_CHECKS(VERIFY_ROW)
#undef VERIFY_ROW
};

const char *verify_check_name(enum verify_check check)
{
    return table[check].name;
}

enum verify_scene verify_check_scene(enum verify_check check)
{
    return table[check].scene;
}

const char *verify_result_name(enum verify_result result)
{
    switch (result) {
    case VERIFY_PASS:
        return "pass";
    case VERIFY_NOT_APPLICABLE:
        return "not-applicable";
    case VERIFY_MISSING:
    case VERIFY_FAIL:
        return "fail";
    }
    return "fail";
}

bool verify_passed(const struct verify_report *report)
{
    for (size_t i = 0; i < CHECK_COUNT; i++)
        if (report->checks[i].result != VERIFY_PASS && report->checks[i].result != VERIFY_NOT_APPLICABLE)
            return false;
    return true;
}

json_t *verify_json(const struct verify_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        const struct verify_entry *entry = &report->checks[i];
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", table[i].name, "result",
                                                    verify_result_name(entry->result), "detail", entry->detail));
    }
    return json_pack("{s:o, s:s}", "checks", list, "result", verify_passed(report) ? "pass" : "fail");
}
