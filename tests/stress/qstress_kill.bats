#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qstress kill: a writer of the store may die at any of its system calls; the known-bad ways may not, and are caught.

setup() {
    qstress=$QS_BUILD/bin/qstress
    out=$BATS_TEST_TMPDIR/out.json
    each=1 # every point; fewer where a sanitizer makes each several times dearer
    case $QS_BUILD in */asan | */tsan | */cover) each=5 ;; esac
}

kill_it() {
    local expected=$1 status=0
    shift
    "$qstress" kill --json "$@" >"$out" || status=$?
    cat "$out"
    [ "$status" -eq "$expected" ]
}

# No violation in any run, and at least $1 kill points in each run of that mode.
all_survive() {
    jq -e --argjson least "$1" '.violations == 0 and (.runs | length) > 0 and
        all(.runs[]; .ok == .points and .points >= $least)' "$out"
}

@test "set survives a kill before and after each of its system calls" {
    kill_it 0 --operation set --mode kill --waiter no --every "$each"
    all_survive 60
}

@test "apply, rollback, compact, restore and publish survive kills, with a waiting second writer and without" {
    for operation in apply rollback compact restore publish; do
        kill_it 0 --operation "$operation" --mode kill --every $((9 * each))
        all_survive 3
        jq -e '[.runs[].waiter] == [false, true]' "$out"
    done
}

@test "init survives kills: absent or whole, and the next init goes on" {
    kill_it 0 --operation init --mode kill --every 7
    all_survive 30
}

@test "replace survives a kill at each call and leaves nothing over" {
    kill_it 0 --operation replace --mode kill
    all_survive 50
}

@test "a reader reads old or new while the writer stands at any of its calls" {
    kill_it 0 --mode stop
    all_survive 50
    jq -e '[.runs[].operation] | contains(["set", "apply", "rollback", "compact", "restore", "publish", "replace", "init"])' "$out"
}

@test "rename-away is absent after some kills and at some stops" {
    kill_it 1 --backend rename-away --mode kill --waiter no
    jq -e '.runs[0].absent > 0' "$out"
    kill_it 1 --backend rename-away --mode stop
    jq -e '.runs[0].absent > 0' "$out"
}

@test "writing in place is torn by a kill" {
    kill_it 1 --backend in-place --mode kill --waiter no
    jq -e '.runs[0].torn > 0 and .runs[0].absent == 0' "$out"
}

@test "rename-over is whole after every kill but leaves files over" {
    kill_it 1 --backend rename-over --mode kill --waiter no
    jq -e '.runs[0] | .stray > 0 and .absent == 0 and .torn == 0 and .lost == 0' "$out"
}

@test "expect-violation turns the exit status round" {
    kill_it 0 --backend in-place --mode kill --waiter no --expect-violation
    kill_it 1 --operation replace --mode kill --waiter no --expect-violation
}

@test "a foreign program that writes in place is caught, one that renames over is not" {
    file=$BATS_TEST_TMPDIR/foreign.json
    echo '{"a": 1}' >"$file"
    kill_it 1 --command "printf '{\"a\": ' >$file; printf '2}' >>$file" --path "$file" --mode kill
    jq -e '.backend == "command" and .runs[0].torn > 0' "$out"
    kill_it 0 --command "printf '{\"a\": 2}' >$file.new && mv $file.new $file" --path "$file" --mode kill --every 3
    all_survive 20
}

@test "a check command judges what a foreign program wrote" {
    file=$BATS_TEST_TMPDIR/foreign.txt
    echo old >"$file"
    kill_it 0 --command "echo new >$file.new && mv $file.new $file" --path "$file" --check "grep -qxE 'old|new' $file" \
        --mode kill --every 5
    kill_it 1 --command "echo new >$file" --path "$file" --check "grep -qxE 'old|new' $file" --mode kill
    jq -e '.runs[0].torn > 0' "$out"
}

@test "a run says how many kill points it tried" {
    run "$qstress" kill --operation replace --mode kill --waiter no
    [ "$status" -eq 0 ]
    [[ $output =~ ([0-9]+)\ points\ tried ]]
    [ "${BASH_REMATCH[1]}" -ge 50 ]
}

@test "it needs no privilege" {
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$qstress" kill --backend in-place --mode kill --waiter no
    [ "$status" -eq 1 ]
    [[ $output == *"torn"* ]]
}

@test "it leaves no scratch directory, also when it is interrupted" {
    scratch=$BATS_TEST_TMPDIR/scratch
    mkdir "$scratch"
    "$qstress" kill --backend in-place --dir "$scratch" >/dev/null 2>&1 || :
    [ -z "$(ls -A "$scratch")" ]
    "$qstress" kill --operation set --dir "$scratch" >/dev/null 2>&1 &
    pid=$!
    for _ in $(seq 500); do
        [ -n "$(ls -A "$scratch")" ] && break
        read -rt 0.01 <> <(:) || :
    done
    [ -n "$(ls -A "$scratch")" ]
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 10 ]
    [ -z "$(ls -A "$scratch")" ]
}

@test "a wrong command line is refused" {
    run "$qstress" kill --operation fly
    [ "$status" -eq 2 ]
    run "$qstress" kill --backend in-place --operation set
    [ "$status" -eq 2 ]
    [[ $output == *"no operation 'set'"* ]]
    run "$qstress" kill --command true
    [ "$status" -eq 2 ]
    run "$qstress" kill --check true
    [ "$status" -eq 2 ]
}
