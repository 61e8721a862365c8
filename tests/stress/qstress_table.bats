#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The table of make stress: its rows, and that each way in which it must fail does fail it.

setup() {
    bats_require_minimum_version 1.5.0
    dir=$(mktemp -d /tmp/qstress-table-XXXXXX)
    mkdir -p "$dir/bin"
    export STRESS_SECONDS=0.5 STRESS_STARTS=300 STRESS_SANDBOX_STARTS=5
}

teardown() {
    rm -rf "$dir"
}

# A qstress that finds what it is told to.
pretend() {
    cat >"$dir/bin/qstress" <<EOF
#!/bin/sh
case "\$*" in
*rename-away* | *in-place* | *copy-backup* | *rename-over*) bad=$2 ;;
*) bad=$1 ;;
esac
echo "{\"reads\": $3, \"writes\": 0, \"absent\": \$bad, \"torn\": 0, \"stale\": 0, \"lost\": 0, \"errors\": 0, \"gaps\": {\"count\": 0}}"
exit ${4:-0}
EOF
    chmod +x "$dir/bin/qstress"
}

@test "races_of_every_backend_stand_in_the_table" {
    ln -s "$QS_BUILD/bin/qstress" "$dir/bin/qstress"
    run -0 bash "$QS_TOP/tools/stress.sh" "$dir" race
    echo "$output"
    [ "$(grep -c '^race .* qsettings .* clean$' <<<"$output")" = 3 ]
    [ "$(grep -c '^race .* seen, as it must be$' <<<"$output")" = 4 ]
    [ "$(jq -s 'map(select(.harness == "race" and .tried > 0)) | length' "$dir/stress/results.jsonl")" = 7 ]
}

@test "a_violation_in_the_rows_of_qsettings_fails_it" {
    pretend 1 1 100
    run -1 bash "$QS_TOP/tools/stress.sh" "$dir" race
    [[ $output == *"FAILED: violations; qstress race"* ]]
}

@test "a_known_bad_way_that_is_not_seen_fails_it" {
    pretend 0 0 100
    run -1 bash "$QS_TOP/tools/stress.sh" "$dir" race
    [[ $output == *"FAILED: known to be bad, and not seen"* ]]
}

@test "nothing_tried_fails_it" {
    pretend 0 1 0
    run -1 bash "$QS_TOP/tools/stress.sh" "$dir" race
    [[ $output == *"FAILED: nothing was tried"* ]]
}

@test "a_harness_that_cannot_run_fails_it_and_says_why" {
    printf '#!/bin/sh\necho "qstress: no root" >&2\nexit 7\n' >"$dir/bin/qstress"
    chmod +x "$dir/bin/qstress"
    run -1 bash "$QS_TOP/tools/stress.sh" "$dir" race
    [[ $output == *"NOT RUN, status 7: qstress: no root"* ]]
    run -2 bash "$QS_TOP/tools/stress.sh" "$dir" nothing
}
