#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A machine in a fleet: what it believes, what it does, and what it does not. Signed with minisign, carried by a directory.
load ../support/fleet

setup() { fleet_setup; }
teardown() { fleet_teardown; }

P='{"tools":{"executionSandbox":{"filesystem":"workspace-write","network":"closed"}}'

@test "enrol, fetch, apply: the document is the scope, the key fleet says where it came from" {
    release '{"x":1,"env":{"A":"b"}}' --locks env
    machine m
    update m
    is 0
    same "$(value m x)" 1
    same "$("$QS" --root "$SCRATCH/m" --system locks)" "env (system)"
    same "$(value m fleet | jq -c '[.name, .keys, .serial, .source]')" '["north",1,1,1]'
    same "$(value m fleet.bundle)" "$(b2sum -l 256 "$WORK/bundle-1-1.json" | cut -d' ' -f1)"
    same "$(cat "$SCRATCH/m/require-serial")" "north 1 1"
    same "$(report m '[.state, .seen, .applied, .drift]')" '["current",[1,1],[1,1],false]'
    [ "$(stat -c %a "$SCRATCH/m/require-serial" "$SCRATCH/m/var/lib/qfleet/seen" "$SCRATCH/m/var/lib/qfleet/machine.key" | tr '\n' ' ')" = "644 600 600 " ]
    "$QS" --root "$SCRATCH/m" --system log | grep -q "fleet north: bundle 1-1, signed by $(public ops)"
    generation=$("$QS" --root "$SCRATCH/m" --system fsck --json | jq .generation)
    update m
    is 0
    same "$("$QS" --root "$SCRATCH/m" --system fsck --json | jq .generation)" "$generation"
    on m state --json
    is 0
    same "$(jq -c '[.state, .applied, .stale, .drift]' <<<"$output")" '["current",[1,1],false,false]'
}

@test "nothing is believed of a machine that is in no fleet, or before a bundle has come" {
    on m apply
    is 5 "in no fleet"
    mkdir "$SCRATCH/m"
    on m state
    is 5
    machine m
    on m apply
    is 0
    same "$(report m .state)" waiting
    on m fetch --once
    is 5 "no carrier has a bundle yet"
}

@test "the report is signed by the machine's key, as minisign verifies it" {
    release '{"x":1}'
    machine m
    update m
    "$QF" fetch --once --root "$SCRATCH/m"
    key=$(sed -n 's/^public key: //p' "$SCRATCH/m.id")
    minisign -V -P "$key" -m "$CARRIER/reports/$ID.json"
    same "$(report m .publicKey)" "$key"
    [ "$(wc -c <"$CARRIER/reports/$ID.json")" -lt 900 ]
    # neither host name nor user nor path
    run grep -e "$(hostname)" -e "$SCRATCH" "$CARRIER/reports/$ID.json"
    [ "$status" -eq 1 ]
}

@test "signatures: foreign, too few, altered, legacy, malformed; and each leaves the old policy" {
    new_key other
    new_key second
    key_document 1 '["root"]' '["ops","second"]' 1 2
    machine m
    build '{"x":1}'
    sign ops "$WORK/$BUNDLE"
    sign second "$WORK/$BUNDLE"
    push
    update m
    is 0
    build '{"x":2}'
    cp "$WORK/$BUNDLE" "$SCRATCH/m/var/spool/qfleet/"
    spool=$SCRATCH/m/var/spool/qfleet/$BUNDLE
    on m apply
    is 5 # its signature has not come
    sign ops "$spool"
    sign ops "$spool" # a duplicate counts once
    on m apply
    is 7 "signed by 1 of the keys"
    same "$(report m .state)" refused
    sign other "$spool"
    on m apply
    is 7
    cp "$spool.minisig" "$SCRATCH/two"
    sign second "$spool"
    on m apply
    is 0
    same "$(value m x)" 2
    build '{"x":3}'
    cp "$WORK/$BUNDLE" "$SCRATCH/m/var/spool/qfleet/"
    spool=$SCRATCH/m/var/spool/qfleet/$BUNDLE
    sign ops "$spool"
    minisign -S -l -s "$SCRATCH/keys/second.key" -m "$spool" -x "$SCRATCH/legacy" >/dev/null
    cat "$SCRATCH/legacy" >>"$spool.minisig"
    on m apply
    is 7 "legacy"
    rm "$spool.minisig"
    sign ops "$spool"
    sign second "$spool"
    echo >>"$spool.minisig"
    on m apply
    is 3
    sed -i '$d' "$spool.minisig"
    sed -i 's/"x": *3/"x": 4/' "$spool"
    on m apply
    is 7
    same "$(value m x)" 2
    same "$(cat "$SCRATCH/m/require-serial")" "north 1 2"
}

