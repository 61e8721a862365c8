/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/mcp/: Which messages may pass between a client and its server?
 *
 * The filter between an MCP client and a server, as a machine without input and output: a frame goes in, frames for
 * either side come out. docs/tools.md has the rules; the protocol is that of modelcontextprotocol.io, versions
 * 2024-11-05 to 2025-11-25.
 *
 * The envelope and the parameters are written anew from known members; arguments, results and errors go through as the
 * bytes that they were. What is not listed here goes nowhere. The filter asks for the server's tools itself, before the
 * first call and after each change; the client gets the allowed ones alone.
 *
 * A call is returned with `call` set: its record must be durable before to_server is sent, else mcp_refuse_call.
 */
#ifndef SANDBOX_MCP_H
#define SANDBOX_MCP_H

#include "base/buf.h"
#include "base/error.h"
#include "qsettings/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define MCP_FRAME_MAX   ((size_t)8 << 20)
#define MCP_DEPTH_MAX   64
#define MCP_OPEN_MAX    1024
#define MCP_TOOLS_MAX   2000
#define MCP_PAGES_MAX   64
#define MCP_WAITING_MAX 64 /* requests that wait for the list of tools */
#define MCP_NAME_BYTES  256
#define MCP_NOTED_MAX   64 /* methods that are recorded as dropped, once each */

struct mcp_rule {
    char *name; /* a tool's name, or a glob with '*' */
    bool any;   /* whatever the tool is; else only this one */
    uint8_t digest[QS_DIGEST_BYTES];
};

struct mcp_policy {
    const struct mcp_rule *rules;
    size_t rule_count;
    bool resources, prompts, roots, sampling, elicitation;
};

struct mcp_output {
    struct buf to_client, to_server; /* whole frames, each with its newline */
    bool call;                       /* to_server has a call of this tool */
    char tool[MCP_NAME_BYTES];
    uint8_t arguments[QS_DIGEST_BYTES];
    char call_id[MCP_NAME_BYTES + 8]; /* as the client wrote it */
    bool dropped;                     /* for the first time: a method that goes nowhere */
    bool dropped_by_server;
    char method[MCP_NAME_BYTES];
};

void mcp_output_release(struct mcp_output *out);
void mcp_output_clear(struct mcp_output *out);

struct mcp;

/* The policy must outlive the machine. NULL: no memory. */
struct mcp *mcp_new(const struct mcp_policy *policy);
void mcp_free(struct mcp *mcp);

/* One frame without its newline. Errors end the connection: QS_INVALID (a frame from the server that is no message, or
 * another protocol version; the reason is for standard error), QS_IO (memory). What the client does wrong is answered
 * to it. */
enum qs_status mcp_from_client(struct mcp *mcp, const char *frame, size_t len, struct mcp_output *out,
                               struct qs_error *err) QS_MUST_USE;
enum qs_status mcp_from_server(struct mcp *mcp, const char *frame, size_t len, struct mcp_output *out,
                               struct qs_error *err) QS_MUST_USE;

/* Requests that waited for the list of tools: the next one's output; false if there is none. Call it after
 * mcp_from_server until it is false. */
bool mcp_next_waiting(struct mcp *mcp, struct mcp_output *out, enum qs_status *ret_status, struct qs_error *err);

/* The record of the call could not be made: to_server is dropped, and the client gets an error. */
void mcp_refuse_call(struct mcp *mcp, struct mcp_output *out);

/* The digest of a tool as the server sent it: BLAKE2b-256 of its canonical text. Errors: QS_INVALID, QS_IO. */
enum qs_status mcp_tool_digest(const char *text, size_t len, uint8_t out[QS_DIGEST_BYTES],
                               struct qs_error *err) QS_MUST_USE;

#endif
