/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the network and of sockets, from inside. Nothing is sent beyond this machine. */
#include "sandbox/verify/inside_checks.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* 0 or the errno of a connection; a datagram "connection" only asks for a route and sends nothing. */
static int try_connect(int type, const struct sockaddr *address, socklen_t len)
{
    AUTO_FD int fd = socket(address->sa_family, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    return connect(fd, address, len) == 0 ? 0 : errno;
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static bool open_by_policy(const struct inside_brief *brief, struct inside_record *record)
{
    if (!brief->closed)
        inside_skip(record, "the policy opens the network");
    return !brief->closed;
}

void inside_interfaces(const struct inside_brief *brief, struct inside_record *record)
{
    if (open_by_policy(brief, record))
        return;
    struct if_nameindex *list = if_nameindex();
    const char *foreign = NULL;
    size_t count = 0;
    for (struct if_nameindex *at = list; at && at->if_index; at++, count++)
        if (strcmp(at->if_name, "lo") != 0)
            foreign = at->if_name;
    record->error = list ? 0 : errno;
    if (!list)
        inside_fail(record, "the interfaces cannot be listed: %s", inside_errno(record->error));
    else if (foreign)
        inside_fail(record, "the interface %s is there", foreign);
    else
        inside_pass(record, count ? "only lo" : "none at all");
    if (list)
        if_freenameindex(list);
}

/* Is there a route to the world? The addresses are those that RFC 5737 and RFC 3849 keep for documents. */
static int try_route(void)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    (void)inet_pton(AF_INET, "192.0.2.1", &four.sin_addr);
    (void)inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
    int error = try_connect(SOCK_DGRAM, (const struct sockaddr *)&four, sizeof four);
    return error ? (try_connect(SOCK_DGRAM, (const struct sockaddr *)&six, sizeof six) ? error : 0) : 0;
}

void inside_connect(const struct inside_brief *brief, struct inside_record *record)
{
    if (open_by_policy(brief, record))
        return;
    struct sockaddr_in address = loopback(brief->port);
    record->error = try_connect(SOCK_STREAM, (const struct sockaddr *)&address, sizeof address);
    int route = try_route();
    if (record->error == 0)
        inside_fail(record, "a listener on the host's loopback was reached");
    else if (route == 0)
        inside_fail(record, "there is a route to the outside");
    else
        inside_pass(record, "a listener on the host's loopback: %s; a route to the outside: %s",
                    inside_errno(record->error), inside_errno(route));
}

/* ---- DNS ---- */

/* The first name server of resolv.conf(5) to which there is a route; "": none. */
static void reachable_server(char server[INET6_ADDRSTRLEN])
{
    FILE *file = fopen("/etc/resolv.conf", "re");
    char line[256], found[INET6_ADDRSTRLEN] = "";
    server[0] = '\0';
    while (file && !server[0] && fgets(line, sizeof line, file)) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(53)};
        struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
        bool reached = false;
        if (sscanf(line, " nameserver %45s", found) != 1)
            continue;
        if (inet_pton(AF_INET, found, &four.sin_addr) == 1 && ntohl(four.sin_addr.s_addr) >> 24 != 127)
            reached = try_connect(SOCK_DGRAM, (const struct sockaddr *)&four, sizeof four) == 0;
        else if (inet_pton(AF_INET6, found, &six.sin6_addr) == 1 && !IN6_IS_ADDR_LOOPBACK(&six.sin6_addr))
            reached = try_connect(SOCK_DGRAM, (const struct sockaddr *)&six, sizeof six) == 0;
        if (reached)
            (void)snprintf(server, INET6_ADDRSTRLEN, "%s", found);
    }
    if (file)
        (void)fclose(file);
}

