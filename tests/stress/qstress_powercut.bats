#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qstress powercut: the store survives each cut, the known-bad ways do not, and the harness can tell.

setup() {
    qstress=$QS_BUILD/bin/qstress
    out=$BATS_TEST_TMPDIR/out.json
}

# Runs a power cut and leaves its JSON in $out; fails the test unless the exit status is $1.
cut_power() {
    local expected=$1 status=0
    shift
    "$qstress" powercut --json "$@" >"$out" || status=$?
    cat "$out"
    [ "$status" -eq "$expected" ]
}

# Every state is fine, or its file system did not mount; and there were at least $1 states, from writes and flushes.
all_survive() {
    jq -e --argjson least "$1" '.ok + .nomount == .states and .states >= $least and .nomount * 5 < .states and
        .absent == 0 and .damaged == 0 and .torn == 0 and .lost == 0 and .writes > .commits and .flushes > .commits' "$out"
}

@test "the store survives every cut of a set on ext4" {
    cut_power 0 --fs ext4 --commits 6 --max-states 120
    all_survive 90
}

@test "the store survives every cut of a set on xfs" {
    cut_power 0 --fs xfs --commits 6 --max-states 120
    all_survive 90
}

@test "the store survives every cut of a set on btrfs" {
    cut_power 0 --fs btrfs --commits 6 --max-states 120
    all_survive 90
}

@test "the store survives every cut of init, its parents and the require-system file included" {
    cut_power 0 --fs ext4 --workload init --commits 3 --max-states 60
    all_survive 40
    cut_power 0 --fs xfs --workload init --commits 2 --max-states 40
    all_survive 25
}

@test "the store survives every cut of compact and restore" {
    cut_power 0 --fs ext4 --workload compact --commits 4 --max-states 60
    all_survive 40
    cut_power 0 --fs btrfs --workload restore --commits 4 --max-states 60
    all_survive 40
}

@test "a replaced file survives every cut" {
    cut_power 0 --fs xfs --workload replace --commits 6 --max-states 60
    all_survive 40
}

@test "rename-over without a flush loses what it acknowledged, on every file system" {
    for fs in ext4 xfs btrfs; do
        cut_power 1 --fs "$fs" --backend rename-over --commits 5 --max-states 60
        # On xfs most of what is lost shows as an empty file.
        if [ "$fs" = xfs ]; then jq -e '.lost + .torn > 0' "$out"; else jq -e '.lost > 0' "$out"; fi
    done
}

@test "rename-over with its flushes is not accused" {
    cut_power 0 --fs ext4 --backend rename-over-fsync --commits 5 --max-states 60
    all_survive 40
}

@test "writing in place is caught" {
    cut_power 1 --fs xfs --backend in-place --commits 8 --max-states 80
    jq -e '.torn + .lost > 0' "$out"
}

@test "expect-violation turns the exit status round" {
    cut_power 0 --backend rename-over --commits 10 --max-states 200 --expect-violation
    cut_power 1 --backend rename-over-fsync --commits 2 --max-states 10 --expect-violation
}

@test "a disk that ignores flushes is caught, though the store is right" {
    cut_power 1 --fs ext4 --commits 14 --max-states 260 --drop-flush 3
    jq -e '.damaged + .lost + .absent + .torn > 0' "$out"
}

@test "a store that leaves out the flush of its pages is caught" {
    # A sanitizer's runtime wants to be first, and need not be.
    export LD_PRELOAD=$QS_BUILD/tests/unflushed.so ASAN_OPTIONS=verify_asan_link_order=0
    for fs in ext4 xfs; do
        cut_power 1 --fs "$fs" --commits 3 --max-states 16
        jq -e '.damaged > 0' "$out"
    done
}

@test "a meta write torn at every byte is read exactly or refused, and repair brings the generation back" {
    cut_power 0 --meta-torn --commits 1
    jq -e '.states == 241 and .ok == .states and .writes == 1' "$out"
    run "$qstress" powercut --meta-torn --commits 1
    [ "$status" -eq 0 ]
    # The tears do bite: many of the states are no readable or writable store.
    refused=$(sed -n 's/.* \([0-9]*\) states refused and repaired/\1/p' <<<"$output")
    [ "$refused" -gt 20 ]
}

@test "json has the fields that are promised, and no others" {
    cut_power 0 --backend rename-over-fsync --commits 1 --max-states 4
    jq -e 'keys == ["absent","backend","commits","damaged","flushes","fs","lost","nomount","ok","states","torn","writes"]' \
        "$out"
}

@test "the image of the first bad state is kept on demand" {
    image=$BATS_TEST_TMPDIR/bad.img
    cut_power 1 --backend rename-over --commits 3 --max-states 20 --keep "$image"
    [ "$(stat -c %s "$image")" -eq $((64 << 20)) ]
    cut_power 0 --backend rename-over-fsync --commits 1 --max-states 4 --keep "$BATS_TEST_TMPDIR/none.img"
    [ ! -e "$BATS_TEST_TMPDIR/none.img" ]
}

@test "without root it says so and does nothing" {
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$qstress" powercut
    [ "$status" -eq 7 ]
    [[ $output == *"needs root"* ]]
}

@test "without /dev/fuse it says what is missing" {
    run unshare -m sh -c 'mount -t tmpfs none /dev && exec "$0" powercut' "$qstress"
    [ "$status" -eq 7 ]
    [[ $output == *"/dev/fuse cannot be used"* ]]
}

@test "without the file system's mkfs it says what is missing" {
    run unshare -m sh -c 'mount -t tmpfs none /usr/sbin && exec "$0" powercut --fs xfs' "$qstress"
    [ "$status" -eq 7 ]
    [[ $output == *"mkfs.xfs is not installed"* ]]
}

@test "a wrong command line is refused" {
    run "$qstress" powercut --fs fat
    [ "$status" -eq 2 ]
    run "$qstress" powercut --backend in-place --workload restore
    [ "$status" -eq 2 ]
    [[ $output == *"no workload 'restore'"* ]]
    run "$qstress" powercut --max-states 0
    [ "$status" -eq 2 ]
}

# Waits for a condition, and gives up loudly.
until_true() {
    for _ in $(seq 500); do
        if eval "$1"; then return 0; fi
        read -rt 0.02 <> <(:) || :
    done
    echo "never: $1"
    return 1
}

@test "killed in the middle it leaves no process, no mount and no loop device" {
    "$qstress" powercut --fs ext4 --backend rename-over-fsync --commits 20 --max-states 5000 >/dev/null 2>&1 &
    main=$!
    until_true '[ -n "$(ps -o pid= --ppid $main)" ]'
    room=$(ps -o pid= --ppid $main | tr -d ' ')
    until_true 'grep -q " /mnt/fs .* /dev/loop" "/proc/$room/mountinfo"'
    device=$(sed -n 's|.* /mnt/fs .* /dev/\(loop[0-9]*\) .*|\1|p' "/proc/$room/mountinfo" | head -1)
    kill -KILL $main
    wait $main || :
    until_true '[ ! -e "/proc/$room" ] || grep -q "^State:.Z" "/proc/$room/status"'
    if [ -n "$device" ]; then until_true '[ ! -e "/sys/block/$device/loop" ]'; fi
    run ! grep -q qstress /proc/mounts
}
