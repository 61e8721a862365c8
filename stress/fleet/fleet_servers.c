/* SPDX-License-Identifier: Apache-2.0 */
/* What a carrier needs: a directory; nginx over it; or three members of etcd. Both with TLS on loopback. */
#include "stress/fleet/fleet.h"

#include "base/cleanup.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MEMBERS 3u

struct fleet_servers {
    struct fleet_run *run;
    unsigned count;
    pid_t pids[MEMBERS];
    bool stopped[MEMBERS];
    unsigned ports[2 * MEMBERS]; /* for clients, and among themselves */
};

/* A CA and a certificate for 127.0.0.1 in $1/tls. */
static const char make_tls[] =
    "set -e; mkdir -p \"$1/tls\"; cd \"$1/tls\"; ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
    "openssl req -x509 $ec -keyout ca.key -out ca.pem -days 2 -subj /CN=stress-ca 2>/dev/null\n"
    "openssl req $ec -keyout server.key -out server.csr -subj / 2>/dev/null\n"
    "echo subjectAltName=IP:127.0.0.1 >ext\n"
    "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.pem "
    "2>/dev/null";

static const char run_nginx[] =
    "exec >/dev/null 2>&1; mkdir -p \"$1/nginx\"; cat >\"$1/nginx.conf\" <<END\n"
    "daemon off; master_process off; pid $1/nginx/pid; error_log /dev/null; worker_processes 1;\n"
    "events { worker_connections 4096; }\n"
    "http { access_log off; client_body_temp_path $1/nginx/b; proxy_temp_path $1/nginx/p;\n"
    "fastcgi_temp_path $1/nginx/f; uwsgi_temp_path $1/nginx/u; scgi_temp_path $1/nginx/s;\n"
    "server { listen 127.0.0.1:$2 ssl http2; ssl_certificate $1/tls/server.pem; ssl_certificate_key "
    "$1/tls/server.key;\n"
    "root $1/carrier; client_max_body_size 2m; dav_methods PUT; create_full_put_path on; } }\n"
    "END\nexec nginx -c \"$1/nginx.conf\"";

static const char run_etcd[] =
    "exec >/dev/null 2>&1; exec etcd --name \"m$2\" --data-dir \"$1/etcd$2\" --unsafe-no-fsync --log-level error "
    "--heartbeat-interval 50 --election-timeout 500 --listen-client-urls \"$3\" --advertise-client-urls \"$3\" "
    "--listen-peer-urls \"$4\" --initial-advertise-peer-urls \"$4\" --initial-cluster \"$5\" "
    "--cert-file \"$1/tls/server.pem\" --key-file \"$1/tls/server.key\" --peer-cert-file \"$1/tls/server.pem\" "
    "--peer-key-file \"$1/tls/server.key\" --peer-trusted-ca-file \"$1/tls/ca.pem\"";

static pid_t shell(const char *script, const char *const arguments[5])
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl("/bin/sh", "sh", "-c", script, "sh", arguments[0], arguments[1], arguments[2], arguments[3],
                    arguments[4], (char *)NULL);
        _exit(127);
    }
    return pid;
}

static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool found =
        fd >= 0 && !bind(fd, (struct sockaddr *)&address, len) && !getsockname(fd, (struct sockaddr *)&address, &len);
    if (fd >= 0)
        (void)close(fd);
    return found ? ntohs(address.sin_port) : 0;
}

static void start_one(struct fleet_servers *servers, unsigned i)
{
    char number[8], client[64], peer[64], cluster[256];
    const char *scratch = servers->run->scratch;
    const unsigned *ports = servers->ports;
    (void)snprintf(number, sizeof number, "%u", servers->count == 1 ? ports[0] : i);
    (void)snprintf(client, sizeof client, "https://127.0.0.1:%u", ports[2 * i]);
    (void)snprintf(peer, sizeof peer, "https://127.0.0.1:%u", ports[2 * i + 1]);
    (void)snprintf(cluster, sizeof cluster, "m0=https://127.0.0.1:%u,m1=https://127.0.0.1:%u,m2=https://127.0.0.1:%u",
                   ports[1], ports[3], ports[5]);
    servers->pids[i] = servers->count == 1 ? shell(run_nginx, (const char *[5]){scratch, number})
                                           : shell(run_etcd, (const char *[5]){scratch, number, client, peer, cluster});
    servers->stopped[i] = false;
}

