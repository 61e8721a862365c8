/* SPDX-License-Identifier: Apache-2.0 */
/* Making a receipt. */
#include "sandbox/cmd/receipt.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "qsettings/version.h"
#include "sandbox/cmd/program_id.h"
#include "sandbox/host/probe.h"
#include "sandbox/run/run_record.h"
#include "text/doc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* PRETTY_NAME of os-release(5). */
static json_t *distribution(void)
{
    static const char name[] = "PRETTY_NAME=";
    FILE *file = fopen("/etc/os-release", "re");
    char line[256];
    json_t *found = NULL;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, sizeof name - 1) != 0)
            continue;
        char *value = line + sizeof name - 1;
        value += strspn(value, "\"'");
        value[strcspn(value, "\"'\n")] = '\0';
        found = json_string(value);
    }
    if (file)
        (void)fclose(file);
    return found ? found : json_null();
}

static json_t *writable_roots(const struct plan *plan)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->count; i++)
        if (plan->mounts[i].kind == MOUNT_WRITABLE)
            (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", plan->mounts[i].dest, "why",
                                                        plan->mounts[i].reason));
    return list;
}

static json_t *paths(const struct path_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->count; i++)
        (void)json_array_append_new(list, json_string(facts->items[i].path));
    return list;
}

static json_t *checks(const struct battery_report *battery)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < CHECK_COUNT; i++)
        (void)json_object_set_new(object, battery_check_name((enum battery_check)i),
                                  json_pack("{s:s, s:s}", "result", battery_result_name(battery->checks[i].result),
                                            "detail", battery->checks[i].detail));
    return object;
}

/* The result, and why it is not promote. */
static const char *conclude(const struct battery_report *battery, const struct receipt_given *given, json_t *reasons)
{
    char text[128];
    for (unsigned i = 0; i < CHECK_COUNT; i++) {
        enum battery_result result = battery->checks[i].result;
        if (result == BATTERY_PASS || result == BATTERY_NOT_APPLICABLE)
            continue;
        (void)snprintf(text, sizeof text, "the check %s failed", battery_check_name((enum battery_check)i));
        (void)json_array_append_new(reasons, json_string(text));
    }
    if (json_array_size(reasons))
        return "rollback";
    if (!given->owner)
        (void)json_array_append_new(reasons, json_string("no owner was given (--owner)"));
    if (!given->rollback)
        (void)json_array_append_new(reasons, json_string("no rollback command was given (--rollback)"));
    return json_array_size(reasons) ? "hold" : "promote";
}

/* ---- the parts ---- */

static json_t *about_machine(const struct context *context)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return json_pack("{s:s, s:o, s:s, s:o}", "format", RECEIPT_FORMAT, "date", record_time(&now), "kernel",
                     context->facts.kernel, "distribution", distribution());
}

static json_t *about_plan(const struct context *context)
{
    char digest[DIGEST_TEXT_BYTES];
    const struct root_fact *workspace = &context->facts.roots[0];
    digest_format(qs_policy_digest(context->result), digest);
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:s}", "repository", workspace->place.path, "checkout",
                     checkout_name(workspace->git.checkout), "backend", "bwrap", "enforcement",
                     record_enforcement(context), "network", context->plan.network_closed ? "closed" : "open",
                     "writableRoots", writable_roots(&context->plan), "hostSockets", paths(&context->facts.sockets),
                     "devices", paths(&context->facts.devices), "policyDigest", digest);
}

static json_t *about_battery(const struct battery_report *battery, const struct receipt_given *given)
{
    int error = battery->checks[CHECK_OUTSIDE_WRITE].error;
    json_t *reasons = json_array();
    const char *result = conclude(battery, given, reasons);
    return json_pack("{s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "checks", checks(battery), "outsideWriteErrno",
                     text_or_null(error ? strerrorname_np(error) : NULL), "worktreeCanary",
                     battery_result_name(battery->checks[CHECK_WORKTREE_COMMIT].result), "result", result, "reasons",
                     reasons, "hostGroup", text_or_null(given->host_group), "owner", text_or_null(given->owner),
                     "rollback", text_or_null(given->rollback));
}

static enum qs_status add_programs(const struct receipt_given *given, json_t *receipt, struct qs_error *err)
{
    const struct {
        const char *field, *name, *version;
    } programs[] = {{"executor", "/proc/self/exe", QS_VERSION},
                    {"bwrap", PROBE_BWRAP, NULL},
                    {"agent", given->agent, NULL}};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        json_t *program = NULL;
        if (!programs[i].name)
            program = json_null();
        enum qs_status status = program ? QS_OK : receipt_program(programs[i].name, programs[i].version, &program, err);
        if (status != QS_OK)
            return status;
        if (json_object_set_new(receipt, programs[i].field, program) != 0)
            return error_set(err, QS_IO, "out of memory");
    }
    return QS_OK;
}

enum qs_status receipt_make(const struct context *context, const struct battery_report *battery,
                            const struct receipt_given *given, json_t **ret_receipt, struct qs_error *err)
{
    AUTO(value_release) json_t *receipt = about_machine(context);
    AUTO(value_release) json_t *plan = about_plan(context);
    AUTO(value_release) json_t *rest = about_battery(battery, given);
    if (!receipt || !plan || !rest || json_object_update(receipt, plan) != 0 || json_object_update(receipt, rest) != 0)
        return error_set(err, QS_INVALID, "the receipt cannot be made: a given text or a path is not UTF-8");
    enum qs_status status = add_programs(given, receipt, err);
    if (status == QS_OK)
        *ret_receipt = STEAL(receipt);
    return status;
}
