#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whole runs of qsandbox, as root and as a plain user: environment, network, processes, sessions, run log, caches.
load ../support/sandbox

# ---- environment, network, kernel ----

@test "secrets, loaders and the policy are in no environment and no command line" {
    for user in root ann; do
        MY_API_TOKEN=s3cret LD_PRELOAD_X=1 BASH_ENV=/evil QSANDBOX_X=1 run sandboxed $user -- sh -c '
            cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr "\0" "\n"; ls /proc | grep "^[0-9]"'
        [[ $output != *s3cret* && $output != *BASH_ENV=* && $output != *QSANDBOX* ]]
        [[ $output != *hiddenPaths* && $output != *.ssh* ]]
        [[ $output == *PATH=* && $output == *"HOME=$base/home/$user"* ]]
    done
}

@test "PID 1 cannot be looked into or killed from inside" {
    for user in root ann; do
        run sandboxed $user -- sh -c 'kill -KILL 1; kill -STOP 1; kill -TERM 1; ls -l /proc/1/fd; cat /proc/1/environ; cat /proc/1/mem; echo alive'
        [ "$status" -eq 0 ]
        [[ $output == *alive* && $output == *denied* ]]
    done
}

@test "the shim: its own program beside the executor or installed, kept like it, or the executor itself" {
    mkdir -p "$base/libexec/qsettings"
    local installed=$base/libexec/qsettings/qsandbox-shim
    rm -f "$qsandbox-shim"
    run sandboxed ann -- echo itself
    [ "$output" = itself ]
    # Whatever lies in one of the two places is executed: here it starts nothing.
    printf '#!/bin/sh\nexit 3\n' >"$qsandbox-shim"
    chmod 755 "$qsandbox-shim"
    run sandboxed ann -- echo beside
    [ "$status" -eq 125 ]
    [[ $output != *beside$'\n'* && $output != beside ]]
    mv "$qsandbox-shim" "$installed"
    run sandboxed ann -- echo installed
    [ "$status" -eq 125 ]
    # Somebody else's, or one that others can write, is not executed.
    for change in "chmod o+w" "chmod g+w" "chown $UID_ANN"; do
        install -m 755 "$qsandbox" "$installed"
        run sandboxed ann -- echo good
        [ "$output" = good ]
        $change "$installed"
        run sandboxed ann -- echo bad
        [ "$status" -eq 125 ]
        [[ $output == *"not a file that is kept like the executor"* ]]
        rm "$installed"
    done
    ln -s "$qsandbox" "$installed"
    run sandboxed ann -- echo link
    [ "$status" -eq 125 ]
}

@test "a shim of another version starts nothing" {
    install -m 755 "$qsandbox" "$qsandbox-shim"
    run sandboxed ann -- echo same
    [ "$output" = same ]
    version=$("$qsandbox" --version | cut -d' ' -f2)
    LC_ALL=C sed "s/$version/${version//[0-9]/9}/g" "$qsandbox" >"$qsandbox-shim"
    run sandboxed ann -- echo other
    [ "$status" -eq 125 ]
    [[ $output == *"of another version"* ]]
}

