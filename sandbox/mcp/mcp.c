/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/mcp/mcp_internal.h"

#include "base/cleanup.h"
#include "base/digest.h"

#include <stdio.h>
#include <string.h>

#define OWN_ID "qsandbox:" /* ids of our own requests; a client's that begins so is refused */

#define CODE_PARSE     (-32700)
#define CODE_REQUEST   (-32600)
#define CODE_METHOD    (-32601)
#define CODE_PARAMS    (-32602)
#define CODE_INTERNAL  (-32603)
#define CODE_DIFFERENT (-32002) /* a tool that is not the one that was approved */

struct open_request {
    char id[MCP_NAME_BYTES]; /* as it was written */
    const struct mcp_method *method;
};

struct open_requests {
    struct open_request *items; /* MCP_OPEN_MAX */
    size_t count;
};

enum list_state {
    LIST_UNKNOWN,
    LIST_ASKED,
    LIST_KNOWN,
};

struct mcp {
    const struct mcp_policy *policy;
    struct open_requests to_server, to_client;
    enum list_state list;
    bool initialized; /* the client has said so */
    unsigned list_number, pages;
    struct mcp_tools tools, coming;
    struct buf waiting[MCP_WAITING_MAX]; /* frames of the client */
    size_t waiting_count, waiting_next;
    char noted[2 * MCP_NOTED_MAX][MCP_NAME_BYTES];
    size_t noted_count;
};

void mcp_output_release(struct mcp_output *out)
{
    buf_release(&out->to_client);
    buf_release(&out->to_server);
}

void mcp_output_clear(struct mcp_output *out)
{
    buf_clear(&out->to_client);
    buf_clear(&out->to_server);
    out->call = out->dropped = out->dropped_by_server = false;
}

struct mcp *mcp_new(const struct mcp_policy *policy)
{
    struct mcp *mcp = calloc(1, sizeof *mcp);
    if (!mcp)
        return NULL;
    mcp->policy = policy;
    mcp->to_server.items = calloc(MCP_OPEN_MAX, sizeof *mcp->to_server.items);
    mcp->to_client.items = calloc(MCP_OPEN_MAX, sizeof *mcp->to_client.items);
    if (mcp->to_server.items && mcp->to_client.items)
        return mcp;
    mcp_free(mcp);
    return NULL;
}

void mcp_free(struct mcp *mcp)
{
    if (!mcp)
        return;
    free(mcp->to_server.items);
    free(mcp->to_client.items);
    mcp_tools_release(&mcp->tools);
    mcp_tools_release(&mcp->coming);
    for (size_t i = 0; i < mcp->waiting_count; i++)
        buf_release(&mcp->waiting[i]);
    free(mcp);
}

/* ---- open requests ---- */

static struct open_request *open_find(struct open_requests *open, struct json_span id)
{
    for (size_t i = 0; i < open->count; i++)
        if (strlen(open->items[i].id) == id.len && memcmp(open->items[i].id, id.text, id.len) == 0)
            return &open->items[i];
    return NULL;
}

static void open_add(struct open_requests *open, struct json_span id, const struct mcp_method *method)
{
    struct open_request *item = &open->items[open->count++];
    (void)snprintf(item->id, sizeof item->id, "%.*s", (int)id.len, id.text);
    item->method = method;
}

static void open_remove(struct open_requests *open, struct open_request *item)
{
    *item = open->items[--open->count];
}

/* ---- what goes nowhere ---- */

static void note_dropped(struct mcp *mcp, struct json_span method, bool by_server, struct mcp_output *out)
{
    char name[MCP_NAME_BYTES];
    char key[MCP_NAME_BYTES];
    if (!json_span_string(method, name, sizeof name - 1))
        (void)snprintf(name, sizeof name, "(not readable)");
    (void)snprintf(key, sizeof key, "%c%.*s", by_server ? '<' : '>', (int)sizeof key - 2, name);
    for (size_t i = 0; i < mcp->noted_count; i++)
        if (strcmp(mcp->noted[i], key) == 0)
            return;
    if (mcp->noted_count == sizeof mcp->noted / sizeof *mcp->noted)
        return;
    memcpy(mcp->noted[mcp->noted_count++], key, sizeof key);
    out->dropped = true;
    out->dropped_by_server = by_server;
    memcpy(out->method, name, sizeof name);
}

