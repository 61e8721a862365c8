/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines: '>' is a frame of the client, '<' one of the server. Invariants: what comes out is whole frames of right JSON;
 * nothing goes to the server but methods of the table; no call of a tool that no rule allows.
 */
#include "base/cleanup.h"
#include "fuzz/fuzz.h"
#include "sandbox/mcp/mcp_internal.h"

#include <string.h>

static void check_frame(const char *frame, size_t len, bool to_server)
{
    struct mcp_message message;
    MUST(mcp_message_read(frame, len, &message, NULL) == MCP_RIGHT ||
         (!to_server && memmem(frame, len, "\"id\":null,\"error\"", 17)));
    struct json_span whole;
    MUST(json_span_check(frame, len, MCP_DEPTH_MAX, &whole, NULL) == QS_OK);
    struct json_span method = json_span_member(whole, "method");
    struct json_span id = json_span_member(whole, "id");
    if (!method.text)
        return;
    MUST(mcp_method_find(method, to_server, id.text == NULL));
    if (to_server && json_span_equals(method, "tools/call"))
        MUST(json_span_equals(json_span_member(json_span_member(whole, "params"), "name"), "echo"));
}

static void check_frames(const struct buf *out, bool to_server)
{
    const char *at = out->data;
    const char *end = at + out->len;
    while (at && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        MUST(newline);
        check_frame(at, (size_t)(newline - at), to_server);
        at = newline + 1;
    }
}

static void check_output(struct mcp_output *out)
{
    check_frames(&out->to_client, false);
    check_frames(&out->to_server, true);
    mcp_output_clear(out);
}

static void free_machine(struct mcp **mcp)
{
    mcp_free(*mcp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = "echo";
    struct mcp_rule rules[] = {{.name = name, .any = true}};
    struct mcp_policy policy = {.rules = rules, .rule_count = 1, .roots = true};
    AUTO(mcp_output_release) struct mcp_output out = {0};
    AUTO(free_machine) struct mcp *mcp = mcp_new(&policy);
    MUST(mcp);
    const char *at = (const char *)data;
    const char *end = at + size;
    enum qs_status status = QS_OK;
    while (at < end && !status) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);
        if (len && *at == '<')
            status = mcp_from_server(mcp, at + 1, len - 1, &out, NULL);
        else if (len)
            status = mcp_from_client(mcp, at + 1, len - 1, &out, NULL);
        if (!status)
            check_output(&out);
        while (!status && mcp_next_waiting(mcp, &out, &status, NULL))
            check_output(&out);
        at += len + 1;
    }
    return 0;
}
