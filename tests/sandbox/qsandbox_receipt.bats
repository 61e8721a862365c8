#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qsandbox receipt: what it says, and what makes a new one due.
load ../support/sandbox

setup() {
    sandbox_setup
    ws=$base/home/ann/ws
    printf '#!/bin/sh\necho "agent 1.2"\n' >"$base/bin/agent"
    chmod 755 "$base/bin/agent"
    # without a wall limit, and so without the check that takes three seconds
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"limits":{"wallSeconds":0}}'
    as ann git init -q "$ws"
}

receipt() { # as the plain user in her workspace
    as ann sh -c 'cd ~/ws && exec "$@"' sh timeout -k 1 60 "$qsandbox" --root "$base/root" receipt "$@"
}

@test "a receipt has every field, and promotes when nothing is missing" {
    run -0 --separate-stderr receipt --json --owner Ann --rollback "apt install old" --host-group ci --agent "$base/bin/agent"
    [ -z "$stderr" ]
    jq -e 'keys == ["agent","backend","bwrap","checkout","checks","date","devices","distribution","enforcement","executor",
        "format","hostGroup","hostSockets","kernel","network","outsideWriteErrno","owner","policyDigest","reasons",
        "repository","result","rollback","worktreeCanary","writableRoots"]' <<<"$output"
    jq -e --arg ws "$ws" '.repository == $ws and .writableRoots == [{path: $ws, why: "the workspace"}]' <<<"$output"
    jq -e --arg kernel "$(uname -r)" '.kernel == $kernel and .checkout == "normal" and .network == "closed"' <<<"$output"
    jq -e '.result == "promote" and .reasons == [] and .owner == "Ann" and .rollback == "apt install old" and
        .hostGroup == "ci" and .outsideWriteErrno == "EROFS" and .worktreeCanary == "pass"' <<<"$output"
    jq -e '(.checks | length) == 35 and .checks."wall-limit".result == "not-applicable" and
        all(.checks | del(."wall-limit")[]; .result == "pass")' <<<"$output"
    jq -e --arg version "$(bwrap --version)" --arg agent "$base/bin/agent" '.bwrap.version == $version and
        .bwrap.path == "/usr/bin/bwrap" and .agent.version == "agent 1.2" and .agent.path == $agent' <<<"$output"
    jq -e --arg path "$(realpath "$base/bin/qsandbox")" '.executor.path == $path and
        all(.executor, .bwrap, .agent; .digest | startswith("blake2b-256:"))' <<<"$output"
    jq -e '.policyDigest | startswith("blake2b-256:")' <<<"$output"
    # held against itself, as YAML: nothing is due
    receipt --yaml --owner Ann --rollback "apt install old" --host-group ci --agent "$base/bin/agent" >"$base/old.yaml"
    run -0 --separate-stderr receipt --json --owner Ann --rollback "apt install old" --host-group ci \
        --agent "$base/bin/agent" --compare "$base/old.yaml"
    jq -e '.changes == [] and .due == false and .result == "promote"' <<<"$output"
    # and so without what was given then: it is taken from there
    run -0 --separate-stderr receipt --json --agent "$base/bin/agent" --compare "$base/old.yaml"
    jq -e '.changes == [] and .due == false and .result == "promote"' <<<"$output"
}

@test "without an owner or a rollback command it holds" {
    run -0 --separate-stderr receipt --json --rollback "apt install old"
    jq -e '.result == "hold" and (.reasons | length) == 1 and .owner == null' <<<"$output"
    run -0 --separate-stderr receipt --json --owner Ann
    jq -e '.result == "hold" and (.reasons | length) == 1 and .rollback == null' <<<"$output"
}

@test "where a check fails it says rollback, and which" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"limits":{"wallSeconds":0},"environment":{"pass":["*"],"secrets":[]}}'
    run -0 --separate-stderr receipt --json --owner Ann --rollback "apt install old"
    jq -e '.result == "rollback" and .reasons == ["the check env-secret-absent failed"]' <<<"$output"
}

@test "names alone make no new receipt due; all else does" {
    receipt --json >"$base/old.json"
    run -0 --separate-stderr receipt --json --owner Ann --host-group ci --rollback x --compare "$base/old.json"
    jq -e '.due == false and ([.changes[].field] | sort) == ["hostGroup","owner","result","rollback"]' <<<"$output"

    jq '.kernel = "1.0" | .checks."git-pinned".result = "fail" | .bwrap.version = "bubblewrap 9" | .enforcement.network =
        "open" | .date = "2000-01-01T00:00:00.000Z" | .checks."no-new-privs".detail = "other words"' "$base/old.json" \
        >"$base/changed.json"
    run -1 --separate-stderr receipt --json --compare "$base/changed.json"
    jq -e '.due and .old == "2000-01-01T00:00:00.000Z" and ([.changes[].field] | sort) ==
        ["bwrap.version","checks.git-pinned.result","enforcement.network","kernel"]' <<<"$output"
    jq -e 'any(.changes[]; . == {field: "checks.git-pinned.result", old: "fail", new: "pass"})' <<<"$output"

    policy '{"filesystem":"workspace-write","network":"closed"}' '{"limits":{"wallSeconds":0,"openFiles":500}}'
    run -1 --separate-stderr receipt --compare "$base/old.json"
    [[ $output == *"field: policyDigest"* && $output == *"due: true"* ]]
}

@test "an agent's program is found in PATH, may have no version, and leaves nothing running" {
    printf '#!/bin/sh\necho first\nsleep 987654 &\nsleep 987654\n' >"$base/bin/stays"
    chmod 755 "$base/bin/stays"
    PATH=$base/bin:$PATH run -0 --separate-stderr receipt --json --agent stays
    jq -e --arg path "$base/bin/stays" '.agent.path == $path and .agent.version == "first"' <<<"$output"
    eventually nothing_of_ann
    run -0 --separate-stderr receipt --json --agent true --filesystem read-only
    jq -e '.agent.path == "/usr/bin/true" and .writableRoots == [] and .worktreeCanary == "not-applicable"' <<<"$output"
}

@test "what cannot be had is refused before anything is tried" {
    run -2 receipt --compare "$base/nothing.json"
    [[ $output == "qsandbox: receipt: there is no file "* ]]
    echo '{"format":"other"}' >"$base/other.json"
    run -3 receipt --compare "$base/other.json"
    [[ $output == *"not a receipt"* ]]
    echo '{"format":' >"$base/broken.json"
    run -3 receipt --compare "$base/broken.json"
    run -2 receipt --agent "$base/nothing"
    [[ $output == *"there is no program"* ]]
    run -2 receipt --json --yaml
    run -3 receipt --owner $'\xff'
    [[ $output == *"not UTF-8"* ]]
    "$base/bin/qsettings" --root "$base/root" --system apply --replace - <<<'{}' >/dev/null
    run -4 receipt
}
