# SPDX-License-Identifier: Apache-2.0
# Scale: 100,000 keys (about 10 MiB), values of 1 MiB; every command works and get's memory stays bounded.
load ../support/cli

setup_file() {
    # one large store for all tests here, each of which works on a copy
    export LARGE
    LARGE=$(mktemp -d /tmp/qs-large-XXXXXX)
    chmod 755 "$LARGE"
    # two levels: {"group000": {"key00000": "..."}}
    awk 'BEGIN { printf "{"; for (g = 0; g < 1000; g++) { printf "%s\"group%03d\":{", g ? "," : "", g;
        for (k = 0; k < 100; k++) printf "%s\"key%05d\":\"%080d\"", k ? "," : "", g * 100 + k, g * 100 + k; printf "}" }
        print "}" }' >"$LARGE/d.json"
    mkdir "$LARGE/root"
    "$QS_BUILD/bin/qsettings" --root "$LARGE/root" --system init >/dev/null
    "$QS_BUILD/bin/qsettings" --root "$LARGE/root" --system apply "$LARGE/d.json" >/dev/null
}
teardown_file() {
    rm -rf "$LARGE"
}
setup() {
    cli_setup
    cp -a "$LARGE/root/." "$ROOT/"
}
teardown() {
    cli_teardown
}

# peak COMMAND...: the peak of the resident memory in KiB, as the kernel counted it for the ended child.
peak() {
    perl -e 'use strict; my $pid = fork(); if (!$pid) { open(STDOUT, ">", "/dev/null"); exec @ARGV or exit 127; }
             waitpid($pid, 0); exit 1 if $?;
             # struct rusage: two timevals of 16 bytes, then ru_maxrss; RUSAGE_CHILDREN is -1; SYS_getrusage of x86-64 is 98
             my $usage = "\0" x 144; syscall(98, -1, $usage) == 0 or exit 2; print unpack("q", substr($usage, 32, 8)), "\n"' "$@"
}

@test "100,000 keys are set, read, listed, exported and verified" {
    qs --system get group500.key50042
    ok
    [ "${#output}" -eq 80 ]
    qs --system list group500 --keys
    ok
    [ "$(wc -l <<<"$output")" -eq 100 ]
    qs --system fsck --json
    ok
    json .entries 100000
    qs --system set group500.key50042 x
    ok
    qs --system diff --json
    ok
    json length 1
    "$QS" --root "$ROOT" --system export >"$SCRATCH/e.json"
    [ "$(jq '[.[] | length] | add' "$SCRATCH/e.json")" = 100000 ]
    qs get group500.key50042
    ok
    is x
    qs explain group500.key50042
    ok
    qs --system compact
    ok
    qs --system backup "$SCRATCH/b"
    ok
    qs --system rollback 2
    ok
    qs policy
    refused 4
}

@test "the memory of get stays under three times the settings' size" {
    [ "$(uname -m)" = x86_64 ] || skip "the call's number is that of x86-64"
    if grep -q __asan_init "$QS"; then skip "a sanitizer's own memory is counted too"; fi
    size=$(($(stat -c %s "$LARGE/d.json") / 1024))
    base=$(peak "$QS" version)
    for scope in --system ""; do
        used=$(peak "$QS" --root "$ROOT" $scope get group500.key50042)
        echo "settings $size KiB, get ${scope:-effective} $used KiB, an empty run $base KiB"
        [ "$used" -lt $((3 * size)) ]
    done
}

@test "values of 1 MiB come and go, in both formats" {
    head -c 786432 /dev/urandom | base64 -w 0 >"$SCRATCH/v"
    [ "$(stat -c %s "$SCRATCH/v")" -eq 1048576 ]
    quietly --system set big "@$SCRATCH/v" big2 "@$SCRATCH/v"
    "$QS" --root "$ROOT" --system get big | cmp -n 1048576 - "$SCRATCH/v"
    quietly --system set big small
    qs --system diff --json
    ok
    "$QS" --root "$ROOT" --system export --format yaml >"$SCRATCH/e.yaml"
    qs --system apply "$SCRATCH/e.yaml"
    ok
    [[ $output == *unchanged* ]]
    quietly --system unset big big2
    qs --system fsck
    ok
}

@test "a value above the bound is refused with the bound" {
    head -c 4194305 /dev/zero | tr '\0' x >"$SCRATCH/v"
    qs --system set big "@$SCRATCH/v"
    refused 3 4194304
}

@test "get and set cost the same after 1,000 generations" {
    # Counted, not timed: the pages a read takes, and the bytes a commit writes, are told by strace.
    command -v strace >/dev/null || skip "strace is not installed"
    mkdir "$SCRATCH/small"
    ROOT=$SCRATCH/small
    quietly --system init
    quietly --system set a 0 b 0
    bytes() {
        strace -f -e trace=pread64 -o "$SCRATCH/trace" "$QS" --root "$ROOT" --system get a >/dev/null
        awk -F= '/pread64/ { n += $NF } END { print n }' "$SCRATCH/trace"
    }
    few=$(bytes)
    i=0
    while [ $i -lt 1000 ]; do
        "$QS" --root "$ROOT" --system set a $((i += 1)) >/dev/null
    done
    many=$(bytes)
    echo "read by get: $few bytes, after 1,000 generations $many"
    [ "$many" -le $((few + 16384)) ]
    qs --system log -n 1 --json
    ok
    json '.[0].generation' 1002
}
