#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whole runs of qsandbox, as root and as a plain user. Everything lies below one directory outside /tmp (which is private in
# every sandbox); the plain user is one of a password database that is mounted for her alone.

bats_require_minimum_version 1.5.0
UID_ANN=12345

setup() {
    base=$(mktemp -d /srv/qsandbox-test.XXXXXX)
    chmod 755 "$base"
    qsandbox=$QS_BUILD/bin/qsandbox
    qsettings=${QS_SETTINGS:-$QS_BUILD/bin/qsettings}
    mkdir -p "$base/home/root" "$base/home/ann/.ssh" "$base/home/root/.ssh" "$base/root"
    for home in "$base/home/root" "$base/home/ann"; do
        echo "private key" >"$home/.ssh/id"
        echo "token" >"$home/.npmrc"
        mkdir -p "$home/ws" "$home/.config/qsettings"
    done
    chown -R $UID_ANN:$UID_ANN "$base/home/ann"
    chmod 700 "$base/home/root" "$base/home/ann"
    {
        sed "s|^root:.*|root:x:0:0:root:$base/home/root:/bin/sh|" /etc/passwd
        echo "ann:x:$UID_ANN:$UID_ANN:Ann:$base/home/ann:/bin/sh"
    } >"$base/passwd"
    export GIT_CONFIG_NOSYSTEM=1 HOME=$base/home/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
    "$qsettings" --root "$base/root" --system init >/dev/null
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none"}'
}

teardown() {
    chattr -R -i "$base" 2>/dev/null || true
    rm -rf "$base"
}

# policy EXECUTION_SANDBOX EXECUTOR: the system store's policy
policy() {
    printf '{"tools":{"executionSandbox":%s},"executor":%s}' "$1" "$2" |
        "$qsettings" --root "$base/root" --system apply --replace - >/dev/null
}

# as root|ann COMMAND...: in a mount namespace where the password database is ours
as() {
    local user=$1
    shift
    local ids=(--reuid 0 --regid 0 --clear-groups)
    [ "$user" = ann ] && ids=(--reuid $UID_ANN --regid $UID_ANN --clear-groups)
    HOME=$base/home/$user unshare -m sh -c 'mount --bind "$0" /etc/passwd && shift 0 && exec "$@"' "$base/passwd" \
        setpriv "${ids[@]}" "$@"
}

refute() { if "$@"; then return 1; fi; }

ws() { echo "$base/home/$1/ws"; }

# sandboxed USER [RUN OPTIONS] -- COMMAND...: in that user's workspace
sandboxed() {
    local user=$1
    shift
    as "$user" sh -c 'cd "$0" && exec "$@"' "$(ws "$user")" timeout -k 1 30 "$qsandbox" --root "$base/root" run "$@"
}

# The executor's process number is written to $base/pid by a shell that becomes it.
started() { # started USER -- COMMAND...: in the background; sets executor
    local user=$1
    shift
    rm -f "$base/home/$user/pid"
    as "$user" sh -c 'cd "$0" && echo $$ >../pid && exec "$@"' "$(ws "$user")" "$qsandbox" --root "$base/root" run "$@" \
        >"$base/log" 2>&1 3>&- &
    job=$!
    eventually test -s "$base/home/$user/pid"
    executor=$(cat "$base/home/$user/pid")
}

# running TEXT: is there a process with exactly this argument? (The bracket keeps grep from finding itself.)
running() { grep -qszx -- "[${1:0:1}]${1:1}" /proc/[0-9]*/cmdline; }
gone() { ! running "$1"; }
# Zombies do not count: when they go is init's affair.
nothing_of_ann() {
    [ -z "$(grep -lsE "^Uid:.*\b$UID_ANN\b" /proc/[0-9]*/status | xargs -r grep -LsE '^State:[[:space:]]*Z')" ]
}

tree() { (cd "$base" && find . -path ./root/sandbox -prune -o -path './home/*/.local' -prune -o -printf '%p %y %m %U %s\n' | sort); }

git_init() { # git_init USER
    as "$1" sh -c 'cd "$0" && git init -q -b main . && git config user.name a && git config user.email a@b &&
        echo one >file && git add file && git commit -q -m one' "$(ws "$1")"
}

