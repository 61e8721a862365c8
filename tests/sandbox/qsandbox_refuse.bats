#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a machine may refuse, and another bubblewrap may lack: 125, the reason and what to do, and nothing has run. Each
# machine is made in a mount namespace of the test's own, and each test has the same run on the machine as it is.
load ../support/sandbox

refused() { # refused WORDS...: of the last run
    echo "$output"
    [ "$status" -eq 125 ]
    for words in "$@"; do [[ ${lines[0]} == *"$words"* ]]; done
    [ ! -e "$(ws ann)/ran" ] && [ ! -e "$(ws root)/ran" ]
}

# another_bwrap: standard input becomes a bubblewrap; the real one is $base/bin/bwrap. Prints the command that installs it.
another_bwrap() {
    install -m 755 /usr/bin/bwrap "$base/bin/bwrap"
    cat >"$base/bin/another"
    chmod 755 "$base/bin/another"
    echo "mount --bind $base/bin/another /usr/bin/bwrap"
}

# One that is older than its options for descriptors: it says so at the first, as bubblewrap does.
without_bind_fd() {
    another_bwrap <<E
#!/bin/sh
for word; do
    case \$word in --bind-fd | --ro-bind-fd) echo "bwrap: Unknown option \$word" >&2; exit 1 ;; esac
done
if [ "\$1" = --args ] && grep -qzxe --bind-fd -e --ro-bind-fd "/proc/self/fd/\$2"; then
    echo "bwrap: Unknown option --bind-fd" >&2
    exit 1
fi
exec "$base/bin/bwrap" "\$@"
E
}

# ---- bubblewrap ----

@test "no bubblewrap, one of somebody else, and one that is set-user-ID are refused" {
    local another
    run sandboxed ann -- true
    [ "$status" -eq 0 ]
    mkdir "$base/layers"
    as_first="mount -t tmpfs none $base/layers && mkdir $base/layers/upper $base/layers/work &&
        mount -t overlay -o lowerdir=/usr/bin,upperdir=$base/layers/upper,workdir=$base/layers/work none /usr/bin && rm /usr/bin/bwrap" \
        run sandboxed ann -- touch ran
    refused "status 5" "there is no /usr/bin/bwrap" "install the package bubblewrap"
    another=$(another_bwrap </usr/bin/bwrap)
    chmod 4755 "$base/bin/another"
    as_first=$another run sandboxed ann -- touch ran
    refused "status 7" "is set-user-ID"
    chmod 777 "$base/bin/another"
    as_first=$another run sandboxed ann -- touch ran
    refused "status 7" "only root can write"
    chmod 755 "$base/bin/another"
    as_first=$another run sandboxed ann -- true
    [ "$status" -eq 0 ]
    chown $UID_ANN "$base/bin/another"
    as_first=$another run sandboxed ann -- touch ran
    refused "status 7" "belongs to root"
}

@test "a bubblewrap that cannot bind by descriptor binds by name; what was reached through a link is refused" {
    local another
    another=$(without_bind_fd)
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off"}'
    for user in root ann; do
        as $user mkdir "$base/home/$user/.cache"
        as_first=$another run sandboxed $user -- sh -c "touch ran; echo mine >~/.cache/mine; mkdir \$npm_config_cache/kept; touch ../outside; cat ~/.ssh/id"
        [[ $output == *"Read-only file system"* && $output == *denied* ]]
        [ -e "$(ws $user)/ran" ]
        [ ! -e "$base/home/$user/.cache/mine" ]
        as_first=$another run -0 sandboxed $user -- sh -c 'cat ~/.cache/mine; ls $npm_config_cache'
        [ "$(echo $output)" = "mine kept" ]
        run -0 sandboxed $user -- cat "$base/home/$user/.cache/mine" # the same caches, by descriptor
        rm "$(ws $user)/ran"
    done
    as_first=$another run as ann sh -c "cd $(ws ann) && $qsandbox --root $base/root inspect --json"
    echo "$output" | jq -e '.backend.bindByDescriptor == false'
    ln -s ws "$base/home/ann/link"
    as_first=$another run sandboxed ann --workspace "$base/home/ann/link" -- touch ran
    refused "status 3" "is reached through a link" "no --bind-fd"
    run -0 sandboxed ann --workspace "$base/home/ann/link" -- true
}

# ---- the machine ----

