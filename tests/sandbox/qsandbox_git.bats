#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whole runs of qsandbox over git: submodules, ways to protected paths, linked worktrees, what the sweep finds.
load ../support/sandbox

# ann COMMAND...: on the host, in her home
ann() { as ann sh -c 'cd && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a && '"$*"; }

# A library beside the workspace, and in the workspace a submodule of it whose name has a slash.
with_submodule() {
    git_init ann
    ann 'git config --global protocol.file.allow always && git config --global user.name a && git config --global user.email a
        git init -q -b main lib && cd lib && echo one >l && git add l && git commit -qm l && cd ../ws &&
        git submodule --quiet add ../lib libs/two && git commit -qm two'
}

# Inodes are stamped with a clock that moves at most every ten milliseconds.
sleep_past_tick() { python3 -c 'import time
at = lambda: time.clock_gettime(5)
start = at()
while at() - start < 0.001: pass'; }

# ---- submodules and ways ----

@test "submodules: commit in one, update, add" {
    with_submodule
    run sandboxed ann -- sh -ec 'cd libs/two; echo more >>l; git commit -qam more; git config x.y z; cd ../..; git add libs/two
        git commit -qm up; git submodule --quiet update; git submodule status; git submodule foreach -q "git log --oneline | wc -l"'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == *" libs/two ("* ]]
    [ "${lines[1]}" = 2 ]
    # The configuration of a submodule is the command's own copy.
    refute grep -q "y = z" "$(ws ann)/.git/modules/libs/two/config"
    # Adding one works, but for its registration in .git/config, which git reports.
    run sandboxed ann -- sh -ec 'git submodule add ../lib libs/new; git commit -qm new; cat libs/new/l'
    [ "$status" -eq 0 ]
    [[ $output == *$'\none'* ]]
    ann 'cd ws && git submodule --quiet init && git submodule status | grep " .* libs/new " && git fsck'
}

@test "submodules: one that is not registered needs its registration from outside or on the command line" {
    with_submodule
    ann 'cd ws && git submodule --quiet deinit -f libs/two'
    run sandboxed ann -- git submodule update --init
    [ "$status" -ne 0 ]
    run sandboxed ann -- git -c submodule.active=. -c submodule.libs/two.url="$base/home/ann/lib" submodule --quiet update --init
    [ "$status" -eq 0 ]
    [ -e "$(ws ann)/libs/two/l" ]
    ann 'cd ws && git submodule --quiet init && rm -r libs/two && mkdir libs/two'
    run sandboxed ann -- git submodule --quiet update
    [ "$status" -eq 0 ]
    [ -e "$(ws ann)/libs/two/l" ]
}

# A rename and nothing else: mv copies and removes where it cannot rename.
rename='import os, sys
for name in sys.argv[1:]:
    try:
        os.rename(name, name + ".moved")
        print("moved", name)
    except OSError as e:
        print(e.strerror)'

@test "the git directory of a submodule cannot be redirected" {
    with_submodule
    local config
    config=$(cat "$(ws ann)/.git/modules/libs/two/config")
    run sandboxed ann -- sh -c 'm=.git/modules/libs/two; cd .git; python3 -c "$0" modules modules/libs modules/libs/two modules/libs/two/config \
        modules/libs/two/hooks; cd ..; rm -rf $m/hooks; echo evil >$m/hooks/post-checkout; echo evil >>$m/config; rm -f $m/config
        git -C libs/two config core.fsmonitor evil; echo $m >$m/commondir; mkdir plain; python3 -c "$0" plain' "$rename"
    echo "$output"
    [ "$(grep -c "^moved" <<<"$output")" -eq 1 ]
    [[ $output == *"commondir was made during a run and moved"* ]]
    [ "$(cat "$(ws ann)/.git/modules/libs/two/config")" = "$config" ]
    [ ! -e "$(ws ann)/.git/modules/libs/two/hooks/post-checkout" ]
    [ ! -e "$(ws ann)/.git/modules/libs/two/commondir" ]
    ann 'cd ws && git submodule status && git -C libs/two fsck'
}

@test "a directory on the way to a protected path cannot be exchanged" {
    git_init ann
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","protectedPaths":["conf/deep/file"]}'
    ann 'cd ws && mkdir -p conf/deep tools/hooks other/deep && echo real | tee conf/deep/file tools/hooks/pre-push >other/deep/file
        git config core.hooksPath tools/hooks'
    run sandboxed ann -- sh -c 'python3 -c "$0" conf conf/deep tools tools/hooks other
        echo evil >conf/deep/file; touch conf/new tools/new' "$rename"
    [ "$(cat "$(ws ann)/conf/deep/file" "$(ws ann)/tools/hooks/pre-push" | sort -u)" = real ]
    [ "$(grep "^moved" <<<"$output")" = "moved other" ]
    [ -e "$(ws ann)/conf/new" ]
    [ -e "$(ws ann)/tools/new" ]
}

# ---- hard cases ----

@test "a repository cannot be renamed away and replaced" {
    for user in root ann; do
        git_init $user
        run sandboxed $user -- sh -c 'python3 -c "$0" .git; mkdir .git; git init -q; git config core.fsmonitor evil; rm -rf .git/hooks .git/config; ls .git' "$rename"
        [ "${lines[0]}" = "Device or resource busy" ]
        [ -d "$(ws $user)/.git/hooks" ]
        as $user git -C "$(ws $user)" fsck
        refute as $user git -C "$(ws $user)" config core.fsmonitor
    done
}

@test "a bare repository as the workspace: its hooks and configuration are read-only" {
    ann 'git init -q -b main seed && cd seed && git config user.name a && git config user.email a && git commit -q --allow-empty -m one &&
        git clone -q --bare . ../bare.git'
    run sandboxed ann --workspace "$base/home/ann/bare.git" --cwd "$base/home/ann/bare.git" -- sh -c 'git branch fine; git branch other; git branch -D other; git gc -q
        echo evil >>config; echo evil >hooks/update; git config core.fsmonitor evil; python3 -c "$0" hooks config; echo . >commondir; git branch' "$rename"
    echo "$output"
    refute grep "^moved" <<<"$output"
    [[ $output == *"  fine"* && $output == *"commondir was made during a run and moved to"* ]]
    ann '! grep -r evil bare.git/config bare.git/hooks && test ! -e bare.git/commondir && git -C bare.git branch | grep fine'
}

@test "a repository above the workspace is found for reading, and not written" {
    git_init ann
    ann 'cd ws && mkdir part && echo two >part/file && git add part && git commit -qm part'
    run sandboxed ann --workspace "$(ws ann)/part" --cwd "$(ws ann)/part" -- sh -c '
        git log --oneline | wc -l; git show HEAD:./file; echo three >file; git diff --stat | tail -n 1; git add file; git commit -qm x; echo evil >../.git/HEAD; true'
    [ "${lines[0]}" = 2 ]
    [ "${lines[1]}" = two ]
    [[ ${lines[2]} == *"1 file changed"* ]]
    [[ $output == *"Read-only file system"* ]]
    [ "$(ann 'git -C ws log --oneline | wc -l')" = 2 ]
    [ "$(cat "$(ws ann)/.git/HEAD")" = "ref: refs/heads/main" ]
}

# ---- linked worktrees ----

linked() { # linked USER COMMAND...: confined, in a linked worktree
    local user=$1
    shift
    sandboxed $user --workspace "$base/home/$user/linked" --cwd "$base/home/$user/linked" -- "$@"
}

with_linked() { # with_linked USER: a packed branch in the repository, and a linked worktree
    git_init $1
    as $1 sh -c 'cd "$0" && git branch packed && git pack-refs --all && git worktree add -q ../linked' "$(ws $1)"
}

# Not everything that kernels do: one before 5.19 cannot show calls so that no signal disturbs it.
needs_listener() { # needs_listener USER
    as $1 "$qsandbox" --root "$base/root" inspect --json --workspace "$base/home/$1/linked" --cwd "$base/home/$1/linked" >"$base/inspect"
    jq -e 'any(.writable[]; .path | endswith("/packed-refs"))' "$base/inspect" >/dev/null || skip "this kernel has no WAIT_KILLABLE_RECV"
}

@test "in a linked worktree branches are deleted, references packed, objects collected" {
    for user in root ann; do
        with_linked $user
        needs_listener $user
        run linked $user sh -ec 'git branch loose; git commit -q --allow-empty -m x; git branch -D loose packed; git pack-refs --all; git tag v; git tag -d v
            echo 1 >s; git add s; git stash -q; git stash pop -q; git commit -qm s; git checkout -q -b topic HEAD~1; git commit -q --allow-empty -m y; git rebase -q linked
            git cherry-pick --allow-empty linked~1; git gc; git fsck; git branch --list'
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *topic && $output != *"packed-refs.lock"* ]]
        common=$(ws $user)/.git
        [ -z "$(ls "$common" | grep -E 'lock|\.new|gc\.pid')" ]
        grep -q refs/heads/topic "$common/packed-refs"
        refute grep -q refs/heads/packed "$common/packed-refs"
        as $user git -C "$(ws $user)" fsck
    done
}