# eventually COMMAND...: true within ten seconds
eventually() {
    local i
    for i in $(seq 200); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

# ---- running and refusing ----

@test "a command runs and its status passes through" {
    for user in root ann; do
        run sandboxed $user -- sh -c 'echo out; echo err >&2; exit 7'
        [ "$status" -eq 7 ]
        [[ $output == *out* && $output == *err* ]]
        run sandboxed $user -- true
        [ "$status" -eq 0 ]
        run sandboxed $user -- sh -c 'kill -TERM $$'
        [ "$status" -eq 143 ]
        run -127 sandboxed $user -- no-such-program
        [ "$status" -eq 127 ]
        run sandboxed $user -- /etc/passwd
        [ "$status" -eq 126 ]
    done
}

@test "without a policy nothing runs" {
    echo '{}' | "$qsettings" --root "$base/root" --system apply --replace - >/dev/null
    for user in root ann; do
        run sandboxed $user -- touch ran
        [ "$status" -eq 125 ]
        [[ ${lines[0]} == "qsandbox: status 4 (no policy): "* ]]
        [ ! -e "$(ws $user)/ran" ]
    done
}

@test "an absent, damaged or untrusted store refuses" {
    cp -a "$base/root/system/data.mdb" "$base/data.mdb"
    truncate -s 100 "$base/root/system/data.mdb"
    run sandboxed root -- touch ran
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 6 "* ]]
    cp -a "$base/data.mdb" "$base/root/system/data.mdb"
    chmod 666 "$base/root/system/data.mdb"
    run sandboxed root -- touch ran
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 7 "* ]]
    rm -r "$base/root/system"
    run sandboxed root -- touch ran
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 5 "* ]]
    [ ! -e "$(ws root)/ran" ]
}

@test "the flags of a run only narrow" {
    policy '{"filesystem":"read-only","network":"closed"}' '{"audit":"off","caches":"none"}'
    run sandboxed root --filesystem workspace-write -- true
    [ "$status" -eq 125 ]
    run sandboxed root --network open -- true
    [ "$status" -eq 125 ]
    run sandboxed root -- touch ran
    [ "$status" -ne 0 ]
    policy '{"filesystem":"workspace-write","network":"open"}' '{"audit":"off","caches":"none"}'
    run sandboxed root --filesystem read-only -- touch ran
    [ "$status" -ne 0 ]
    [ ! -e "$(ws root)/ran" ]
    run sandboxed root --network closed -- sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1'
    [ "$(echo $output)" = lo ]
}

@test "the status descriptor tells what happened" {
    run sandboxed ann --status-fd 3 -- sh -c 'exit 9' 3>"$base/status"
    [ "$status" -eq 9 ]
    jq -e '.status == 0 and .exit == 9 and .signal == null and .confirmed and (.timedOut | not) and .generation >= 2 and
        .enforcement.network == "closed" and (.started < .ended or .started == .ended) and .violations == []' "$base/status"
    [ "$(wc -l <"$base/status")" -eq 1 ]
    run sandboxed ann --status-fd 3 --workspace /nowhere -- true 3>"$base/status"
    [ "$status" -eq 125 ]
    jq -e '.status != 0 and .reason != null and .confirmed == false and .started == null' "$base/status"
}

@test "a workspace at a place that would undo the boundary is refused" {
    for user in root ann; do
        for place in / /usr /etc "$base/home/$user" "$base/home" "$base/home/$user/.ssh" "$base/root"; do
            run sandboxed $user --workspace "$place" --cwd / -- true
            [ "$status" -eq 125 ]
        done
    done
    run sandboxed ann --workspace "$base/passwd" -- true
    [ "$status" -eq 125 ]
    mkdir "$base/foreign"
    run sandboxed ann --workspace "$base/foreign" -- true
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"status 7 "* ]]
}

# ---- the file system ----

