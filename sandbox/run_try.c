/* SPDX-License-Identifier: Apache-2.0 */
/* Running a plan by descriptor, by name, or not at all. */
#include "sandbox/run_try.h"

#include "sandbox/probe.h"
#include "store/error.h"

#include <stdio.h>

/* Roots that were reached through a link cannot be bound by name alone. */
static enum qs_status check_by_name(const struct host_facts *facts, struct qs_error *err)
{
    for (size_t i = 0; i < facts->root_count; i++)
        if (facts->roots[i].place.link_count)
            return error_set(err, QS_INVALID, "%s is reached through a link, and this bubblewrap has no --bind-fd",
                             facts->roots[i].place.given);
    return QS_OK;
}

static enum qs_status explain(const struct run_result *result, struct qs_error *err)
{
    char text[QS_ERROR_TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%s", err->message);
    return probe_explain(PROBE_BWRAP, result->bwrap_status, text, err);
}

enum qs_status run_try(const struct run_request *request, const struct host_facts *facts, struct run_result *ret_result,
                       struct qs_error *err)
{
    struct run_request by_name = *request;
    enum qs_status status = probe_bwrap(PROBE_BWRAP, err);
    if (status == QS_OK)
        status = run_plan(request, ret_result, err);
    if (!ret_result->bwrap_failed)
        return status;
    /* Only now is it worth a look what this bubblewrap can do: when all is well, no probe costs a start. */
    if (probe_bind_fd(PROBE_BWRAP))
        return explain(ret_result, err);
    by_name.by_name = true;
    status = check_by_name(facts, err);
    if (status == QS_OK)
        status = run_plan(&by_name, ret_result, err);
    else
        ret_result->bwrap_failed = false; /* the link is what stops it, and the reason to tell */
    return ret_result->bwrap_failed ? explain(ret_result, err) : status;
}