@test "in a linked worktree nothing else of the common directory can be written" {
    for user in root ann; do
        with_linked $user
        needs_listener $user
        cat >"$base/attack.py" <<'P'
import errno, os, sys
common = sys.argv[1]
at = lambda name: os.path.join(common, name)
E = os.O_CREAT | os.O_EXCL | os.O_RDWR
def attempt(what, *args, **more):
    try:
        r = what(*args, **more)
        print("DONE", what.__name__, *args)
        return r
    except OSError as e:
        print(errno.errorcode[e.errno])
for name in ["commondir", "config.worktree", "config.lock", "packed-refs.locked", "index.lock", "gc.pid", "packed-refs", "worktrees/packed-refs.lock", "hooks/packed-refs.lock"]:
    attempt(os.open, at(name), E)
attempt(os.open, at("packed-refs.lock"), os.O_CREAT | os.O_RDWR)   # not exclusive
attempt(os.mkdir, at("packed-refs.lock"))
attempt(os.symlink, "/etc", at("packed-refs.lock"))
attempt(os.link, at("config"), at("packed-refs.lock"))
attempt(os.unlink, at("packed-refs"))
attempt(os.rename, at("config"), at("packed-refs.new"))
# Made by the rules, they lead nowhere else.
fd = os.open(at("packed-refs.new"), E, 0o6777)
assert os.fstat(fd).st_mode & 0o7111 == 0
for to in ["commondir", "config", "HEAD", "packed-refs.lock", "hooks/pre-commit", "objects/x"]:
    attempt(os.rename, at("packed-refs.new"), at(to))
attempt(os.link, at("packed-refs.new"), at("commondir"))
attempt(os.link, "/proc/self/fd/%d" % fd, at("commondir"), follow_symlinks=True)
attempt(os.link, "/proc/self/fd/%d" % fd, "own", follow_symlinks=True)
os.unlink(at("packed-refs.new"))
lock = os.open(at("HEAD.lock"), E)
attempt(os.rename, at("HEAD.lock"), at("HEAD"))
here = os.open(common, os.O_PATH)
os.unlink("HEAD.lock", dir_fd=here)
os.close(os.open("packed-refs.lock", E, dir_fd=here))       # by descriptor
os.chdir(common)
os.unlink("./packed-refs.lock")                             # by a relative name
# No descriptor is left for the new file: nothing is left either.
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (lock + 2, lock + 2))
attempt(os.open, at("packed-refs.lock"), E)
attempt(os.open, at("packed-refs.lock"), E)
P
        before=$(ls -lA --time-style=+ "$(ws $user)/.git"; cat "$(ws $user)/.git/config")
        run linked $user python3 "$base/attack.py" "$(ws $user)/.git"
        echo "$output"
        [ "$status" -eq 0 ]
        refute grep DONE <<<"$output"
        [ "$(grep -c EROFS <<<"$output")" -ge 15 ]
        [ "${lines[-1]}" = EMFILE ]
        [ "$(ls -lA --time-style=+ "$(ws $user)/.git"; cat "$(ws $user)/.git/config")" = "$before" ]
    done
}