@test "sockets: blocked, private, open" {
    python3 - "$base/home/ann/host.sock" <<'P' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen(16)
a = socket.socket(socket.AF_UNIX)
a.bind("\0qsandbox-test-%d" % os.getpid())
a.listen(16)
open(sys.argv[1] + ".pid", "w").write(str(os.getpid()))
while True:
    s.accept()
P
    server=$!
    eventually test -s "$base/home/ann/host.sock.pid"
    cat >"$base/home/ann/ws/try.py" <<'P'
import errno, socket, sys
def attempt(name, address):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(address)
        print(name, "reached")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
attempt("path", sys.argv[1])
attempt("abstract", "\0qsandbox-test-" + sys.argv[2])
a, b = socket.socketpair()
a.send(b"x")
print("pair", b.recv(1).decode())
P
    local args=(python3 try.py "$base/home/ann/host.sock" "$(cat "$base/home/ann/host.sock.pid")")
    run sandboxed ann -- "${args[@]}"
    [ "${lines[0]}" = "path EPERM" ]
    [ "${lines[1]}" = "abstract EPERM" ]
    [ "${lines[2]}" = "pair x" ]
    policy '{"filesystem":"workspace-write","network":"open"}' '{"audit":"off","caches":"none","unixSockets":"private"}'
    run sandboxed ann -- "${args[@]}"
    [[ "${lines[0]}" == "path E"* ]]
    [[ "${lines[1]}" == "abstract E"* ]]
    [ "${lines[2]}" = "pair x" ]
    policy '{"filesystem":"workspace-write","network":"open"}' '{"audit":"off","caches":"none","unixSockets":"open"}'
    run sandboxed ann -- "${args[@]}"
    [ "${lines[0]}" = "path reached" ]
    [ "${lines[1]}" = "abstract reached" ]
    kill $server
}

@test "a granted socket stays reachable under private" {
    mkdir -p "/run/qsandbox-test.$$"
    python3 - "/run/qsandbox-test.$$/agent" <<'P' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen(16)
open(sys.argv[1] + ".ready", "w")
while True:
    s.accept()
P
    server=$!
    eventually test -e "/run/qsandbox-test.$$/agent.ready"
    policy '{"filesystem":"workspace-write","network":"closed"}' \
        "{\"audit\":\"off\",\"caches\":\"none\",\"unixSockets\":\"private\",\"sockets\":[\"/run/qsandbox-test.$$/agent\"]}"
    run sandboxed ann -- python3 -c "
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect('/run/qsandbox-test.$$/agent')
print(os.listdir('/run'), os.listdir('/run/qsandbox-test.$$'))"
    kill $server
    rm -r "/run/qsandbox-test.$$"
    [ "$status" -eq 0 ]
    [[ $output == *"['agent']"* ]]
}

@test "capabilities, privileges, namespaces, and the network are gone" {
    for user in root ann; do
        run sandboxed $user -- sh -c 'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb):" /proc/self/status | grep -cv "0000000000000000"; grep -c "NoNewPrivs:.*1" /proc/self/status
            tail -n +3 /proc/net/dev | cut -d: -f1; unshare -Ur true && echo userns; ls /dev | tr "\n" " "; ls /proc | grep -c "^[0-9]"'
        [ "${lines[0]}" = 0 ]
        [ "${lines[1]}" = 1 ]
        [ "$(echo ${lines[2]})" = lo ]
        [[ $output != *userns* ]]
        [[ $output != *sda* && $output != *vda* && $output != *kmsg* && $output != *mem* ]]
    done
}

@test "processes outside cannot be signalled" {
    sleep 1000 &
    local outside=$!
    run sandboxed root -- sh -c "kill -9 $outside; kill -9 -1; true"
    kill -0 $outside
    kill $outside
}

# ---- processes and time ----

@test "the wall limit ends the whole tree, also what holds the pipes" {
    for user in root ann; do
        run sandboxed $user --timeout 1 -- sh -c '(setsid sleep $0 & setsid sh -c "trap \"\" TERM; sleep $0" &) ; trap "" TERM; while :; do sleep 100; done' $mark
        [ "$status" -eq 124 ]
        [[ $output == *"by --timeout"* ]]
    done
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","limits":{"wallSeconds":1}}'
    run sandboxed ann -- sleep $mark
    [ "$status" -eq 124 ]
    [[ $output == *"executor.limits.wallSeconds (system scope)"* ]]
    gone $mark
}

@test "a background child that holds the pipes does not outlive the command" {
    run sandboxed ann -- sh -c 'sleep $0 & (setsid sleep $0 &); echo done' $mark
    [ "$status" -eq 0 ]
    [ "$output" = done ]
    gone $mark
}

