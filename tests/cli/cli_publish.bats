# SPDX-License-Identifier: Apache-2.0
# publish and replace: files of other programs that are never absent.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
    quietly --system set a.b 1 tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
    DIR=$SCRATCH/pub
    mkdir "$DIR"
    FILE=$DIR/settings.json
}
teardown() {
    cli_teardown
}

# ---- publish ----

@test "publish writes the effective settings or a scope's, and says when there was nothing to do" {
    quietly --defaults init
    quietly --defaults set d 1
    qs publish "$FILE"
    ok
    [ "$(jq -c '[.a.b,.d]' "$FILE")" = '[1,1]' ]
    qs --system publish "$DIR/system.yaml" --json
    ok
    json '[.outcome,.format,.scope]' '["published","yaml","system"]'
    grep -q '^a:' "$DIR/system.yaml"
    never grep -q '^d:' "$DIR/system.yaml"
    qs publish "$FILE" --json
    ok
    json .outcome '"unchanged"'
}

@test "publish --for qwen leaves out what that reader would refuse" {
    quietly --system set executor.limits.wallSeconds 5
    qs --system publish "$FILE" --for qwen
    ok
    [ "$(jq -c 'has("executor")' "$FILE")" = false ]
    [ "$(jq -c '.tools.executionSandbox' "$FILE")" = '{"filesystem":"read-only","network":"closed"}' ]
    qs --system publish "$FILE" --for codex
    refused 2 codex
}

@test "a file that someone edited is not overwritten unless asked" {
    quietly --system publish "$FILE"
    jq '.a.b = 7 | .hand = "made"' "$FILE" >"$SCRATCH/edited"
    cat "$SCRATCH/edited" >"$FILE"
    quietly --system set a.c 2
    qs --system publish "$FILE"
    refused 8 "$FILE" --adopt
    cmp "$FILE" "$SCRATCH/edited"
    qs --system publish --check "$FILE" --json
    [ "$status" -eq 1 ]
    json .state '"edited"'
    json '[.differences[] | [.path, .old, .new]] | sort' '[["a.b",7,1],["a.c",null,2],["hand","made",null]]'
    qs --system publish --check "$FILE"
    [ "$status" -eq 1 ]
    [[ $output == *"- a.b = 7"* && $output == *"+ a.b = 1"* ]]
    cmp "$FILE" "$SCRATCH/edited"
    qs --system publish --force "$FILE"
    ok
    qs --system publish --check "$FILE"
    ok
    [[ $output == *current* ]]
}

@test "publish --adopt merges an edited file into the store" {
    quietly --system publish "$FILE"
    jq '.a.b = 7 | .hand = "made"' "$FILE" >"$SCRATCH/edited"
    cat "$SCRATCH/edited" >"$FILE"
    qs --system publish --adopt "$FILE" -m adopted
    ok
    qs --system get hand
    is made
    qs --system get a.b
    is 7
    qs --system log -n 1 --json
    json '.[0].message' '"adopted"'
    qs --system publish --check "$FILE"
    ok
}

@test "publish --check tells what is missing, stale and current" {
    qs --system publish --check "$FILE" --json
    [ "$status" -eq 1 ]
    json .state '"missing"'
    quietly --system publish "$FILE"
    quietly --system set a.b 2
    qs --system publish --check "$FILE" --json
    [ "$status" -eq 1 ]
    json .state '"stale"'
    json .differences '[{"new":2,"old":1,"path":"a.b"}]'
}

@test "a registered file is published by every commit" {
    qs --system publish "$FILE" --on-commit
    ok
    [[ $output == *"registered: every commit publishes it" ]] || show
    [ "$(jq .a.b "$FILE")" = 1 ]
    qs --system set a.b 2
    ok
    [ "$(jq .a.b "$FILE")" = 2 ]
    qs --system rollback 2
    ok
    [ "$(jq .a.b "$FILE")" = 1 ]
    qs publish --list --json
    ok
    json 'map([.file,.scope,.store])' "[[\"$FILE\",\"system\",\"system\"]]"
    qs --system publish --remove "$FILE"
    ok
    quietly --system set a.b 3
    [ "$(jq .a.b "$FILE")" = 1 ]
    qs publish --list
    ok
    is ""
    qs --system publish --remove "$FILE"
    refused 1 "$FILE"
}

@test "what a crash left unpublished is made good by the next command" {
    quietly --system publish "$FILE" --on-commit
    quietly --system set a.b 2
    cp -a "$FILE" "$SCRATCH/former"
    quietly --system set a.b 3
    cp -a "$SCRATCH/former" "$FILE" # as if the last commit had died before publishing
    qs --system set a.b 3
    ok
    [[ $output == *unchanged* ]]
    [ "$(jq .a.b "$FILE")" = 3 ]
}