/* ---- the list of tools ---- */

static void ask_for_tools(struct mcp *mcp, struct json_span cursor, struct mcp_output *out)
{
    buf_printf(&out->to_server, "{\"jsonrpc\":\"2.0\",\"id\":\"" OWN_ID "%u\",\"method\":\"tools/list\"",
               ++mcp->list_number);
    if (cursor.text) {
        buf_add_str(&out->to_server, ",\"params\":{\"cursor\":");
        mcp_add_span(&out->to_server, cursor);
        buf_add_char(&out->to_server, '}');
    }
    buf_add_str(&out->to_server, "}\n");
    mcp->list = LIST_ASKED;
}

static bool is_own_answer(const struct mcp *mcp, struct json_span id)
{
    char own[MCP_NAME_BYTES];
    (void)snprintf(own, sizeof own, OWN_ID "%u", mcp->list_number);
    return mcp->list == LIST_ASKED && json_span_equals(id, own);
}

static bool is_own_id(struct json_span id)
{
    char text[MCP_NAME_BYTES];
    return json_span_type(id) == '"' && json_span_string(id, text, sizeof text) &&
           strncmp(text, OWN_ID, sizeof OWN_ID - 1) == 0;
}

static void finish_list(struct mcp *mcp)
{
    mcp_tools_release(&mcp->tools);
    mcp->tools = mcp->coming;
    mcp->coming = (struct mcp_tools){0};
    mcp->list = LIST_KNOWN;
    mcp->pages = 0;
}

/* A server that cannot list has no tools. */
static enum qs_status take_list(struct mcp *mcp, const struct mcp_message *message, struct mcp_output *out,
                                struct qs_error *err)
{
    if (message->error.text) {
        mcp_tools_release(&mcp->coming);
        finish_list(mcp);
        return QS_OK;
    }
    struct json_span next = json_span_member(message->result, "nextCursor");
    enum qs_status status = mcp_tools_add(&mcp->coming, mcp->policy, json_span_member(message->result, "tools"), err);
    if (status)
        return status;
    if (!next.text || json_span_type(next) != '"') {
        finish_list(mcp);
        return QS_OK;
    }
    if (++mcp->pages >= MCP_PAGES_MAX)
        return error_set(err, QS_INVALID, "the server's list of tools has more than %d pages", MCP_PAGES_MAX);
    ask_for_tools(mcp, next, out);
    return QS_OK;
}

/* Keeps the frame until the list is known. */
static void wait_for_list(struct mcp *mcp, const char *frame, size_t len, struct json_span id, struct mcp_output *out)
{
    if (mcp->waiting_count == MCP_WAITING_MAX) {
        mcp_add_error(&out->to_client, id, CODE_INTERNAL, "too many requests wait for the list of tools", NULL);
        return;
    }
    struct buf *slot = &mcp->waiting[mcp->waiting_count];
    buf_add(slot, frame, len);
    if (slot->failed) {
        buf_release(slot);
        mcp_add_error(&out->to_client, id, CODE_INTERNAL, "out of memory", NULL);
        return;
    }
    mcp->waiting_count++;
    if (mcp->list == LIST_UNKNOWN)
        ask_for_tools(mcp, (struct json_span){0}, out);
}

bool mcp_next_waiting(struct mcp *mcp, struct mcp_output *out, enum qs_status *ret_status, struct qs_error *err)
{
    if (mcp->list != LIST_KNOWN || mcp->waiting_next == mcp->waiting_count) {
        if (mcp->waiting_next == mcp->waiting_count)
            mcp->waiting_next = mcp->waiting_count = 0;
        return false;
    }
    AUTO(buf_release) struct buf frame = mcp->waiting[mcp->waiting_next];
    mcp->waiting[mcp->waiting_next++] = (struct buf){0};
    *ret_status = mcp_from_client(mcp, frame.data, frame.len, out, err);
    return true;
}