@test "older, equal but other, expired, another fleet's: refused" {
    machine m
    release '{"x":1}'
    cp "$WORK/bundle-1-1.json"* "$SCRATCH/"
    release '{"x":2}'
    update m
    is 0
    spool=$SCRATCH/m/var/spool/qfleet
    rm -f "$spool"/bundle*
    cp "$SCRATCH"/bundle-1-1.json* "$spool/"
    on m apply
    is 7 "older than 1-2"
    same "$(value m x)" 2
    rm -f "$spool"/bundle*
    jq '.document.x = 3' "$WORK/bundle-1-2.json" >"$spool/bundle-1-2.json"
    sign ops "$spool/bundle-1-2.json"
    on m apply
    is 7 "not the one that was seen"
    rm -f "$spool"/bundle*
    jq '.serial = 3 | .issued = 1 | .expires = 2' "$WORK/bundle-1-2.json" >"$spool/bundle-1-3.json"
    sign ops "$spool/bundle-1-3.json"
    on m apply
    is 7 "expired"
    rm -f "$spool"/bundle*
    jq '.serial = 3 | .fleet = "south"' "$WORK/bundle-1-2.json" >"$spool/bundle-1-3.json"
    sign ops "$spool/bundle-1-3.json"
    on m apply
    is 7 "fleet south"
    rm -f "$spool"/bundle*
    jq '.serial = 3 | .more = 1' "$WORK/bundle-1-2.json" >"$spool/bundle-1-3.json"
    sign ops "$spool/bundle-1-3.json"
    on m apply
    is 3 "more"
    rm -f "$spool"/bundle*
    jq '.serial = 3 | .document.tools = {"executionSandbox": 1}' "$WORK/bundle-1-2.json" >"$spool/bundle-1-3.json"
    sign ops "$spool/bundle-1-3.json"
    on m apply
    is 3
    same "$(value m x)" 2
    same "$(report m '[.state, .applied, .seen]')" '["refused",[1,2],[1,3]]'
}

@test "a bundle that expires after it was applied stays in force" {
    machine m
    build '{"x":1}'
    jq '.issued = 1 | .expires = (now | floor) + 4' "$WORK/$BUNDLE" >"$WORK/b" && mv "$WORK/b" "$WORK/$BUNDLE"
    push
    update m
    is 0
    until [ "$(date +%s)" -gt "$(jq .expires "$WORK/$BUNDLE")" ]; do sleep 0.2; done
    on m apply
    is 0
    same "$(report m .state)" expired
    same "$(value m x)" 1
}

