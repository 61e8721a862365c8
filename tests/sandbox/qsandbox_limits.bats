#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Limits over all processes of a run, and over all runs of a session. Control groups are used for real where version 2 has
# the controller here and may be written; the tests say what holds where it does not, too.
load ../support/sandbox

# How many processes can be there at once? The counting one is not printed.
forks='import os, signal
n = 0
try:
    while n < 60:
        if os.fork() == 0:
            signal.pause()
        n += 1
except OSError:
    pass
print(n, flush=True)'

# groupless USER COMMAND...: where no control groups can be seen
groupless() { as_first='mount -t tmpfs none /sys/fs/cgroup' as "$@"; }

# in_group DIR USER COMMAND...: COMMAND is one process, and in that group
in_group() { as_first="echo \$\$ >$1/cgroup.procs" as "${@:2}"; }

# A group that is ann's to divide, with one inside it for her processes: sets delegated, or fails where that cannot be had.
delegate() {
    local root
    root=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
    grep -qw pids "$root/cgroup.controllers" 2>/dev/null || return 1
    delegated=$(mktemp -d "$root/qsandbox-test.XXXXXX" 2>/dev/null) || return 1
    chmod 755 "$delegated"
    grep -qw pids "$root/cgroup.subtree_control" || echo +pids >"$root/cgroup.subtree_control"
    mkdir "$delegated/own"
    setfattr -n user.delegate -v 1 "$delegated"
    chown -R $UID_ANN "$delegated"
}

# No group is left in it but the one for her processes.
undelegate() {
    rmdir "$delegated/own/qsandbox-own" 2>/dev/null || true
    rmdir "$delegated/own" "$delegated"
}

setup() {
    sandbox_setup
    printf '%s' "$forks" >"$base/forks.py"
    chmod 644 "$base/forks.py"
}

run_in() { # run_in USER: the command that runs something in USER's workspace, for groupless and in_group
    printf 'cd %q && exec %q --root %q run -- "$@"' "$(ws "$1")" "$qsandbox" "$base/root"
}

inspect_in() { printf 'cd %q && exec %q --root %q inspect --json' "$(ws "$1")" "$qsandbox" "$base/root"; }

session_in() { # session_in USER OPTIONS: a session whose program is a shell script
    printf 'cd %q && exec %q --root %q session %s -- sh "$@"' "$(ws "$1")" "$qsandbox" "$base/root" "$2"
}

only() { policy '{"filesystem":"workspace-write","network":"closed"}' "{\"audit\":\"off\",\"caches\":\"none\",\"limits\":$1}"; }

# ---- one run ----

@test "processes: without a control group root is refused and a user bound by a resource limit" {
    only '{"processes":10}'
    run groupless root sh -c "$(run_in root)" sh touch ran
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 3 "*"executor.limits.processes would not bind"*"no control groups of version 2"* ]]
    [ ! -e "$(ws root)/ran" ]
    run groupless ann sh -c "$(run_in ann)" sh python3 "$base/forks.py"
    [ "$output" -lt 10 ]
    [ "$output" -ge 7 ]
    run groupless ann sh -c "$(inspect_in ann)"
    echo "$output" | jq -e '(.limitsBy.processes | contains("RLIMIT_NPROC")) and .controlGroup.madeIn == null and
        (.controlGroup.missing | contains("version 2"))'
    only '{}'
    run groupless ann sh -c "$(run_in ann)" sh python3 "$base/forks.py"
    [ "$output" -eq 60 ]
}

@test "processes: in a delegated control group they are counted together, and the group is gone afterwards" {
    only '{"processes":10}'
    if ! delegate; then # then nothing may be said to be bound by a group
        run as ann sh -c "$(inspect_in ann)"
        echo "$output" | jq -e '.controlGroup.madeIn == null and (.limitsBy.processes | contains("RLIMIT_NPROC"))'
        return
    fi
    run in_group "$delegated/own" ann sh -c "$(inspect_in ann)"
    echo "$output" | jq -e '(.limitsBy.processes | contains("pids.max")) and (.controlGroup.madeIn | contains("qsandbox-test"))'
    for user in ann root; do
        [ $user = ann ] || chown -R 0 "$delegated"
        run in_group "$delegated/own" $user sh -c "$(run_in $user)" sh python3 "$base/forks.py"
        [ "$output" -eq 9 ]
        run in_group "$delegated/own" $user sh -c "$(run_in $user)" sh bash -c 'ulimit -u; echo 99 >/sys/fs/cgroup/pids.max; exit 6'
        echo "$output"
        [ "$status" -eq 6 ]
        [ "${lines[0]}" != 11 ] # no resource limit
        [[ $output == *"pids.max"* ]]
    done
    chown -R $UID_ANN "$delegated"
    only '{}'
    run in_group "$delegated/own" ann sh -c "$(run_in ann)" sh python3 "$base/forks.py"
    [ "$output" -eq 60 ]
    undelegate
}