@test "a confined kill of the group reaches neither executor nor caller" {
    run sandboxed ann --timeout 1 -- sh -c 'kill -STOP 0'
    [ "$status" -eq 124 ]
    run sandboxed ann -- sh -c 'kill -KILL 0'
    [ "$status" -eq 137 ]
    run sandboxed ann -- sh -c 'trap "exit 3" TERM; kill -TERM 0; sleep 10'
    [ "$status" -eq 3 ]
}

@test "SIGTERM and SIGKILL leave no process and no litter" {
    for user in root ann; do
        git_init $user
        before=$(tree)
        for how in TERM KILL; do
            started $user -- sh -c "trap '' TERM HUP; touch started; (setsid sleep $mark &); sleep $mark; sleep $mark"
            eventually test -e "$(ws $user)/started"
            eventually running $mark
            kill -$how "$executor"
            wait "$job" || true
            eventually gone $mark
            rm -f "$(ws $user)/started" "$base/home/$user/pid" "$base/log"
            [ "$(tree)" = "$before" ]
        done
    done
}

@test "SIGKILL at any moment of the set-up leaves no process" {
    for i in $(seq 20); do
        started ann -- sleep $mark
        head -c $((i * 20000)) /dev/zero >/dev/null # a little later each time
        kill -KILL "$executor"
        wait "$job" || true
        eventually gone $mark
        eventually nothing_of_ann
    done
}

@test "children that the executor found are neither waited for nor killed" {
    run as ann sh -c "cd $(ws ann); sleep $mark >/dev/null 2>&1 3>&- & echo \$!; exec $qsandbox --root $base/root run -- true"
    [ "$status" -eq 0 ]
    running $mark
    kill "$output"
}

@test "the end of the caller ends the run" {
    rm -f "$(ws ann)/caller"
    as ann sh -c 'cd "$0" && echo $$ >caller && "$@"; true' "$(ws ann)" "$qsandbox" --root "$base/root" run -- \
        sh -c "trap '' TERM HUP; touch started; sleep $mark; sleep $mark" >"$base/log" 2>&1 3>&- &
    eventually test -e "$(ws ann)/started"
    kill -KILL "$(cat "$(ws ann)/caller")"
    eventually gone $mark
    wait || true
}

@test "thirty-two executors at once in one workspace" {
    local i pids=()
    git_init ann
    for i in $(seq 32); do
        sandboxed ann -- sh -c "echo $i >out-$i; touch .envrc; true" >/dev/null 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    [ "$(ls "$(ws ann)"/out-* | wc -l)" -eq 32 ]
    [ ! -e "$(ws ann)/.envrc" ]
    [ -z "$(find "$base" -path '*sandbox/pending/*')" ]
}

@test "nothing is left on the host but what the command wrote" {
    for user in root ann; do
        git_init $user
        before=$(tree)
        run sandboxed $user -- sh -c 'ls -R . >/dev/null; git status >/dev/null; cat file'
        [ "$status" -eq 0 ]
        [ "$(tree)" = "$before" ]
    done
    [ -z "$(find /tmp -maxdepth 1 -newer "$base/passwd" -name '*qsandbox*')" ]
}

@test "inside another bubblewrap, inside a user namespace, inside itself: runs or refuses clearly" {
    run sandboxed ann -- "$qsandbox" --root "$base/root" run -- true
    [ "$status" -eq 125 ]
    [[ $output == *"qsandbox: run: "* ]]
    run as ann bwrap --unshare-all --bind / / --dev /dev --proc /proc -- sh -c "cd $(ws ann) && $qsandbox --root $base/root run -- sh -c 'echo ran; ! touch $base/home/ann/x 2>/dev/null'"
    [[ "$status" -eq 0 && "$output" == ran ]] || [[ "$status" -eq 125 && $output == *"qsandbox: run: "* ]]
    run as ann unshare -U sh -c "cd $(ws ann) && $qsandbox --root $base/root run -- touch ran"
    [ "$status" -eq 125 ]
    [[ $output == *"qsandbox: run: "* ]]
    [ ! -e "$(ws ann)/ran" ]
    # No user namespace may be made: said so by name.
    run as ann bwrap --unshare-user --disable-userns --bind / / --dev /dev --proc /proc -- sh -c "cd $(ws ann) && $qsandbox --root $base/root run -- touch ran"
    [ "$status" -eq 125 ]
    [ ! -e "$(ws ann)/ran" ]
}

