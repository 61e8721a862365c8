# SPDX-License-Identifier: Apache-2.0
# edit: commit, unchanged, fault, conflict; what becomes of the text.
load ../support/cli

setup() {
    cli_setup
    export TMPDIR=$SCRATCH/tmp
    mkdir "$TMPDIR"
    quietly --system init
    quietly --system set a.b 1 note 'it is: so'
}
teardown() {
    cli_teardown
}

# editor SCRIPT: an editor that does this to its file, $1.
editor() {
    printf '#!/bin/sh\n%s\n' "$1" >"$SCRATCH/editor"
    chmod 755 "$SCRATCH/editor"
    export EDITOR="$SCRATCH/editor"
}

@test "edit commits what the editor left and removes the text" {
    editor 'stat -c %a "$1" "$(dirname "$1")" >"$(dirname "$0")/modes"; cp "$1" "$(dirname "$0")/seen"; sed -i "s/b: 1/b: 2/" "$1"'
    qs --system edit -m "by hand"
    ok
    [[ $output == *"generation 3"* ]]
    qs --system get a.b
    is 2
    [ "$(cat "$SCRATCH/modes")" = $'600\n700' ]
    grep -q "generation 2" "$SCRATCH/seen"
    grep -q "note: 'it is: so'\|note: \"it is: so\"" "$SCRATCH/seen"
    [ -z "$(ls -A "$TMPDIR")" ]
    qs --system log -n 1 --json
    json '.[0].message' '"by hand"'
}

@test "VISUAL goes before EDITOR, and may have arguments" {
    editor false
    export VISUAL="sed -i 's/b: 1/b: 7/'"
    qs --system edit
    ok
    qs --system get a.b
    is 7
}

@test "an unchanged or emptied text changes nothing" {
    editor true
    qs --system edit --json
    ok
    json .generation 2
    json .changed '[]'
    editor ': >"$1"'
    qs --system edit
    ok
    [[ $output == *unchanged* ]]
    editor 'grep "^#" "$1" >"$1.x"; mv "$1.x" "$1"'
    qs --system edit
    ok
    [ "$(generation system)" = 2 ]
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "a fault keeps the text, names its file and stores nothing" {
    editor 'printf "a:\n  b: [1\n" >"$1"'
    qs --system edit
    refused 3 "your text is kept in $TMPDIR/"
    file=$(find "$TMPDIR" -name '*.yaml')
    grep -q 'b: \[1' "$file"
    [[ $stderr == *"$file:"* ]]
    [ "$(generation system)" = 2 ]
}

@test "what the schema refuses keeps the text too" {
    editor 'printf "tools:\n  executionSandbox:\n    filesystem: read-only\n    network: off\n" >"$1"'
    qs --system edit --json
    refused_json 3
    [ "$(jq -r .error.line <<<"$stderr")" = 4 ]
    [ -n "$(find "$TMPDIR" -name '*.yaml')" ]
}

@test "a conflict keeps the text and the other's change" {
    editor '"$QS_IN" --root "$ROOT_IN" --system set other 1 >/dev/null; sed -i "s/b: 1/b: 2/" "$1"'
    QS_IN=$QS ROOT_IN=$ROOT qs --system edit
    refused 8 "your text is kept in"
    qs --system get a.b
    is 1
    qs --system get other
    is 1
    grep -q 'b: 2' "$(find "$TMPDIR" -name '*.yaml')"
}

@test "an editor that fails changes nothing" {
    editor 'exit 3'
    qs --system edit
    refused 10 "nothing was changed"
    export EDITOR=/no/such/editor
    qs --system edit
    [ "$status" -eq 10 ]
    [[ $stderr == *"the editor '/no/such/editor' failed"* ]]
    [ "$(generation system)" = 2 ]
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "an editor that dies after it saved loses nobody's work" {
    editor 'echo "b: 1" >>"$1"; kill -KILL $$'
    qs --system edit
    [ "$status" -eq 10 ]
    [[ $stderr == *"nothing was changed"*"your text is kept in $TMPDIR/"* ]]
    grep -q "^b: 1$" "$TMPDIR"/*/system.yaml
    [ "$(generation system)" = 2 ]
}

@test "an editor that leaves a FIFO in the text's place is refused" {
    editor 'rm "$1"; mkfifo "$1"'
    run --separate-stderr timeout 20 "$QS" --root "$ROOT" --system edit
    refused 3 "not a regular file"
    [ "$(generation system)" = 2 ]
}

@test "edit of a store that is not there names init" {
    editor true
    qs --defaults edit
    refused 5 init
}

@test "on a terminal a fault is shown in place and the editor offered again" {
    command -v script >/dev/null || skip "script(1) is not installed"
    # first a fault, then the right text
    editor 'if [ -e "$0.again" ]; then printf "a: {b: 5}\n" >"$1"; else touch "$0.again"; printf "a: [1\nc: 2\n" >"$1"; fi'
    run timeout 30 script -qec "'$QS' --root '$ROOT' --system edit" /dev/null <<<"y"
    [ "$status" -eq 0 ] || show
    [[ $output == *"Edit again?"* ]] || show
    [[ $output == *" | "* ]] || show
    qs --system get a.b
    is 5
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "on a terminal, no ends it and keeps the text" {
    command -v script >/dev/null || skip "script(1) is not installed"
    editor 'printf "a: [1\n" >"$1"'
    run timeout 30 script -qec "'$QS' --root '$ROOT' --system edit" /dev/null <<<"n"
    [ "$status" -eq 3 ] || show
    [ -n "$(find "$TMPDIR" -name '*.yaml')" ]
}