@test "a write outside fails with EROFS and one inside works" {
    for user in root ann; do
        mkdir -p "$base/home/$user/other"
        chmod 777 "$base/home/$user/other"
        run sandboxed $user -- python3 -c '
import errno, os, sys
for path in sys.argv[1:]:
    try:
        open(path, "w")
        print("wrote", path)
    except OSError as e:
        print(errno.errorcode[e.errno])
open("inside", "w")
open("/tmp/private", "w")
open("/var/tmp/private", "w")
open("/dev/shm/private", "w")
print(os.environ["TMPDIR"])' "$base/home/$user/other/file" "$base/home/$user/new"
        [ "${lines[0]}" = EROFS ]
        [ "${lines[1]}" = EROFS ]
        [ "${lines[2]}" = /tmp ]
        [ -e "$(ws $user)/inside" ]
        [ ! -e /tmp/private ]
        [ ! -e /var/tmp/private ]
        [ ! -e /dev/shm/private ]
    done
}

@test "as root the kernel's settings take no write" {
    run sandboxed root -- sh -c 'echo x >/proc/sys/kernel/core_pattern; echo h >/proc/sysrq-trigger; echo 0 >/proc/irq/default_smp_affinity
        echo 100 >/proc/sys/user/max_user_namespaces; mount -o remount,rw / ; umount /proc/sys; true'
    [[ $output == *core_pattern* && $output != *"core pattern changed"* ]]
    [ "$(cat /proc/sys/kernel/core_pattern)" != x ]
    run sandboxed root -- sh -c 'echo x 2>/dev/null >/proc/sys/kernel/core_pattern'
    [ "$status" -ne 0 ]
}

@test "a workspace through a link, a home that is a link, a workspace in /tmp" {
    ln -s "$base/home/ann/ws" "$base/home/link"
    run sandboxed ann --workspace "$base/home/link" -- sh -c 'pwd; touch made'
    [ "$status" -eq 0 ]
    [ "$output" = "$(ws ann)" ]
    [ -e "$(ws ann)/made" ]
    mv "$base/home/ann" "$base/home/real"
    ln -s real "$base/home/ann"
    run sandboxed ann -- sh -c 'cat "$HOME/.ssh/id"; cat '"$base"'/home/real/.ssh/id; touch again'
    [[ $output != *"private key"* ]]
    [ -e "$base/home/real/ws/again" ]
    job=$(mktemp -d /tmp/qsandbox-ws.XXXXXX)
    chown $UID_ANN "$job"
    run sandboxed ann --workspace "$job" --cwd "$job" -- sh -c 'touch made; ls /tmp'
    [ "$status" -eq 0 ]
    [ "$output" = "$(basename "$job")" ]
    [ -e "$job/made" ]
    rm -r "$job"
}

@test "hidden paths cannot be read, by any name" {
    for user in root ann; do
        home=$base/home/$user
        ln -sf "$home/.npmrc" "$home/ws/link"
        ln "$home/.ssh/id" "$home/alias" # a hard link elsewhere in the home is another name: it stays a known gap
        rm "$home/alias"
        run sandboxed $user -- sh -c 'cat ~/.ssh/id ~/.npmrc link; ls ~/.ssh; chmod 700 ~/.ssh; chmod 600 ~/.npmrc; cat ~/.npmrc; true'
        [[ $output != *"private key"* && $output != *token* ]]
        [[ $output == *denied* ]]
    done
}

@test "a missing hidden path is skipped, one behind a link is hidden where it is" {
    rm -r "$base/home/ann/.ssh"
    mkdir "$base/keys"
    echo "private key" >"$base/keys/id"
    ln -s "$base/keys" "$base/home/ann/.ssh"
    rm "$base/home/ann/.npmrc"
    run sandboxed ann -- sh -c "cat $base/keys/id ~/.ssh/id; echo done"
    [[ $output != *"private key"* && $output == *done* ]]
}

@test "stores and the sandbox's state cannot be seen" {
    run sandboxed root -- sh -c "ls $base/root; cat $base/root/system/data.mdb; ls ~/.config/qsettings; true"
    [[ $output != *data.mdb:* || $output == *denied* ]]
    [[ $output != *system* || $output == *denied* ]]
    run sandboxed root -- cat "$base/root/system/data.mdb"
    [ "$status" -ne 0 ]
}

