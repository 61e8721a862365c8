#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The manual page of the settings, and docs/migrating.md as far as it can be run.

setup() {
    ROOT=$BATS_TEST_TMPDIR/root
    mkdir "$ROOT"
    export HOME=$BATS_TEST_TMPDIR
    CASES=$QS_TOP/tests/fixtures/cases
    PATH=$QS_BUILD/bin:$PATH
}

qs() {
    qsettings --root "$ROOT" "$@"
}

@test "the manual page is what the schema table says" {
    "$QS_BUILD/tools/schema-man" | diff - "$QS_TOP/docs/man/qsettings-policy.5"
}

@test "the manual page names every key of the fact list" {
    while IFS=$'\t' read -r key _; do
        [[ $key != \#* && -n $key ]] || continue
        grep -qF "\"\\&$(sed 's/-/\\-/g' <<<"$key")\"" "$QS_TOP/docs/man/qsettings-policy.5" || { echo "$key is missing"; false; }
    done <"$CASES/qwen-keys.tsv"
}

@test "the manual page is sound mdoc" {
    command -v mandoc || skip "mandoc is not installed"
    run mandoc -Tlint -Wwarning "$QS_TOP/docs/man/qsettings-policy.5"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "moving house: a user's and an operator's file just work, and what comes out is what went in" {
    qs --user init
    qs --system init
    qs --user apply "$CASES/good/user.json"
    qs --system apply "$CASES/good/operator.jsonc"
    qs --user export --format json | jq -S . | diff - <(jq -S . "$CASES/good/user.json")
    [ "$(qs --system get '$version')" = 4 ]
    [ "$(qs --system get 'mcpServers."docs.local".env.TOKEN')" = '$DOCS_TOKEN' ]
    [ "$(qs policy --json | jq -r '.status, .policy.network, .policy.filesystem' | xargs)" = "present closed read-only" ]
}

@test "moving house: the legacy sandbox is refused for bwrap with what to write, and others are told to do nothing" {
    qs --user init
    run qs --user set tools.sandbox bwrap
    [ "$status" -eq 3 ]
    [[ $output == *tools.executionSandbox* ]]
    for word in docker podman sandbox-exec; do
        echo "{\"tools\": {\"sandbox\": \"$word\"}}" >"$BATS_TEST_TMPDIR/$word.json"
        run qs --user apply "$BATS_TEST_TMPDIR/$word.json"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *"does nothing here"* ]]
    done
    run qs policy
    [ "$status" -eq 4 ]
}

@test "moving house: a variable is stored as it is, and refused in the policy" {
    qs --user init
    qs --user set env.TOKEN '$MY_TOKEN'
    [ "$(MY_TOKEN=secret qs --user get env.TOKEN)" = '$MY_TOKEN' ]
    [ "$(MY_TOKEN=secret qs --user export --format json | jq -r .env.TOKEN)" = '$MY_TOKEN' ]
    run qs --user set tools.executionSandbox '{"filesystem": "read-only", "network": "$NET"}'
    [ "$status" -eq 3 ]
    [[ $output == *network* ]]
}
