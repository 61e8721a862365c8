# SPDX-License-Identifier: Apache-2.0
# fsck, repair, compact, backup, restore, and a store in each bad state.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
    quietly --system set a 1 b two
}
teardown() {
    cli_teardown
}

# wreck OFFSET BYTE...: overwrites bytes of the store's file, in octal.
wreck() {
    printf "$2" | dd of="$ROOT/system/data.mdb" bs=1 seek="$1" conv=notrunc status=none
}

@test "fsck verifies a healthy store" {
    qs --system fsck --json
    ok
    json .status '"ok"'
    json .generation 2
    json .entries 2
    json .records 2
    jq -e '.pages > 2 and (.digest | startswith("blake2b-256:"))' <<<"$output"
    qs --system fsck
    [[ $output == "system: ok, generation 2"* ]]
    qs --user fsck
    refused 5
}

@test "damage is named with page and reason by every reader, and no writer goes on" {
    head -c 16384 /dev/zero | tr '\0' '\377' | dd of="$ROOT/system/data.mdb" bs=4096 seek=2 conv=notrunc status=none
    before=$(sha256sum "$ROOT/system/data.mdb")
    for command in "get a" list export fsck "log" "show 2" "diff 1 2" "backup $SCRATCH/b"; do
        qs --system $command
        refused 6 page
    done
    for command in "set a 2" "unset a" "lock a" "rollback 1" compact "purge a"; do
        qs --system $command
        refused 6
    done
    qs get a
    refused 6
    qs policy
    refused 6
    qs --system get a --json
    refused_json 6
    [ "$before" = "$(sha256sum "$ROOT/system/data.mdb")" ]
}

@test "each bad state of data.mdb is its own error and never absence" {
    good=$SCRATCH/good
    cp -p "$ROOT/system/data.mdb" "$good"
    file=$ROOT/system/data.mdb
    again() {
        rm -rf "$file"
    }
    again
    qs --system get a
    refused 6 "$ROOT/system"
    : >"$file"
    qs --system get a
    refused 6 "$ROOT/system"
    again
    ln -s /nowhere "$file"
    qs --system get a
    refused 6 "$ROOT/system"
    again
    ln -s "$good" "$file"
    qs --system get a
    refused 6 "$ROOT/system"
    again
    mkfifo "$file"
    qs --system get a
    refused 6 "$ROOT/system"
    again
    mkdir "$file"
    qs --system get a
    refused 6 "$ROOT/system"
    again
    cp -p "$good" "$file"
    chmod 664 "$file"
    qs --system get a
    refused 7 "$ROOT/system"
    chmod 644 "$file"
    qs --system get a
    is 1
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534 "$file"
        qs --system get a
        refused 7 "$ROOT/system"
    fi
}

@test "a way to the store that cannot be searched, or that others may write, is untrusted" {
    chmod 777 "$ROOT"
    qs --system get a
    refused 7 "$ROOT"
    chmod 755 "$ROOT"
    qs --system get a
    is 1
    [ "$(id -u)" -eq 0 ] || skip "root and another user are needed"
    chmod 700 "$ROOT"
    public_qs --system get a
    refused 7 "$ROOT"
    chmod 755 "$ROOT"
    public_qs --system get a
    is 1
}

@test "a system store that was removed is an error, not the absence of policy" {
    rm -r "$ROOT/system"
    qs --system get a
    refused 5
    qs policy
    refused 5
}

@test "a link on the way into the store is refused" {
    mv "$ROOT/system" "$ROOT/elsewhere"
    ln -s elsewhere "$ROOT/system"
    qs --system get a
    [ "$status" -eq 7 ] || [ "$status" -eq 6 ] || show
    [ -z "$output" ]
}

@test "repair of a healthy store has nothing to do" {
    qs --system repair
    ok
    [[ $output == *"nothing to repair"* ]]
    qs --system repair --yes --json
    ok
    json .status '"ok"'
    [ "$(generation system)" = 2 ]
}