/* ---- from the client ---- */

static void answer_list(const struct mcp *mcp, const struct mcp_message *message, struct mcp_output *out)
{
    AUTO(buf_release) struct buf list = {0};
    if (json_span_member(message->params, "cursor").text) {
        mcp_add_error(&out->to_client, message->id, CODE_PARAMS, "the list has one page", NULL);
        return;
    }
    mcp_tools_write(&mcp->tools, &list);
    mcp_add_result(&out->to_client, message->id.text, message->id.len, list.data, list.len);
}

static void refuse_different(const struct mcp_tool *tool, struct json_span id, struct mcp_output *out)
{
    char approved[DIGEST_TEXT_BYTES];
    char found[DIGEST_TEXT_BYTES];
    char data[2 * DIGEST_TEXT_BYTES + 64];
    digest_format(tool->rule->digest, approved);
    digest_format(tool->digest, found);
    (void)snprintf(data, sizeof data, "{\"approved\":\"%s\",\"found\":\"%s\"}", approved, found);
    mcp_add_error(&out->to_client, id, CODE_DIFFERENT, "the tool is not the one that was approved", data);
}

/* May the call go on? Otherwise it has been answered. */
static bool judge_call(const struct mcp *mcp, const struct mcp_message *message, struct mcp_output *out)
{
    struct json_span arguments = json_span_member(message->params, "arguments");
    if (!json_span_string(json_span_member(message->params, "name"), out->tool, sizeof out->tool) ||
        (arguments.text && json_span_type(arguments) != '{')) {
        mcp_add_error(&out->to_client, message->id, CODE_PARAMS,
                      "the call has no tool's name, or its arguments are no object", NULL);
        return false;
    }
    const struct mcp_tool *tool = mcp_tools_find(&mcp->tools, out->tool);
    if (!tool || !tool->rule || tool->twice) {
        mcp_add_error(&out->to_client, message->id, CODE_PARAMS, "no such tool is allowed", NULL);
        return false;
    }
    if (!mcp_tool_matches(tool)) {
        refuse_different(tool, message->id, out);
        return false;
    }
    digest_of(arguments.text ? arguments.text : "", arguments.len, out->arguments);
    (void)snprintf(out->call_id, sizeof out->call_id, "%.*s", (int)message->id.len, message->id.text);
    return true;
}

static void initialize_params(const struct mcp *mcp, struct json_span params, struct buf *out)
{
    static const char *const plain[] = {"protocolVersion", "clientInfo", "_meta"};
    buf_add_str(out, "{\"capabilities\":");
    mcp_add_capabilities(mcp->policy, true, json_span_member(params, "capabilities"), out);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        struct json_span value = json_span_member(params, plain[i]);
        if (!value.text)
            continue;
        buf_printf(out, ",\"%s\":", plain[i]);
        mcp_add_span(out, value);
    }
    buf_add_char(out, '}');
}

/* Writes the request or notification for the other side; false: its parameters are disguised. */
static bool write_message(const struct mcp *mcp, const struct mcp_method *method, const struct mcp_message *message,
                          struct buf *out)
{
    AUTO(buf_release) struct buf params = {0};
    if (!mcp_known_members(message->params, method->params, &params))
        return false;
    if (method->kind == KIND_INITIALIZE) {
        buf_clear(&params);
        initialize_params(mcp, message->params, &params);
    }
    mcp_add_request(out, message->id, method->name, &params);
    out->failed = out->failed || params.failed;
    return true;
}