static json_t *configuration(const struct fleet_servers *servers, const char *carrier_dir)
{
    char ca[600], urls[MEMBERS][64];
    (void)snprintf(ca, sizeof ca, "%s/tls/ca.pem", servers->run->scratch);
    for (unsigned i = 0; i < MEMBERS; i++)
        (void)snprintf(urls[i], sizeof urls[i], "https://127.0.0.1:%u", servers->ports[2 * i]);
    if (!servers->count)
        return json_pack("{s:s, s:s}", "type", "file", "path", carrier_dir);
    if (servers->count == 1)
        return json_pack("{s:s, s:s, s:s}", "type", "https", "url", urls[0], "ca", ca);
    return json_pack("{s:s, s:[s, s, s], s:s, s:i}", "type", "etcd", "endpoints", urls[0], urls[1], urls[2], "ca", ca,
                     "spreadMs", (int)(servers->run->options->hosts > 20 ? 2000 : 0));
}

static bool answers(const struct fleet_servers *servers, char reason[256])
{
    struct carrier *carrier = NULL;
    struct qs_error err = {0};
    AUTO(buf_release) struct buf head = {0};
    enum qs_status status = carrier_open(servers->run->carrier_config, "north", &carrier, &err);
    for (int i = 0; i < 200 && !status; i++) {
        status = carrier->row->head(carrier, &head, &err);
        if (!status || status == QS_NOT_FOUND)
            break;
        status = QS_OK;
        stress_sleep_ns(100000000);
    }
    carrier_close(&carrier);
    if (status && status != QS_NOT_FOUND)
        (void)snprintf(reason, 256, "%.200s", err.message);
    return !status || status == QS_NOT_FOUND;
}

struct fleet_servers *fleet_servers_start(struct fleet_run *run, char reason[256])
{
    char dir[600], reports[640];
    int code = 0;
    struct fleet_servers *servers = calloc(1, sizeof *servers);
    if (!servers)
        return NULL;
    servers->run = run;
    servers->count = !strcmp(run->options->carrier, "etcd") ? MEMBERS : !strcmp(run->options->carrier, "https");
    (void)snprintf(dir, sizeof dir, "%s/carrier", run->scratch);
    (void)snprintf(reports, sizeof reports, "%s/reports", dir);
    bool fine = !mkdir(dir, 0755) && !mkdir(reports, 0755);
    if (servers->count) {
        pid_t pid = shell(make_tls, (const char *[5]){run->scratch});
        fine = fine && pid > 0 && waitpid(pid, &code, 0) == pid && code == 0;
        if (code)
            (void)snprintf(reason, 256, "openssl could not make a certificate");
    }
    for (unsigned i = 0; i < 2 * MEMBERS; i++)
        servers->ports[i] = free_port();
    for (unsigned i = 0; i < servers->count; i++)
        start_one(servers, i);
    run->carrier_config = configuration(servers, dir);
    if (!fine || !answers(servers, reason)) {
        fleet_servers_end(servers);
        return NULL;
    }
    return servers;
}

void fleet_servers_disturb(struct fleet_servers *servers, struct stress_rng *rng)
{
    if (!servers->count)
        return;
    unsigned i = (unsigned)(stress_rng_next(rng) % servers->count);
    servers->stopped[i] = stress_rng_next(rng) % 2;
    (void)kill(servers->pids[i], servers->stopped[i] ? SIGSTOP : SIGKILL);
}

void fleet_servers_mend(struct fleet_servers *servers)
{
    for (unsigned i = 0; i < servers->count; i++) {
        if (servers->stopped[i])
            (void)kill(servers->pids[i], SIGCONT);
        servers->stopped[i] = false;
        if (waitpid(servers->pids[i], NULL, WNOHANG) == servers->pids[i])
            start_one(servers, i);
    }
}

void fleet_servers_end(struct fleet_servers *servers)
{
    for (unsigned i = 0; servers && i < servers->count; i++) {
        (void)kill(servers->pids[i], SIGKILL);
        while (waitpid(servers->pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(servers);
}