/* A question for the decoy that listens like a name server on the host's loopback; the host says whether it came. */
static int ask_decoy(const struct inside_brief *brief)
{
    static const unsigned char question[] = {0x51, 0x53, 1,   0,   0,   1,   0,   0, 0, 0, 0, 0,
                                             6,    'v',  'e', 'r', 'i', 'f', 'y', 0, 0, 1, 0, 1};
    struct sockaddr_in address = loopback(brief->dns_port);
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        send(fd, question, sizeof question, 0) < 0)
        return errno;
    char answer[16];
    return recv(fd, answer, sizeof answer, MSG_DONTWAIT) < 0 ? errno : 0;
}

void inside_dns(const struct inside_brief *brief, struct inside_record *record)
{
    char server[INET6_ADDRSTRLEN];
    if (open_by_policy(brief, record))
        return;
    reachable_server(server);
    record->error = ask_decoy(brief);
    if (server[0])
        inside_fail(record, "there is a route to the name server %s", server);
    else if (record->error == 0)
        inside_fail(record, "a name server on the host's loopback answered");
    else
        inside_pass(record, "no route to a name server; one on the host's loopback: %s", inside_errno(record->error));
}

/* ---- Unix sockets ---- */

/* Under `blocked` there must be no such socket at all, also not by a family whose upper half is not zero. */
static bool unix_socket_made(struct inside_record *record)
{
    AUTO_FD int plain = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    record->error = plain < 0 ? errno : 0;
    AUTO_FD int wide = (int)syscall(SYS_socket, 0x100000000L + AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (plain >= 0 || wide >= 0)
        inside_fail(record, "the policy blocks Unix sockets, but one can be made%s",
                    plain < 0 ? " (64-bit family)" : "");
    return plain >= 0 || wide >= 0;
}

static void try_unix(const struct inside_brief *brief, const struct sockaddr_un *address, socklen_t len,
                     struct inside_record *record)
{
    if (brief->unix_sockets == QS_UNIX_BLOCKED && unix_socket_made(record))
        return;
    record->error = try_connect(SOCK_STREAM, (const struct sockaddr *)address, len);
    if (record->error == 0)
        inside_fail(record, "a listener of the host was reached");
    else
        inside_pass(record, "a listener of the host: %s", inside_errno(record->error));
}

void inside_unix_path(const struct inside_brief *brief, struct inside_record *record)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (brief->unix_sockets == QS_UNIX_OPEN)
        inside_skip(record, "the policy opens host sockets");
    else if (!brief->socket[0] || strlen(brief->socket) >= sizeof address.sun_path)
        inside_fail(record, "there was no listener to try");
    else {
        (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", brief->socket);
        try_unix(brief, &address, sizeof address, record);
    }
}

void inside_unix_abstract(const struct inside_brief *brief, struct inside_record *record)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", brief->abstract);
    if (brief->unix_sockets == QS_UNIX_OPEN && !brief->closed)
        inside_skip(record, "the policy opens host sockets and the network");
    else
        try_unix(brief, &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len), record);
}

void inside_socketpair(const struct inside_brief *brief, struct inside_record *record)
{
    int pair[2] = {-1, -1};
    char word[4] = "";
    struct iovec part = {.iov_base = (char *)"ping", .iov_len = 4};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    bool works = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && sendmsg(pair[0], &message, 0) == 4 &&
                 recv(pair[1], word, 4, MSG_WAITALL) == 4 && sendto(pair[1], word, 4, 0, NULL, 0) == 4 &&
                 read(pair[0], word, 4) == 4;
    record->error = works ? 0 : errno;
    cleanup_fd(&pair[0]);
    cleanup_fd(&pair[1]);
    int datagram = socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0 ? 0 : errno;
    if (!works)
        inside_fail(record, "a stream pair does not work: %s", inside_errno(record->error));
    else if (brief->unix_sockets == QS_UNIX_BLOCKED && datagram == 0)
        inside_fail(record, "stream pairs work, but so do datagram pairs, which can send to any path");
    else
        inside_pass(record, "stream pairs carry messages both ways; datagram pairs: %s", inside_errno(datagram));
}