# The newer meta of the two leads to the newest generation; a wrong byte in what it leads to leaves the older one whole.
break_newest() {
    quietly --system set a 9
    local at
    at=$(grep -abo blake2 "$ROOT/system/data.mdb" | head -n 1 | cut -d: -f1) # none: digests are stored as bytes
    [ -z "$at" ]
    local zero one newest
    zero=$(od -An -t u8 -j $((0 * 4096 + 16 + 128)) -N 8 "$ROOT/system/data.mdb" | tr -d ' ')
    one=$(od -An -t u8 -j $((1 * 4096 + 16 + 128)) -N 8 "$ROOT/system/data.mdb" | tr -d ' ')
    newest=$((zero > one ? 0 : 1))
    # the root page of the main database, by the newest meta
    local root
    root=$(od -An -t u8 -j $((newest * 4096 + 16 + 24 + 48 + 40)) -N 8 "$ROOT/system/data.mdb" | tr -d ' ')
    wreck $((root * 4096 + 10)) '\377'
}

@test "repair names what would be lost, and goes back only with --yes" {
    break_newest
    qs --system get a
    refused 6
    before=$(sha256sum "$ROOT/system/data.mdb")
    qs --system repair
    [ "$status" -eq 6 ] || show
    [[ $output == *"newest recoverable generation: 2"* ]] || show
    [[ $output == *"--yes"* ]]
    [ "$before" = "$(sha256sum "$ROOT/system/data.mdb")" ]
    qs --system repair --json
    [ "$status" -eq 6 ]
    json .generation 2
    json .status '"damaged"'
    json .newGeneration null
    qs --system repair --yes
    ok
    [[ $output == *"the damaged file was kept as $ROOT/system/"* ]]
    qs --system get a
    is 1
    qs --system fsck
    ok
    [ "$(generation system)" -gt 3 ]
    [ "$(ls "$ROOT/system" | wc -l)" -eq 3 ]
}

@test "where no generation verifies, repair offers restore" {
    head -c 65536 /dev/urandom >"$ROOT/system/data.mdb"
    qs --system repair
    refused 6 restore
    qs --system repair --yes
    refused 6 restore
}

@test "compact keeps generation, settings and history and gives back space" {
    head -c 300000 /dev/zero | tr '\0' x >"$SCRATCH/big"
    for i in 1 2 3; do
        quietly --system set big "@$SCRATCH/big"
        quietly --system unset big
    done
    quietly --system purge big
    generation=$(generation system)
    before=$(stat -c %s "$ROOT/system/data.mdb")
    qs --system compact --json
    ok
    jq -e '.bytesAfter <= .bytesBefore' <<<"$output"
    [ "$(stat -c %s "$ROOT/system/data.mdb")" -le "$before" ]
    [ "$(generation system)" = "$generation" ]
    qs --system get b
    is two
    qs --system fsck
    ok
}

@test "backup and restore bring settings and history back as a new generation" {
    qs --system backup "$SCRATCH/b" --json
    ok
    json .file "\"$SCRATCH/b\""
    [ "$(stat -c %a "$SCRATCH/b")" = 600 ]
    quietly --system set a 2
    quietly --system set a 3
    qs --system restore "$SCRATCH/b" --json
    ok
    json .generation 5
    qs --system get a
    is 1
    qs --system log --json
    json 'map(.generation)' '[5,4,3,2,1]'
    qs --system fsck
    ok
}

@test "backup does not overwrite a file unless told" {
    echo mine >"$SCRATCH/b"
    qs --system backup "$SCRATCH/b"
    refused 8 "$SCRATCH/b"
    [ "$(cat "$SCRATCH/b")" = mine ]
    qs --system backup "$SCRATCH/b" --force
    ok
    qs --system backup "$SCRATCH/no/such/dir/b"
    [ "$status" -ne 0 ]
    [ -z "$output" ]
}

@test "a damaged store comes back from a backup" {
    quietly --system backup "$SCRATCH/b"
    head -c 65536 /dev/urandom >"$ROOT/system/data.mdb"
    qs --system restore "$SCRATCH/b"
    ok
    qs --system get b
    is two
    qs --system fsck
    ok
}

@test "restore refuses what is no backup, and leaves the store" {
    head -c 65536 /dev/urandom >"$SCRATCH/b"
    qs --system restore "$SCRATCH/b"
    refused 6
    : >"$SCRATCH/empty"
    qs --system restore "$SCRATCH/empty"
    refused 6
    qs --system restore "$SCRATCH/none"
    [ "$status" -eq 1 ] || [ "$status" -eq 5 ] || show
    qs --system get a
    is 1
    [ "$(generation system)" = 2 ]
}

