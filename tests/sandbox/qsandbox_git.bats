#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The crossing: what a command does in git is on the host afterwards as checked data, and nothing else of it.
load ../support/sandbox

# ann COMMAND...: on the host, in her home
ann() { as ann sh -c 'cd && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a && '"$*"; }

# What git knows, as the host and as the next run see it. Renumbered reflogs and asides are the host's own.
look='export LC_ALL=C; git for-each-ref --format="%(refname) %(objectname)" | grep -v refs/qsandbox
    cat "$(git rev-parse --git-dir)/HEAD"; git ls-files -s; git status --porcelain -uno 2>/dev/null; git stash list; git fsck --no-dangling 2>&1'

# inside DIR SCRIPT: ann's run with that workspace. It must end with 0, and host and inside be the same afterwards.
inside() {
    local dir=$base/home/ann/$1
    run as ann sh -c 'cd "$0" && exec "$@"' "$dir" timeout -k 1 60 "$qsandbox" --root "$base/root" run -- sh -ec "$2"
    [ "$status" -eq 0 ] || { echo "$2: $status: $output"; return 1; }
    as ann sh -c "cd '$dir'; $look" >"$base/host"
    as ann sh -c 'cd "$0" && exec "$@"' "$dir" "$qsandbox" --root "$base/root" run -- sh -c "$look" >"$base/inside"
    diff -u "$base/host" "$base/inside" || { echo "$2"; return 1; }
    refute grep -E "^(error|fatal|missing|broken|dangling)" "$base/host"
    refute grep "stays inside" <(grep -v "was changed inside" <<<"$output")
}

with_submodule() {
    git_init ann
    ann 'git config --global protocol.file.allow always && git config --global user.name a && git config --global user.email a
        git init -q -b main lib && cd lib && echo one >l && git add l && git commit -qm l && cd ../ws &&
        git submodule --quiet add ../lib libs/two && git commit -qm two'
}

# A rename and nothing else: mv copies and removes where it cannot rename.
rename='import os, sys
for name in sys.argv[1:]:
    try:
        os.rename(name, name + ".moved")
        print("moved", name)
    except OSError as e:
        print(e.strerror)'

# ---- the flows ----

@test "flows in a normal checkout" {
    git_init ann
    inside ws 'echo two >>file; git commit -qam two'
    [ "$(ann 'git -C ws log -g -1 --format=%gs')" != "${output#nothing}" ]
    ann 'git -C ws log -g -1 --format=%gs' | grep -q '^qsandbox: run '
    inside ws 'git checkout -q -b topic; mkdir -p d/e; echo t >d/e/t; git add .; git commit -qm t'
    inside ws 'git checkout -q main; git merge -q --no-ff -m merged topic; git branch -d topic'
    inside ws 'git checkout -q -b old HEAD~1; echo o >o; git add o; git commit -qm o; git rebase -q main; git branch -m old new/er'
    inside ws 'echo c >c; git add c; git commit -qm c; git revert --no-edit HEAD; git commit -q --amend --allow-empty -m amended'
    inside ws 'git tag light; git tag -am note v1; git notes add -m n; git tag -d light'
    inside ws 'echo s >s; git add s; git rm -q --cached file; git reset -q; git add -A'
    inside ws 'git commit -qm all; git checkout -q --detach HEAD~1; echo x >x; git add x; git commit -qm x; git tag here'
    inside ws 'git switch -q main; git reset -q --hard HEAD~1; git reset -q --soft HEAD~1'
    inside ws 'git stash -q; echo 2 >file; git stash push -qm named; echo 3 >file; git stash -q; git stash drop -q stash@{1}'
    inside ws 'git stash pop -q; git stash drop -q; git checkout -q -f'
    inside ws 'git gc -q; git pack-refs --all; git repack -adq'
    inside ws 'git checkout -q --orphan lonely; git rm -rqf .; echo l >l; git add l; git commit -qm lonely'
    inside ws 'git switch -q main; git rm -q file; mkdir file; : >file/empty; ln -s empty file/link; echo x >file/x; chmod +x file/x; git add file; git commit -qm directory'
    inside ws 'git rm -qr file; echo back >file; git add file; git commit -qm back'
    inside ws 'git bisect start -q HEAD HEAD~2 >/dev/null; git bisect reset >/dev/null 2>&1; git worktree prune; git branch -D new/er; git branch new'
}

