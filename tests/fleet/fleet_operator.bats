#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The operator's side: what build writes and tells, who may be promoted, what status says of each kind of machine.
load ../support/fleet

setup() { fleet_setup; }
teardown() { fleet_teardown; }

# op COMMAND...: with the work directory; status, output, stderr.
op() {
    run --separate-stderr "$QF" "$1" --work "$WORK" "${@:2}"
}
# everything machine NAME does in a round, its report at the carrier
round() {
    update "$1"
    "$QF" fetch --once --root "$SCRATCH/$1"
}
admit() {
    "$QF" admit --work "$WORK" "$(report "$1" .id)" --label "$1" "${@:2}" >/dev/null
}
# flags NAME: what status says of it
flags() {
    "$QF" status --work "$WORK" --json >"$SCRATCH/status" || true
    jq -rc --arg id "$(report "$1" .id)" '.machines[] | select(.id == $id) | .flags' "$SCRATCH/status"
}

@test "build tells what changes and who is drawn; secrets and mistakes are refused with their place" {
    release '{"x":1,"env":{"A":"b"}}'
    printf 'x: 2\ny: [1]\n' >"$SCRATCH/d.yaml"
    op build "$SCRATCH/d.yaml" --rings pilot,10%,lab:50%,all --open 2 --locks y,env --days 5
    is 0
    [[ $output == *'- env.A = "b"'*'- x = 1'*'+ x = 2'*'+ y = [1]'* ]]
    [[ $output == *"ring 0 (open): group pilot 0 of 0 machines"* ]]
    same "$(jq -c '[.serial, .rings, .open, .locks, .expires - .issued, .battery, .rollout, .base.serial]' "$WORK/bundle-1-2.json")" \
        '[2,[{"group":"pilot"},{"percent":10},{"group":"lab","percent":50},{}],2,["y","env"],432000,"hold","s2",1]'
    same "$(jq -r .base.digest "$WORK/bundle-1-2.json")" "$(b2sum -l 256 "$WORK/bundle-1-1.json" | cut -d' ' -f1)"
    for bad in 'x: 1.5' 'tools: {executionSandbox: {filesystem: all}}' 'fleet: {}' 'security: {auth: {apiKey: k}}'; do
        echo "$bad" >"$SCRATCH/d.yaml"
        op build "$SCRATCH/d.yaml"
        is 3
    done
    op build "$SCRATCH/document.json" --rings 'a b'
    is 3
    op build "$SCRATCH/document.json" --rings '200%'
    is 2
    op build "$SCRATCH/nothing"
    [ "$status" -ne 0 ]
    [ ! -e "$WORK/bundle-1-3.json" ]
}

@test "verify says what a machine would; --keys names the key document" {
    build '{"x":1}'
    sign ops "$WORK/$BUNDLE"
    run --separate-stderr "$QF" verify "$WORK/$BUNDLE" --keys "$WORK/keys-1.json"
    is 0
    [[ $output == *"fleet north, bundle 1-1, signed by 1 of 1 keys"* ]]
    machine m
    run --separate-stderr "$QF" verify "$WORK/$BUNDLE" --root "$SCRATCH/m" --json
    is 0
    same "$(jq -c . <<<"$output")" '{"bundle":[1,1],"clockBehind":false,"fleet":"north","signers":1}'
    key_document 2 '["root"]' '["ops"]'
    sign ops "$WORK/keys-2.json"
    run --separate-stderr "$QF" verify "$WORK/keys-2.json" --keys "$WORK/keys-1.json"
    is 7
    rm "$WORK/keys-2.json.minisig"
    sign root "$WORK/keys-2.json"
    run --separate-stderr "$QF" verify "$WORK/keys-2.json" --keys "$WORK/keys-1.json"
    is 0
    run --separate-stderr "$QF" verify "$WORK/$BUNDLE" --keys "$WORK/keys-2.json"
    is 7 "2 has replaced it"
    echo x >>"$WORK/$BUNDLE"
    run --separate-stderr "$QF" verify "$WORK/$BUNDLE" --keys "$WORK/keys-1.json"
    is 7
    echo x >"$WORK/$BUNDLE.minisig"
    run --separate-stderr "$QF" verify "$WORK/$BUNDLE" --keys "$WORK/keys-1.json"
    is 3
}

@test "push carries a key document only with a bundle under it, and nothing unsigned" {
    build '{"x":1}'
    op push
    [ "$status" -ne 0 ]
    [[ $stderr == *"minisign -S"* ]]
    [ ! -e "$CARRIER/head.json" ]
    push
    key_document 2 '["root"]' '["ops"]'
    sign root "$WORK/keys-2.json"
    op push
    is 7
    [ ! -e "$CARRIER/keys-2.json" ]
    release '{"x":2}'
    same "$(jq -c '[.keys, .serial]' "$CARRIER/head.json")" "[2,2]"
    [ -e "$CARRIER/keys-2.json.minisig" ]
}

