/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC messages: read with suspicion, written anew. */
#include "sandbox/mcp/mcp_internal.h"

#include <stdio.h>
#include <string.h>

#define ENVELOPE "jsonrpc id method params result error "

/* Calls back for each name of a list such as "cursor uri ". */
static bool next_name(const char **at, char out[64])
{
    size_t len = strcspn(*at, " ");
    if (!len || len >= 64)
        return false;
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len + 1;
    return true;
}

enum membership {
    MEMBER_KNOWN,
    MEMBER_UNKNOWN,
    MEMBER_DISGUISED, /* a known name in other letter case: some servers match without it */
};

static enum membership membership(struct json_span member, const char *names)
{
    char name[64];
    bool disguised = false;
    while (next_name(&names, name)) {
        if (json_span_equals(member, name))
            return MEMBER_KNOWN;
        disguised = disguised || json_span_equals_any_case(member, name);
    }
    return disguised ? MEMBER_DISGUISED : MEMBER_UNKNOWN;
}

static bool is_id(struct json_span id)
{
    char type = json_span_type(id);
    char text[MCP_NAME_BYTES];
    return id.len < MCP_NAME_BYTES && (type == '0' || (type == '"' && json_span_string(id, text, sizeof text)));
}

enum mcp_fault mcp_message_read(const char *frame, size_t len, struct mcp_message *ret_message, struct qs_error *err)
{
    struct json_span whole;
    if (json_span_check(frame, len, MCP_DEPTH_MAX, &whole, err))
        return MCP_NOT_JSON;
    if (json_span_type(whole) != '{')
        return MCP_NOT_REQUEST;
    struct json_span_item item = {0};
    while (json_span_next(whole, &item))
        if (membership(item.name, ENVELOPE) == MEMBER_DISGUISED)
            return MCP_NOT_REQUEST;
    struct mcp_message message = {.id = json_span_member(whole, "id"),
                                  .method = json_span_member(whole, "method"),
                                  .params = json_span_member(whole, "params"),
                                  .result = json_span_member(whole, "result"),
                                  .error = json_span_member(whole, "error")};
    struct json_span version = json_span_member(whole, "jsonrpc");
    bool right = version.text && json_span_equals(version, "2.0");
    right = right && (!message.id.text || is_id(message.id));
    right = right && (!message.params.text || json_span_type(message.params) == '{');
    if (message.method.text)
        right = right && json_span_type(message.method) == '"' && !message.result.text && !message.error.text;
    else
        right = right && message.id.text && !message.params.text && !message.result.text != !message.error.text;
    if (!right)
        return MCP_NOT_REQUEST;
    *ret_message = message;
    return MCP_RIGHT;
}

void mcp_add_span(struct buf *out, struct json_span span)
{
    buf_add(out, span.text, span.len);
}

bool mcp_known_members(struct json_span object, const char *names, struct buf *out)
{
    struct json_span_item item = {0};
    bool first = true;
    buf_add_char(out, '{');
    while (object.text && json_span_next(object, &item)) {
        bool meta = json_span_equals(item.name, "_meta");
        enum membership is = meta ? MEMBER_KNOWN : membership(item.name, names);
        if (is == MEMBER_DISGUISED || (!meta && json_span_equals_any_case(item.name, "_meta")))
            return false;
        if (is == MEMBER_UNKNOWN)
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        mcp_add_span(out, item.name);
        buf_add_char(out, ':');
        mcp_add_span(out, item.value);
    }
    buf_add_char(out, '}');
    return true;
}

void mcp_add_request(struct buf *out, struct json_span id, const char *method, const struct buf *params)
{
    buf_add_str(out, "{\"jsonrpc\":\"2.0\"");
    if (id.text) {
        buf_add_str(out, ",\"id\":");
        mcp_add_span(out, id);
    }
    buf_printf(out, ",\"method\":\"%s\"", method);
    if (params->len > 2) { /* not "{}" */
        buf_add_str(out, ",\"params\":");
        buf_add(out, params->data, params->len);
    }
    buf_add_str(out, "}\n");
}

void mcp_add_result(struct buf *out, const char *id, size_t id_len, const char *result, size_t result_len)
{
    buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add(out, id, id_len);
    buf_add_str(out, ",\"result\":");
    buf_add(out, result, result_len);
    buf_add_str(out, "}\n");
}

/* text and data are ours: text needs no escapes, data is JSON or NULL. */
void mcp_add_error(struct buf *out, struct json_span id, int code, const char *text, const char *data)
{
    buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id.text)
        mcp_add_span(out, id);
    else
        buf_add_str(out, "null");
    buf_printf(out, ",\"error\":{\"code\":%d,\"message\":\"qsandbox: %s\"", code, text);
    if (data)
        buf_printf(out, ",\"data\":%s", data);
    buf_add_str(out, "}}\n");
}

static bool capability_allowed(const struct mcp_policy *policy, bool of_client, struct json_span name)
{
    static const struct {
        const char *name;
        bool of_client;
        enum mcp_need need;
    } known[] = {
        {"roots", true, NEED_ROOTS},      {"sampling", true, NEED_SAMPLING},   {"elicitation", true, NEED_ELICITATION},
        {"tools", false, NEED_NOTHING},   {"logging", false, NEED_NOTHING},    {"resources", false, NEED_RESOURCES},
        {"prompts", false, NEED_PROMPTS}, {"completions", false, NEED_EITHER},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].of_client == of_client && json_span_equals(name, known[i].name))
            return mcp_need_met(policy, known[i].need);
    return false;
}

void mcp_add_capabilities(const struct mcp_policy *policy, bool of_client, struct json_span capabilities,
                          struct buf *out)
{
    struct json_span_item item = {0};
    bool first = true;
    buf_add_char(out, '{');
    while (json_span_type(capabilities) == '{' && json_span_next(capabilities, &item)) {
        if (!capability_allowed(policy, of_client, item.name))
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        mcp_add_span(out, item.name);
        buf_add_char(out, ':');
        mcp_add_span(out, item.value);
    }
    buf_add_char(out, '}');
}

bool mcp_version_known(struct json_span version)
{
    static const char *const known[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (version.text && json_span_equals(version, known[i]))
            return true;
    return false;
}