static void client_request(struct mcp *mcp, const char *frame, size_t len, const struct mcp_message *message,
                           struct mcp_output *out)
{
    const struct mcp_method *method = mcp_method_find(message->method, true, false);
    if (!method || !mcp_need_met(mcp->policy, method->need)) {
        note_dropped(mcp, message->method, false, out);
        mcp_add_error(&out->to_client, message->id, CODE_METHOD, "this method is not allowed", NULL);
        return;
    }
    if (open_find(&mcp->to_server, message->id) || is_own_id(message->id) || mcp->to_server.count == MCP_OPEN_MAX) {
        mcp_add_error(&out->to_client, message->id, CODE_REQUEST, "the id is in use, or too many requests are open",
                      NULL);
        return;
    }
    bool needs_list = method->kind == KIND_TOOLS_LIST || method->kind == KIND_TOOLS_CALL;
    if (needs_list && mcp->list != LIST_KNOWN) {
        wait_for_list(mcp, frame, len, message->id, out);
        return;
    }
    if (method->kind == KIND_TOOLS_LIST) {
        answer_list(mcp, message, out);
        return;
    }
    if (method->kind == KIND_TOOLS_CALL && !judge_call(mcp, message, out))
        return;
    if (!write_message(mcp, method, message, &out->to_server)) {
        buf_clear(&out->to_server);
        mcp_add_error(&out->to_client, message->id, CODE_PARAMS,
                      "a parameter differs from a known one by letter case alone", NULL);
        return;
    }
    out->call = method->kind == KIND_TOOLS_CALL;
    open_add(&mcp->to_server, message->id, method);
}

void mcp_refuse_call(struct mcp *mcp, struct mcp_output *out)
{
    struct json_span id = {out->call_id, strlen(out->call_id)};
    struct open_request *open = open_find(&mcp->to_server, id);
    if (open)
        open_remove(&mcp->to_server, open);
    buf_clear(&out->to_server);
    out->call = false;
    mcp_add_error(&out->to_client, id, CODE_INTERNAL, "the call cannot be recorded, so it was not made", NULL);
}

/* A notification of either side. */
static void pass_notification(struct mcp *mcp, const struct mcp_message *message, bool by_client,
                              struct mcp_output *out)
{
    const struct mcp_method *method = mcp_method_find(message->method, by_client, true);
    struct buf *to = by_client ? &out->to_server : &out->to_client;
    AUTO(buf_release) struct buf text = {0};
    if (!method || !mcp_need_met(mcp->policy, method->need) || !write_message(mcp, method, message, &text)) {
        note_dropped(mcp, message->method, !by_client, out);
        return;
    }
    if (method->kind == KIND_TOOLS_CHANGED && mcp->list == LIST_KNOWN)
        mcp->list = LIST_UNKNOWN;
    if (method->kind == KIND_INITIALIZED)
        mcp->initialized = true;
    buf_add(to, text.data, text.len);
    to->failed = to->failed || text.failed;
}

/* An answer of either side to a request of the other. */
static void pass_answer(struct open_requests *open, const struct mcp_message *message, const struct buf *result,
                        struct buf *to)
{
    struct open_request *request = open_find(open, message->id);
    if (message->error.text) {
        buf_add_str(to, "{\"jsonrpc\":\"2.0\",\"id\":");
        buf_add_str(to, request->id);
        buf_add_str(to, ",\"error\":");
        mcp_add_span(to, message->error);
        buf_add_str(to, "}\n");
    } else {
        mcp_add_result(to, request->id, strlen(request->id), result ? result->data : message->result.text,
                       result ? result->len : message->result.len);
    }
    open_remove(open, request);
}

static enum qs_status checked(const struct mcp_output *out, struct qs_error *err)
{
    return out->to_client.failed || out->to_server.failed ? error_memory(err) : QS_OK;
}

