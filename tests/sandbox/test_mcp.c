/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP filter: what goes through, what is answered by the filter, what goes nowhere. */
#include "base/cleanup.h"
#include "sandbox/mcp/mcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ECHO_TOOL  "{\"name\":\"echo\",\"description\":\"says it\",\"inputSchema\":{\"type\":\"object\",\"n\":1.0}}"
#define OTHER_TOOL "{\"name\":\"other\",\"inputSchema\":{}}"

static struct mcp_rule rules[] = {{.name = (char[]){"echo"}, .any = true}, {.name = (char[]){"read_*"}, .any = true}};
static struct mcp_policy policy;
static struct mcp *mcp;
static struct mcp_output out;
static struct qs_error err;

static int setup(void **state)
{
    (void)state;
    policy = (struct mcp_policy){.rules = rules, .rule_count = 2};
    rules[0].any = true;
    mcp = mcp_new(&policy);
    err = (struct qs_error){0};
    return mcp ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    mcp_free(mcp);
    mcp_output_release(&out);
    return 0;
}

static const char *text(const struct buf *buf)
{
    return buf->len ? buf->data : "";
}

static void client(const char *frame, const char *to_server, const char *to_client)
{
    mcp_output_clear(&out);
    assert_int_equal(mcp_from_client(mcp, frame, strlen(frame), &out, &err), QS_OK);
    assert_string_equal(text(&out.to_server), to_server);
    if (strcmp(to_client, "*") != 0)
        assert_string_equal(text(&out.to_client), to_client);
}

static void server(const char *frame, const char *to_client, const char *to_server)
{
    mcp_output_clear(&out);
    assert_int_equal(mcp_from_server(mcp, frame, strlen(frame), &out, &err), QS_OK);
    assert_string_equal(text(&out.to_client), to_client);
    assert_string_equal(text(&out.to_server), to_server);
}

/* The client gets an error of this code, and the server nothing. */
static void client_refused(const char *frame, const char *code)
{
    client(frame, "", "*");
    if (!strstr(text(&out.to_client), code))
        fail_msg("%s: %s", frame, text(&out.to_client));
}

#define LIST_ASKED(n) "{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:" n "\",\"method\":\"tools/list\"}\n"

static void list_tools(const char *tools)
{
    char frame[4096];
    client("{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"tools/list\"}", LIST_ASKED("1"), "");
    (void)snprintf(frame, sizeof frame, "{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:1\",\"result\":{\"tools\":[%s]}}",
                   tools);
    server(frame, "", "");
    enum qs_status status = QS_OK;
    assert_true(mcp_next_waiting(mcp, &out, &status, &err));
    assert_int_equal(status, QS_OK);
}

static void the_greeting_loses_what_is_not_allowed(void **state)
{
    (void)state;
    client(
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
        "\"capabilities\":"
        "{\"roots\":{},\"sampling\":{},\"experimental\":{},\"tasks\":{}},\"clientInfo\":{\"name\":\"c\"},\"more\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"capabilities\":{},\"protocolVersion\":"
        "\"2025-06-18\","
        "\"clientInfo\":{\"name\":\"c\"}}}\n",
        "");
    server("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{"
           "\"listChanged\":true},"
           "\"resources\":{},\"tasks\":{}},\"serverInfo\":{\"name\":\"s\"}}}",
           "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{"
           "\"listChanged\":true}},"
           "\"serverInfo\":{\"name\":\"s\"}}}\n",
           "");
}

static void another_protocol_version_ends_it(void **state)
{
    (void)state;
    client("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}",
           "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"capabilities\":{}}}\n", "");
    const char *answer = "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2099-01-01\"}}";
    assert_int_equal(mcp_from_server(mcp, answer, strlen(answer), &out, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "protocol version"));
}

static void the_client_sees_allowed_tools_alone(void **state)
{
    (void)state;
    list_tools(ECHO_TOOL "," OTHER_TOOL ",{\"name\":\"read_file\"}");
    assert_string_equal(text(&out.to_client), "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"result\":{\"tools\":[" ECHO_TOOL
                                              ",{\"name\":\"read_file\"}]}}\n");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", "-32602");
}

