#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whole runs of qsandbox, as root and as a plain user: running and refusing, the file system, git.
load ../support/sandbox

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

@test "without a command run says on one line how it is given" {
    run -125 sandboxed root
    [ "${#lines[@]}" -eq 1 ]
    [[ ${lines[0]} == "qsandbox: run: status 2 (usage): PROGRAM is missing; usage: qsandbox run [OPTIONS] -- PROGRAM [ARGUMENT...]" ]]
}

@test "without a policy nothing runs" {
    echo '{}' | "$qsettings" --root "$base/root" --system apply --replace - >/dev/null
    for user in root ann; do
        run sandboxed $user -- touch ran
        [ "$status" -eq 125 ]
        [[ ${lines[0]} == "qsandbox: run: status 4 (no policy): "* ]]
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
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","limits":{"wallSeconds":1}}'
    run sandboxed root --timeout 10 -- sleep 8
    [ "$status" -eq 124 ]
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
for path in sys.argv[2:]:
    try:
        open(path, "w")
        print("wrote", path)
    except OSError as e:
        print(errno.errorcode[e.errno])
open("inside", "w")
for place in "/tmp/", "/var/tmp/", "/dev/shm/":
    open(place + sys.argv[1], "w")
print(os.environ["TMPDIR"])' "$mark" "$base/home/$user/other/file" "$base/home/$user/new"
        [ "${lines[0]}" = EROFS ]
        [ "${lines[1]}" = EROFS ]
        [ "${lines[2]}" = /tmp ]
        [ -e "$(ws $user)/inside" ]
        [ ! -e "/tmp/$mark" ]
        [ ! -e "/var/tmp/$mark" ]
        [ ! -e "/dev/shm/$mark" ]
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
        run --separate-stderr sandboxed $user -- sh -c 'set -e
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
    echo "$output" | jq -e '.checkout == "git file that is not pointed back at" and ([.writable[] | select(.why | startswith("on the way") | not)] | length == 1)'
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
        [ ! -e "$(ws $user)/.git/commondir" ] # it stays inside
        for name in .envrc .vscode .claude; do
            [ ! -e "$(ws $user)/$name" ]
            [ ! -L "$(ws $user)/$name" ]
            [[ $output == *"$(ws $user)/$name was made during a run"* ]]
        done
        [ -e "$(ws $user)/kept" ]
        jq -e '.violations | length == 3' "$base/status"
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