@test "a lock that git on the host holds is respected, and not removed" {
    with_linked ann
    needs_listener ann
    ann 'echo host >ws/.git/packed-refs.lock'
    run linked ann sh -c 'git -c core.packedRefsTimeout=0 branch -D packed; rm -f "$0/packed-refs.lock"; mv "$0/packed-refs.lock" "$0/packed-refs"; echo evil >"$0/packed-refs.lock"' "$(ws ann)/.git"
    [[ $output == *"File exists"* ]]
    [ "$(cat "$(ws ann)/.git/packed-refs.lock")" = host ]
    ann 'rm ws/.git/packed-refs.lock && git -C ws branch --list packed | grep packed'
}

@test "many at once, and signals, do not disturb a linked worktree's git" {
    with_linked ann
    needs_listener ann
    run linked ann sh -c 'for i in 1 2 3 4 5 6 7 8; do (for j in 1 2 3 4 5; do git branch b$i-$j && git branch -qD b$i-$j 2>/dev/null || echo FAILED; done) & done
        python3 -c "
import os, signal, threading
signal.signal(signal.SIGALRM, lambda *a: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
common = os.popen(\"git rev-parse --git-common-dir\").read().strip()
for i in range(300):
    os.close(os.open(common + \"/gc.pid.lock\", os.O_CREAT | os.O_EXCL | os.O_RDWR))
    os.rename(common + \"/gc.pid.lock\", common + \"/gc.pid\")
    os.unlink(common + \"/gc.pid\")
signal.setitimer(signal.ITIMER_REAL, 0)" || echo FAILED
        wait; git branch --list "b*"; ls $(git rev-parse --git-common-dir)'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *FAILED* && $output != *"b1-"* && $output != *Traceback* ]]
    [[ $output != *gc.pid* && $output != *packed-refs.* ]]
}

# ---- the sweep ----

@test "new repositories in the workspace are reported and stay" {
    for user in root ann; do
        git_init $user
        run sandboxed $user --status-fd 3 -- sh -ec 'git init -q a/b/made; git clone -q . cloned; git worktree add -q tree; git clone -q --bare . bare
            echo "#!/bin/sh" >cloned/.git/hooks/post-checkout; git -C cloned config core.fsmonitor evil; exit 7' 3>"$base/status"
        echo "$output"
        [ "$status" -eq 7 ]
        for name in a/b/made/.git cloned/.git tree/.git bare; do
            [[ $output == *"$(ws $user)/$name is a repository made during a run, left where it is"* ]]
            [ -e "$(ws $user)/$name" ]
        done
        [[ $output == *"cloned/.git is a repository"*"; core.fsmonitor of it is run by git on the host"* ]]
        jq -e '.violations == [] and (.notices | length == 4)' "$base/status"
        # Known by now, and work in them is nothing new; what redirects them is.
        sleep_past_tick
        run sandboxed $user --status-fd 3 -- sh -ec 'cd cloned; git -c user.name=a -c user.email=a -c core.fsmonitor= commit -q --allow-empty -m x; git gc -q' 3>"$base/status"
        jq -e '.violations == [] and .notices == []' "$base/status"
        run sandboxed $user --status-fd 3 -- sh -ec 'echo x >bare/hooks/update; git -C a/b/made config core.worktree /etc' 3>"$base/status"
        jq -e --arg bare "$(ws $user)/bare is a repository whose hooks changed during a run; the hook update of it" \
            --arg made "$(ws $user)/a/b/made/.git is a repository whose config changed during a run; it leads out of the workspace: core.worktree to /etc" \
            '.violations == [] and (.notices | length == 2) and any(.notices[]; startswith($bare)) and any(.notices[]; . == $made)' "$base/status"
    done
}

@test "a workspace that becomes a repository is reported" {
    run sandboxed ann -- git init -q .
    [ "$status" -eq 0 ]
    [[ $output == *"$(ws ann)/.git is a repository made during a run, left where it is"* ]]
    [ -d "$(ws ann)/.git" ]
}

@test "a new repository that leads out of the workspace is moved away" {
    for user in root ann; do
        git_init $user
        as $user git init -q "$base/home/$user/outside"
        mkdir "$(ws $user)/common" && chown $(stat -c %u "$(ws $user)") "$(ws $user)/common"
        run sandboxed $user --status-fd 3 -- sh -ec 'out=$(cd ..; pwd)/outside
            mkdir pointer link absent; echo "gitdir: $out/.git" >pointer/.git; ln -s ../../outside/.git link/.git; echo "gitdir: ../../nothing" >absent/.git
            for name in tree hooks include inside config objects common-of; do git init -q $name; done
            git -C tree config core.worktree /etc; git -C hooks config core.hooksPath ~/hooks; git -C include config include.path "~/evil"
            git -C inside config core.hooksPath ../hooks; git -C inside config include.path ../../evil
            rm -r objects/.git/objects; ln -s $out/.git/objects objects/.git/objects; mv config/.git/config kept; ln -s $out/.git/config config/.git/config
            for name in broken bom; do git init -q $name; done
            printf "[core\n" >>broken/.git/config; printf "\357\273\277[core]\n\tworktree = /e\\\ntc\n" >bom/.git/config
            echo $out/.git >common-of/.git/commondir; exit 3' 3>"$base/status"
        echo "$output"
        [ "$status" -eq 3 ]
        for name in pointer link absent tree hooks include config objects common-of broken bom; do
            [[ $output == *"$(ws $user)/$name/.git was made during a run, leads out of the workspace ("*"), and was moved to "* ]]
            [ ! -e "$(ws $user)/$name/.git" ]
            [ ! -L "$(ws $user)/$name/.git" ]
        done
        [ -d "$(ws $user)/inside/.git" ]
        [ -d "$base/home/$user/outside/.git/objects" ]
        jq -e '(.violations | length == 11) and (.notices | length == 1)' "$base/status"
        rm -rf "$base/root/sandbox/quarantine" "$base/home/ann/.local"
    done
}

@test "a repository that a killed executor left is looked for by the next start" {
    git_init ann
    started ann -- sh -c 'git init -q left; mkdir out; echo "gitdir: /etc" >out/.git; touch started; sleep 1000'
    eventually test -e "$(ws ann)/started"
    kill -KILL "$executor"
    wait "$job" || true
    [ -e "$(ws ann)/out/.git" ]
    run sandboxed ann --status-fd 3 -- sh -c 'exit 4' 3>"$base/status"
    [ "$status" -eq 4 ]
    [ ! -e "$(ws ann)/out/.git" ]
    [ -d "$(ws ann)/left/.git" ]
    jq -e '(.violations | length == 1) and (.notices | length == 1)' "$base/status"
    [[ $output == *"left/.git is a repository made during a run, left where it is (by an earlier run that was killed)"* ]]
}

@test "what was swept is copied to a quarantine on another file system" {
    mount -t tmpfs -o size=300m,mode=755 none "$(ws ann)"
    chown $UID_ANN "$(ws ann)"
    run sandboxed ann -- sh -ec 'mkdir -p .vscode/deep; echo x >.vscode/deep/tasks.json; ln -s /etc .vscode/link; chmod 0 .vscode/deep/tasks.json .vscode/deep .vscode
        mkdir .idea; truncate -s 257M .idea/big; chmod 555 .; exit 5'
    names=$(ls -A "$(ws ann)")
    umount "$(ws ann)"
    echo "$output"
    [ "$status" -eq 5 ]
    # What is too large for a copy is beside its old name.
    [[ $names == .idea.quarantined-* && $output == *".idea was made during a run and moved to .idea.quarantined-"*"more than 268435456 bytes"* ]]
    [[ $output == *".vscode was made during a run and moved to "* ]]
    tasks=$(find "$base" -path '*quarantine*' -name tasks.json)
    [ "$(cat "$tasks")" = x ]
    [ "$(readlink "$(dirname "$tasks")/../link")" = /etc ]
    [ -z "$(find "$base" -path '*quarantine*' -name big)" ]
}

@test "the walk for new repositories is bounded, the shallow ones come first, and its end is reported" {
    mount -t tmpfs -o mode=755,nr_inodes=0 none "$(ws ann)"
    chown $UID_ANN "$(ws ann)"
    run sandboxed ann --status-fd 3 -- sh -ec 'mkdir near; echo "gitdir: /etc" >near/.git; mkdir -p far/away/deep; echo "gitdir: /etc" >far/away/deep/.git
        python3 -c "
import os
os.makedirs(\"many/directory\")
open(\"many/0\", \"w\").close()
for i in range(1, 200001): os.link(\"many/0\", \"many/%d\" % i)"' 3>"$base/status"
    near=$(ls -A "$(ws ann)/near")
    umount "$(ws ann)"
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$near" ]
    [[ $output == *"has more than 200000 entries: new repositories were not looked for beyond them"* ]]
    jq -e '(.violations | length == 1) and (.notices | length == 1)' "$base/status"
}

@test "the end of the walk in its last directory is reported, too" {
    mount -t tmpfs -o mode=755,nr_inodes=0 none "$(ws ann)"
    chown $UID_ANN "$(ws ann)"
    # tmpfs lists the newest first.
    run sandboxed ann -- python3 -c "
import os
os.makedirs('last')
open('0', 'w').close()
for i in range(1, 200001): os.link('0', str(i))"
    umount "$(ws ann)"
    [ "$status" -eq 0 ]
    [[ $output == *"has more than 200000 entries: new repositories were not looked for beyond them"* ]]
}

@test "a program on the host that replaces the configuration during a run takes its protection away: this is reported" {
    git_init ann
    started ann -- sh -c 'touch started; until [ -e go ]; do sleep 0.05; done'
    eventually test -e "$(ws ann)/started"
    ann 'cd ws && git config x.y z && touch go'
    wait "$job"
    grep -q "$(ws ann)/.git is a repository whose config changed during a run" "$base/log"
    run sandboxed ann -- true
    [ -z "$output" ]
}