static void all_pages_are_asked_for(void **state)
{
    (void)state;
    client("{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"tools/list\"}", LIST_ASKED("1"), "");
    server("{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:1\",\"result\":{\"tools\":[" ECHO_TOOL
           "],\"nextCursor\":\"p\\u00322\"}}",
           "",
           "{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:2\",\"method\":\"tools/"
           "list\",\"params\":{\"cursor\":\"p\\u00322\"}}\n");
    server("{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:1\",\"result\":{\"tools\":[]}}", "", ""); /* late, and ignored */
    server("{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:2\",\"result\":{\"tools\":[{\"name\":\"read_x\"}]}}", "", "");
    enum qs_status status = QS_OK;
    assert_true(mcp_next_waiting(mcp, &out, &status, &err));
    assert_non_null(strstr(text(&out.to_client), ECHO_TOOL ",{\"name\":\"read_x\"}"));
    mcp_output_clear(&out);
    assert_false(mcp_next_waiting(mcp, &out, &status, &err));
}

static void a_call_goes_through_with_its_bytes(void **state)
{
    (void)state;
    list_tools(ECHO_TOOL);
    client("{ \"method\" : \"tools/call\", \"jsonrpc\":\"2.0\",\"id\": "
           "7,\"params\":{\"arguments\":{\"n\":1.10,\"big\":123456789012345678901234567890},"
           "\"name\":\"echo\",\"extra\":{},\"_meta\":{\"progressToken\":1}}}",
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/"
           "call\",\"params\":{\"arguments\":{\"n\":1.10,\"big\":123456789012345678901234567890},"
           "\"name\":\"echo\",\"_meta\":{\"progressToken\":1}}}\n",
           "");
    assert_true(out.call);
    assert_string_equal(out.tool, "echo");
    server("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"1.10\"}]}}",
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"1.10\"}]}}\n", "");
    server("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", "", ""); /* a second answer */
}

static void a_call_that_cannot_be_recorded_is_not_made(void **state)
{
    (void)state;
    list_tools(ECHO_TOOL);
    const char *call = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}";
    mcp_output_clear(&out);
    assert_int_equal(mcp_from_client(mcp, call, strlen(call), &out, &err), QS_OK);
    assert_true(out.call);
    mcp_refuse_call(mcp, &out);
    assert_false(out.call);
    assert_string_equal(text(&out.to_server), "");
    assert_non_null(strstr(text(&out.to_client), "\"id\":7,\"error\":{\"code\":-32603"));
    server("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", "", "");
}

static void other_tools_cannot_be_called(void **state)
{
    (void)state;
    list_tools(ECHO_TOOL "," OTHER_TOOL ",{\"name\":\"Echo\"}");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"other\"}}",
                   "-32602");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"Echo\"}}", "-32602");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"none\"}}", "-32602");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}", "-32602");
    client_refused(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"Arguments\":{}}}",
        "-32602");
    client_refused(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":[]}}",
        "-32602");
}

static void a_tool_that_is_listed_twice_is_nobodys(void **state)
{
    (void)state;
    list_tools(ECHO_TOOL ",{\"name\":\"echo\",\"description\":\"other\"}");
    assert_string_equal(text(&out.to_client), "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"result\":{\"tools\":[]}}\n");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}", "-32602");
}

static void a_pinned_tool_is_told_from_another(void **state)
{
    (void)state;
    rules[0].any = false;
    assert_int_equal(mcp_tool_digest(ECHO_TOOL, strlen(ECHO_TOOL), rules[0].digest, &err), QS_OK);
    list_tools(
        "{\"description\":\"says it\",\"name\":\"echo\",\"inputSchema\":{\"n\":1.0,\"type\":\"object\"}}"); /* another
                                                                                                               order */
    assert_non_null(strstr(text(&out.to_client), "says it"));
    client("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n", "");
    server("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}",
           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n", "");
    client("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}", LIST_ASKED("2"),
           "");
    server("{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:2\",\"result\":{\"tools\":[{\"name\":\"echo\",\"description\":"
           "\"does evil\"}]}}",
           "", "");
    enum qs_status status = QS_OK;
    assert_true(mcp_next_waiting(mcp, &out, &status, &err));
    assert_string_equal(text(&out.to_server), "");
    assert_non_null(strstr(text(&out.to_client), "-32002"));
    assert_non_null(strstr(text(&out.to_client), "\"approved\":\"blake2b-256:"));
}

static void methods_that_are_not_listed_go_nowhere(void **state)
{
    (void)state;
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///etc\"}}",
                   "-32601");
    assert_true(out.dropped);
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\"}", "-32601");
    assert_false(out.dropped); /* recorded once */
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"Tools/Call\"}", "-32601");
    client("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/evil\"}", "", "");
    assert_true(out.dropped);
    assert_string_equal(out.method, "notifications/evil");
    server("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{}}", "", "");
    assert_true(out.dropped && out.dropped_by_server);
    mcp_output_clear(&out);
    const char *ask =
        "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[]}}";
    assert_int_equal(mcp_from_server(mcp, ask, strlen(ask), &out, &err), QS_OK);
    assert_string_equal(text(&out.to_client), "");
    assert_non_null(strstr(text(&out.to_server), "-32601"));
}