@test "leaked descriptors are not inherited" {
    for user in root ann; do
        run sandboxed $user -- sh -c 'ls /proc/self/fd; cat <&7; cat /proc/self/fd/8/.ssh/id; true' \
            7<"$base/home/$user/.ssh/id" 8<"$base/home/$user"
        [[ $output != *"private key"* ]]
        run sandboxed $user -- sh -c 'ls /proc/self/fd | wc -l' 7</etc/hostname 8</ 9</etc/hostname
        [ "$output" -eq 4 ] # 0, 1, 2 and ls's own
    done
}

@test "a directory as standard input is refused" {
    run sandboxed ann -- true <"$base/home/ann"
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"descriptor 0 is a directory"* ]]
}

@test "roots with awkward names, many roots, and a root that is missing" {
    local list='' i
    for i in $(seq 200); do
        mkdir -p "$base/roots/r$i"
        list="$list\"$base/roots/r$i\","
    done
    mkdir "$base/roots/a \"b\" 'c'" "$base/roots/new
line"
    chown -R $UID_ANN "$base/roots"
    policy '{"filesystem":"workspace-write","network":"closed"}' \
        "{\"audit\":\"off\",\"caches\":\"none\",\"writableRoots\":[$list\"$base/roots/a \\\"b\\\" 'c'\",\"$base/roots/new\\nline\"]}"
    run sandboxed ann -- sh -c "touch $base/roots/r1/f $base/roots/r200/f '$base/roots/a \"b\" '\\''c'\\''/f' '$base/roots/new
line/f' && ! touch $base/roots/f 2>/dev/null"
    [ "$status" -eq 0 ]
    [ -e "$base/roots/new
line/f" ]
    rmdir "$base/roots/r2"
    run sandboxed ann -- true
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"$base/roots/r2 does not exist"* ]]
}

# ---- git ----

@test "git works in a normal checkout and cannot be redirected" {
    for user in root ann; do
        git_init $user
        run sandboxed $user -- sh -c 'set -e
            echo two >>file; git commit -qam two; git branch b; git checkout -q b; echo b >b; git add b; git commit -qm b
            git checkout -q main; echo m >m; git add m; git commit -qm m; git rebase -q b; git gc -q; git worktree add -q wt
            cd wt; echo w >w; git add w; git commit -qm w; cd ..; git init -q sub; git clone -q . clone; git status -s >/dev/null
            git log --oneline | wc -l'
        echo "$output"
        [ "$status" -eq 0 ]
        [ "${lines[-1]}" = 4 ]
        run sandboxed $user -- sh -c 'mv .git x; rm -rf .git/hooks; echo evil >.git/hooks/pre-commit; echo evil >>.git/config
            git config core.fsmonitor evil; rm -f .git/config; mv .git/hooks .git/h; true'
        [ -d "$(ws $user)/.git/hooks" ]
        [ ! -e "$(ws $user)/x" ]
        refute grep -rq evil "$(ws $user)/.git/config" "$(ws $user)/.git/hooks"
    done
}

@test "a commit works in a linked worktree, and the main repository is otherwise read-only" {
    for user in root ann; do
        git_init $user
        as $user git -C "$(ws $user)" worktree add -q "$base/home/$user/linked"
        run sandboxed $user --workspace "$base/home/$user/linked" --cwd "$base/home/$user/linked" -- sh -c '
            echo w >w && git add w && git commit -qm w && git log --oneline | wc -l
            common=$(git rev-parse --git-common-dir)
            echo evil >>$common/config; echo evil >$common/hooks/pre-commit; echo evil >$common/commondir
            gitdir=$(git rev-parse --git-dir); echo evil >$gitdir/commondir; echo evil >$gitdir/gitdir; mv .git x; rm -f .git
            touch '"$(ws $user)"'/outside; true'
        [ "${lines[0]}" = 2 ]
        refute grep -rq evil "$(ws $user)/.git"
        [ -f "$base/home/$user/linked/.git" ]
        [ ! -e "$(ws $user)/outside" ]
    done
}

