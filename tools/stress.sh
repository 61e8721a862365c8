#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each backend under each harness of qstress: states tried, violations, and whether that is what it must be: none in the
# rows of qsettings, some where the way is known to be bad (a harness that cannot see those proves nothing).
#
# usage: tools/stress.sh BUILD [race|sessions|kill|powercut]...
#   STRESS_SECONDS of each race [20]   STRESS_STARTS of sessions [100000]   STRESS_SANDBOX_STARTS through qsandbox [1000]
#   STRESS_STATES of each power cut [500]   STRESS_COMMITS [40]   STRESS_FS ["ext4 xfs btrfs"]   STRESS_SEED [1]
# Leaves BUILD/stress/results.jsonl: what each run printed, with harness, backend, tried, violations and verdict.
set -u
build=$(cd "${1:?build folder}" && pwd)
shift
harnesses=${*:-race sessions kill powercut}
qstress=${QSTRESS:-$build/bin/qstress}
seconds=${STRESS_SECONDS:-20}
starts=${STRESS_STARTS:-100000}
sandbox_starts=${STRESS_SANDBOX_STARTS:-1000}
states=${STRESS_STATES:-500}
commits=${STRESS_COMMITS:-40}
seed=${STRESS_SEED:-1}
out=$build/stress
mkdir -p "$out"
: >"$out/results.jsonl"
failed=0

# row EXPECT HARNESS BACKEND LABEL TRIED VIOLATIONS ARGUMENT...
#   EXPECT: clean, bad, or "any" where the way is not known to be bad at this. TRIED, VIOLATIONS: jq on the result.
row() {
    local expect=$1 harness=$2 backend=$3 label=$4 tried_of=$5 bad_of=$6 json status=0 tried bad verdict
    shift 6
    json=$("$qstress" "$harness" "$@" --json 2>"$out/error") || status=$?
    tried=$(jq -r "$tried_of" <<<"$json" 2>/dev/null)
    bad=$(jq -r "$bad_of" <<<"$json" 2>/dev/null)
    if ((status > 1)) || ! [[ $tried =~ ^[0-9]+$ && $bad =~ ^[0-9]+$ ]]; then
        verdict="NOT RUN, status $status: $(head -1 "$out/error")"
        tried=- bad=-
    elif ((tried == 0)); then
        verdict="FAILED: nothing was tried"
    elif [[ $expect == clean ]] && ((bad > 0)); then
        verdict="FAILED: violations; qstress $harness $*"
    elif [[ $expect == bad ]] && ((bad == 0)); then
        verdict="FAILED: known to be bad, and not seen"
    elif [[ $expect == clean ]]; then
        verdict="clean"
    elif [[ $expect == bad ]]; then
        verdict="seen, as it must be"
    else
        verdict="-"
    fi
    [[ $verdict == FAILED* || $verdict == NOT* ]] && failed=1
    printf '%-10s %-22s %-18s %10s %10s  %s\n' "$harness" "$label" "$backend" "$tried" "$bad" "$verdict"
    jq -c --arg h "$harness" --arg b "$backend" --arg l "$label" --arg v "$verdict" --arg t "$tried" --arg n "$bad" \
        '{harness: $h, backend: $b, label: $l, tried: ($t | tonumber? // null), violations: ($n | tonumber? // null),
          verdict: $v, result: .}' <<<"${json:-null}" >>"$out/results.jsonl"
}

race() {
    local backend tried='.reads + .writes' bad='.absent + .torn + .stale + .lost + .errors + .gaps.count'
    row clean race qsettings "3 writers, 3 readers" "$tried" "$bad" --seed "$seed" --seconds "$seconds" --writers 3 --readers 3
    row clean race qsettings "1 writer, 4 readers" "$tried" "$bad" --seed "$seed" --seconds "$seconds" --writers 1 --readers 4
    row clean race qsettings "1000 values" "$tried" "$bad" --seed "$seed" --seconds "$seconds" --values 1000
    for backend in rename-away in-place copy-backup rename-over; do
        row bad race "$backend" "3 writers, 3 readers" "$tried" "$bad" --backend "$backend" --seed "$seed" \
            --seconds "$seconds" --writers 3 --readers 3
    done
}

sessions() {
    local backend expect
    row clean sessions qsettings "one read" .starts .unconfined --seed "$seed" --starts "$starts" --writers 2
    row clean sessions qsettings "two reads" .starts .unconfined --seed "$seed" --starts "$starts" --writers 2 --reader twice
    if [[ -x $build/bin/qsandbox ]]; then
        row clean sessions qsettings "qsandbox run" .starts .unconfined --seed "$seed" --starts "$sandbox_starts" \
            --reader sandbox
    else
        echo "sessions   qsandbox run: not tried, there is no $build/bin/qsandbox"
    fi
    for backend in rename-away in-place copy-backup rename-over; do
        expect=any # a file that is always there is never "no policy"; torn ones are refused
        [[ $backend == rename-away ]] && expect=bad
        row "$expect" sessions "$backend" "one read" .starts .unconfined --backend "$backend" --seed "$seed" --starts "$starts"
        row "$expect" sessions "$backend" "two reads" .starts .unconfined --backend "$backend" --seed "$seed" \
            --starts "$starts" --reader twice
    done
}

kill_points() {
    local backend
    row clean kill qsettings "every call" .points .violations
    for backend in rename-away in-place copy-backup rename-over; do
        row bad kill "$backend" "every call" .points .violations --backend "$backend"
    done
}

# What is known to be bad shows itself in few states; the many are for what must not.
powercut() {
    local fs workload backend bad='.absent + .damaged + .torn + .lost'
    local common=(--commits "$commits" --seed "$seed")
    for fs in ${STRESS_FS:-ext4 xfs btrfs}; do
        for workload in set init compact restore replace; do
            row clean powercut qsettings "$fs, $workload" .states "$bad" --fs "$fs" --workload "$workload" \
                --max-states "$states" "${common[@]}"
        done
        row bad powercut qsettings "$fs, flushes dropped" .states "$bad" --fs "$fs" --drop-flush 3 \
            --max-states $((states / 4 + 1)) "${common[@]}"
        for backend in rename-over in-place rename-away copy-backup; do
            row bad powercut "$backend" "$fs, no fsync" .states "$bad" --fs "$fs" --backend "$backend" \
                --max-states $((states / 4 + 1)) "${common[@]}"
        done
        row any powercut rename-over-fsync "$fs, with fsync" .states "$bad" --fs "$fs" --backend rename-over-fsync \
            --max-states $((states / 4 + 1)) "${common[@]}"
    done
    row clean powercut qsettings "meta torn at each byte" .states "$bad" --meta-torn --seed "$seed"
}

printf '%-10s %-22s %-18s %10s %10s\n' harness run backend tried violations
for harness in $harnesses; do
    case $harness in
    race | sessions | powercut) "$harness" ;;
    kill) kill_points ;;
    *)
        echo "stress: no harness '$harness'" >&2
        exit 2
        ;;
    esac
done
exit $failed
