#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Carriers that are servers: nginx as a plain web server, and an etcd cluster of three members, both with TLS on loopback;
# stopped, gone, restored from older data, compacted, and lying.
load ../support/fleet
load ../support/fleet_servers

setup() {
    fleet_setup
    make_tls
    FETCHERS=() MEMBER_PIDS=()
}
teardown() {
    stop_fetching
    stop_nginx
    stop_etcd
    fleet_teardown
}

# ---- https ----

@test "https: push by PUT, fetch, report; the head is asked with If-None-Match" {
    start_nginx
    carried_by "$(https_carrier)"
    release '{"x":1}'
    machine m "$CARRIED"
    update m
    is 0
    same "$(value m x)" 1
    "$QF" fetch --once --root "$SCRATCH/m"
    cmp "$SCRATCH/m/var/lib/qfleet-out/report.json" "$CARRIER/reports/$ID.json"
    fetching m
    until_true grep -q '"GET /head.json HTTP/2.0" 304' "$SCRATCH/nginx/access.log"
    release '{"x":2}'
    until_true has m bundle-1-2.json
    on m apply
    same "$(value m x)" 2
}

@test "https: a server that is stopped, gone, and back; its certificate is verified" {
    start_nginx
    carried_by "$(https_carrier)"
    release '{"x":1}'
    machine m "$CARRIED"
    on m fetch --once
    is 0
    stop_nginx
    on m fetch --once
    is 10
    jq '.carriers[0].ca = "/etc/ssl/certs/ca-certificates.crt"' "$SCRATCH/m/fleet/config.json" >"$SCRATCH/c"
    start_nginx
    jq --arg url "$URL" '.carriers[0].url = $url' "$SCRATCH/c" >"$SCRATCH/m/fleet/config.json"
    on m fetch --once
    is 7
    on m apply
    is 0
    same "$(value m x)" 1
}

@test "https: no redirect to another host or scheme is followed, one within is" {
    start_nginx 'location = /head.json { return 302 https://localhost:1/head.json; }' \
        'location /moved/ { alias '"$CARRIER/"'; }' 'location = /in/head.json { return 302 /moved/head.json; }' \
        'location /in/ { alias '"$CARRIER/"'; }' 'location = /plain/head.json { return 302 http://127.0.0.1:1/head.json; }'
    release '{"x":1}'
    carried_by "$(https_carrier)"
    machine m "$CARRIED"
    on m fetch --once
    is 7 "another host or scheme"
    jq '.carriers[0].url += "plain/"' "$SCRATCH/m.config" >"$SCRATCH/m/fleet/config.json"
    on m fetch --once
    is 7 "another host or scheme"
    jq '.carriers[0].url += "in/"' "$SCRATCH/m.config" >"$SCRATCH/m/fleet/config.json"
    on m fetch --once
    is 0
    has m bundle-1-1.json
}

@test "https: answers that are too large, or no document, do no harm" {
    start_nginx
    carried_by "$(https_carrier)"
    release '{"x":1}'
    machine m "$CARRIED"
    cp "$CARRIER/head.json" "$SCRATCH/head"
    head -c 100000 /dev/zero >"$CARRIER/head.json"
    on m fetch --once
    is 3
    echo '{"format":"qsettings-fleet-head-1","keys":1,"serial":7}' >"$CARRIER/head.json"
    head -c 2000000 /dev/zero >"$CARRIER/bundle-1-7.json"
    cp "$CARRIER/bundle-1-1.json.minisig" "$CARRIER/bundle-1-7.json.minisig"
    on m fetch --once
    is 3
    echo lies >"$CARRIER/bundle-1-7.json"
    on m fetch --once
    is 0
    on m apply
    is 7
    # the carrier is well again: what was refused is fetched anew
    cp "$SCRATCH/head" "$CARRIER/head.json"
    update m
    is 0
    same "$(value m x)" 1
}

@test "https: a wrong document under a right name is fetched anew once the carrier is well" {
    start_nginx
    carried_by "$(https_carrier)"
    machine m "$CARRIED"
    release '{"x":1}'
    cp "$CARRIER/bundle-1-1.json" "$SCRATCH/right"
    sed -i 's/"x": 1/"x": 6/' "$CARRIER/bundle-1-1.json"
    update m
    is 7
    cp "$SCRATCH/right" "$CARRIER/bundle-1-1.json"
    update m
    is 0
    same "$(value m x)" 1
}

