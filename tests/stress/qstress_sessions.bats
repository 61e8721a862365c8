#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qstress sessions: sessions start while their policy is being saved.

setup() {
    bats_require_minimum_version 1.5.0
    qstress=$QS_BUILD/bin/qstress
    dir=$(mktemp -d /tmp/qstress-sessions-XXXXXX)
    cd "$dir" || exit 1
}

teardown() {
    cd /
    rm -rf "$dir"
}

# Repeats until a session started unconfined; at most ten times.
until_unconfined() {
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        status=0
        "$qstress" sessions "$@" --seed "$i" --json >result.json || status=$?
        ((status <= 1)) || return 1
        jq -e '.unconfined > 0' result.json >/dev/null && return 0
    done
    echo "never unconfined: $(cat result.json)"
    return 1
}

@test "sessions_start_unconfined_while_rename_away_saves" {
    until_unconfined --backend rename-away --starts 2000
    [ "$status" = 1 ]
    jq -e '.starts == 2000 and .confined + .refused + .unconfined == 2000 and .saves > 0' result.json
}

@test "looking_first_whether_the_file_exists_does_not_help" {
    until_unconfined --backend rename-away --reader twice --starts 2000
}

@test "in_place_makes_sessions_refuse" {
    run --separate-stderr "$qstress" sessions --backend in-place --starts 3000 --json
    jq -e '.refused > 0 and .unconfined == 0' <<<"$output"
}

@test "renaming_over_leaves_no_session_unconfined" {
    run -0 --separate-stderr "$qstress" sessions --backend rename-over --starts 3000 --writers 2 --json
    jq -e '.unconfined == 0 and .refused == 0 and .confined == 3000' <<<"$output"
}

# 20,000 starts; with QS_THOROUGH=1, as in .ci/run, five times as many.
@test "with_the_store_no_session_starts_unconfined_or_is_refused" {
    local starts=$((QS_THOROUGH ? 100000 : 20000))
    run -0 --separate-stderr "$qstress" sessions --backend qsettings --starts "$starts" --writers 2 --json
    echo "$output"
    jq -e ".unconfined == 0 and .refused == 0 and .confined == $starts and .saves > 0 and .errors == 0" <<<"$output"
}

@test "with_the_store_reading_twice_is_no_worse" {
    run -0 --separate-stderr "$qstress" sessions --backend qsettings --reader twice --starts 5000 --writers 2 --json
    jq -e '.unconfined == 0 and .refused == 0 and .confined == 5000' <<<"$output"
}

@test "with_the_store_sessions_of_another_user_start_confined" {
    run -0 --separate-stderr "$qstress" sessions --backend qsettings --as-user nobody --starts 3000 --json
    jq -e '.unconfined == 0 and .refused == 0 and .confined == 3000' <<<"$output"
}

# Each start is a whole `qsandbox run`, whose command tries to write outside, with two writers saving policies.
@test "no_session_started_through_qsandbox_is_unconfined_or_refused" {
    [ "$(id -u)" -eq 0 ] || unshare -U true || skip "needs user namespaces"
    local starts=$((QS_THOROUGH ? 1000 : 200))
    run -0 --separate-stderr "$qstress" sessions --backend qsettings --reader sandbox --starts "$starts" --writers 2 --json
    echo "$output"
    jq -e ".unconfined == 0 and .refused == 0 and .confined == $starts and .saves > 0 and .errors == 0" <<<"$output"
}

@test "an_executor_that_runs_unconfined_now_and_then_is_caught" {
    cat >executor <<'EXECUTOR'
#!/bin/bash
until [ "$1" = -- ]; do shift; done
shift
((RANDOM % 10)) && exit 43 # as a confined probe ends
exec "$@"
EXECUTOR
    chmod 755 executor
    run -1 --separate-stderr "$qstress" sessions --reader sandbox --qsandbox "$dir/executor" --starts 200 --json
    jq -e '.unconfined > 0 and .unconfined < 200 and .confined + .unconfined == 200' <<<"$output"
}

@test "the_result_as_json_has_exactly_the_documented_fields" {
    run -0 --separate-stderr "$qstress" sessions --backend copy-backup --starts 100 --seed 9 --json
    jq -e 'keys == (["backend","reader","starts","starters","writers","seed","saves","confined","refused","unconfined",
        "errors","start_us"] | sort)' <<<"$output"
    jq -e '.backend == "copy-backup" and .reader == "once" and .seed == 9' <<<"$output"
}

@test "reports_and_the_expected_violation" {
    run -0 "$qstress" sessions --backend rename-away --starts 20000 --expect-violation --junit r.xml --html r.html
    [[ $output == *"ok 1 - rename-away is seen to be bad"* ]]
    xmllint --noout r.xml
    [ "$(grep -c '<svg ' r.html)" = 1 ]
    run -1 "$qstress" sessions --backend rename-over --starts 200 --expect-violation
    run -0 "$qstress" sessions --backend rename-over --starts 200
    [[ $output == *"ok 1 - no session starts unconfined: 0 of 200 starts"* ]]
}

@test "usage_errors_end_with_2" {
    run -2 "$qstress" sessions --starts 0
    run -2 "$qstress" sessions --reader thrice
    run -2 "$qstress" sessions --backend in-place --reader sandbox
    run -10 "$qstress" sessions --reader sandbox --qsandbox /no/such/file
    [[ $output == *"/no/such/file"* ]]
}