@test "multiprocessing, child processes and a jobserver work" {
    run sandboxed ann -- python3 -c '
import multiprocessing as m
def f(x): return x * x
if __name__ == "__main__":
    with m.Pool(4) as p: print(sum(p.map(f, range(10))))
    q = m.Queue(); m.Process(target=q.put, args=(7,)).start(); print(q.get())'
    [ "$status" -eq 0 ]
    [ "$(echo $output)" = "285 7" ]
    printf 'all: a b c\na b c:\n\t@$(MAKE) -f Makefile leaf NAME=$@\nleaf:\n\t@echo $(NAME)\n.PHONY: all a b c leaf\n' >"$(ws ann)/Makefile"
    run sandboxed ann -- make -s -j4
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 3 ]
    run sandboxed ann -- node -e '
const {spawn, fork, execSync} = require("child_process");
console.log(execSync("echo exec").toString().trim());
spawn("sh", ["-c", "cat"], {stdio: ["pipe", "inherit", "inherit"]}).stdin.end("spawned\n");'
    [ "$status" -eq 0 ]
    [[ $output == *exec* && $output == *spawned* ]]
}

@test "the terminal belongs to the command: interrupt, window size, job control" {
    cat >"$base/terminal.py" <<'P'
import fcntl, os, pty, signal, struct, sys, termios, time
def run(argv, steps):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    seen = b""
    for expect, send in steps:
        while expect not in seen:
            try:
                piece = os.read(fd, 4096)
            except OSError:
                piece = b""
            if not piece:
                print("missing", expect, "in", seen); sys.exit(1)
            seen += piece
        seen = seen.split(expect, 1)[1]
        if send:
            os.write(fd, send)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)
sandbox = sys.argv[1:]
code = run(sandbox + ["sh", "-c", "trap 'echo GOT; exit 4' INT; echo READY; while :; do sleep 0.1; done"],
           [(b"READY", b"\x03"), (b"GOT", b"")])
print("interrupt", code)
code = run(sandbox + ["sh", "-c", "echo READY; read x; stty size; read x"], [(b"READY", b"\n"), (b"33 99", b"\n")])
print("size", code)
# the command waits in read when it is stopped: a shell that is just starting a program cannot be (vfork)
script = "set -m; " + " ".join(sandbox) + " sh -c 'echo READY; read x; echo MORE; read x; echo END-$x'; echo STOPPED; fg; echo CODE $?"
code = run(["bash", "--norc", "-i", "-c", script], [(b"READY", b"\x1a"), (b"STOPPED", b"\n"), (b"MORE", b"text\n"), (b"END-text", b""), (b"CODE 0", b"")])
print("job", code)
P
    chmod 755 "$base/terminal.py"
    run as ann sh -c 'cd "$0" && exec "$@"' "$(ws ann)" python3 "$base/terminal.py" "$qsandbox" --root "$base/root" run --
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"interrupt 4"* && $output == *"size 0"* && $output == *"job 0"* ]]
}

# ---- sessions, run log, caches ----

@test "a session's runs use its frozen policy, also when the store has moved on" {
    cat >"$base/agent.sh" <<P
"$qsandbox" --root "$base/root" run -- sh -c 'tail -n +3 /proc/net/dev | wc -l' || exit 50
touch $base/home/ann/ready
while [ ! -e $base/go ]; do sleep 0.05; done
"$qsandbox" --root "$base/root" run -- touch second
P
    as ann sh -c 'cd "$0" && exec "$@"' "$(ws ann)" "$qsandbox" --root "$base/root" session -- sh "$base/agent.sh" >"$base/log" 2>&1 &
    eventually test -e "$base/home/ann/ready"
    policy '{"filesystem":"read-only","network":"closed"}' '{"audit":"off","caches":"none"}'
    touch "$base/go"
    wait $!
    [ -e "$(ws ann)/second" ]
    grep -q "the store holds another by now" "$base/log"
    run sandboxed ann -- touch third
    [ ! -e "$(ws ann)/third" ]
}