@test "push refuses a head that is not the predecessor, and a second of the same name" {
    start_nginx
    for carrier in "$(https_carrier)" "$(jq -c '.carriers[0]' "$WORK/fleet.json")"; do
        rm -f "$CARRIER"/*.json* "$WORK"/bundle*
        carried_by "$carrier"
        release '{"x":1}'
        push # again: nothing to do
        cp -r "$WORK" "$SCRATCH/other"
        release '{"x":2}'
        sed -i 's/x/y/' "$SCRATCH/document.json"
        "$QF" build --work "$SCRATCH/other" "$SCRATCH/document.json" >/dev/null
        sign ops "$SCRATCH/other/bundle-1-2.json"
        run --separate-stderr "$QF" push --work "$SCRATCH/other"
        is 0 # the numbers are those at the carrier: it says so
        [[ $output == *"was there already"* ]]
        echo '{"format":"qsettings-fleet-head-1","keys":1,"serial":1}' >"$CARRIER/head.json"
        run --separate-stderr "$QF" push --work "$SCRATCH/other"
        is 8
        cmp "$WORK/bundle-1-2.json" "$CARRIER/bundle-1-2.json"
        echo '{"format":"qsettings-fleet-head-1","keys":1,"serial":5}' >"$CARRIER/head.json"
        run --separate-stderr "$QF" push --work "$WORK"
        is 8 "1-5"
        rm -r "$SCRATCH/other"
    done
}

# peak PID: its largest memory so far, in KiB
peak() {
    awk '/^VmHWM:/ { print $2 }' "/proc/$1/status"
}

@test "fetch needs at most 16 MiB, whatever the bundle's size" {
    start_nginx
    carried_by "$(https_carrier)"
    build "$(jq -nc '{env: ([range(9000)] | map({key: "NAME\(.)", value: ("x" * 80)}) | from_entries)}')"
    push
    [ "$(stat -c %s "$CARRIER/bundle-1-1.json")" -gt 800000 ]
    build "$(jq -nc '{env: ([range(9000)] | map({key: "OTHER\(.)", value: ("y" * 80)}) | from_entries)}')"
    push # with a base
    machine m "$(jq -c 'del(.carriers[0].ca)' <<<"$CARRIED")"
    sed -i 's/"type": "https"/"type": "https", "ca": "'"${TLS//\//\\/}"'\/all.pem"/' "$SCRATCH/m/fleet/config.json"
    cat /etc/ssl/certs/ca-certificates.crt "$TLS/ca.pem" >"$TLS/all.pem" 2>/dev/null || cp "$TLS/ca.pem" "$TLS/all.pem"
    fetching m
    until_true has m bundle-1-2.json
    until_true [ -e "$SCRATCH/m/var/spool/qfleet/bundle-1-1.json" ]
    echo "# $(peak "${FETCHERS[0]}") KiB" >&3
    [ "$(peak "${FETCHERS[0]}")" -le 16384 ]
}

# ---- etcd ----

@test "etcd: push, watch, apply, report; a member stopped, a leader gone" {
    start_etcd 3
    carried_by "$(etcd_carrier)"
    release '{"x":1}'
    machine m "$CARRIED"
    fetching m
    until_true has m bundle-1-1.json
    on m apply
    is 0
    same "$(value m x)" 1
    reported() { etcdctl_ get "qsettings/north/report/$ID" --print-value-only | grep -q '^untrusted comment'; }
    until_true reported
    run --separate-stderr "$QF" status --work "$WORK" --json
    same "$(jq -c '[.machines[0].id, .machines[0].flags]' <<<"$output")" "[\"$ID\",[\"unknown\"]]"
    release '{"x":2}'
    until_true has m bundle-1-2.json
    # a stopped member keeps its connections open and silent
    kill -STOP "${MEMBER_PIDS[0]}"
    release '{"x":3}'
    until_true has m bundle-1-3.json
    kill -CONT "${MEMBER_PIDS[0]}"
    stop_member 1
    until_true etcd_is_up
    release '{"x":4}'
    until_true has m bundle-1-4.json
}

@test "etcd: compaction, and a cluster restored from older data, leave no machine deaf" {
    start_etcd 1
    carried_by "$(etcd_carrier)"
    release '{"x":1}'
    etcdctl_ snapshot save "$SCRATCH/snapshot" >/dev/null
    machine m "$(jq -c '.interval = 3600' <<<"$CARRIED")" # only the watch brings anything
    fetching m
    until_true has m bundle-1-1.json
    for i in $(seq 50); do etcdctl_ put "other$i" x >/dev/null; done
    etcdctl_ compact "$(etcdctl_ get x -w json | jq .header.revision)" >/dev/null
    release '{"x":2}'
    until_true has m bundle-1-2.json
    # restored: its revisions are below those that the machine has seen
    stop_member 0
    ETCDCTL_API=3 etcdctl snapshot restore "$SCRATCH/snapshot" --name m0 --data-dir "$SCRATCH/restored" \
        --initial-cluster "$CLUSTER" --initial-advertise-peer-urls "https://127.0.0.1:${PEER_PORTS[0]}" >/dev/null 2>&1
    start_member 0 existing "$SCRATCH/restored"
    until_true etcd_is_up
    "$QF" push --work "$WORK" >/dev/null # once more what it has forgotten
    release '{"x":3}'
    until_true has m bundle-1-3.json
}

@test "etcd: users and tokens; a machine's user can write reports and not read them" {
    start_etcd 1
    echo secret >"$SCRATCH/password"
    chmod 600 "$SCRATCH/password"
    etcdctl_ user add root:rootpw >/dev/null
    etcdctl_ role add machine >/dev/null
    etcdctl_ role grant-permission machine read qsettings/north/ qsettings/north/report/ >/dev/null
    etcdctl_ role grant-permission machine write --prefix qsettings/north/report/ >/dev/null
    etcdctl_ user add machine:secret >/dev/null
    etcdctl_ user grant-role machine machine >/dev/null
    carried_by "$(etcd_carrier)"
    release '{"x":1}'
    etcdctl_ user grant-role root root >/dev/null
    etcdctl_ auth enable >/dev/null
    machine m "$(jq -c --arg f "$SCRATCH/password" '.carriers[0] += {user: "machine", passwordFile: $f}' <<<"$CARRIED")"
    update m
    is 0
    same "$(value m x)" 1
    on m fetch --once
    is 0
    etcdctl_ --user root:rootpw get "qsettings/north/report/$ID" --print-value-only | grep -q '^{"applied'
    echo wrong >"$SCRATCH/password"
    on m fetch --once
    is 7
}