@test "a conflict crosses with all its stages, and is gone on with on either side" {
    git_init ann
    inside ws 'git checkout -q -b other; echo other >file; git commit -qam other; git checkout -q main; echo main >file; git commit -qam main
        git merge other >/dev/null || true'
    [ "$(ann 'git -C ws ls-files -u | wc -l')" -eq 3 ]
    [ -e "$(ws ann)/.git/MERGE_HEAD" ]
    ann 'cd ws && echo both >file && git commit -qam both'
    inside ws 'git log -1 --format=%s | grep -q both; git checkout -q -b third HEAD~1; echo third >file; git commit -qam third; git cherry-pick other 2>/dev/null || true'
    inside ws 'git cherry-pick --abort'
}

@test "flows in a linked worktree, also below /tmp, whose repository is packed" {
    local top
    for top in "$base/home/ann" "$(mktemp -d /tmp/qsandbox-git.XXXXXX)"; do
        chown $UID_ANN "$top"
        ann "cd $top && git init -q -b main main && cd main && git config user.name t && git config user.email t@e &&
            git commit -q --allow-empty -m one && git branch keep && git tag v1 && git gc -q &&
            printf '#!/bin/sh\ntouch HOOK\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && git worktree add -q ../wt -b wt"
        run as ann sh -c 'cd "$0" && exec "$@"' "$top/wt" "$qsandbox" --root "$base/root" run -- sh -ec 'git config a.b c; git commit -q --allow-empty -m two
            git branch gone; git branch -D gone; git stash list; git gc -q; git pack-refs --all; git for-each-ref | wc -l'
        [ "$status" -eq 0 ]
        [ "$(ann "git -C $top/wt for-each-ref | wc -l")" -eq 4 ]
        [ "$(ann "git -C $top/wt log --format=%s")" = $'two\none' ]
        [ -e "$top/wt/HOOK" ]
        refute ann "git -C $top/wt config a.b"
        ann "git -C $top/wt fsck"
    done
    rm -rf "$top"
    ann 'rm wt/HOOK main/.git/hooks/pre-commit'
    inside wt 'echo w >w; git add w; git commit -qm w; git checkout -q -b more; git tag v2; git rebase -q wt'
    inside main 'git checkout -q -b other; echo m >m; git add m; git commit -qm m'
}

@test "flows with submodules" {
    with_submodule
    inside ws 'cd libs/two; echo more >>l; git commit -qam more; cd ../..; git add libs/two; git commit -qm up; git submodule --quiet update'
    inside ws/libs/two 'echo again >>l; git commit -qam again' || true
    [ "$(ann 'git -C ws/libs/two log --oneline | wc -l')" -eq 3 ]
    run sandboxed ann -- sh -ec 'git submodule --quiet add ../lib libs/new; git commit -qm new'
    [ "$status" -eq 0 ]
    [ "$(ann 'git -C ws log -1 --format=%s')" = new ]
    [ "$(ann 'git -C ws/libs/new log --oneline | wc -l')" -eq 1 ]
    ann 'cd ws && git status && git fsck'
}

@test "flows in repositories of other forms" {
    ann 'git init -q -b main seed && cd seed && git config user.name a && git config user.email a@b && for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm $i; done
        cd .. && git clone -q --bare seed bare.git && git clone -q --depth 1 file://$PWD/seed shallow && git clone -q -s seed shared
        git init -q -b main --object-format=sha256 big && git init -q -b main unborn
        for i in shallow shared big unborn; do git -C $i config user.name a && git -C $i config user.email a@b; done'
    inside bare.git 'git branch fine; git branch other; git branch -D other; git gc -q; git symbolic-ref HEAD refs/heads/fine'
    inside shallow 'echo s >s; git add s; git commit -qm s'
    inside shared 'echo s >s; git add s; git commit -qm s; git gc -q'
    inside big 'echo s >s; git add s; git commit -qm s; git tag -am x x; git stash list'
    inside unborn 'git checkout -q -b else; echo s >s; git add s'
    inside unborn 'git commit -qm first'
    ann 'cd seed && git sparse-checkout set --no-cone /f1 && git update-index --split-index'
    inside seed 'echo more >>f1; git commit -qam more; git checkout -q -b side HEAD~1'
    [ ! -e "$base/home/ann/seed/f2" ]
    ann 'git -C seed status --porcelain | grep . && exit 1 || true'
}

