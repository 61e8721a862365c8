# SPDX-License-Identifier: Apache-2.0
# qsettings where the surroundings give little: limits, full and closed descriptors, a full disk, no /proc.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
    quietly --system set a 1
}
teardown() {
    if mountpoint -q "$SCRATCH/small"; then umount "$SCRATCH/small"; fi
    cli_teardown
}

@test "beyond a limit on the size of files each command fails and says what is stored" {
    local command
    for command in "set a 2" compact "purge a"; do
        run --separate-stderr bash -c 'ulimit -f 8; exec "$@"' - "$QS" --root "$ROOT" --system $command
        refused 10 "File too large" "nothing was changed"
    done
    run --separate-stderr bash -c 'ulimit -f 8; exec "$@"' - "$QS" --root "$ROOT" --system backup "$SCRATCH/b"
    refused 10 "File too large" "no backup was written"
    run --separate-stderr bash -c 'ulimit -f 8; exec "$@"' - "$QS" --root "$ROOT" --defaults init
    refused 10 "File too large" "no store was created"
    [ "$(ls -A "$ROOT/system" "$ROOT" | grep -c '[.]tmp\|qsettings-')" -eq 0 ]
    [ ! -e "$ROOT/defaults" ]
    [ "$("$QS" --root "$ROOT" --system get a)" = 1 ]
    quietly --system fsck
}

@test "an editor and a watch's command have the signals that qsettings found" {
    VISUAL="sh -c 'kill -XFSZ \$\$; touch $SCRATCH/survived' -" qs --system edit
    [ "$status" -eq 10 ] || show
    [ ! -e "$SCRATCH/survived" ]
    qs --system watch --from 1 --once --exec "kill -XFSZ \$\$; touch $SCRATCH/survived"
    [ "$status" -eq 10 ] || show
    [ ! -e "$SCRATCH/survived" ]
}

@test "with few descriptors each command fails or succeeds whole" {
    local n last=0
    for n in 4 5 6 7 8 9 10 12; do
        run --separate-stderr bash -c "exec 3>&-; ulimit -n $n"'; exec "$@"' - "$QS" --root "$ROOT" --system set a "$n"
        [ "$status" -eq 0 ] || { [ "$status" -eq 10 ] && [[ $stderr == *"Too many open files"* ]]; } || show
        [ "$status" -ne 0 ] || last=$n
    done
    [ "$last" -eq 12 ]
    [ "$("$QS" --root "$ROOT" --system get a)" = 12 ]
    quietly --system fsck
}

@test "closed standard descriptors are never the store's" {
    "$QS" --root "$ROOT" --system set a 2 <&- >&- 2>&- || [ $? -eq 11 ]
    "$QS" --root "$ROOT" --system set a..b 2 <&- >&- 2>&- || [ $? -eq 3 ]
    "$QS" --root "$ROOT" --system get nothing <&- >&- 2>&- || [ $? -eq 1 ]
    [ "$("$QS" --root "$ROOT" --system get a)" = 2 ]
    quietly --system fsck
}

@test "a report that cannot be written is an error, and what was done stays done" {
    run --separate-stderr bash -c '"$@" >/dev/full' - "$QS" --root "$ROOT" --system set a 3
    refused 11 "is stored, but the report was not printed"
    [ "$("$QS" --root "$ROOT" --system get a)" = 3 ]
}

@test "on a full disk every rebuild leaves the old store and says so" {
    mkdir "$SCRATCH/small"
    mount -t tmpfs -o size=1m,mode=0755 tmpfs "$SCRATCH/small"
    ROOT=$SCRATCH/small/root
    mkdir "$ROOT"
    quietly --system init
    quietly --system set a 1
    quietly --system backup "$SCRATCH/b"
    head -c 100000 /dev/zero | tr '\0' v >"$SCRATCH/value"
    quietly --system set big "@$SCRATCH/value"
    dd if=/dev/zero of="$SCRATCH/small/fill" bs=4096 status=none 2>/dev/null || true
    local command
    for command in compact "purge big" "restore $SCRATCH/b" "set other @$SCRATCH/value"; do
        qs --system $command
        refused 10 "No space left" "nothing was changed"
    done
    qs --defaults init
    refused 10 "No space left" "no store was created"
    [ "$("$QS" --root "$ROOT" --system get a)" = 1 ]
    quietly --system fsck
    rm "$SCRATCH/small/fill"
    quietly --system set a 2
}

@test "without /proc reading works and writing says what is missing" {
    unshare -m bash -c 'mount --make-rprivate / && mount -t tmpfs none /proc && "$@"' - \
        bash -c '[ "$("$0" --root "$1" --system get a)" = 1 ] && ! "$0" --root "$1" --system set a 2 2>"$2"' \
        "$QS" "$ROOT" "$SCRATCH/errors"
    [[ $(cat "$SCRATCH/errors") == *"needs /proc, which is not mounted"*"nothing was changed"* ]]
    [ "$("$QS" --root "$ROOT" --system get a)" = 1 ]
}

@test "a user whom the password database does not know is refused, not read as one without settings" {
    cp "$QS" "$SCRATCH/qsettings" # where anybody can run it
    local user=(setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME "$SCRATCH/qsettings")
    run --separate-stderr "${user[@]}" policy
    refused 10 "no home for uid 54321" "--root"
    run --separate-stderr "${user[@]}" --root "$ROOT" --system get a
    ok
    [ "$output" = 1 ]
}
