#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ways out of the sandbox that somebody found by trying, one test for each kind; every one worked once.

load ../support/sandbox

@test "what the host mounts during a run does not become writable inside" {
    mkdir "$base/later"
    for user in root ann; do
        # One for each step: opened again, a reader could still meet the first writer, and the second one nobody.
        mkfifo "$(ws $user)/go" "$(ws $user)/end"
        chown --reference="$(ws $user)" "$(ws $user)/go" "$(ws $user)/end"
        as_first='mount --make-rshared /' started $user -- sh -c ': >begun; read x <go; echo x >'"$base/later/file"'; : >done; read x <end'
        eventually test -e "$(ws $user)/begun"
        nsenter -m -t "$executor" mount -t tmpfs -o mode=1777 tmpfs "$base/later"
        nsenter -m -t "$executor" touch "$base/later/host"
        echo >"$(ws $user)/go"
        eventually test -e "$(ws $user)/done"
        run nsenter -m -t "$executor" ls "$base/later"
        echo >"$(ws $user)/end"
        wait $job || true
        [ "$output" = host ]
        # From Landlock it would be "Permission denied", and the mount alone is to hold.
        grep -q 'Read-only file system' "$base/log"
        rm "$(ws $user)/go" "$(ws $user)/end" "$(ws $user)/begun" "$(ws $user)/done"
    done
}

@test "a directory that a run closed cannot keep the next run's guards away" {
    git_init ann
    local ws
    ws=$(ws ann)
    as ann sh -c 'cd "$0" && mkdir secrets && echo KEY >secrets/key' "$ws"
    policy '{"filesystem":"workspace-write","network":"closed"}' \
        '{"audit":"off","caches":"none","hiddenPaths":["'"$ws"'/secrets/key"]}'
    for dir in secrets .; do
        sandboxed ann -- true
        sandboxed ann -- chmod 000 "$dir"
        # The look for repositories has opened it again; what was hidden in it is.
        run as ann "$qsandbox" --root "$base/root" run --cwd / --workspace "$ws" -- sh -c 'cat "$0/secrets/key"; echo ran' "$ws"
        [ "$status" -eq 0 ]
        [[ $output == *ran && $output != *KEY* ]]
    done
    # A private git directory is the command's own: it is opened again.
    sandboxed ann -- chmod 000 .git
    run sandboxed ann -- git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
    [ "$status" -eq 0 ]
    [ "$(as ann git -C "$ws" log -1 --format=%s)" = two ]
    # What is closed for good, and not in a writable place, is no reason to refuse.
    policy '{"filesystem":"workspace-write","network":"closed"}' \
        '{"audit":"off","caches":"none","hiddenPaths":["'"$base"'/home/root/.ssh/id"]}'
    sandboxed ann -- true
}

@test "a hidden file in the workspace stays hidden: its directory cannot be renamed for the next run" {
    for user in root ann; do
        as $user sh -c 'cd "$0" && mkdir -p a/secrets && echo KEY >a/secrets/key' "$(ws $user)"
        policy '{"filesystem":"workspace-write","network":"closed"}' \
            '{"audit":"off","caches":"none","hiddenPaths":["'"$(ws $user)"'/a/secrets/key"]}'
        run sandboxed $user -- sh -c 'mv a/secrets s; mv a b; cat a/secrets/key'
        [ "$status" -ne 0 ]
        [ -e "$(ws $user)/a/secrets/key" ]
        run sandboxed $user -- sh -c 'cat */key */*/key'
        [[ $output != *KEY* ]]
    done
}

@test "hooks whose place does not exist yet are moved away" {
    for user in root ann; do
        git_init $user
        for place in .husky/_ ./hooks/../own "$(ws $user)/whole"; do
            as $user git -C "$(ws $user)" config core.hooksPath "$place"
            run sandboxed $user -- sh -c 'mkdir -p "$(git config core.hooksPath)" hooks && cd "$(git config core.hooksPath)" &&
                printf "#!/bin/sh\ntouch ../RAN RAN\n" >pre-commit && chmod +x pre-commit'
            [[ $output == *" was made during a run and moved to "* ]]
            as $user git -C "$(ws $user)" commit -q --allow-empty -m host
            [ -z "$(find "$(ws $user)" -name RAN)" ]
        done
    done
}

@test "files that the repository's configuration includes are configuration" {
    for user in root ann; do
        git_init $user
        as $user sh -c 'cd "$0" && git config include.path ../a/config && git config includeIf.gitdir:/.path ../later &&
            mkdir a b && printf "[include]\npath = ../b/config\n" >a/config && printf "[core]\nhooksPath = h\n" >b/config &&
            mkdir h' "$(ws $user)"
        for name in a/config b/config h/pre-commit; do
            run sandboxed $user -- sh -c 'echo x >>"$0"' $name
            [[ $output == *"Read-only file system"* ]]
        done
        run sandboxed $user -- sh -c 'mv a c || mv b c || printf "[core]\nfsmonitor = false\n" >later'
        [[ $output == *"/later was made during a run and moved to "* ]]
        as $user git -C "$(ws $user)" status --porcelain
    done
}

