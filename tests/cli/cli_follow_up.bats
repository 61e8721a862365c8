#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What was asked for and what follows it are two outcomes: status 11, and a message that begins with what is stored.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
    quietly --system set a 1
    FILE=$SCRATCH/p.json
    quietly --system publish "$FILE" --on-commit
}
teardown() { cli_teardown; }

# stored GENERATION TEXT...: done, status 11, the report on standard output.
stored() {
    [ "$status" -eq 11 ] || show
    [[ $stderr == "qsettings: "*": system: generation $1 is stored, but "* ]] || show
    [ -n "$output" ] || show
    shift
    local text
    for text; do
        [[ $stderr == *"$text"* ]] || { echo "not said: $text"; show; }
    done
    [[ $stderr != *"nothing was changed"* ]] || show
}

value() { "$QS" --root "$ROOT" --system get "$1"; }
generation() { "$QS" --root "$ROOT" --system get a --json | jq .generation; }

@test "a commit whose registered file was edited is stored, and says so" {
    echo '// by hand' >>"$FILE"
    qs --system set a 2 --if-generation "$(generation)"
    stored 4 "a registered file was not published" "edited since it was last published" "left as it was"
    [ "$(value a)" = 2 ]
    [[ $(cat "$FILE") == *"by hand"* ]]
}

@test "a compare-and-swap loop ends: 8 is a commit that was not stored" {
    echo '// by hand' >>"$FILE"
    local round
    for round in 5 6 7; do
        qs --system set counter "$round" --if-generation "$(generation)"
        [ "$status" -eq 11 ]
    done
    [ "$(value counter)" = 7 ]
    [ "$(generation)" = 6 ]
    qs --system set counter 8 --if-generation 2
    refused 8
    [ "$(value counter)" = 7 ]
}

@test "the status does not depend on why the file could not be published" {
    rm "$FILE"
    mkdir "$FILE"
    qs --system set a 2
    stored 4 "not a regular file"
    rmdir "$FILE"
    ln -s nowhere "$FILE"
    qs --system set a 3
    stored 5
    rm "$FILE"
    rmdir "$SCRATCH/gone" 2>/dev/null || true
    qs --system set a 4
    [ "$status" -eq 0 ] # it is made anew
}

@test "every command that commits says the same" {
    echo '// by hand' >>"$FILE"
    echo '{"b": 1}' >"$SCRATCH/more.json"
    qs --system apply "$SCRATCH/more.json"
    stored 4
    qs --system unset b
    stored 5
    qs --system lock a
    stored 6
    qs --system unlock a
    stored 7
    qs --system rollback 2
    [ "$status" -eq 11 ] || [ "$status" -eq 0 ] # the register of that generation has no file
    qs --system backup "$SCRATCH/backup"
    ok
}

@test "with --json the error says what is stored" {
    echo '// by hand' >>"$FILE"
    qs --system set a 2 --json
    [ "$status" -eq 11 ]
    [ "$(jq .generation <<<"$output")" = 4 ]
    jq -e '.error | .status == 11 and .stored == true and .scope == "system" and .generation == 4' <<<"$stderr"
}

@test "a commit whose report cannot be printed is stored" {
    run bash -c '"$0" --root "$1" --system set a 2 2>&1 >/dev/full' "$QS" "$ROOT"
    [ "$status" -eq 11 ]
    [[ $output == *"generation 4 is stored, but the report was not printed"* ]]
    [ "$(value a)" = 2 ]
}

@test "a file that cannot be published is not registered" {
    quietly --system publish "$FILE" --remove
    qs --system publish "$SCRATCH/none/x.json" --on-commit
    [ "$status" -eq 1 ]
    qs --system publish --list
    [ -z "$output" ]
}

@test "adopting stores first: what then cannot be published is said" {
    mkdir "$SCRATCH/ro"
    echo '{"a": 1, "keep": true}' >"$SCRATCH/ro/s.json"
    run --separate-stderr unshare -m sh -c 'mount --bind "$2/ro" "$2/ro" && mount -o remount,bind,ro "$2/ro" &&
        exec "$0" --root "$1" --system publish --adopt "$2/ro/s.json"' "$QS" "$ROOT" "$SCRATCH"
    stored 4 "the file was not published" "Read-only file system" "the file system is read-only"
    [ "$(value keep)" = true ]
}

@test "advice can be pasted: it has the root and the scope of the command" {
    qs --user set a b
    refused 5 "qsettings --root $ROOT --user init"
    echo '// by hand' >>"$FILE"
    qs --system set a 2
    stored 4 "qsettings --root $ROOT --system publish --check $FILE"
}