@test "relative worktrees and bare common repositories work too" {
    git_init ann
    as ann git clone -q --bare "$(ws ann)" "$base/home/ann/bare.git"
    as ann git -C "$base/home/ann/bare.git" worktree add -q "$base/home/ann/linked" main
    # A relative pointer, as `git worktree add --relative-paths` of newer git writes it.
    echo "gitdir: ../bare.git/worktrees/linked" >"$base/home/ann/linked/.git"
    echo "../../../linked/.git" >"$base/home/ann/bare.git/worktrees/linked/gitdir"
    run sandboxed ann --workspace "$base/home/ann/linked" --cwd "$base/home/ann/linked" -- sh -c '
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
        echo w >w && git add w && git commit -qm w && git log --oneline | wc -l; touch ../bare.git/evil; true'
    [ "${lines[0]}" = 2 ]
    [ ! -e "$base/home/ann/bare.git/evil" ]
}

@test "a .git file that points elsewhere grants nothing" {
    git_init ann
    mkdir -p "$base/home/ann/fake/worktrees/x"
    as ann git init -q "$base/home/ann/victim"
    local forged=$base/home/ann/forged
    mkdir -p "$forged/own/worktrees/x"
    echo "gitdir: $forged/own/worktrees/x" >"$forged/.git"
    echo "$base/home/ann/victim/.git" >"$forged/own/worktrees/x/commondir"
    echo "$forged/.git" >"$forged/own/worktrees/x/gitdir"
    chown -R $UID_ANN "$forged"
    run as ann "$qsandbox" --root "$base/root" inspect --workspace "$forged" --cwd "$forged" --json
    [ "$status" -eq 0 ]
    echo "$output" | jq -e '.checkout == "git file that is not pointed back at" and (.writable | length == 1)'
    run sandboxed ann --workspace "$forged" --cwd "$forged" -- touch "$base/home/ann/victim/.git/refs/evil"
    [ "$status" -ne 0 ]
    [ ! -e "$base/home/ann/victim/.git/refs/evil" ]
}

@test "hooks that are a link, and a protected name that is a link, stay what they are" {
    git_init ann
    local ws
    ws=$(ws ann)
    mkdir "$ws/githooks"
    rm -r "$ws/.git/hooks"
    ln -s ../githooks "$ws/.git/hooks"
    echo real >"$ws/settings"
    ln -s settings "$ws/.envrc"
    chown -hR $UID_ANN "$ws"
    run sandboxed ann -- sh -c 'echo evil >.git/hooks/pre-commit; echo evil >githooks/pre-commit; rm .git/hooks; mv .git/hooks h
        echo evil >.envrc; echo evil >settings; rm .envrc; ln -sf evil .envrc; touch fine'
    [ -e "$ws/fine" ]
    [ "$(readlink "$ws/.git/hooks")" = ../githooks ]
    [ "$(readlink "$ws/.envrc")" = settings ]
    [ -z "$(ls "$ws/githooks")" ]
    [ "$(cat "$ws/settings")" = real ]
    ln -sfn /nowhere "$ws/.vscode"
    run sandboxed ann -- true
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *".vscode"* ]]
}

@test "hooks that core.hooksPath puts into the workspace are read-only" {
    git_init ann
    as ann sh -c 'cd "$0" && mkdir .husky && echo real >.husky/pre-push && git config core.hooksPath .husky' "$(ws ann)"
    run sandboxed ann -- sh -c 'echo evil >.husky/pre-push; echo evil >.husky/pre-commit; mv .husky x; touch fine; true'
    [ -e "$(ws ann)/fine" ]
    [ "$(cat "$(ws ann)/.husky/pre-push")" = real ]
    [ "$(ls "$(ws ann)/.husky")" = pre-push ]
}

@test "what redirects host tools and was not there before is swept away" {
    for user in root ann; do
        git_init $user
        run sandboxed $user --status-fd 3 -- sh -c 'echo evil >.envrc; mkdir -p .vscode; echo x >.vscode/tasks.json; chmod 0 .vscode
            echo x >.git/commondir; ln -s /etc .claude; touch kept; chmod 500 .; exit 5' 3>"$base/status"
        [ "$status" -eq 5 ]
        for name in .envrc .vscode .git/commondir .claude; do
            [ ! -e "$(ws $user)/$name" ]
            [ ! -L "$(ws $user)/$name" ]
            [[ $output == *"$(ws $user)/$name was made during a run"* ]]
        done
        [ -e "$(ws $user)/kept" ]
        jq -e '.violations | length == 4' "$base/status"
        chmod 700 "$(ws $user)"
        [ -n "$(find "$base" -name tasks.json -path '*quarantine*')" ]
        rm -rf "$base/root/sandbox/quarantine" "$base/home/ann/.local"
    done
}

