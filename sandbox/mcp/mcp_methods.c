/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that go through, and the members of their parameters. What is not in this table goes nowhere. */
#include "sandbox/mcp/mcp_internal.h"

#define CLIENT true, false
#define SERVER false, true
#define BOTH   true, true

static const struct mcp_method methods[] = {
    {"initialize", CLIENT, false, NEED_NOTHING, KIND_INITIALIZE, "protocolVersion capabilities clientInfo "},
    {"ping", BOTH, false, NEED_NOTHING, KIND_PASS, ""},
    {"tools/list", CLIENT, false, NEED_NOTHING, KIND_TOOLS_LIST, "cursor "},
    {"tools/call", CLIENT, false, NEED_NOTHING, KIND_TOOLS_CALL, "name arguments "},
    {"logging/setLevel", CLIENT, false, NEED_NOTHING, KIND_PASS, "level "},
    {"resources/list", CLIENT, false, NEED_RESOURCES, KIND_PASS, "cursor "},
    {"resources/templates/list", CLIENT, false, NEED_RESOURCES, KIND_PASS, "cursor "},
    {"resources/read", CLIENT, false, NEED_RESOURCES, KIND_PASS, "uri "},
    {"resources/subscribe", CLIENT, false, NEED_RESOURCES, KIND_PASS, "uri "},
    {"resources/unsubscribe", CLIENT, false, NEED_RESOURCES, KIND_PASS, "uri "},
    {"prompts/list", CLIENT, false, NEED_PROMPTS, KIND_PASS, "cursor "},
    {"prompts/get", CLIENT, false, NEED_PROMPTS, KIND_PASS, "name arguments "},
    {"completion/complete", CLIENT, false, NEED_EITHER, KIND_PASS, "ref argument context "},
    {"roots/list", SERVER, false, NEED_ROOTS, KIND_PASS, ""},
    {"sampling/createMessage", SERVER, false, NEED_SAMPLING, KIND_PASS,
     "messages modelPreferences systemPrompt includeContext temperature maxTokens stopSequences metadata tools "
     "toolChoice "},
    {"elicitation/create", SERVER, false, NEED_ELICITATION, KIND_PASS,
     "message requestedSchema mode url elicitationId "},
    {"notifications/initialized", CLIENT, true, NEED_NOTHING, KIND_INITIALIZED, ""},
    {"notifications/cancelled", BOTH, true, NEED_NOTHING, KIND_CANCELLED, "requestId reason "},
    {"notifications/progress", BOTH, true, NEED_NOTHING, KIND_PASS, "progressToken progress total message "},
    {"notifications/roots/list_changed", CLIENT, true, NEED_ROOTS, KIND_PASS, ""},
    {"notifications/message", SERVER, true, NEED_NOTHING, KIND_PASS, "level logger data "},
    {"notifications/tools/list_changed", SERVER, true, NEED_NOTHING, KIND_TOOLS_CHANGED, ""},
    {"notifications/resources/list_changed", SERVER, true, NEED_RESOURCES, KIND_PASS, ""},
    {"notifications/resources/updated", SERVER, true, NEED_RESOURCES, KIND_PASS, "uri title "},
    {"notifications/prompts/list_changed", SERVER, true, NEED_PROMPTS, KIND_PASS, ""},
};

const struct mcp_method *mcp_method_find(struct json_span name, bool by_client, bool notification)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const struct mcp_method *method = &methods[i];
        bool way = by_client ? method->by_client : method->by_server;
        if (way && method->notification == notification && json_span_equals(name, method->name))
            return method;
    }
    return NULL;
}

bool mcp_need_met(const struct mcp_policy *policy, enum mcp_need need)
{
    switch (need) {
    case NEED_NOTHING:
        return true;
    case NEED_RESOURCES:
        return policy->resources;
    case NEED_PROMPTS:
        return policy->prompts;
    case NEED_EITHER:
        return policy->resources || policy->prompts;
    case NEED_ROOTS:
        return policy->roots;
    case NEED_SAMPLING:
        return policy->sampling;
    case NEED_ELICITATION:
        return policy->elicitation;
    }
    return false;
}
