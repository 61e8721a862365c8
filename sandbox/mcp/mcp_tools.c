/* SPDX-License-Identifier: Apache-2.0 */
/* The server's tools as it sent them: which rule allows each, and whether it is the one that was approved. */
#include "sandbox/mcp/mcp_internal.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "text/value.h"

#include <fnmatch.h>
#include <string.h>

void mcp_tools_release(struct mcp_tools *tools)
{
    for (size_t i = 0; i < tools->count; i++) {
        free(tools->items[i].name);
        free(tools->items[i].text);
    }
    free(tools->items);
    *tools = (struct mcp_tools){0};
}

enum qs_status mcp_tool_digest(const char *text, size_t len, uint8_t out[QS_DIGEST_BYTES], struct qs_error *err)
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf canonical = {0};
    enum qs_status status = value_decode(text, len, &value, err);
    if (!status)
        status = value_encode(value, &canonical, err);
    if (!status)
        digest_of(canonical.data, canonical.len, out);
    return status;
}

/* An exact rule wins over a glob. */
static const struct mcp_rule *rule_for(const struct mcp_policy *policy, const char *name)
{
    const struct mcp_rule *found = NULL;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct mcp_rule *rule = &policy->rules[i];
        if (strcmp(rule->name, name) == 0)
            return rule;
        if (!found && strchr(rule->name, '*') && fnmatch(rule->name, name, FNM_NOESCAPE) == 0)
            found = rule;
    }
    return found;
}

const struct mcp_tool *mcp_tools_find(const struct mcp_tools *tools, const char *name)
{
    for (size_t i = 0; i < tools->count; i++)
        if (strcmp(tools->items[i].name, name) == 0)
            return &tools->items[i];
    return NULL;
}

static void mark_twins(struct mcp_tools *tools, const char *name)
{
    size_t same = 0;
    for (size_t i = 0; i < tools->count; i++)
        same += strcmp(tools->items[i].name, name) == 0;
    for (size_t i = 0; same > 1 && i < tools->count; i++)
        if (strcmp(tools->items[i].name, name) == 0)
            tools->items[i].twice = true;
}

static enum qs_status add_tool(struct mcp_tools *tools, const struct mcp_policy *policy, struct json_span tool,
                               struct qs_error *err)
{
    char name[MCP_NAME_BYTES];
    if (json_span_type(tool) != '{' || !json_span_string(json_span_member(tool, "name"), name, sizeof name))
        return error_set(err, QS_INVALID, "the server's list of tools is malformed");
    if (tools->count == MCP_TOOLS_MAX)
        return error_set(err, QS_INVALID, "the server has more than %d tools", MCP_TOOLS_MAX);
    struct mcp_tool *grown = realloc(tools->items, (tools->count + 1) * sizeof *grown);
    if (!grown)
        return error_memory(err);
    tools->items = grown;
    struct mcp_tool *item = &grown[tools->count];
    *item = (struct mcp_tool){.name = strdup(name), .text = strndup(tool.text, tool.len), .text_len = tool.len};
    tools->count++;
    if (!item->name || !item->text)
        return error_memory(err);
    item->rule = rule_for(policy, name);
    mark_twins(tools, name);
    return mcp_tool_digest(tool.text, tool.len, item->digest, err);
}

enum qs_status mcp_tools_add(struct mcp_tools *tools, const struct mcp_policy *policy, struct json_span list,
                             struct qs_error *err)
{
    struct json_span_item item = {0};
    if (json_span_type(list) != '[')
        return error_set(err, QS_INVALID, "the server's list of tools is malformed");
    while (json_span_next(list, &item)) {
        enum qs_status status = add_tool(tools, policy, item.value, err);
        if (status)
            return status;
    }
    return QS_OK;
}

bool mcp_tool_matches(const struct mcp_tool *tool)
{
    if (!tool->rule || tool->twice)
        return false;
    return tool->rule->any || memcmp(tool->rule->digest, tool->digest, sizeof tool->digest) == 0;
}

void mcp_tools_write(const struct mcp_tools *tools, struct buf *out)
{
    bool first = true;
    buf_add_str(out, "{\"tools\":[");
    for (size_t i = 0; i < tools->count; i++) {
        if (!mcp_tool_matches(&tools->items[i]))
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        buf_add(out, tools->items[i].text, tools->items[i].text_len);
    }
    buf_add_str(out, "]}");
}