@test "no user namespace: the reason is the setting that forbids it" {
    # for root in a user namespace of its own, in which no further one may be made
    inside() { as root unshare -Urm sh -c "$1"' && cd "$0" && shift 0 && exec "$@"' "$(ws root)" "$qsandbox" --root "$base/root" run -- touch ran; }
    run inside 'echo 0 >/proc/sys/user/max_user_namespaces'
    refused "status 7" "user.max_user_namespaces is 0" "sysctl -w user.max_user_namespaces"
    run inside 'echo 5 >/proc/sys/user/max_user_namespaces'
    [ "$status" -eq 0 ]
}

@test "no user namespace: AppArmor's restriction and Debian's switch are named with their remedy" {
    local another settings
    another=$(another_bwrap <<<'#!/bin/false')
    settings='mount -t tmpfs none /proc/sys/kernel && for id in uid gid; do echo 65534 >/proc/sys/kernel/overflow$id; done && echo'
    as_first="$settings 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && $another" run sandboxed ann -- touch ran
    refused "status 7" "kernel.apparmor_restrict_unprivileged_userns is 1" "load an AppArmor profile" "userns,"
    as_first="$settings 0 >/proc/sys/kernel/unprivileged_userns_clone && $another" run sandboxed ann -- touch ran
    refused "status 7" "kernel.unprivileged_userns_clone is 0" "sysctl -w"
    # the setting alone decides nothing: this bubblewrap gets its user namespace, and then the masked /proc is in the way
    as_first="$settings 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns" run sandboxed ann -- touch ran
    refused "status 7" "refuses a new /proc"
    # and where no setting forbids it, none is blamed
    as_first="$settings 0 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && $another" run sandboxed ann -- touch ran
    refused "status 7" "refuses a user namespace to this process"
}

@test "a masked /proc, as in a container: the kernel refuses a new one, and the reason is told" {
    for user in root ann; do
        as_first='mount --bind /dev/null /proc/version' run sandboxed $user -- touch ran
        refused "status 7" "refuses a new /proc" "unmasked /proc"
        run sandboxed $user -- true
        [ "$status" -eq 0 ]
    done
}

@test "no network namespace: the reason is told" {
    inside() { as root unshare -Urm sh -c "$1"' && cd "$0" && shift 0 && exec "$@"' "$(ws root)" "$qsandbox" --root "$base/root" run -- touch ran; }
    run inside 'echo 0 >/proc/sys/user/max_net_namespaces'
    refused "status 7" "network namespace"
    policy '{"filesystem":"workspace-write","network":"open"}' '{"audit":"off","caches":"none"}'
    run inside 'echo 0 >/proc/sys/user/max_net_namespaces'
    [ "$status" -eq 0 ]
}

# ---- devices ----

@test "a device of the policy works inside, and is not there without it" {
    local answer='import errno, os, sys
try:
    os.read(os.open("/dev/fuse", os.O_RDWR), 8192)
except OSError as e:
    print(errno.errorcode[e.errno], os.listdir("/dev").count("fuse"))'
    [ -c /dev/fuse ] || skip "no /dev/fuse here"
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none","devices":["/dev/fuse"]}'
    run sandboxed root -- python3 -c "$answer"
    [ "$output" = "EPERM 1" ] # the driver's own word: nothing is mounted by this descriptor
    run sandboxed root -- sh -c 'rm -f /dev/fuse; mv /dev/fuse /dev/x; touch /dev/made; ls -l /dev/fuse'
    [[ $output == *"crw"*"10, 229"* && $output == *"touch:"* ]]
    run as root sh -c "cd $(ws root) && $qsandbox --root $base/root inspect --json"
    echo "$output" | jq -e '.devices == [{"path": "/dev/fuse", "why": "executor.devices"}]'
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none"}'
    run sandboxed root -- python3 -c "$answer"
    [ "$output" = "ENOENT 0" ]
    policy '{"filesystem":"workspace-write","network":"closed"}' "{\"audit\":\"off\",\"caches\":\"none\",\"devices\":[\"$base/passwd\"]}"
    run sandboxed root -- touch ran
    refused "status 3" "is not a device below /dev"
}

# ---- barriers ----

# Names of members are in the debug information, so the build itself shows which structures have a place for it.
@test "no program that is installed has a place for a barrier that is left out; the build for the controls has" {
    for program in "$QS_BUILD"/bin/qsandbox*; do
        grep -q landlock_abi "$program" # the information is there, and has the message's members
        refute grep -q left_out "$program"
    done
    grep -q left_out "$QS_BUILD/tests/test_controls"
}