enum qs_status mcp_from_client(struct mcp *mcp, const char *frame, size_t len, struct mcp_output *out,
                               struct qs_error *err)
{
    struct mcp_message message;
    enum mcp_fault fault = mcp_message_read(frame, len, &message, NULL);
    if (fault == MCP_NOT_JSON)
        mcp_add_error(&out->to_client, (struct json_span){0}, CODE_PARSE, "the message is not JSON", NULL);
    else if (fault == MCP_NOT_REQUEST)
        mcp_add_error(&out->to_client, (struct json_span){0}, CODE_REQUEST, "the message is not a single request",
                      NULL);
    else if (message.method.text && message.id.text)
        client_request(mcp, frame, len, &message, out);
    else if (message.method.text)
        pass_notification(mcp, &message, true, out);
    else if (open_find(&mcp->to_client, message.id))
        pass_answer(&mcp->to_client, &message, NULL, &out->to_server);
    return checked(out, err);
}

/* ---- from the server ---- */

static void server_request(struct mcp *mcp, const struct mcp_message *message, struct mcp_output *out)
{
    const struct mcp_method *method = mcp_method_find(message->method, false, false);
    if (!method || !mcp_need_met(mcp->policy, method->need)) {
        note_dropped(mcp, message->method, true, out);
        mcp_add_error(&out->to_server, message->id, CODE_METHOD, "this method is not allowed", NULL);
        return;
    }
    if (open_find(&mcp->to_client, message->id) || mcp->to_client.count == MCP_OPEN_MAX) {
        mcp_add_error(&out->to_server, message->id, CODE_REQUEST, "the id is in use, or too many requests are open",
                      NULL);
        return;
    }
    if (!write_message(mcp, method, message, &out->to_client)) {
        mcp_add_error(&out->to_server, message->id, CODE_PARAMS,
                      "a parameter differs from a known one by letter case alone", NULL);
        return;
    }
    open_add(&mcp->to_client, message->id, method);
}

static enum qs_status initialize_result(const struct mcp *mcp, struct json_span result, struct buf *out,
                                        struct qs_error *err)
{
    static const char *const plain[] = {"serverInfo", "instructions", "_meta"};
    struct json_span version = json_span_member(result, "protocolVersion");
    if (!mcp_version_known(version))
        return error_set(err, QS_INVALID, "the server speaks a protocol version that the filter does not know");
    buf_add_str(out, "{\"protocolVersion\":");
    mcp_add_span(out, version);
    buf_add_str(out, ",\"capabilities\":");
    mcp_add_capabilities(mcp->policy, false, json_span_member(result, "capabilities"), out);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        struct json_span value = json_span_member(result, plain[i]);
        if (!value.text)
            continue;
        buf_printf(out, ",\"%s\":", plain[i]);
        mcp_add_span(out, value);
    }
    buf_add_char(out, '}');
    return QS_OK;
}

static enum qs_status server_answer(struct mcp *mcp, const struct mcp_message *message, struct mcp_output *out,
                                    struct qs_error *err)
{
    AUTO(buf_release) struct buf result = {0};
    if (is_own_answer(mcp, message->id))
        return take_list(mcp, message, out, err);
    const struct open_request *request = open_find(&mcp->to_server, message->id);
    if (!request) /* nobody asked */
        return QS_OK;
    bool greeting = request->method->kind == KIND_INITIALIZE && message->result.text;
    enum qs_status status = greeting ? initialize_result(mcp, message->result, &result, err) : QS_OK;
    if (!status)
        pass_answer(&mcp->to_server, message, greeting ? &result : NULL, &out->to_client);
    return status;
}

enum qs_status mcp_from_server(struct mcp *mcp, const char *frame, size_t len, struct mcp_output *out,
                               struct qs_error *err)
{
    struct mcp_message message;
    if (mcp_message_read(frame, len, &message, err) != MCP_RIGHT)
        return error_set(err, QS_INVALID, "the server sent what is not a message of the protocol");
    enum qs_status status = QS_OK;
    if (message.method.text && message.id.text)
        server_request(mcp, &message, out);
    else if (message.method.text)
        pass_notification(mcp, &message, false, out);
    else
        status = server_answer(mcp, &message, out, err);
    return status ? status : checked(out, err);
}