@test "a session works for a program that closes descriptors, and not for anybody else" {
    run as ann sh -c 'cd "$0" && exec "$@"' "$(ws ann)" "$qsandbox" --root "$base/root" session -- \
        node -e 'process.exit(require("child_process").spawnSync(process.argv[1], process.argv.slice(2), {stdio: "inherit"}).status)' -- \
        "$qsandbox" --root "$base/root" run -- sh -c 'exit 6'
    [ "$status" -eq 6 ]
    QSANDBOX_SESSION=1:1:3 run sandboxed ann -- touch ran
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 7 "* ]]
    QSANDBOX_SESSION=nonsense run sandboxed ann -- touch ran
    [ "$status" -eq 125 ]
    # A forged session: an ancestor that is another program, holding a file of its own.
    run as ann python3 -c "
import os, subprocess, sys
fd = os.memfd_create('forged', 0)
os.write(fd, b'{}')
start = open('/proc/self/stat').read().rsplit(')', 1)[1].split()[19]
env = dict(os.environ, QSANDBOX_SESSION='%d:%s:%d' % (os.getpid(), start, fd))
sys.exit(subprocess.run(['$qsandbox', '--root', '$base/root', 'run', '--workspace', '$(ws ann)', '--', 'touch', 'ran'], env=env).returncode)"
    [ "$status" -eq 125 ]
    [ ! -e "$(ws ann)/ran" ]
}

@test "a session counts for its own descendants alone: another one's is refused" {
    printf '%s\n' 'echo "$QSANDBOX_SESSION" >name' 'while [ -e name ]; do sleep 0.05; done' >"$base/first.sh"
    as ann sh -c 'cd "$0" && exec "$@"' "$(ws ann)" "$qsandbox" --root "$base/root" session -- sh "$base/first.sh" >"$base/log" 2>&1 3>&- &
    eventually test -s "$(ws ann)/name"
    # From outside of any session, and from inside of another one of the same program and user.
    QSANDBOX_SESSION=$(cat "$(ws ann)/name") run sandboxed ann -- touch ran
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 7 "*" ancestor of this process"* ]]
    echo 'QSANDBOX_SESSION=$(cat name) exec "$0" --root "$1" run -- touch ran' >"$base/second.sh"
    run as ann sh -c 'cd "$0" && exec "$@"' "$(ws ann)" "$qsandbox" --root "$base/root" session -- \
        sh -c '. "$2"' "$qsandbox" "$base/root" "$base/second.sh"
    [ "$status" -eq 125 ]
    [[ $output == *" ancestor of this process"* ]]
    [ ! -e "$(ws ann)/ran" ]
    rm "$(ws ann)/name"
    wait $!
}

@test "every run has a durable record before it starts and an outcome after it" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"caches":"none"}'
    for user in root ann; do
        run sandboxed $user --claimed-approver human -- sh -c 'exit 3'
        [ "$status" -eq 3 ]
        run sandboxed $user -- true
        as $user "$qsandbox" --root "$base/root" audit --json >"$base/journal.json"
        jq -se 'length == 4 and .[0].type == "start" and .[0].what.argv == ["sh","-c","exit 3"] and .[0].who.approver == {"claimed":true,"kind":"human"} and
            .[1].type == "end" and .[1].exit == 3 and .[1].run == .[0].run and .[3].number == 4' "$base/journal.json"
        run as $user "$qsandbox" --root "$base/root" audit --verify
        [ "$status" -eq 0 ]
        journal=$(find "$base" -name journal -type f -user $user 2>/dev/null || find "$base" -name journal -type f -uid $UID_ANN)
        [ "$user" = ann ] && journal=$(find "$base" -name journal -type f -uid $UID_ANN)
        [ "$(stat -c %a "$journal")" = 600 ]
        sed -i 's/exit 3/exit 4/' "$journal"
        run as $user "$qsandbox" --root "$base/root" audit --verify
        [ "$status" -eq 6 ]
    done
}