@test "an executor alone in its delegated group moves into a leaf of it" {
    only '{"processes":10}'
    delegate || return 0 # what holds without is in the tests above
    rmdir "$delegated/own"
    delegated=$delegated/alone # below one that is not delegated
    mkdir "$delegated"
    echo +pids >"${delegated%/*}/cgroup.subtree_control"
    chown -R 0 "${delegated%/*}" && setfattr -x user.delegate "${delegated%/*}"
    chown -R $UID_ANN "$delegated" && setfattr -n user.delegate -v 1 "$delegated"
    run in_group "$delegated" ann sh -c "$(run_in ann)" sh python3 "$base/forks.py"
    [ "$output" -eq 9 ]
    [ "$(cat "$delegated/cgroup.subtree_control")" = pids ]
    rmdir "$delegated/qsandbox-own" "$delegated" "${delegated%/*}"
}

@test "the wall limit and SIGKILL of the executor leave no process and no control group" {
    only '{"processes":10,"wallSeconds":1}'
    delegate || return 0
    run in_group "$delegated/own" ann sh -c "$(run_in ann)" sh sh -c "trap '' TERM; (setsid sleep $mark &); sleep $mark; sleep $mark"
    [ "$status" -eq 124 ]
    gone $mark
    [ -z "$(find "$delegated" -name 'qsandbox-run-*')" ]
    only '{"processes":10}'
    in_group "$delegated/own" ann sh -c "echo \$\$ >$base/home/ann/pid; $(run_in ann)" sh sh -c "touch started; sleep $mark; true" >"$base/log" 2>&1 3>&- &
    job=$!
    eventually test -e "$(ws ann)/started"
    [ -n "$(find "$delegated" -name 'qsandbox-run-*')" ]
    kill -KILL "$(cat "$base/home/ann/pid")"
    wait $job || true
    eventually gone $mark
    run in_group "$delegated/own" ann sh -c "$(run_in ann)" sh true
    [ "$status" -eq 0 ]
    [ -z "$(find "$delegated" -name 'qsandbox-run-*')" ]
    undelegate
}

@test "memory: over all processes in a control group with the controller, else each one's address space" {
    only '{"memoryBytes":100000000}'
    run groupless ann sh -c "$(run_in ann)" sh bash -c 'ulimit -v'
    [ "$output" = 97656 ]
    run groupless ann sh -c "$(inspect_in ann)"
    echo "$output" | jq -e '(.limitsBy.memoryBytes | contains("RLIMIT_AS")) and (.residualRisks | any(contains("address space")))'
    delegate || return 0
    if grep -qw memory "$delegated/cgroup.controllers"; then
        # three at once, each below the limit, together above it
        run in_group "$delegated/own" ann sh -c "$(run_in ann)" sh sh -c '
            for i in 1 2 3; do python3 -c "import time; x = bytearray(60000000); open(\"big\", \"a\").write(\"x\"); time.sleep(1000)" & done; wait'
        [ "$(wc -c <"$(ws ann)/big")" -lt 3 ]
        run in_group "$delegated/own" ann sh -c "$(run_in ann)" sh bash -c 'ulimit -v'
        [ "$output" = unlimited ]
    else
        run in_group "$delegated/own" ann sh -c "$(inspect_in ann)"
        echo "$output" | jq -e '(.limitsBy.memoryBytes | contains("RLIMIT_AS")) and (.controlGroup.missing | contains("memory"))'
    fi
    undelegate
}

# ---- sessions ----

@test "a session's time ends all its runs, also one that outlives the program" {
    cat >"$base/agent.sh" <<P
setsid "$qsandbox" --root "$base/root" run -- sh -c "trap '' TERM HUP; touch started; sleep $mark; sleep $mark" >"$base/home/ann/log" 2>&1 &
while [ ! -e started ]; do sleep 0.05; done
trap over=yes TERM
while [ -z "\$over" ]; do sleep 0.05; done
"$qsandbox" --root "$base/root" run -- touch late >late.log 2>&1
echo \$? >late.status
P
    run as ann sh -c "$(session_in ann '--timeout 2')" sh "$base/agent.sh"
    [ "$status" -eq 124 ]
    eventually gone $mark
    eventually grep -q "ended with its session's time, --timeout of 2 s" "$base/home/ann/log"
    [ "$(cat "$(ws ann)/late.status")" = 125 ]
    grep -q "status 7 .*the session's time is over" "$(ws ann)/late.log"
    [ ! -e "$(ws ann)/late" ]
}

@test "in a session the lesser of two times holds" {
    printf '%s\n' "\"$qsandbox\" --root \"$base/root\" run --timeout 1 -- sleep 1000" >"$base/agent.sh"
    for options in '' '--timeout 500'; do
        run as ann sh -c "$(session_in ann "$options")" sh "$base/agent.sh"
        [ "$status" -eq 124 ]
        [[ $output == *"after 1 s, by --timeout"* ]]
    done
    printf '%s\n' "\"$qsandbox\" --root \"$base/root\" inspect --json" >"$base/agent.sh"
    run as ann sh -c "$(session_in ann '--timeout 500')" sh "$base/agent.sh"
    echo "$output" | jq -e '.sessionLimits | .wallSeconds == 500 and .wallSecondsLeft <= 500 and .wallSecondsLeft > 400'
}

