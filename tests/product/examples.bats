#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The examples, run as they stand. (The CI workflow is in qstress_ci.bats, the binding's README in node.bats.)
load ../support/sandbox

# In place of the suite's own: a watch that a failed test left is ended, too.
teardown() {
    [ -z "${job:-}" ] || kill "$job" 2>/dev/null || true
    rm -rf "$base"
}

# In a workspace, with the programs on PATH; the store of the suite is at $base/root and holds a policy.
prepare() {
    cd "$base/home/root/ws" || return
    PATH=$base/bin:$PATH
    root=$base/root
}

@test "the reader in C, built against the installed library, has a policy or the status that says why not" {
    prepare
    make -C "$QS_TOP" --no-print-directory -s install PREFIX="$base/usr" >/dev/null
    export PKG_CONFIG_PATH=$base/usr/lib/pkgconfig LD_LIBRARY_PATH=$base/usr/lib
    # shellcheck disable=SC2046
    gcc -std=c17 -Wall -Wextra -Werror -o reader "$QS_TOP/examples/reader.c" $(pkg-config --cflags --libs qsettings)
    run -0 ./reader "$root"
    [ "$output" = "filesystem workspace-write, network closed" ]
    run -4 ./reader "$base/nothing"
    [[ $output == "refused: no policy: "* ]]
    truncate -s 0 "$root/system/data.mdb"
    run -6 ./reader "$root"
    [[ $output == "refused: damaged: "* ]]
    [ "$(wc -l <"$QS_TOP/examples/reader.c")" -le 30 ]
}

@test "the launcher starts an agent in a session, and none without a policy" {
    prepare
    cat >agent.sh <<'END'
qsettings --root "$1" --system set tools.executionSandbox.filesystem read-only >/dev/null
qsandbox --root "$1" run -- touch "made by a command of the agent"
END
    run -0 sh "$QS_TOP/examples/launch-agent.sh" --root "$root" sh agent.sh "$root"
    [ -e "made by a command of the agent" ] # under the policy that held when the session began
    run -4 sh "$QS_TOP/examples/launch-agent.sh" --root "$base/nothing" touch started
    [ ! -e started ]
    run -2 sh "$QS_TOP/examples/launch-agent.sh"
    [[ $output == *"usage: "* ]]
}

@test "the unit is sound, and its commands publish now and on change" {
    prepare
    local unit=$base/qsettings-publish.service file=$base/published/settings.json command pre
    sed "s|/usr/bin/qsettings|$base/bin/qsettings|g; s|^Environment=.*|Environment=SETTINGS_FILE=$file|" \
        "$QS_TOP/examples/qsettings-publish.service" >"$unit"
    if command -v systemd-analyze; then
        run -0 env SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$unit"
        [ -z "$output" ]
        # it would say so of another
        sed 's/^ExecStart=/ExecStrat=/' "$unit" >"$base/wrong.service"
        run systemd-analyze verify --man=no "$base/wrong.service"
        [ "$status" -ne 0 ]
    fi
    mkdir "$base/published"
    # systemd's line as a shell's: variables of the unit, $$ for a dollar, and the root of this test after the program.
    as_shell() { sed -n "s/^$1=//p" "$unit" | sed "s|\\\${SETTINGS_FILE}|$file|; s|[$][$]|\\\\$|g; s|$base/bin/qsettings|& --root $root|g"; }
    pre=$(as_shell ExecStartPre)
    command=$(as_shell ExecStart)
    [[ $pre == "$base/bin/qsettings --root "* && $command == "$base/bin/qsettings --root "*"--exec "* ]]
    run -0 env SETTINGS_FILE="$file" sh -c "$pre"
    [ "$(jq -r .tools.executionSandbox.network "$file")" = closed ]
    # What a program that knows nothing of registered files commits is published by the watch.
    qsettings --root "$root" --system publish --remove "$file" >/dev/null
    SETTINGS_FILE=$file sh -c "exec $command" 3>&- &
    job=$!
    # It says nothing before something happens, so commits are made until the file follows.
    for i in $(seq 200); do
        qsettings --root "$root" --system set a "$i" >/dev/null
        [ "$(jq .a "$file")" = null ] || break
        sleep 0.05
    done
    [ "$(jq .a "$file")" != null ]
    qsettings --root "$root" --system set b last >/dev/null
    eventually grep -q last "$file"
    kill "$job"
}

@test "the agent in Node.js starts with its policy, runs a command under it, and ends when it changes" {
    prepare
    [ -e "$QS_BUILD/node/build/Release/qsettings.node" ] || skip "the binding is not built in $QS_BUILD"
    mkdir -p "$base/agent/node_modules"
    ln -s "$QS_BUILD/node" "$base/agent/node_modules/qsettings"
    cp "$QS_TOP/examples/agent.mjs" "$base/agent/"
    run -4 node "$base/agent/agent.mjs" "$base/nothing"
    [[ $output == "refused: QS_NO_POLICY: "* ]]
    node "$base/agent/agent.mjs" "$root" >"$base/said" 2>&1 3>&- &
    job=$!
    eventually grep -q 'the command ended with 0' "$base/said"
    qsettings --root "$root" --system set tools.approvalMode plan >/dev/null
    qsettings --root "$root" --system set tools.executionSandbox.network open >/dev/null
    wait "$job"
    cat "$base/said"
    grep -qx 'network closed, approval mode default' "$base/said"
    grep -qx 'a command of the agent' "$base/said"
    grep -q ': tools.approvalMode$' "$base/said"
    [ "$(tail -n 1 "$base/said")" = "the policy is another one now: start me anew" ]
    truncate -s 0 "$root/system/data.mdb"
    run -6 node "$base/agent/agent.mjs" "$root"
}

@test "each example has its line in the README" {
    cd "$QS_TOP/examples"
    for file in *; do
        [ "$file" = README.md ] || grep -qF "[$file]($file)" README.md
    done
}
