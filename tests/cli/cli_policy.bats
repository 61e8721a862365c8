# SPDX-License-Identifier: Apache-2.0
# policy: present, none, absent, damaged, untrusted, invalid; require; narrowing; schema.
load ../support/cli

PRESENT='{"filesystem":"workspace-write","network":"closed"}'

setup() {
    cli_setup
}
teardown() {
    cli_teardown
}

@test "a policy is printed in full, with its sources" {
    quietly --system init
    quietly --system set tools.executionSandbox "$PRESENT"
    qs policy --json
    ok
    json .status '"present"'
    json .policy.filesystem '"workspace-write"'
    json .policy.network '"closed"'
    for field in backend writableRoots protectedPaths hiddenPaths environment unixSockets sockets devices caches \
        limits audit; do
        jq -e ".policy | has(\"$field\")" <<<"$output" || show
    done
    jq -e '.policy.hiddenPaths | length > 5' <<<"$output"
    json '.policy.limits.wallSeconds' 600
    json '.sources | map(select(.scope == "system")) | .[0] | [.state, .generation]' '["ok",2]'
    json '.sources | map(select(.scope == "user")) | .[0].state' '"absent"'
    jq -e '.sources[] | has("storeId") and has("digest")' <<<"$output"
    jq -e '.digest | test("^blake2b-256:[0-9a-f]{64}$")' <<<"$output"
    qs policy
    ok
    [[ $output == *'filesystem = "workspace-write"'* ]]
    [[ $output == *"generation 2, sets a policy"* ]]
}

@test "an unprivileged user reads the same policy" {
    quietly --system init
    quietly --system set tools.executionSandbox "$PRESENT"
    qs policy --json
    ours=$(jq -c '[.status,.policy,.digest]' <<<"$output")
    public_qs policy --json
    [ "$status" -eq 0 ] || show
    [ "$(jq -c '[.status,.policy,.digest]' <<<"$output")" = "$ours" ]
}

@test "healthy stores without a policy are none" {
    quietly --system init
    qs policy
    refused 4
    [[ $stderr == "qsettings: policy: no policy: every store"* ]] || show
    qs policy --json
    [ "$status" -eq 4 ]
    json .status '"none"'
    jq -e 'has("reason") and has("sources") and (has("policy") | not)' <<<"$output"
    [ "$(jq -r .error.status <<<"$stderr")" = 4 ]
}

@test "no store at all is none, unless one is required" {
    qs policy
    refused 4
    qs policy --require system
    refused 5
    qs policy --require user --require system --json
    [ "$status" -eq 5 ]
    json .status '"absent"'
    qs policy --require workspace
    refused 2 workspace
}

