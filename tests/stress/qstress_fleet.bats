#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qstress fleet: clean by each carrier under an adversary, and each control is caught.

setup() {
    bats_require_minimum_version 1.5.0
    export TMPDIR=$BATS_TEST_TMPDIR
    stress=$QS_BUILD/bin/qstress
}

@test "machines are never shown what they may not have, by each carrier" {
    for carrier in file https etcd; do
        run --separate-stderr timeout 300 "$stress" fleet --hosts 3 --seconds 4 --carrier $carrier --json
        echo "$output $stderr"
        [ "$status" -eq 0 ]
        jq -e '.hosts == 3 and .violations == 0 and .commits > 9 and .reads > 50 and .signed > 4 and
            .latency_ms.p50 > 0 and .latency_ms.p99 <= .latency_ms.max' <<<"$output"
    done
    [ -z "$(ls "$TMPDIR" | grep qstress)" ] || { ls "$TMPDIR"; false; }
}

@test "each control is caught" {
    for control in no-order no-signature two-transactions serial-first unsalted-draw duplicate-signature deaf-watch; do
        seconds=60 # at most: the first violation ends it
        [ $control != deaf-watch ] || seconds=3
        run --separate-stderr timeout 300 "$stress" fleet --hosts 4 --seconds $seconds --control $control --json
        echo "$control: $output $stderr"
        [ "$status" -eq 1 ]
        jq -e '.violations > 0 and (.samples | length) > 0' <<<"$output"
    done
}

@test "deaf-watch is caught with etcd, where watching is what brings the news" {
    run --separate-stderr timeout 300 "$stress" fleet --hosts 2 --seconds 3 --control deaf-watch --carrier etcd --json
    echo "$output $stderr"
    [ "$status" -eq 1 ]
    [[ $output == *"though the carrier is well"* ]]
}

@test "what is no number of machines, or no carrier, is wrong usage" {
    run "$stress" fleet --hosts 0
    [ "$status" -eq 2 ]
    run "$stress" fleet --carrier pigeon
    [ "$status" -eq 2 ]
}