@test "a commit stands when publishing fails, and the exit status tells" {
    quietly --system publish "$FILE" --on-commit
    echo '{"edited": true}' >"$FILE"
    qs --system set a.b 2
    [ "$status" -eq 11 ]
    [[ $output == *"generation"* ]]
    [[ $stderr == "qsettings: "*"is stored, but a registered file was not published: "*"$FILE"* ]]
    [ "$(jq -c . "$FILE")" = '{"edited":true}' ]
    qs --system get a.b
    is 2
}

@test "publish usage" {
    qs publish
    refused 2 FILE
    qs publish "$FILE" --list
    refused 2 list
    qs publish "$FILE" --check --remove
    refused 2 exclude
    qs publish "$DIR/../x"
    refused 2 ".."
    if [ "$(id -u)" -eq 0 ]; then
        qs publish "$FILE" --on-commit
        refused 7 --system
    fi
    qs --user publish "$FILE"
    refused 5
    [ -z "$(ls -A "$DIR")" ]
}

@test "a relative name is meant from here" {
    cd "$DIR"
    run --separate-stderr "$QS" --root "$ROOT" --system publish ./x.json --json
    ok
    json .file "\"$DIR/x.json\""
    [ -e "$DIR/x.json" ]
}

@test "secrets are covered in --check and stand in the file" {
    quietly --user init
    "$QS" --root "$ROOT" --user set security.auth.apiKey - <<<hunter2 >/dev/null
    quietly --user publish "$FILE"
    "$QS" --root "$ROOT" --user set security.auth.apiKey - <<<hunter3 >/dev/null
    for as in "" --json; do
        qs --user publish --check "$FILE" $as
        [ "$status" -eq 1 ]
        [[ $output == *"<secret>"* && $output != *hunter* ]] || show
    done
    [ "$(jq -r .security.auth.apiKey "$FILE")" = hunter2 ]
    [ "$(stat -c %a "$FILE")" = 600 ]
}

# ---- replace ----

replace() {
    run --separate-stderr "$QS" replace "$@" <<<"new text"
}

@test "replace makes standard input the file" {
    replace "$FILE"
    ok
    is ""
    [ "$(cat "$FILE")" = "new text" ]
    printf 'a much longer former text\nwith lines\n' >"$FILE"
    chmod 640 "$FILE"
    replace "$FILE" --json
    ok
    json .bytes 9
    [ "$(cat "$FILE")" = "new text" ]
    [ "$(stat -c %a "$FILE")" = 640 ]
    [ "$(ls -A "$DIR")" = settings.json ]
}

@test "replace follows a link and leaves it" {
    echo old >"$DIR/real"
    ln -s real "$DIR/link"
    replace "$DIR/link"
    ok
    [ -L "$DIR/link" ]
    [ "$(cat "$DIR/real")" = "new text" ]
}

@test "replace refuses what would surprise, and does it when asked" {
    ln -s nowhere "$DIR/dangling"
    replace "$DIR/dangling"
    refused 3 "$DIR"
    replace "$DIR/dangling" --dangling
    ok
    [ "$(cat "$DIR/nowhere")" = "new text" ]
    echo old >"$DIR/one"
    ln "$DIR/one" "$DIR/two"
    replace "$DIR/one"
    refused 3
    replace "$DIR/one" --hard-linked
    ok
    [ "$(cat "$DIR/two")" = old ]
    replace "$DIR"
    refused 3
    replace "$DIR/none/x"
    refused 1
    echo old >"$FILE"
    replace "$FILE" --new-only
    refused 8
    [ "$(cat "$FILE")" = old ]
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534 "$FILE"
        replace "$FILE"
        refused 7
        replace "$FILE" --other-owner
        ok
        [ "$(stat -c %u "$FILE")" = 65534 ]
    fi
}

@test "replace --backup keeps the former file" {
    echo old >"$FILE"
    replace "$FILE" --backup
    ok
    [ "$(cat "$FILE.bak")" = old ]
    [ "$(cat "$FILE")" = "new text" ]
}

@test "set opens the store a second time only if a file is registered" {
    command -v strace >/dev/null || skip "strace is not installed"
    opened() {
        strace -f -e trace=openat,openat2 -o "$SCRATCH/trace" "$QS" --root "$ROOT" --system set a.b "$1" >/dev/null
        grep -c '"data.mdb"' "$SCRATCH/trace"
    }
    [ "$(opened 2)" -eq 1 ]
    [ "$(opened 2)" -eq 1 ] # unchanged, likewise
    quietly --system publish "$FILE" --on-commit
    [ "$(opened 3)" -gt 1 ]
    [ "$(jq .a.b "$FILE")" = 3 ]
    quietly --system publish "$FILE" --remove
    [ "$(opened 4)" -eq 1 ]
    [ "$(jq .a.b "$FILE")" = 3 ]
}