@test "worktrees in a bare repository, and a git directory elsewhere in the workspace" {
    ann 'git init -q -b main seed && git -C seed -c user.name=a -c user.email=a commit -q --allow-empty -m one && git clone -q --bare seed proj
        git -C proj worktree add -q main main && git -C proj config user.name a && git -C proj config user.email a'
    inside proj/main 'echo x >x; git add x; git commit -qm x'
    ann 'mkdir -p sep/store && cd sep && git init -q --separate-git-dir=store/repo . && git config user.name a && git config user.email a && git commit -q --allow-empty -m one'
    inside sep 'echo x >x; git add x; git commit -qm x'
}

@test "status inside changes nothing, and without a change nothing crosses" {
    git_init ann
    sandboxed ann -- git status
    before=$(find "$(ws ann)/.git" "$base"/home/ann/.local/state/qsettings/sandbox/git -type f -printf '%p %i %s %C@\n' | sort)
    run sandboxed ann --status-fd 3 -- sh -c 'touch file; git status; git log' 3>"$base/status"
    jq -e '.git == {"crossed": [], "stayed": []}' "$base/status"
    [ "$(find "$(ws ann)/.git" "$base"/home/ann/.local/state/qsettings/sandbox/git -type f -printf '%p %i %s %C@\n' | sort)" = "$before" ]
}

# ---- two sides ----

@test "what the host changed is brought in, and what both changed is put aside" {
    git_init ann
    sandboxed ann -- git branch inside
    ann 'cd ws && echo host >>file && git commit -qam host && git branch hosts && git branch -D inside && git tag t && git stash list'
    run sandboxed ann -- sh -c 'git log -1 --format=%s; git branch --format="%(refname:short)"; git tag'
    [ "$output" = $'host\nhosts\nmain\nt' ]
    # Both commit on main while the command runs.
    sandboxed ann -- sh -c 'touch begun; until [ -e go ]; do sleep 0.05; done; git commit -q --allow-empty -m inside; git branch only' >"$base/log" 2>&1 3>&- &
    job=$!
    eventually test -e "$(ws ann)/begun"
    ann 'cd ws && git commit -q --allow-empty -m hostside'
    touch "$(ws ann)/go"
    wait $job
    grep -q 'was changed on both sides' "$base/log"
    [ "$(ann 'git -C ws log -1 --format=%s')" = hostside ]
    [ "$(ann 'git -C ws for-each-ref --format="%(subject)" refs/qsandbox')" = inside ]
    ann 'git -C ws rev-parse --verify -q only && git -C ws status --porcelain -uno | grep . && exit 1 || true'
}

@test "names that mean something else, other namespaces, and branches that are checked out elsewhere do not cross" {
    git_init ann
    ann 'cd ws && git worktree add -q ../linked -b linked && git update-ref refs/remotes/origin/main HEAD'
    sandboxed ann -- sh -c 'git commit -q --allow-empty -m two; git tag fine; h=$(git rev-parse HEAD)
        for r in refs/heads/HEAD refs/tags/origin/main refs/heads/-x refs/heads/ORIG_HEAD refs/heads/$h refs/heads/linked refs/remotes/origin/main \
            refs/replace/$h refs/heads/refs/heads/main refs/heads/tags/v refs/tags/main refs/heads/@ refs/heads/$(git rev-parse --short HEAD~1); do
            mkdir -p .git/$(dirname $r); echo $h >.git/$r; done; true' >"$base/log" 2>&1
    ann 'git -C ws for-each-ref --format="%(refname) %(subject)" | grep -v refs/qsandbox' >"$base/refs"
    diff -u - "$base/refs" <<'END'
refs/heads/linked one
refs/heads/main two
refs/heads/tags/v two
refs/remotes/origin/main one
refs/tags/fine two
END
    grep -q "refs/heads/linked is checked out in another worktree" "$base/log"
    ann 'git -C ws fsck'
}

# ---- what never crosses ----

@test "a forged index does not write, and does not run, anything on the host" {
    git_init ann
    cat >"$base/forge.py" <<'END'
import binascii, hashlib, struct, subprocess, sys
blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=b"#!/bin/sh\ntouch PWNED\n", stdout=subprocess.PIPE).stdout.decode().strip()
for name in sys.argv[1:]:
    data = open(".git/index", "rb").read()[:-20]
    name = name.encode()
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + binascii.unhexlify(blob) + struct.pack(">H", len(name)) + name
    entry += b"\0" * (8 - len(entry) % 8)
    data = data[:8] + struct.pack(">I", struct.unpack(">I", data[8:12])[0] + 1) + entry + data[12:]
    open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