@test "a run ends with its session" {
    cat >"$base/agent.sh" <<P
setsid "$qsandbox" --root "$base/root" run -- sh -c "trap '' TERM HUP; touch started; sleep $mark; sleep $mark" >/dev/null 2>&1 &
while [ ! -e started ]; do sleep 0.05; done
P
    run as ann sh -c "$(session_in ann '')" sh "$base/agent.sh"
    [ "$status" -eq 0 ]
    eventually gone $mark
}

@test "the program cannot put another record in the session's place" {
    cat >"$base/agent.sh" <<P
pid=\${QSANDBOX_SESSION%%:*} fd=\${QSANDBOX_SESSION##*:}
for other in /proc/\$pid/fd/*; do
    n=\${other##*/}
    [ "\$n" = "\$fd" ] || QSANDBOX_SESSION=\${QSANDBOX_SESSION%:*}:\$n "$qsandbox" --root "$base/root" run -- touch ran
done
echo x >"/proc/\$pid/fd/\$fd" && echo written
exec "$qsandbox" --root "$base/root" run -- touch fine
P
    run as ann sh -c "$(session_in ann '--timeout 500')" sh "$base/agent.sh"
    echo "$output"
    [ "$status" -eq 0 ]
    [ ! -e "$(ws ann)/ran" ]
    [ -e "$(ws ann)/fine" ]
    [[ $output == *"its record cannot be read"* && $output != *written* ]]
}

@test "a session's processes, as a pool: runs share them, and none is left over for one more" {
    only '{"processes":8}'
    # each holds what it got until the fifo has its line
    cat >"$base/agent.sh" <<P
hold() { "$qsandbox" --root "$base/root" run -- sh -c "python3 $base/forks.py >\$1; touch \$1.full; read x <hold" & }
hold first; while [ ! -e first.full ]; do sleep 0.05; done
hold second; while [ ! -e second.full ]; do sleep 0.05; done
"$qsandbox" --root "$base/root" run -- touch third; echo "third \$?"
exec 9<>hold; echo >&9; echo >&9; wait
"$qsandbox" --root "$base/root" run -- touch fourth; echo "fourth \$?"
P
    as ann mkfifo "$(ws ann)/hold"
    run groupless ann sh -c "$(session_in ann '--processes 12')" sh "$base/agent.sh"
    echo "$output"
    [[ $output == *"third 125"* && $output == *"fourth 0"* && $output == *"have all of its 12 processes"* ]]
    [ ! -e "$(ws ann)/third" ]
    [ -e "$(ws ann)/fourth" ]
    first=$(cat "$(ws ann)/first") second=$(cat "$(ws ann)/second")
    [ "$first" -eq $((second + 4)) ] # 8 and the other 4
    rm "$(ws ann)"/f* "$(ws ann)"/s*
    run groupless ann sh -c "$(session_in ann '')" sh "$base/agent.sh" # without the session's limit each has its own
    [[ $output == *"third 0"* ]]
    [ "$(cat "$(ws ann)/first")" -eq "$first" ]
    [ "$(cat "$(ws ann)/second")" -eq "$first" ]
}

@test "a session's processes, in a control group: all runs are born in it" {
    cat >"$base/agent.sh" <<P
"$qsandbox" --root "$base/root" run -- sh -c "python3 $base/forks.py >first; touch full; read x <hold" &
while [ ! -e full ]; do sleep 0.05; done
"$qsandbox" --root "$base/root" run -- touch second; echo "second \$?"
exec 9<>hold; echo >&9; wait
"$qsandbox" --root "$base/root" run -- touch third; echo "third \$?"
P
    run groupless root sh -c "$(session_in root '--processes 12')" sh "$base/agent.sh"
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 3 "*"--processes would not bind"* ]]
    delegate || return 0
    for user in ann root; do
        [ $user = ann ] || chown -R 0 "$delegated"
        as $user mkfifo "$(ws $user)/hold"
        run in_group "$delegated/own" $user sh -c "$(session_in $user '--processes 15')" sh "$base/agent.sh"
        echo "$output"
        [[ $output == *"second 125"* && $output == *"third 0"* ]]
        [ "$(cat "$(ws $user)/first")" -eq 11 ] # bubblewrap, PID 1, sh, python
        [ -z "$(find "$delegated" -name 'qsandbox-run-*')" ]
        rm "$(ws $user)"/f*
        run in_group "$delegated/own" $user sh -c "$(session_in $user '')" sh "$base/agent.sh"
        [[ $output == *"second 0"* ]]
        [ "$(cat "$(ws $user)/first")" -eq 60 ]
    done
    undelegate
}