@test "rings: closed ones wait, promote opens, pause and rollback are never undone by an older bundle" {
    machine pilot '{"groups":["pilot"]}'
    machine plain
    release '{"x":1}'
    update pilot
    update plain
    release '{"x":2}' --rings pilot,all --open 1
    update pilot
    update plain
    is 0
    same "$(value pilot x) $(value plain x)" "2 1"
    same "$(report plain '[.state, .ring, .seen, .applied]')" '["waiting",1,[1,2],[1,1]]'
    operate pause
    push
    update pilot
    update plain
    same "$(value pilot x) $(value plain x)" "2 1"
    rm "$SCRATCH"/plain/var/spool/qfleet/*
    cp "$CARRIER"/bundle-1-2.json* "$SCRATCH/plain/var/spool/qfleet/"
    on plain apply # what was paused is not opened again, though nothing was committed since
    is 7 "older than 1-3"
    machine fresh
    update fresh # gets the proven document while the rollout is paused
    same "$(value fresh x)" 1
    same "$(value fresh fleet | jq -c '[.serial, .source]')" "[3,1]"
    operate promote --force -m "by hand" --to 2
    push
    update plain
    update fresh
    same "$(value plain x) $(value fresh x)" "2 2"
    operate rollback 1
    push
    for name in pilot plain fresh; do
        update $name
        is 0
        same "$(value $name x)" 1
        same "$(value $name fleet.serial)" 5
    done
}

@test "key documents 1 to 4 are walked; a serial driven up with a stolen key ends with the next ones" {
    machine m
    release '{"x":1}'
    update m
    new_key root2
    new_key ops2
    # the thief drives the serial up
    jq '.serial = 9000 | .document.x = 666' "$WORK/bundle-1-1.json" >"$CARRIER/bundle-1-9000.json"
    sign ops "$CARRIER/bundle-1-9000.json"
    echo '{"format":"qsettings-fleet-head-1","keys":1,"serial":9000}' >"$CARRIER/head.json"
    update m
    same "$(value m x)" 666
    key_document 2 '["root2"]' '["ops2"]'
    sign root "$WORK/keys-2.json"
    sign root2 "$WORK/keys-2.json"
    key_document 3 '["root2"]' '["ops2"]'
    sign root2 "$WORK/keys-3.json"
    key_document 4 '["root2"]' '["ops"]'
    sign root2 "$WORK/keys-4.json"
    build '{"x":2}'
    same "$BUNDLE" bundle-4-2.json
    push
    update m
    is 0
    same "$(value m x) $(value m fleet.keys) $(value m fleet.serial)" "2 4 2"
    same "$(jq .version "$SCRATCH/m/var/lib/qfleet/keys.json")" 4
    cp "$CARRIER"/bundle-1-9000.json* "$SCRATCH/m/var/spool/qfleet/"
    rm "$SCRATCH"/m/var/spool/qfleet/bundle-4-*
    on m apply
    is 7
    same "$(value m x)" 2
}

@test "a key document without the old or without the new root is refused" {
    machine m
    release '{"x":1}'
    update m
    new_key root2
    key_document 2 '["root2"]' '["ops"]'
    spool=$SCRATCH/m/var/spool/qfleet
    cp "$WORK/keys-2.json" "$spool/"
    sign root2 "$spool/keys-2.json"
    on m apply
    is 7
    rm "$spool/keys-2.json.minisig"
    sign root "$spool/keys-2.json"
    on m apply
    is 7
    [ ! -e "$SCRATCH/m/var/lib/qfleet/keys.json" ]
    sign root2 "$spool/keys-2.json"
    on m apply
    same "$(jq .version "$SCRATCH/m/var/lib/qfleet/keys.json")" 2
    same "$(value m x)" 1
}

@test "a machine that slept through more key documents than the spool holds" {
    machine m
    for version in $(seq 2 14); do
        key_document "$version" '["root"]' '["ops"]'
        sign root "$WORK/keys-$version.json"
    done
    release '{"x":1}'
    for _ in 1 2 3; do
        update m
        [ "$(find "$SCRATCH/m/var/spool/qfleet" -type f | wc -l)" -le 16 ]
    done
    is 0
    same "$(value m fleet.keys)" 14
}

@test "local writes are refused, drift is reported or put back, break-glass allows them for a while" {
    machine m
    machine strict '{"onDrift":"restore"}'
    release '{"x":1}'
    update m
    update strict
    run --separate-stderr "$QS" --root "$SCRATCH/m" --system set x 2
    [ "$status" -eq 8 ]
    [[ $stderr == *"qfleet break-glass"* ]]
    on m break-glass --hours 1
    is 2
    for name in m strict; do
        on $name break-glass --hours 1 -m "the net is down"
        is 0
        "$QS" --root "$SCRATCH/$name" --system set x 2 >/dev/null
        update $name
        is 0
        same "$(report $name '[.state, .drift]')" '["broken-glass",true]'
        same "$(value $name x)" 2
        on $name break-glass --end
        is 0
        update $name
    done
    "$QS" --root "$SCRATCH/m" --system log | grep -q "break-glass until .*: the net is down"
    "$QS" --root "$SCRATCH/m" --system log | grep -q "break-glass ended"
    same "$(value m x) $(report m .drift)" "2 true"
    same "$(value strict x) $(report strict .drift)" "1 false"
    run "$QS" --root "$SCRATCH/m" --system set x 3
    [ "$status" -eq 8 ]
    release '{"x":5}'
    update m
    same "$(value m x) $(report m .drift)" "5 false"
}

@test "the store alone restored is stale until apply has run, even where the content is the same" {
    machine m
    release "$P,\"x\":1}"
    update m
    cp -a "$SCRATCH/m/system" "$SCRATCH/before"
    release "$P,\"x\":2}"
    update m
    release "$P,\"x\":1}"
    update m
    same "$(policy_status m)" 0
    rm -r "$SCRATCH/m/system"
    mv "$SCRATCH/before" "$SCRATCH/m/system"
    same "$(policy_status m)" 12
    on m apply
    is 0
    same "$(policy_status m)" 0
    same "$(value m fleet.serial)" 3
    rm -r "$SCRATCH/m/system"
    on m apply # a store that is gone is made again
    is 0
    same "$(value m x)" 1
}

@test "seen lost is rebuilt; an older bundle is refused all the same" {
    machine m '{"minimum":{"keys":1,"serial":2}}'
    release '{"x":1}'
    update m
    is 7 "older than 1-2"
    release '{"x":2}'
    update m
    is 0
    release '{"x":3}'
    update m
    rm "$SCRATCH/m/var/lib/qfleet/seen" "$SCRATCH/m/var/lib/qfleet"/bundle.json*
    rm "$SCRATCH"/m/var/spool/qfleet/*
    cp "$CARRIER"/bundle-1-2.json* "$SCRATCH/m/var/spool/qfleet/"
    on m apply
    is 7 "older than 1-3"
    same "$(value m x)" 3
    echo garbage >"$SCRATCH/m/var/lib/qfleet/seen"
    on m apply
    is 6 "seen"
}

@test "what lies in the spool is not followed: links, pipes, directories, large files" {
    machine m
    release '{"x":1}'
    update m
    spool=$SCRATCH/m/var/spool/qfleet
    ln -s /etc/passwd "$spool/bundle-1-2.json"
    echo x >"$spool/bundle-1-2.json.minisig"
    on m apply
    is 7
    rm "$spool/bundle-1-2.json"
    mkfifo "$spool/bundle-1-2.json"
    on m apply
    is 7
    rm "$spool/bundle-1-2.json"
    mkdir "$spool/bundle-1-2.json"
    on m apply
    is 7
    rmdir "$spool/bundle-1-2.json"
    head -c 1048577 /dev/zero >"$spool/bundle-1-2.json"
    on m apply
    is 3
    same "$(value m x)" 1
}

@test "enrol refuses another fleet and settings that would go; --adopt gives them up" {
    mkdir "$SCRATCH/m"
    "$QS" --root "$SCRATCH/m" --system init >/dev/null
    "$QS" --root "$SCRATCH/m" --system set x 0 >/dev/null
    run machine m
    [ "$status" -ne 0 ]
    run --separate-stderr "$QF" enrol --root "$SCRATCH/m" "$SCRATCH/m.config" "$WORK/keys-1.json"
    is 8 "--adopt"
    run --separate-stderr "$QF" enrol --adopt --root "$SCRATCH/m" "$SCRATCH/m.config" "$WORK/keys-1.json"
    is 0
    release '{"x":1}'
    update m
    same "$(value m x)" 1
    jq '.fleet = "south"' "$SCRATCH/m.config" >"$SCRATCH/south.config"
    jq '.fleet = "south"' "$WORK/keys-1.json" >"$SCRATCH/south-keys.json"
    run --separate-stderr "$QF" enrol --root "$SCRATCH/m" "$SCRATCH/south.config" "$SCRATCH/south-keys.json"
    is 8 "fleet north already"
    run --separate-stderr "$QF" enrol --root "$SCRATCH/m" "$SCRATCH/south.config" "$WORK/keys-1.json"
    is 7
    # again into the same fleet: the identity stays
    run --separate-stderr "$QF" enrol --root "$SCRATCH/m" "$SCRATCH/m.config" "$WORK/keys-1.json"
    is 0
    same "$(sed -n 's/^id: //p' <<<"$output")" "$(report m .id)"
}

@test "leave: a last report, and the settings stay as the machine's own" {
    machine m
    release '{"x":1}' --locks x
    update m
    on m leave
    is 2
    on m leave -m "sold"
    is 0
    same "$(report m '[.state, .reason]')" '["left","sold"]'
    [ ! -e "$SCRATCH/m/require-serial" ]
    [ ! -e "$SCRATCH/m/var/lib/qfleet/machine.key" ]
    same "$(value m x)" 1
    run value m fleet
    [ "$status" -eq 1 ]
    "$QS" --root "$SCRATCH/m" --system set x 2 >/dev/null
    on m apply
    is 5
}

@test "a clock that is behind is reported, and the bundle accepted" {
    machine m
    build '{"x":1}'
    jq '.issued += 90000 | .expires += 90000' "$WORK/$BUNDLE" >"$WORK/b" && mv "$WORK/b" "$WORK/$BUNDLE"
    push
    update m
    is 0
    same "$(report m .clock)" behind
}

@test "a second qfleet waits for the lock, and says so in the end" {
    machine m
    exec 9>"$SCRATCH/m/var/lib/qfleet/lock"
    flock 9
    on m apply --wait 50
    is 9 "another qfleet"
    exec 9>&-
    on m apply
    is 0
}

@test "doctor: current is ok, expired and stale fail; qsettings doctor shows it" {
    machine m
    release '{"x":1}'
    update m
    on m doctor --json
    is 0
    same "$(jq -r '.checks[] | select(.name == "fleet.state") | .result' <<<"$output")" ok
    run "$QS" doctor --root "$SCRATCH/m"
    [[ $output == *"fleet.state"*"current, bundle 1-1"* ]]
    mkdir "$SCRATCH/none"
    run "$QS" doctor --root "$SCRATCH/none"
    [[ $output != *fleet.state* ]]
    echo "north 1 2" >"$SCRATCH/m/require-serial"
    on m doctor
    is 1
    [[ $output == *"older than require-serial"* ]]
}

@test "committed, but a registered file cannot be published: 11, and the next run publishes it" {
    machine m
    release '{"x":1}'
    update m
    mkdir "$SCRATCH/out"
    "$QS" --root "$SCRATCH/m" --system publish "$SCRATCH/out/file.json" --on-commit >/dev/null
    rm "$SCRATCH/out/file.json"
    echo edited >"$SCRATCH/out/file.json"
    release '{"x":2}'
    update m
    is 11
    same "$(value m x)" 2
    rm "$SCRATCH/out/file.json"
    on m apply
    is 0
    same "$(cat "$SCRATCH/out/file.json" | jq -c .)" '{"x":2}' # without the key fleet
}