static void the_servers_requests_go_through_where_allowed(void **state)
{
    (void)state;
    policy.roots = true;
    server("{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}",
           "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n", "");
    client("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}", "", ""); /* nobody asked */
    client("{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"error\":{\"code\":1,\"message\":\"no\"}}",
           "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"error\":{\"code\":1,\"message\":\"no\"}}\n", "");
}

static void an_id_is_used_once_at_a_time(void **state)
{
    (void)state;
    client("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
           "");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "-32600");
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:1\",\"method\":\"ping\"}", "-32600");
    server("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "");
    client("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
           "");
}

static void open_requests_are_bound(void **state)
{
    (void)state;
    char frame[96];
    for (int i = 0; i < MCP_OPEN_MAX; i++) {
        (void)snprintf(frame, sizeof frame, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i);
        mcp_output_clear(&out);
        assert_int_equal(mcp_from_client(mcp, frame, strlen(frame), &out, &err), QS_OK);
        assert_true(out.to_server.len > 0);
    }
    client_refused("{\"jsonrpc\":\"2.0\",\"id\":\"more\",\"method\":\"ping\"}", "-32600");
}

static void malformed_frames_are_answered_or_end_it(void **state)
{
    (void)state;
    static const char *const parse[] = {"",
                                        "{",
                                        "nonsense",
                                        "{\"a\":1,\"a\":2}",
                                        "{\"a\":1,\"\\u0061\":2}",
                                        "{\"a\":\"\xff\"}",
                                        "{\"a\":\"\\ud800\"}",
                                        "{\"a\":01}",
                                        "{} {}"};
    static const char *const request[] = {"[]",
                                          "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
                                          "{\"id\":1,\"method\":\"ping\"}",
                                          "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"Method\":\"x\"}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":1}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}"};
    for (size_t i = 0; i < sizeof parse / sizeof *parse; i++) {
        client_refused(parse[i], "-32700");
        assert_int_equal(mcp_from_server(mcp, parse[i], strlen(parse[i]), &out, &err), QS_INVALID);
    }
    for (size_t i = 0; i < sizeof request / sizeof *request; i++)
        client_refused(request[i], "-32600");
    char deep[256] = "";
    for (int i = 0; i < 65; i++)
        deep[i] = '[';
    client_refused(deep, "-32700");
}

static void a_list_without_end_is_refused(void **state)
{
    (void)state;
    client("{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"tools/list\"}", LIST_ASKED("1"), "");
    enum qs_status status = QS_OK;
    int page = 1;
    for (; page <= MCP_PAGES_MAX + 1 && !status; page++) {
        char frame[128];
        (void)snprintf(frame, sizeof frame,
                       "{\"jsonrpc\":\"2.0\",\"id\":\"qsandbox:%d\",\"result\":{\"tools\":[],\"nextCursor\":\"n\"}}",
                       page);
        status = mcp_from_server(mcp, frame, strlen(frame), &out, &err);
    }
    assert_int_equal(status, QS_INVALID);
    assert_int_equal(page - 1, MCP_PAGES_MAX);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_greeting_loses_what_is_not_allowed),
        T(another_protocol_version_ends_it),
        T(the_client_sees_allowed_tools_alone),
        T(all_pages_are_asked_for),
        T(a_call_goes_through_with_its_bytes),
        T(a_call_that_cannot_be_recorded_is_not_made),
        T(other_tools_cannot_be_called),
        T(a_tool_that_is_listed_twice_is_nobodys),
        T(a_pinned_tool_is_told_from_another),
        T(methods_that_are_not_listed_go_nowhere),
        T(the_servers_requests_go_through_where_allowed),
        T(an_id_is_used_once_at_a_time),
        T(open_requests_are_bound),
        T(malformed_frames_are_answered_or_end_it),
        T(a_list_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