@test "links in the git directory that lead out stay inside: git would write through them" {
    for user in root ann; do
        git_init $user
        as $user sh -c 'echo "# mine" >"$0"' "$base/home/$user/.rc"
        run sandboxed $user -- sh -c '
            ln -sf ../../../.rc .git/logs/HEAD
            ln -s ../../.rc .git/ORIG_HEAD
            ln -s ../target .git/FETCH_HEAD
            ln -sf '"$base/home/$user/.rc"' .git/COMMIT_EDITMSG; echo payload >.git/MERGE_MSG
            ln -s main .git/refs/heads/same'
        [ -z "$(find "$(ws $user)/.git" -type l)" ]
        as $user git -C "$(ws $user)" commit -q --allow-empty -m 'host $(touch evil)'
        [ "$(cat "$base/home/$user/.rc")" = "# mine" ]
        # One that was there before is the user's.
        as $user ln -s ../../own "$(ws $user)/.git/own"
        sandboxed $user -- true
        [ -L "$(ws $user)/.git/own" ]
    done
}

@test "a repository cannot be kept from the look until it is old" {
    local here leads
    for user in root ann; do
        leads='git init -q $0 && git -C $0 config core.worktree /etc'
        for here in .GIT/a n/.git/x; do
            run sandboxed $user -- sh -c "mkdir -p \$0; [ \$0 = .GIT/a ] || git init -q n; $leads" "$here"
            refute grep -rq /etc "$(ws $user)" --include=config
        done
        # Made in one run as something else, and in the next one renamed to what git finds.
        run sandboxed $user -- sh -c "$leads && mv r/.git dir && rm dir/HEAD; mkdir -p s" r
        [ -z "$output" ]
        run sandboxed $user -- sh -c 'echo ref: refs/heads/main >dir/HEAD; mv dir s/.git'
        [[ $output == *"s/.git was made during a run"* ]]
        refute grep -rq /etc "$(ws $user)" --include=config
        # One that is at home, and worked in, is no news, and its configuration is the user's.
        as $user sh -c 'cd "$0" && rm -rf s n && git init -q -b main s && git -C s config core.hooksPath /etc' "$(ws $user)"
        run sandboxed $user -- sh -c ': >s/file'
        [ -z "$output" ]
        grep -q /etc "$(ws $user)/s/.git/config"
        rm -rf "$(ws $user)"/* "$(ws $user)/.GIT"
    done
}

@test "a repository at a path too long to be looked at is told" {
    run sandboxed ann -- python3 -c '
import os
for i in range(20):
    os.mkdir("d" * 200), os.chdir("d" * 200)
os.mkdir("e" * 65), os.chdir("e" * 65), os.mkdir(".git"), os.chdir(".git")
os.mkdir("objects"), os.mkdir("refs"), open("HEAD", "w").write("ref: refs/heads/main")'
    [[ $output == *"/.git was made during a run and moved"* ]]
}

@test "a crash inside cannot start the host's handler of core dumps" {
    for user in root ann; do
        # 1 is the only limit at which the kernel starts none: core(5).
        run sandboxed $user -- python3 -c '
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))'
        [ "$output" = "(1, 1)" ]
    done
}

@test "a socket as standard input that can reach others is refused" {
    # What it prints: for each kind of socket the status of a run that has it as standard input.
    cat >"$base/sockets.py" <<'P'
import socket, subprocess, sys
U, I = socket.AF_UNIX, socket.AF_INET
def run(s):
    return subprocess.run(sys.argv[1:] + ["--", "true"], stdin=s, stderr=subprocess.DEVNULL).returncode
listener = socket.socket(I)
listener.bind(("127.0.0.1", 0)); listener.listen()
tcp = socket.create_connection(listener.getsockname())
print(run(socket.socket(U)), run(socket.socket(U, socket.SOCK_DGRAM)), run(socket.socketpair(U, socket.SOCK_DGRAM)[0]),
      run(tcp), run(listener), run(socket.socket(I, socket.SOCK_DGRAM)),
      run(socket.socketpair(U)[0]), run(socket.socketpair(U, socket.SOCK_SEQPACKET)[0]))
P
    for user in root ann; do
        sockets() { as $user python3 "$base/sockets.py" "$qsandbox" --root "$base/root" run --workspace "$(ws $user)" --cwd "$(ws $user)"; }
        policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none"}'
        run sockets
        [ "$output" = "125 125 125 125 125 125 0 0" ]
        policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","unixSockets":"private"}'
        run sockets
        [ "$output" = "125 125 125 125 125 125 0 0" ]
        policy '{"filesystem":"workspace-write","network":"open"}' '{"audit":"off","caches":"none","unixSockets":"open"}'
        run sockets
        [ "$output" = "0 0 0 0 0 0 0 0" ]
    done
}

@test "what a command puts in the place of its caches is refused, with the remedy" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"private"}'
    for user in root ann; do
        sandboxed $user -- sh -c 'rm -r "$CARGO_HOME/registry" && ln -s / "$CARGO_HOME/registry"'
        run sandboxed $user -- true
        [ "$status" -eq 125 ]
        [[ $output == *"registry"*"qsandbox --root "*"caches --clear"* ]]
        as $user sh -c 'cd "$0" && "$1" --root "$2" caches --clear' "$(ws $user)" "$qsandbox" "$base/root"
        sandboxed $user -- true
    done
}

@test "a git directory in the workspace that the .git file leads to is guarded" {
    for user in root ann; do
        for layout in 'git init -q --separate-git-dir=store/repo .' \
            'git init -q --bare store/repo && echo gitdir: ./store/repo >.git && git config core.bare false'; do
            as $user sh -c "cd \"\$0\" && mkdir store && $layout"' && git config user.name a && git config user.email a@b &&
                git commit -q --allow-empty -m one' "$(ws $user)"
            run sandboxed $user -- sh -c '
                mkdir -p store/repo/hooks; echo "touch RAN" >store/repo/hooks/pre-commit && chmod +x store/repo/hooks/pre-commit
                git config core.fsmonitor false; mv store x; python3 -c "import os; os.rename(\"store/repo\", \"x\")"
                git commit -q --allow-empty -m two || exit; mkdir -p store/repo/logs
                ln -sf ../../../../.npmrc store/repo/logs/HEAD'
            echo "$output"
            [ "$(as $user git -C "$(ws $user)" rev-list --count HEAD)" -eq 2 ]
            refute as $user git -C "$(ws $user)" config core.fsmonitor
            as $user git -C "$(ws $user)" commit -q --allow-empty -m host
            [ ! -e "$(ws $user)/RAN" ]
            [ "$(cat "$base/home/$user/.npmrc")" = token ]
            rm -rf "$(ws $user)/store" "$(ws $user)/.git" "$(ws $user)/x"
        done
    done
}

@test "the repository of a linked worktree is guarded where it lies in another writable root" {
    for user in root ann; do
        as $user sh -c 'mkdir -p "$0/all/main" && cd "$0/all/main" && git init -q -b main . && git config user.name a &&
            git config user.email a@b && git commit -q --allow-empty -m one && git worktree add -q "$0/tree"' "$base/home/$user"
        policy '{"filesystem":"workspace-write","network":"closed"}' \
            '{"audit":"off","caches":"none","writableRoots":["'"$base/home/$user"'/all"]}'
        run sandboxed $user --workspace "$base/home/$user/tree" --cwd "$base/home/$user/tree" -- sh -c '
            cd ../all/main/.git && touch here && rm here; echo x >hooks/pre-commit; echo x >>config; git config core.fsmonitor false
            cd ../../../tree && git commit -q --allow-empty -m two'
        [ ! -e "$base/home/$user/all/main/.git/hooks/pre-commit" ]
        refute as $user git -C "$base/home/$user/all/main" config core.fsmonitor
        [ "$(as $user git -C "$base/home/$user/tree" rev-list --count HEAD)" -eq 2 ]
    done
}

@test "as root nothing in /proc but a process's own takes a write" {
    run sandboxed root -- python3 -c '
import os
for top, dirs, files in os.walk("/proc"):
    if top == "/proc":
        dirs[:] = [d for d in dirs if not d.isdigit()]
    for name in files:
        try:
            os.close(os.open(os.path.join(top, name), os.O_WRONLY | os.O_NONBLOCK))
            print(top, name)
        except OSError:
            pass'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "a configuration that includes itself without end is refused, and does not hold the next run up" {
    git_init ann
    as ann sh -c 'cd "$0" && printf "[include]\n" >>.git/config && for i in $(seq 300); do echo "path = ../inc"; done >>.git/config
        cp .git/config inc' "$(ws ann)"
    run sandboxed ann -- true
    [ "$status" -eq 125 ]
    [[ $output == *"includes more than 256 files"* ]]
}

@test "a command that was given no terminal has none: it reads no keys and draws nothing" {
    cp "$QS_TOP/tests/support/terminal.py" "$base"
    cat >"$base/open_tty.py" <<'P'
import os
try:
    tty = os.open("/dev/tty", os.O_RDWR)
    os.write(tty, b"DRAWN")
    print("opened", os.read(tty, 99))
except OSError as error:
    print(error.strerror)
P
    for user in root ann; do
        run as $user sh -c 'cd "$0" && exec "$@"' "$(ws $user)" python3 "$base/terminal.py" --when ready 'send:keys\n' -- \
            sh -c 'echo ready; "$0" --root "$1" run -- python3 "$2" </dev/null >out 2>&1; cat out; read -r line; echo "mine: $line"' \
            "$qsandbox" "$base/root" "$base/open_tty.py"
        [ "$status" -eq 0 ]
        [[ $output == *"No such device or address"* && $output == *"mine: keys"* && $output != *DRAWN* ]]
        # With one of the three it is the command's, as before.
        run as $user sh -c 'cd "$0" && exec "$@"' "$(ws $user)" python3 "$base/terminal.py" --when DRAWN 'send:keys\n' -- \
            "$qsandbox" --root "$base/root" run -- python3 "$base/open_tty.py"
        [[ $output == *"opened b'keys"* ]]
    done
}
