#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qsandbox verify, as root and as a plain user. That each check can fail is shown by test_verify.
load ../support/sandbox

no_wall='{"limits":{"wallSeconds":0}}' # without the check that takes three seconds

setup() {
    sandbox_setup
    policy '{"filesystem":"workspace-write","network":"closed"}' "$no_wall"
}

at_home() { # at_home USER COMMAND...
    local user=$1
    shift
    as "$user" sh -c 'cd && exec "$@"' sh "$@"
}

verify() { # verify USER [OPTIONS]
    local user=$1
    shift
    at_home "$user" timeout -k 1 60 "$qsandbox" --root "$base/root" verify "$@"
}

@test "verify passes, gives every check, and leaves nothing behind" {
    local before names
    policy '{"filesystem":"workspace-write","network":"closed"}' '{}'
    before=$(tree)
    names='["workspace-write","outside-write-erofs","protected-hooks","git-pinned",
        "hidden-unreadable","env-secret-absent","env-loader-absent","network-interfaces","network-connect","dns-closed",
        "unix-path-connect","unix-abstract-connect","unix-socketpair-works","pid-namespace","outside-signal",
        "group-signal","user-namespace-denied","mount-denied","fd-not-inherited","tiocsti-denied","io-uring-denied",
        "dev-minimal","store-not-visible","journal-not-writable","capabilities-none","no-new-privs","wall-limit",
        "policy-not-visible","worktree-commit","crossing-config","crossing-index","crossing-link","crossing-ref","crossing-hook","crossing-repository"]'
    for user in root ann; do
        run -0 --separate-stderr verify $user --json
        [ -z "$stderr" ]
        jq -e --argjson names "$names" '[.checks[].name] == $names' <<<"$output"
        jq -e '.result == "pass" and all(.checks[]; .result == "pass" and (.detail | length > 0))' <<<"$output"
        jq -e 'keys == ["checks", "result"] and all(.checks[]; keys == ["detail", "name", "result"])' <<<"$output"
    done
    [ "$(tree)" = "$before" ]
    [ -z "$(find "$base" -path '*/caches/*' -print -quit)" ]
}

@test "the table has a line for each check and a last word" {
    run -0 verify ann --filesystem read-only
    [ "${#lines[@]}" -eq 36 ]
    [[ ${lines[0]} == "not-applicable  workspace-write  "* ]]
    [[ ${lines[35]} == "pass: "* ]]
}

@test "a policy that lets secrets through fails, and the exit status says so" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"limits":{"wallSeconds":0},"environment":{"pass":["*"],"secrets":[]}}'
    for user in root ann; do
        run -1 --separate-stderr verify $user --json
        jq -e '.result == "fail" and [.checks[] | select(.result == "fail") | .name] == ["env-secret-absent"]' <<<"$output"
    done
}

@test "with an open network what the policy opens is not applicable" {
    policy '{"filesystem":"read-only","network":"open"}' '{"limits":{"wallSeconds":0},"audit":"off"}'
    run -0 --separate-stderr verify ann --json
    jq -e '[.checks[] | select(.result == "not-applicable") | .name] == ["workspace-write","network-interfaces",
        "network-connect","dns-closed","journal-not-writable","wall-limit","worktree-commit","crossing-config",
        "crossing-index","crossing-link","crossing-ref","crossing-hook","crossing-repository"]' <<<"$output"
    # a flag narrows it
    run -0 --separate-stderr verify ann --json --network closed
    jq -e 'any(.checks[]; .name == "network-connect" and .result == "pass")' <<<"$output"
}

@test "in a workspace that is named, nothing changes" {
    local before
    for user in root ann; do
        at_home $user sh -c 'cd ws && git init -q . && echo one >file && mkdir -p .git/hooks && echo h >.git/hooks/h'
    done
    before=$(tree)
    for user in root ann; do
        run -0 verify $user --workspace "$base/home/$user/ws"
    done
    [ "$(tree)" = "$before" ]
    run -2 verify ann --workspace "$base/home/nowhere"
    [[ $output == "qsandbox: verify: "* ]]
}

