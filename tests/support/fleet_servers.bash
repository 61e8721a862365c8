# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Servers for fleets, on loopback with TLS: nginx over the carrier's directory, and an etcd cluster of three members.

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# A CA and a certificate for 127.0.0.1 in $SCRATCH/tls.
make_tls() {
    TLS=$SCRATCH/tls
    mkdir "$TLS"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TLS/ca.key" -out "$TLS/ca.pem" -days 2 \
        -subj /CN=test-ca 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TLS/server.key" -out "$TLS/server.csr" \
        -subj / 2>/dev/null
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >"$TLS/ext"
    openssl x509 -req -in "$TLS/server.csr" -CA "$TLS/ca.pem" -CAkey "$TLS/ca.key" -CAcreateserial -days 2 \
        -extfile "$TLS/ext" -out "$TLS/server.pem" 2>/dev/null
}

# until COMMAND...: waits until it succeeds, for 60 s at most.
until_true() {
    local end=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < end)) || { echo "never: $*"; return 1; }
        sleep 0.05
    done
}

# ---- nginx ----

# start_nginx [LINE...]: lines of its server block. URL is its address.
start_nginx() {
    PORT=$(free_port)
    URL=https://127.0.0.1:$PORT/
    mkdir -p "$SCRATCH/nginx"
    cat >"$SCRATCH/nginx.conf" <<END
daemon off; master_process off; pid $SCRATCH/nginx/pid; error_log $SCRATCH/nginx/error.log; worker_processes 1;
events { worker_connections 2048; }
http {
    access_log $SCRATCH/nginx/access.log;
    client_body_temp_path $SCRATCH/nginx/body; proxy_temp_path $SCRATCH/nginx/p; fastcgi_temp_path $SCRATCH/nginx/f;
    uwsgi_temp_path $SCRATCH/nginx/u; scgi_temp_path $SCRATCH/nginx/s;
    server {
        listen 127.0.0.1:$PORT ssl http2;
        ssl_certificate $TLS/server.pem; ssl_certificate_key $TLS/server.key;
        root $CARRIER; client_max_body_size 2m; dav_methods PUT; create_full_put_path on;
        $(printf '%s\n' "$@")
    }
}
END
    nginx -c "$SCRATCH/nginx.conf" 3>&- &
    NGINX=$!
    until_true curl -s -o /dev/null --cacert "$TLS/ca.pem" "$URL"
}
stop_nginx() {
    [ -z "${NGINX:-}" ] || { kill -CONT "$NGINX" 2>/dev/null; kill "$NGINX" 2>/dev/null; wait "$NGINX" 2>/dev/null; NGINX=; } || true
}

# ---- etcd ----

# start_etcd N: a cluster of N members; ENDPOINTS is the JSON array of their addresses.
start_etcd() {
    local i
    CLUSTER= ENDPOINTS=[]
    MEMBER_PIDS=() CLIENT_PORTS=() PEER_PORTS=()
    for ((i = 0; i < $1; i++)); do
        CLIENT_PORTS[i]=$(free_port)
        PEER_PORTS[i]=$(free_port)
        CLUSTER+=${CLUSTER:+,}m$i=https://127.0.0.1:${PEER_PORTS[i]}
        ENDPOINTS=$(jq -c --arg u "https://127.0.0.1:${CLIENT_PORTS[i]}" '. + [$u]' <<<"$ENDPOINTS")
    done
    for ((i = 0; i < $1; i++)); do start_member "$i" new; done
    until_true etcd_is_up
}
# start_member I new|existing [DATA-DIR]
start_member() {
    local i=$1
    etcd --name "m$i" --data-dir "${3:-$SCRATCH/etcd$i}" --log-level error --unsafe-no-fsync --heartbeat-interval 50 --election-timeout 500 \
        --listen-client-urls "https://127.0.0.1:${CLIENT_PORTS[i]}" --advertise-client-urls "https://127.0.0.1:${CLIENT_PORTS[i]}" \
        --listen-peer-urls "https://127.0.0.1:${PEER_PORTS[i]}" --initial-advertise-peer-urls "https://127.0.0.1:${PEER_PORTS[i]}" \
        --initial-cluster "$CLUSTER" --initial-cluster-state "$2" --cert-file "$TLS/server.pem" --key-file "$TLS/server.key" \
        --peer-cert-file "$TLS/server.pem" --peer-key-file "$TLS/server.key" --peer-trusted-ca-file "$TLS/ca.pem" \
        >"$SCRATCH/etcd$i.log" 2>&1 3>&- &
    MEMBER_PIDS[i]=$!
}
etcdctl_() {
    ETCDCTL_API=3 etcdctl --cacert "$TLS/ca.pem" --endpoints "$(jq -r 'join(",")' <<<"$ENDPOINTS")" "$@"
}
etcd_is_up() {
    etcdctl_ --dial-timeout 1s --command-timeout 2s put qsettings-test-up 1 >/dev/null 2>&1
}
stop_member() {
    [ -z "${MEMBER_PIDS[$1]:-}" ] || { kill -CONT "${MEMBER_PIDS[$1]}" 2>/dev/null; kill -KILL "${MEMBER_PIDS[$1]}" 2>/dev/null
        wait "${MEMBER_PIDS[$1]}" 2>/dev/null; MEMBER_PIDS[$1]=; } || true
}
stop_etcd() {
    local i
    for i in "${!MEMBER_PIDS[@]}"; do stop_member "$i"; done
}

# carried_by OBJECT: this carrier for the operator, and for machines enrolled afterwards (as machine's second argument).
carried_by() {
    jq -c --argjson c "$1" '.carriers = [$c]' "$WORK/fleet.json" >"$WORK/f" && mv "$WORK/f" "$WORK/fleet.json"
    CARRIED=$(jq -nc --argjson c "$1" '{carriers: [$c], interval: 1}')
}
https_carrier() {
    jq -nc --arg url "$URL" --arg ca "$TLS/ca.pem" '{type: "https", url: $url, ca: $ca}'
}
etcd_carrier() {
    jq -nc --argjson e "$ENDPOINTS" --arg ca "$TLS/ca.pem" '{type: "etcd", endpoints: $e, ca: $ca, spreadMs: 0}'
}

# fetching NAME: fetch goes on in the background there.
fetching() {
    "$QF" fetch --root "$SCRATCH/$1" >"$SCRATCH/$1.fetch" 2>&1 3>&- &
    FETCHERS+=($!)
}
stop_fetching() {
    local pid
    for pid in "${FETCHERS[@]}"; do kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done || true
    FETCHERS=()
}
# has NAME FILE: it is in the spool there, with its signature.
has() {
    [ -e "$SCRATCH/$1/var/spool/qfleet/$2" ] && [ -e "$SCRATCH/$1/var/spool/qfleet/$2.minisig" ]
}
