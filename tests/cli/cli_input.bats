# SPDX-License-Identifier: Apache-2.0
# Every row of the table of documents: `check` gives its exit status and names what the row says.
load ../support/cli

setup() {
    cli_setup
}
teardown() {
    cli_teardown
}

@test "every document of the manifest is accepted or refused as it says" {
    cd "$CASES"
    rows=0
    while IFS=$'\t' read -r file expected names; do
        [[ $file == '#'* ]] && continue
        rows=$((rows + 1))
        run --separate-stderr "$QS" check "$file"
        [ "$status" -eq "$expected" ] || { echo "$file"; show; }
        if [ "$expected" -eq 0 ]; then
            ok
            [[ $output == "$file: ok"* ]]
        else
            refused "$expected" "$names" "$file" || { echo "$file"; false; }
        fi
    done <manifest.tsv
    [ "$rows" -ge 29 ]
}

@test "what check accepts a store takes, and what it refuses a store refuses" {
    cd "$CASES"
    quietly --user init
    while IFS=$'\t' read -r file expected names; do
        [[ $file == '#'* ]] && continue
        before=$(generation user)
        qs --user apply --replace "$CASES/$file"
        [ "$status" -eq "$expected" ] || { echo "$file"; show; }
        if [ "$expected" -ne 0 ]; then
            refused "$expected" "$names"
            [ "$(generation user)" = "$before" ]
        fi
    done <manifest.tsv
}

@test "check refuses with one JSON object that holds file, line, column and path" {
    run --separate-stderr "$QS" check --json "$CASES/bad/network-off.yaml"
    refused_json 3
    [ "$(jq -r .error.file <<<"$stderr")" = "$CASES/bad/network-off.yaml" ]
    [ "$(jq -r .error.path <<<"$stderr")" = tools.executionSandbox.network ]
    [ "$(jq -c '[.error.line,.error.column]' <<<"$stderr")" = "[1,60]" ]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "check reads standard input, with the format it is told" {
    run --separate-stderr "$QS" check - --json <<<'{"a": 1}'
    ok
    json .status '"ok"'
    json .entries 1
    run --separate-stderr "$QS" check - --format yaml <<<'a: {b: on}'
    ok
    run --separate-stderr "$QS" check - <<<'a: 1'
    refused 3 "standard input"
    run --separate-stderr "$QS" check - --format xml <<<'a: 1'
    refused 2 xml
}

@test "check of a file that is not there" {
    run --separate-stderr "$QS" check "$SCRATCH/none.json"
    refused 1 "$SCRATCH/none.json"
    run --separate-stderr "$QS" check
    refused 2 FILE
}

@test "a document over the bound is refused with the bound" {
    { printf '{"a":"'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}'; } >"$SCRATCH/large.json"
    run --separate-stderr "$QS" check "$SCRATCH/large.json"
    refused 3 4194304
}

@test "YAML's words for true and false are strings unless they are the core schema's" {
    quietly --user init
    printf 'a: yes\nb: on\nc: True\nd: 0o14\ne: 014\nf: ~\ng: "5"\nh: .inf\n' >"$SCRATCH/d.yaml"
    sed -i '$d' "$SCRATCH/d.yaml"
    qs --user apply "$SCRATCH/d.yaml"
    [ "$status" -eq 0 ] || show
    qs --user list --json
    json .settings.a '"yes"'
    json .settings.b '"on"'
    json .settings.c true
    json .settings.g '"5"'
    json .settings.f null
}
