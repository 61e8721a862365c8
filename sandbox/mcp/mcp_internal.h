/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_MCP_INTERNAL_H
#define SANDBOX_MCP_INTERNAL_H

#include "sandbox/mcp/mcp.h"
#include "text/json_span.h"

/* ---- methods: mcp_methods.c ---- */

enum mcp_need { /* which part of the policy a method needs */
                NEED_NOTHING,
                NEED_RESOURCES,
                NEED_PROMPTS,
                NEED_EITHER, /* resources or prompts */
                NEED_ROOTS,
                NEED_SAMPLING,
                NEED_ELICITATION,
};

enum mcp_kind {
    KIND_PASS,
    KIND_INITIALIZE,
    KIND_TOOLS_LIST,
    KIND_TOOLS_CALL,
    KIND_TOOLS_CHANGED,
    KIND_INITIALIZED,
    KIND_CANCELLED,
};

struct mcp_method {
    const char *name;
    bool by_client, by_server, notification;
    enum mcp_need need;
    enum mcp_kind kind;
    const char *params; /* names, each followed by a space; _meta is known everywhere */
};

const struct mcp_method *mcp_method_find(struct json_span name, bool by_client, bool notification);
bool mcp_need_met(const struct mcp_policy *policy, enum mcp_need need);

/* ---- messages: mcp_message.c ---- */

struct mcp_message {
    struct json_span id, method, params, result, error; /* text NULL: absent */
};

enum mcp_fault {
    MCP_RIGHT,
    MCP_NOT_JSON,   /* -32700 */
    MCP_NOT_REQUEST /* -32600: a batch, not an object, members that are missing or twice by another case */
};
enum mcp_fault mcp_message_read(const char *frame, size_t len, struct mcp_message *ret_message, struct qs_error *err);

/* {known members of object}, as bytes; false: an unknown member differs from a known one by letter case alone. */
bool mcp_known_members(struct json_span object, const char *names, struct buf *out);
void mcp_add_span(struct buf *out, struct json_span span);
void mcp_add_request(struct buf *out, struct json_span id, const char *method, const struct buf *params);
void mcp_add_result(struct buf *out, const char *id, size_t id_len, const char *result, size_t result_len);
void mcp_add_error(struct buf *out, struct json_span id, int code, const char *text, const char *data);
/* Capabilities of a client or server, less what the policy does not allow. */
void mcp_add_capabilities(const struct mcp_policy *policy, bool of_client, struct json_span capabilities,
                          struct buf *out);
bool mcp_version_known(struct json_span version);

/* ---- tools: mcp_tools.c ---- */

struct mcp_tool {
    char *name;
    char *text; /* as sent */
    size_t text_len;
    uint8_t digest[QS_DIGEST_BYTES];
    const struct mcp_rule *rule; /* NULL: not allowed */
    bool twice;                  /* the name stands in the list more than once: nobody knows which is meant */
};

struct mcp_tools {
    struct mcp_tool *items;
    size_t count;
};

void mcp_tools_release(struct mcp_tools *tools);
/* Errors: QS_INVALID (malformed, over the bound), QS_IO. */
enum qs_status mcp_tools_add(struct mcp_tools *tools, const struct mcp_policy *policy, struct json_span list,
                             struct qs_error *err) QS_MUST_USE;
bool mcp_tool_matches(const struct mcp_tool *tool); /* allowed, and the one that was approved */
const struct mcp_tool *mcp_tools_find(const struct mcp_tools *tools, const char *name);
void mcp_tools_write(const struct mcp_tools *tools, struct buf *out); /* {"tools":[...]} */

#endif