END
    for name in .git/hooks/post-checkout ../out /etc/x a/../b .GIT/hooks/x 'git~1/x' a//b .git./x; do
        before=$(md5sum <"$(ws ann)/.git/index")
        run sandboxed ann -- python3 "$base/forge.py" "$name"
        [[ $output == *"stays inside"* || $output == *"still inside"* ]]
        [ "$(md5sum <"$(ws ann)/.git/index")" = "$before" ]
        ann 'cd ws && git checkout -q . && git restore . && git checkout-index -a -f'
        [ ! -e "$(ws ann)/.git/hooks/post-checkout" ]
        rm -rf "$base"/home/ann/.local/state/qsettings/sandbox/git
    done
    [ ! -e "$(ws ann)/PWNED" ]
}

@test "hooks, configuration, pointers, links, pipes and locks stay inside" {
    git_init ann
    before=$(cd "$(ws ann)/.git" && find . -not -path './objects*' -not -path './logs*' -not -path './refs*' -not -name index | sort)
    run sandboxed ann -- sh -c 'cd .git; git config core.fsmonitor evil; git config alias.x "!evil"; mkfifo refs/heads/pipe; ln -s /etc/passwd ORIG_HEAD; : >index.lock
        echo evil >info/attributes; echo evil >info/grafts; mkdir -p hooks2; mkdir -p modules/x; echo x >commondir2; echo /etc >objects/info/alternates; echo "ref: refs/heads/main" >refs/heads/sym'
    ann 'cd ws && git status && git commit -q --allow-empty -m host && git fsck'
    diff <(cd "$(ws ann)/.git" && find . -not -path './objects*' -not -path './logs*' -not -path './refs*' -not -name index | sort) - <<<"$before"
    refute grep -r evil "$(ws ann)/.git"
}