@test "a full disk leaves the old generation and says so" {
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    run --separate-stderr unshare -m bash -c '
        set -e
        mount -t tmpfs -o size=512k,mode=755 none "$2"
        "$1" --root "$2" --system init >/dev/null
        "$1" --root "$2" --system set a 1 >/dev/null
        head -c 600000 /dev/urandom | base64 -w 0 >"$3"
        code=0
        "$1" --root "$2" --system set big "@$3" || code=$?
        "$1" --root "$2" --system get a
        "$1" --root "$2" --system set a 2 >/dev/null
        "$1" --root "$2" --system get a
        exit "$code"' _ "$QS" "$ROOT" "$SCRATCH/big"
    [ "$status" -eq 10 ] || show
    is $'1\n2'
    [[ $stderr == *"No space left"* ]] || show
}

@test "a read-only mount is read, and a write says why it cannot be" {
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    run --separate-stderr unshare -m bash -c '
        mount --bind "$2" "$2" && mount -o remount,ro,bind "$2"
        "$1" --root "$2" --system get a && "$1" --root "$2" --system set a 2' _ "$QS" "$ROOT"
    [ "$status" -eq 7 ] || [ "$status" -eq 10 ] || show
    is 1
    [[ $stderr == *"ead-only"* ]] || show
}

@test "in a user namespace where root shows as the overflow user a system store is untrusted" {
    [ "$(id -u)" -eq 0 ] || skip "needs another user"
    install -m 755 "$QS" "$SCRATCH/qsettings"
    run --separate-stderr setpriv --reuid=65533 --regid=65533 --clear-groups unshare -U \
        "$SCRATCH/qsettings" --root "$ROOT" --system get a
    refused 7 65534
}

# killed COMMAND...: runs it, kills it after some turns of an empty loop, and expects a whole store and a next writer.
killed() {
    local turns
    for turns in 0 300 2000 9000 25000; do
        # in a shell of its own: bats traces each turn here
        bash -c 'turns=$1; shift; "$@" >/dev/null 2>&1 & for ((i = 0; i < turns; i++)); do :; done; kill -9 $!; wait' \
            _ "$turns" "$QS" --root "$ROOT" --system "$@" 2>/dev/null 3>&- || true
        qs --system fsck
        ok || { echo "after: $*"; false; }
        qs --system set next "$turns"
        ok || { echo "after: $*"; false; }
    done
    [ ! -e "$ROOT/system/lock.mdb" ]
}

@test "a kill during any command that writes leaves a whole store, and the next writer goes on" {
    quietly --system backup "$SCRATCH/b"
    echo '{"x": {"y": [1, 2, 3]}}' >"$SCRATCH/d.json"
    killed set n 1
    killed unset next
    killed apply "$SCRATCH/d.json"
    killed lock a
    killed rollback 2
    killed compact
    killed purge next
    killed restore "$SCRATCH/b"
    killed backup "$SCRATCH/b2" --force
    [ "$(ls "$ROOT/system" | grep -cv '^\.')" -eq 2 ]
}

@test "a store is read from another PID namespace, and through an overlay after a copy-up" {
    [ "$(id -u)" -eq 0 ] || skip "namespaces need root here"
    run --separate-stderr unshare -mpf --mount-proc "$QS" --root "$ROOT" --system get b
    ok
    is two
    run --separate-stderr unshare -m bash -c '
        set -e
        mkdir "$3/merged" "$3/tmp" && mount -t tmpfs none "$3/tmp" && mkdir "$3/tmp/upper" "$3/tmp/work"
        mount -t overlay overlay -o "lowerdir=$2,upperdir=$3/tmp/upper,workdir=$3/tmp/work" "$3/merged"
        "$1" --root "$3/merged" --system get b
        "$1" --root "$3/merged" --system set b three >/dev/null
        "$1" --root "$3/merged" --system get b
        "$1" --root "$2" --system get b' _ "$QS" "$ROOT" "$SCRATCH"
    ok
    is $'two\nthree\ntwo'
}