@test "what is advised where there is no policy sets one, with a store and without" {
    local line
    for _ in 1 2; do
        qs policy
        refused 4 "no policy"
        line=${stderr#*; }
        [[ $line == "qsettings --root "* ]] || show
        line=${line//qsettings --root/\"\$QS\" --root}
        export QS
        sh -ec "$line" >/dev/null
        qs policy
        ok
        "$QS" --root "$ROOT" --"$([ "$(id -u)" -eq 0 ] && echo system || echo user)" unset tools >/dev/null
    done
}

@test "a plain user who writes the system store is told whose it is" {
    [ "$(id -u)" -eq 0 ] || skip "needs another user"
    install -m 755 "$QS" "$SCRATCH/qsettings"
    local plain=(run --separate-stderr setpriv --reuid=54321 --regid=54321 --clear-groups "$SCRATCH/qsettings" --root)
    "${plain[@]}" "$ROOT/none" --system init
    refused 7 "only root may write there"
    quietly --system init
    "${plain[@]}" "$ROOT" --system set a.b 1
    refused 7 "only root may write there"
    qs --system get a.b
    refused 1
}

@test "a message that names the key does not name it again" {
    qs --system init
    qs --system set tools.executionSandbox.network off
    [ "$stderr" = 'qsettings: set: invalid input: tools.executionSandbox.network is "off"; allowed: open|closed' ] || show
    qs get off.line
    [ "$stderr" = "qsettings: get: not found: no layer sets off.line" ] || show
    qs --system purge off.line
    refused 1 "('off.line')" # one that does not is followed by it
}

@test "a removed system store is absent while require-system stands" {
    quietly --system init
    quietly --user init
    quietly --user set tools.executionSandbox "$PRESENT"
    rm -r "$ROOT/system"
    qs policy
    refused 5
    rm "$ROOT/require-system"
    qs policy
    ok
}

@test "damage, wrong owner and mode, and a wrong stored value each have their name" {
    quietly --system init
    quietly --system set tools.executionSandbox "$PRESENT"
    cp -p "$ROOT/system/data.mdb" "$SCRATCH/good"
    truncate -s 100 "$ROOT/system/data.mdb"
    qs policy --json
    [ "$status" -eq 6 ]
    json .status '"damaged"'
    cp -p "$SCRATCH/good" "$ROOT/system/data.mdb"
    chmod 666 "$ROOT/system/data.mdb"
    qs policy --json
    [ "$status" -eq 7 ]
    json .status '"untrusted"'
    chmod 644 "$ROOT/system/data.mdb"
    qs policy
    ok
}

@test "a weaker store that is damaged refuses too, though it would lose" {
    quietly --system init
    quietly --defaults init
    quietly --system set tools.executionSandbox "$PRESENT"
    truncate -s 0 "$ROOT/defaults/data.mdb"
    qs policy
    refused 6 defaults
}

@test "each lower scope narrows and none widens" {
    quietly --system init
    quietly --user init
    quietly --system set tools.executionSandbox '{"filesystem":"workspace-write","network":"open"}' executor.limits.wallSeconds 100
    quietly --user set tools.executionSandbox '{"filesystem":"workspace-write","network":"closed"}'
    quietly --user set executor.limits.wallSeconds 50
    qs policy --json
    ok
    json '[.policy.network,.policy.filesystem,.policy.limits.wallSeconds]' '["closed","workspace-write",50]'
    quietly --user set executor.limits.wallSeconds 500
    qs policy --json
    json '.policy.limits.wallSeconds' 100
    quietly --system set tools.executionSandbox.network closed
    quietly --user set tools.executionSandbox.network open 2>/dev/null
    qs policy --json
    json '.policy.network' '"closed"'
}

@test "a policy of the defaults serves alone" {
    quietly --system init
    quietly --defaults init
    quietly --defaults set tools.executionSandbox "$PRESENT"
    qs policy --json
    ok
    json .policy.filesystem '"workspace-write"'
}

@test "the environment changes nothing and a legacy variable is told" {
    quietly --system init
    quietly --system set tools.executionSandbox "$PRESENT"
    qs policy --json
    plain=$output
    run --separate-stderr env QWEN_SANDBOX=bwrap QSETTINGS_ROOT=/nowhere QWEN_CODE_SYSTEM_SETTINGS_PATH=/dev/null \
        "$QS" --root "$ROOT" policy --json
    [ "$status" -eq 0 ]
    [ "$output" = "$plain" ]
    [[ $(jq -r .warning.message <<<"$stderr") == *QWEN_SANDBOX=bwrap*tools.executionSandbox* ]]
    run --separate-stderr env QWEN_SANDBOX=docker "$QS" --root "$ROOT" policy
    [[ $stderr == *"QWEN_SANDBOX=docker"* ]]
}

@test "a policy takes no variable and no unknown field" {
    quietly --system init
    qs --system set tools.executionSandbox '{"filesystem":"$FS","network":"closed"}'
    refused 3 filesystem
    qs --system set tools.executionSandbox '{"filesystem":"read-only","network":"closed","paths":[]}'
    refused 3 paths
    qs --system set executor.nope 1
    refused 3 executor
    [ "$(generation system)" = 1 ]
}

@test "policy takes no scope and no operand" {
    qs --system policy
    refused 2 policy
    qs policy x
    refused 2
}

# ---- schema ----

@test "schema describes a key" {
    run --separate-stderr "$QS" schema tools.executionSandbox.network
    ok
    [[ $output == tools.executionSandbox.network* ]]
    [[ $output == *closed* ]]
    run --separate-stderr "$QS" schema --json tools.executionSandbox.network
    ok
    json '.keys | length' 1
    json '.keys[0].allowed' '["open","closed"]'
}

@test "schema knows every row of the table of keys" {
    run --separate-stderr "$QS" schema --json
    ok
    known=$(jq -r '.keys[].path' <<<"$output")
    while IFS=$'\t' read -r path _; do
        [[ $path == '#'* ]] && continue
        grep -qxF -- "$path" <<<"$known" || { echo "not in the schema: $path"; false; }
    done <"$CASES/qwen-keys.tsv"
}

@test "schema prints a JSON Schema document" {
    run --separate-stderr "$QS" schema --json-schema
    ok
    json '."$schema"' '"https://json-schema.org/draft/2020-12/schema"'
    run --separate-stderr "$QS" schema --json-schema tools
    refused 2 json-schema
}

@test "schema of an unknown key" {
    run --separate-stderr "$QS" schema tools.aprovalMode
    refused 1 tools.approvalMode
    run --separate-stderr "$QS" schema 'a..b'
    refused 3 a..b
}