@test "without its record no command runs" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"caches":"none"}'
    sandboxed root -- true
    journal=$(find "$base/root" -name journal -type f)
    chmod 666 "$journal"
    run sandboxed root -- touch ran
    [ "$status" -eq 125 ]
    [ ! -e "$(ws root)/ran" ]
    chmod 600 "$journal"
    printf 'half a line' >>"$journal" # as a crash leaves it
    run sandboxed root -- true
    [ "$status" -eq 0 ]
    run as root "$qsandbox" --root "$base/root" audit --verify
    [ "$status" -eq 0 ]
    grep -q '"tornBytes":11' "$journal"
}

@test "a record that cannot be made durable keeps the command from starting" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"caches":"none"}'
    export ASAN_OPTIONS=verify_asan_link_order=0
    LD_PRELOAD=$QS_BUILD/tests/no_flush.so run sandboxed root -- touch ran
    [ "$status" -eq 125 ]
    echo "$output"
    [[ ${lines[0]} == *"cannot make the run log durable"* ]]
    [ ! -e "$(ws root)/ran" ]
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none"}' # nothing to be flushed
    LD_PRELOAD=$QS_BUILD/tests/no_flush.so run sandboxed root -- touch ran
    [ "$status" -eq 0 ]
    [ -e "$(ws root)/ran" ]
}

@test "private caches are kept, not shared, not the host's, and can be cleared" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off"}'
    mkdir -p "$base/home/ann/.cache/pip" "$base/home/ann/other"
    echo host >"$base/home/ann/.cache/pip/host"
    chown -R $UID_ANN "$base/home/ann"
    run sandboxed ann -- sh -c 'echo mine >~/.cache/mine; mkdir -p "$npm_config_cache/x"; echo $CARGO_HOME'
    [ "$status" -eq 0 ]
    [ "$output" = /tmp/.qsandbox-caches/cargo ]
    [ ! -e "$base/home/ann/.cache/mine" ]
    [ -e "$base/home/ann/.cache/pip/host" ]
    run sandboxed ann -- sh -c 'cat ~/.cache/mine; ls "$npm_config_cache"'
    [ "$(echo $output)" = "mine x" ]
    run sandboxed ann --workspace "$base/home/ann/other" --cwd "$base/home/ann/other" -- cat "$base/home/ann/.cache/mine"
    [ "$status" -ne 0 ]
    run as ann "$qsandbox" --root "$base/root" caches --clear --workspace "$(ws ann)"
    [ "$status" -eq 0 ]
    run sandboxed ann -- cat "$base/home/ann/.cache/mine"
    [ "$status" -ne 0 ]
}

@test "limits bind, and one that would not is refused" {
    policy '{"filesystem":"workspace-write","network":"closed"}' \
        '{"audit":"off","caches":"none","limits":{"fileBytes":1000,"openFiles":20,"processes":10,"memoryBytes":300000000,"cpuSeconds":1}}'
    run sandboxed ann -- sh -c 'head -c 5000 /dev/zero >big; stat -c %s big'
    [ "${lines[-1]}" -le 1000 ]
    run sandboxed ann -- sh -c 'ulimit -n; ulimit -t; ulimit -v; ulimit -c'
    [ "$(echo $output)" = "20 1 292968 0" ]
    run sandboxed ann -- python3 -c '
import os
n = 0
try:
    while n < 100:
        if os.fork() == 0:
            os.pause() if hasattr(os, "pause") else __import__("signal").pause()
        n += 1
except OSError: pass
print(n)'
    [ "$output" -lt 10 ]
    as_first='mount -t tmpfs none /sys/fs/cgroup' run sandboxed root -- true # without control groups
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"executor.limits.processes"* ]]
}