@test "objects that git's own check refuses keep everything inside" {
    git_init ann
    run sandboxed ann -- sh -c 'b=$(echo x | git hash-object -w --stdin); t=$(printf "100644 blob %s\t.git\n" $b | sed "s/blob //" | python3 -c "
import binascii, hashlib, os, sys, zlib
mode, rest = sys.stdin.read().rstrip().split(\" \", 1); blob, name = rest.split(\"\t\")
body = mode.encode() + b\" \" + name.encode() + b\"\0\" + binascii.unhexlify(blob)
raw = b\"tree %d\0\" % len(body) + body; h = hashlib.sha1(raw).hexdigest()
os.makedirs(\".git/objects/\" + h[:2], exist_ok=True); open(\".git/objects/%s/%s\" % (h[:2], h[2:]), \"wb\").write(zlib.compress(raw)); print(h)")
        c=$(echo evil | git commit-tree $t -p HEAD); git update-ref refs/heads/evil $c; git branch good'
    [[ $output == *"its objects cannot be taken"* ]]
    refute ann 'git -C ws rev-parse -q --verify evil'
    ann 'git -C ws fsck'
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

@test "a repository cannot be renamed away and replaced" {
    for user in root ann; do
        git_init $user
        run sandboxed $user -- sh -c 'python3 -c "$0" .git; git init -q; git config core.fsmonitor evil; rm -rf .git/hooks .git/config; ls .git' "$rename"
        [ "${lines[0]}" = "Device or resource busy" ]
        [ -d "$(ws $user)/.git/hooks" ]
        as $user git -C "$(ws $user)" fsck
        refute as $user git -C "$(ws $user)" config core.fsmonitor
    done
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

# ---- repositories that a command makes ----

@test "new repositories are laundered: their commits are there, their hooks and configuration are not" {
    for user in root ann; do
        git_init $user
        run sandboxed $user -- sh -ec 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
            git init -q -b main sub; cd sub; echo x >x; git add x; git commit -qm x; git branch b; echo evil >.git/hooks/post-checkout
            git config core.fsmonitor evil; git remote add origin https://example.org/x.git; git remote add evil "ext::sh -c evil"; cd ..
            git clone -q --bare . bare.git; git clone -q . deep/clone'
        [ "$status" -eq 0 ]
        [[ $output == *"/sub/.git was made during a run: a fresh repository"* ]]
        [ "$(as $user git -C "$(ws $user)/sub" for-each-ref --format='%(refname:short) %(subject)')" = $'b x\nmain x' ]
        [ "$(as $user git -C "$(ws $user)/sub" status --porcelain)" = "" ]
        [ "$(as $user git -C "$(ws $user)/sub" remote -v | head -1)" = $'origin\thttps://example.org/x.git (fetch)' ]
        [ "$(as $user git -C "$(ws $user)/bare.git" log --format=%s main)" = one ]
        [ "$(as $user git -C "$(ws $user)/deep/clone" log --format=%s main)" = one ]
        refute grep -r evil "$(ws $user)"/sub/.git/config "$(ws $user)"/sub/.git/hooks
        as $user git -C "$(ws $user)/sub" fsck
        run sandboxed $user -- sh -c 'cd sub && git -c user.name=a -c user.email=a commit -q --allow-empty -m again'
        [ "$(as $user git -C "$(ws $user)/sub" log -1 --format=%s)" = again ]
    done
}

@test "executor.git.newRepositories: quarantine moves them away, report leaves them" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","git":{"newRepositories":"quarantine"}}'
    run sandboxed ann -- git init -q sub
    [[ $output == *"/sub/.git was made during a run and moved"* ]]
    [ ! -e "$(ws ann)/sub/.git" ]
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","git":{"newRepositories":"report"}}'
    run sandboxed ann -- git init -q other
    [[ $output == *"/other/.git was made during a run: its hooks"* ]]
    [ -e "$(ws ann)/other/.git/HEAD" ]
}

@test "every shape that git takes for a repository is found" {
    cat >"$base/shapes.sh" <<'END'
fs='[core]
    repositoryformatversion = 0
    bare = false
    worktree = .
    fsmonitor = "touch PWNED; false"'
least() { mkdir -p $1 && (cd $1 && mkdir objects refs && echo "ref: refs/heads/x" >HEAD && echo "$fs" >config); }
least dir/.git; least bare; least real; mkdir leaf linked file
(cd leaf; ln -s ../real/objects objects; ln -s ../real/refs refs; ln -s refs/heads/x HEAD; echo "$fs" >config)
ln -s ../real linked/.git; echo "gitdir: ../real" >file/.git; mkdir common; (cd common; echo "ref: refs/heads/x" >HEAD; echo ../real >commondir; echo "$fs" >config)
least .
END
    run sandboxed ann -- sh "$base/shapes.sh"
    for dir in . dir bare real leaf linked file common; do
        ann "cd ws/$dir && git status; git -c safe.bareRepository=all log" >/dev/null 2>&1 || true
    done
    [ -z "$(find "$base/home/ann" -name PWNED)" ]
    rm "$(ws ann)/config" # of a directory that is none any more
    refute grep -r "PWNED" "$(ws ann)" --include=config
}

@test "a repository that a killed executor left is looked for by the next start" {
    started ann -- sh -c 'git init -q r; git -C r config core.worktree /etc; touch made; sleep 60'
    eventually test -e "$(ws ann)/made"
    kill -KILL $executor
    wait $job || true
    eventually nothing_of_ann
    run sandboxed ann -- true
    [[ $output == *"an earlier run was killed"* && $output == *"/r/.git was made during a run"* ]]
    refute grep -q /etc "$(ws ann)/r/.git/config"
}

@test "old worktrees keep their pointers: touched, rewritten, removed inside" {
    ann 'git init -q -b main main && git -C main commit -q --allow-empty -m i && mkdir -p wts && git -C main worktree add -q ../wts/w1 && git -C main worktree add -q ../wts/w2'
    run as ann sh -c 'cd "$0" && exec "$@"' "$base/home/ann/wts" "$qsandbox" --root "$base/root" run -- sh -ec 'chmod -R u+rwX .; cd w1; cp .git x; rm .git; mv x .git; cp -al .git ../copy
        git -c user.name=a -c user.email=a commit -q --allow-empty -m inside; git worktree remove ../w2'
    [ "$status" -eq 0 ]
    [ "$(ann 'git -C wts/w1 log -1 --format=%s')" = inside ]
    [[ $output == *"git worktree prune removes its entry"* ]]
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

@test "executor.git.mode read-only: git can be read, and nothing of it written" {
    git_init ann
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","git":{"mode":"read-only"}}'
    run sandboxed ann -- sh -c 'git log --format=%s; git commit --allow-empty -m two || echo refused; echo x >new'
    [[ ${lines[0]} == one && $output == *refused* ]]
    [ -e "$(ws ann)/new" ]
    ann 'git -C ws log --format=%s' | diff - <(echo one)
}