@test "in a workspace without a checkout the checks of one are not applicable" {
    run -0 --separate-stderr verify ann --json --workspace "$base/home/ann/ws"
    jq -e '[.checks[] | select(.result == "not-applicable") | .name] ==
        ["protected-hooks","git-pinned","wall-limit"]' <<<"$output"
}

@test "a program that cannot be seen inside sends a copy of itself" {
    elsewhere=$(mktemp -d /tmp/qsandbox-verify.XXXXXX)
    chmod 755 "$elsewhere"
    cp "$qsandbox" "$elsewhere/qsandbox"
    qsandbox=$elsewhere/qsandbox
    run -0 verify ann
    rm -r "$elsewhere"
    [ -z "$(find "$base/home" -name '.qsandbox-verify*')" ]
}

@test "without a policy, or with a damaged store, there is no result" {
    local before
    truncate -s 100 "$base/root/system/data.mdb"
    before=$(tree)
    run -6 verify ann
    [[ $output == "qsandbox: verify: damaged: "* ]]
    run -6 verify ann --json
    [ "$(jq .error.status <<<"$output")" = 6 ]
    rm -r "$base/root/system"
    run -5 verify ann
    "$base/bin/qsettings" --root "$base/root" --system init --no-require >/dev/null
    run -4 verify root
    [ "$(tree | grep -v '^./root')" = "$(grep -v '^./root' <<<"$before")" ]
}

@test "ended by a signal it still removes what it made" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{}' # long enough to be hit
    at_home ann sh -c 'echo $$ >pid && exec "$@"' sh "$qsandbox" --root "$base/root" verify >"$base/log" 2>&1 3>&- &
    local job=$! i status=0
    for i in $(seq 200); do
        compgen -G "$base/home/ann/.qsandbox-verify.*" >/dev/null && break
        sleep 0.02
    done
    compgen -G "$base/home/ann/.qsandbox-verify.*"
    kill -TERM "$(cat "$base/home/ann/pid")"
    wait $job || status=$?
    [ $status -eq 143 ]
    [ -z "$(find "$base/home" -name '.qsandbox-verify*')" ]
    refute grep -qsE "^Uid:.*\b$UID_ANN\b" /proc/[0-9]*/status
}

@test "where the home cannot be written the decoys lie elsewhere, and the state that a run needs is missed by name" {
    chown root:root "$base/home/ann"
    chmod 755 "$base/home/ann"
    run -7 verify ann
    [[ $output == "qsandbox: verify: untrusted or not permitted: "*"cannot make .local"* ]]
    policy '{"filesystem":"workspace-write","network":"closed"}' \
        '{"limits":{"wallSeconds":0},"audit":"off","caches":"none"}'
    run -0 --separate-stderr verify ann --json
    jq -e 'any(.checks[]; .name == "outside-write-erofs" and .detail == "a new file in / failed with EROFS")' <<<"$output"
    [ -z "$(find /tmp /var/tmp -maxdepth 1 -name '.qsandbox-verify*' -uid $UID_ANN)" ]
}

@test "a check that cannot be tried under the policy's limits has failed, and says why" {
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"limits":{"wallSeconds":0,"processes":1}}'
    run -1 --separate-stderr verify ann --json
    jq -e 'any(.checks[]; .result == "fail" and (.detail | startswith("not tried: ")))' <<<"$output"
}

@test "a workspace whose name has quotes and line ends is tried; one that is not UTF-8 is refused by name" {
    at_home ann mkdir "a \"b\"
c" $'\xff'
    run -0 verify ann --workspace "$base/home/ann/a \"b\"
c"
    run -3 verify ann --workspace "$base/home/ann/"$'\xff'
    [[ $output == *"not UTF-8"* ]]
}

@test "usage" {
    run -2 verify ann something
    run -2 verify ann --clear
    run -0 verify ann --help
    [[ $output == *"verify [--workspace DIR]"* ]]
}