@test "a sweep that a killed executor left is made good by the next start" {
    started ann -- sh -c 'touch .envrc started; sleep 1000'
    eventually test -e "$(ws ann)/started"
    kill -KILL "$executor"
    wait "$job" || true
    [ -e "$(ws ann)/.envrc" ]
    run sandboxed ann -- true
    [ "$status" -eq 0 ]
    [[ $output == *".envrc was made during a run"*"earlier run that was killed"* ]]
    [ ! -e "$(ws ann)/.envrc" ]
}

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
        run sandboxed $user --timeout 1 -- sh -c '(setsid sleep 9876 & setsid sh -c "trap \"\" TERM; sleep 1000" &) ; trap "" TERM; while :; do sleep 100; done'
        [ "$status" -eq 124 ]
        [[ $output == *"by --timeout"* ]]
    done
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","limits":{"wallSeconds":1}}'
    run sandboxed ann -- sleep 9876
    [ "$status" -eq 124 ]
    [[ $output == *"executor.limits.wallSeconds (system scope)"* ]]
    gone 9876
}

@test "a background child that holds the pipes does not outlive the command" {
    run sandboxed ann -- sh -c 'sleep 9876 & (setsid sleep 9876 &); echo done'
    [ "$status" -eq 0 ]
    [ "$output" = done ]
    gone 9876
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
            mark=9$RANDOM$RANDOM
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
        mark=9$RANDOM$RANDOM
        started ann -- sleep $mark
        head -c $((i * 20000)) /dev/zero >/dev/null # a little later each time
        kill -KILL "$executor"
        wait "$job" || true
        eventually gone $mark
        eventually nothing_of_ann
    done
}

@test "children that the executor found are neither waited for nor killed" {
    mark=9$RANDOM$RANDOM
    run as ann sh -c "cd $(ws ann); sleep $mark >/dev/null 2>&1 3>&- & echo \$!; exec $qsandbox --root $base/root run -- true"
    [ "$status" -eq 0 ]
    running $mark
    kill "$output"
}

@test "the end of the caller ends the run" {
    mark=9$RANDOM$RANDOM
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
    [[ $output == *"qsandbox: status "* ]]
    run as ann bwrap --unshare-all --bind / / --dev /dev --proc /proc -- sh -c "cd $(ws ann) && $qsandbox --root $base/root run -- sh -c 'echo ran; ! touch $base/home/ann/x 2>/dev/null'"
    [[ "$status" -eq 0 && "$output" == ran ]] || [[ "$status" -eq 125 && $output == *"qsandbox: status "* ]]
    run as ann unshare -U sh -c "cd $(ws ann) && $qsandbox --root $base/root run -- touch ran"
    [ "$status" -eq 125 ]
    [[ $output == *"qsandbox: status "* ]]
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
script = "set -m; " + " ".join(sandbox) + " sh -c 'echo READY; sleep 0.5; echo MORE; read x; echo END-$x'; echo STOPPED; fg; echo CODE $?"
code = run(["bash", "--norc", "-i", "-c", script], [(b"READY", b"\x1a"), (b"STOPPED", b""), (b"MORE", b"text\n"), (b"END-text", b""), (b"CODE 0", b"")])
print("job", code)
P
    chmod 755 "$base/terminal.py"
    run as ann sh -c 'cd "$0" && exec "$@"' "$(ws ann)" python3 "$base/terminal.py" "$qsandbox" --root "$base/root" run --
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"interrupt 4"* && $output == *"size 0"* && $output == *"job 0"* ]]
}

# ---- sessions, journal, caches ----

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
    run sandboxed root -- true
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == *"executor.limits.processes"* ]]
}
