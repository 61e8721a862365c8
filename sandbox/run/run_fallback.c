/* SPDX-License-Identifier: Apache-2.0 */
/* Running a plan by descriptor, by name, or not at all. */
#include "sandbox/run/run_fallback.h"

#include "base/error.h"
#include "sandbox/host/probe.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

/* Roots that were reached through a link cannot be bound by name alone. */
static enum qs_status check_by_name(const struct host_facts *facts, struct qs_error *err)
{
    for (size_t i = 0; i < facts->root_count; i++)
        if (facts->roots[i].dir.link_count)
            return error_set(err, QS_INVALID, "%s is reached through a link, and this bubblewrap has no --bind-fd",
                             facts->roots[i].dir.given);
    return QS_OK;
}

/* A socket among standard input, output and error comes from outside and obeys no filter: one that is not tied to a
 * peer for good reaches whom it likes. A connection over the network can be given up and made anew, connect(2). */
static enum qs_status check_socket(int fd, const struct plan *plan, struct qs_error *err)
{
    int domain = 0, type = 0;
    struct sockaddr_storage peer;
    socklen_t domain_len = sizeof domain, type_len = sizeof type, peer_len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) != 0) {
        /* ENOTSOCK; EBADF: closed, or a path alone, which the shim refuses */
        return errno == ENOTSOCK || errno == EBADF ? QS_OK
                                                   : error_sys(err, QS_IO, errno, "cannot look at descriptor %d", fd);
    }
    bool ip = domain == AF_INET || domain == AF_INET6;
    bool tied = domain == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
                (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
                getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0;
    if (tied || (ip && !plan->network_closed) || (domain == AF_UNIX && plan->unix_sockets == QS_UNIX_OPEN))
        return QS_OK;
    error_set(err, QS_USAGE, "descriptor %d is a %s socket, by which a command could reach what the policy closes", fd,
              ip ? "network" : "local");
    error_add_advice(err, "give it a pipe or a file");
    return QS_USAGE;
}

static enum qs_status check_stdio(const struct plan *plan, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (int fd = 0; fd <= 2 && status == QS_OK; fd++)
        status = check_socket(fd, plan, err);
    return status;
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
    enum qs_status status = check_stdio(request->plan, err);
    if (status == QS_OK)
        status = probe_bwrap(PROBE_BWRAP, err);
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
