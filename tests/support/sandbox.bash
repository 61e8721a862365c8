# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the suites of qsandbox share: a scratch place outside /tmp (which is private in every sandbox), stores in it, and a
# plain user of a password database that is mounted for her alone. The programs are copied there: where the build lies she
# may not be let in.

bats_require_minimum_version 1.5.0

# Other suites and other checkouts test at the same time, and a test asks whether any process of hers is left. So each
# test has a uid of its own, which has no name and no process; its lock goes when the test ends. The lock files are those
# of tests/support/own_uid.c.
own_uid() {
    local locks=/run/qsettings-tests lock
    mkdir -p -m 700 "$locks"
    for ((UID_ANN = 20000; UID_ANN < 30000; UID_ANN++)); do
        exec {lock}>"$locks/$UID_ANN"
        flock -n "$lock" && ! getent passwd "$UID_ANN" >/dev/null &&
            ! grep -qsE "^Uid:.*\b$UID_ANN\b" /proc/[0-9]*/status && return
        exec {lock}>&-
    done
    echo "no uid is free"
    return 1
}

sandbox_setup() {
    own_uid
    mark=9$UID_ANN$RANDOM # an argument that no process on this machine has but those of this test
    base=$(mktemp -d /srv/qsandbox-test.XXXXXX)
    chmod 755 "$base"
    mkdir "$base/bin"
    install -m 755 "$QS_BUILD/bin/qsandbox" "$QS_BUILD/bin/qsettings" "$base/bin/"
    qsandbox=$base/bin/qsandbox
    # Some kinds of build have no program for the shim: there qsandbox is its own.
    [ ! -e "$QS_BUILD/bin/qsandbox-shim" ] || install -m 755 "$QS_BUILD/bin/qsandbox-shim" "$base/bin/"
    qsettings=$base/bin/qsettings
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

setup() { sandbox_setup; } # a suite that needs more has a setup of its own, which calls it

teardown() {
    chattr -R -i "$base" 2>/dev/null || true
    rm -rf "$base"
}

# policy EXECUTION_SANDBOX EXECUTOR: the system store's policy
policy() {
    printf '{"tools":{"executionSandbox":%s},"executor":%s}' "$1" "$2" |
        "$qsettings" --root "$base/root" --system apply --replace - >/dev/null
}

# as root|ann COMMAND...: in a mount namespace where the password database is ours; as_first is done there first, as root
as() {
    local user=$1
    shift
    local ids=(--reuid 0 --regid 0 --clear-groups)
    [ "$user" = ann ] && ids=(--reuid $UID_ANN --regid $UID_ANN --clear-groups)
    HOME=$base/home/$user unshare -m sh -c "${as_first:-:}"' && mount --bind "$0" /etc/passwd && shift 0 && exec "$@"' "$base/passwd" \
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