@test "promote wants success from the open rings; a withheld report is none, and --force is recorded" {
    for name in a b c; do
        machine $name '{"groups":["pilot"]}'
    done
    release '{"x":1}'
    for name in a b c; do round $name && admit $name --group pilot; done
    release '{"x":2}' --rings pilot,all
    op promote
    is 1 "of 3 machines in the open rings 0 report success"
    round a
    round b
    op promote
    is 1 "2 report success"
    op promote --need 60
    is 0
    rm "$WORK/$(sed -n 's/^wrote .*\/\(bundle-[0-9-]*\.json\); .*/\1/p' <<<"$output")"
    round c
    op promote
    is 0
    rm "$WORK/bundle-1-3.json"
    op promote --force
    is 2
    op promote --force -m "ops-7"
    is 0
    grep -q "bundle-1-3.json promote forced: ops-7" "$WORK/log"
    op promote
    is 8 "all rings are open"
}

@test "status: current, behind, drifting, silent, refused, unknown; the exit status says whether all is well" {
    for name in fine late odd gone; do machine $name; done
    release '{"x":1}'
    for name in fine late odd gone; do round $name; done
    same "$(flags fine)" '["unknown"]'
    for name in fine late odd gone; do admit $name; done
    op status --html "$SCRATCH/page.html"
    is 0
    [[ $output == *"fine "*"1-1"*"current"* ]]
    grep -q "4 of 4 machines are well" "$SCRATCH/page.html"
    grep -q "Serial by ring" "$SCRATCH/page.html"
    release '{"x":2}'
    round fine
    round odd
    "$QF" break-glass --root "$SCRATCH/odd" --hours 1 -m w >/dev/null
    "$QS" --root "$SCRATCH/odd" --system set x 9 >/dev/null
    "$QF" break-glass --root "$SCRATCH/odd" --end >/dev/null
    round odd
    rm "$CARRIER/reports/$(report gone .id)".*
    op status
    is 1
    same "$(flags fine)" '[]'
    same "$(flags late)" '["behind"]'
    same "$(flags odd)" '["drifting"]'
    same "$(flags gone)" '["silent"]'
    sed -i 's/"state":"current"/"state":"refused"/' "$CARRIER/reports/$(report fine .id).json"
    same "$(flags fine)" '["silent"]' # altered on the way: none of its own
}

@test "status: a restored disk went back, a clone is a duplicate" {
    machine m
    release '{"x":1}'
    round m
    admit m
    cp -a "$SCRATCH/m" "$SCRATCH/older"
    release '{"x":2}'
    round m
    same "$(flags m)" '[]'
    cp -a "$SCRATCH/m" "$SCRATCH/clone"
    # the whole disk, restored: the machine cannot know
    rm -r "$SCRATCH/m"
    cp -a "$SCRATCH/older" "$SCRATCH/m"
    "$QF" fetch --once --root "$SCRATCH/m"
    same "$(flags m)" '["behind","went back"]'
    # both speak with one id
    release '{"x":3}'
    round clone
    flags m >/dev/null
    round m
    same "$(flags m | jq -c 'contains(["duplicate"]) or contains(["went back"])')" true
    # the same number over another text
    "$QF" break-glass --root "$SCRATCH/m" --hours 1 -m w >/dev/null
    until [ "$(report m .sequence)" -ge "$(report clone .sequence)" ]; do
        "$QF" break-glass --root "$SCRATCH/m" --hours 1 -m "w$(report m .sequence)" >/dev/null
    done
    "$QF" fetch --once --root "$SCRATCH/clone"
    flags m >/dev/null
    "$QF" fetch --once --root "$SCRATCH/m"
    same "$(flags m | jq -c 'contains(["duplicate"])')" true
}

@test "admit takes only what a machine of this fleet has signed" {
    machine m
    op admit 0123
    is 2
    op admit "$ID"
    [ "$status" -ne 0 ]
    release '{"x":1}'
    round m
    op admit "$ID" --group Pilot
    is 2
    op admit "$ID" --label one --group pilot
    is 0
    same "$(jq -c '.machines[0] | [.id, .publicKey, .label, .group]' "$WORK/machines.json")" \
        "$(jq -nc --arg i "$ID" --arg k "$(report m .publicKey)" '[$i, $k, "one", "pilot"]')"
}

@test "a work directory that is none is named" {
    run --separate-stderr "$QF" status --work "$SCRATCH/nowhere"
    is 5 "fleet.json"
    echo '{"format":"x"}' >"$WORK/fleet.json"
    op status
    is 3
}
