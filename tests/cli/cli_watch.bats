# SPDX-License-Identifier: Apache-2.0
# watch: each generation once, as a line, an object, or a command.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
    quietly --system set a 1
}
teardown() {
    [ -z "${WATCHER:-}" ] || kill "$WATCHER" 2>/dev/null || true
    cli_teardown
}

# watching ARGUMENT...: starts a watch whose lines are read with next.
watching() {
    mkfifo "$SCRATCH/lines"
    "$QS" --root "$ROOT" watch "$@" >"$SCRATCH/lines" 3>&- 2>"$SCRATCH/errors" &
    WATCHER=$!
    exec 7<"$SCRATCH/lines"
}
# next: the next line, in $line.
next() {
    IFS= read -r -t 20 -u 7 line || { cat "$SCRATCH/errors"; return 1; }
}

@test "--from gives what came after, once each, and goes on" {
    quietly --system set a 2
    watching --system --from 1 --json
    next
    [ "$(jq .generation <<<"$line")" = 2 ]
    next
    [ "$(jq .generation <<<"$line")" = 3 ]
    quietly --system set a 3 -m why
    next
    [ "$(jq -c '[.generation,.message,.scope,.policyChanged]' <<<"$line")" = '[4,"why","system",false]' ]
    [ "$(jq -c .changed <<<"$line")" = '[{"new":3,"old":2,"path":"a"}]' ]
}

@test "a change of the policy says that a restart is needed" {
    quietly --system set tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
    quietly --system set b 1
    watching --system --from 1
    next
    [[ $line == "system generation 2 "* && $line != *restart* ]]
    next
    [[ $line == "system generation 3 "*"policy changed: restart needed" ]]
    next
    [[ $line == "system generation 4 "* && $line != *restart* ]]
}

@test "compact, restore and a store made anew are followed" {
    quietly --system backup "$SCRATCH/b"
    watching --system --from 1 --json
    next
    quietly --system compact
    quietly --system set a 2
    next
    [ "$(jq .generation <<<"$line")" = 3 ]
    quietly --system restore "$SCRATCH/b"
    next
    [ "$(jq .generation <<<"$line")" = 4 ]
    mv "$ROOT/system" "$SCRATCH/former"
    quietly --system init
    next
    [ "$(jq -c '[.generation,.storeReplaced]' <<<"$line")" = '[1,true]' ]
}

@test "a prefix leaves other generations out" {
    quietly --system set b.c 1
    quietly --system set a 2
    watching --system --from 1 b --json
    next
    [ "$(jq .generation <<<"$line")" = 3 ]
    quietly --system set b.d 1
    next
    [ "$(jq .generation <<<"$line")" = 5 ]
}

@test "--once ends after the first" {
    qs --system watch --from 1 --once
    ok
    [[ $output == "system generation 2 "* ]]
    [ "$(wc -l <<<"$output")" -eq 1 ]
}

@test "--exec runs a command with the generation in its environment" {
    qs --system watch --from 1 --once --exec \
        'echo "$QSETTINGS_GENERATION $QSETTINGS_SCOPE $QSETTINGS_POLICY_CHANGED $QSETTINGS_STORE" >"'"$SCRATCH"'/ran"'
    ok
    [ "$(cat "$SCRATCH/ran")" = "2 system 0 $ROOT/system" ]
    qs --system watch --from 1 --once --exec 'exit 3'
    [ "$status" -eq 10 ]
    [[ $stderr == *"exit status 3"* ]]
}

@test "a command that fails is told and the watch goes on" {
    quietly --system set a 2
    watching --system --from 1 --exec 'test "$QSETTINGS_GENERATION" = 3'
    next
    next
    [[ $line == "system generation 3 "* ]]
    [[ $(cat "$SCRATCH/errors") == *"generation 2 failed: exit status 1"* ]]
}

@test "secrets are covered" {
    quietly --user init
    "$QS" --root "$ROOT" --user set security.auth.apiKey - <<<hunter2 >/dev/null
    qs --user watch --from 1 --once --json
    ok
    [[ $output == *"<secret>"* && $output != *hunter2* ]]
}

@test "without a scope all stores are watched, one that comes later too" {
    watching --json
    # the watch says nothing before something happens, so commits are made until the first is seen
    for i in $(seq 2 60); do
        quietly --system set a "$i"
        IFS= read -r -t 0.5 -u 7 line && break
    done
    [ "$(jq -r .scope <<<"$line")" = system ]
    quietly --defaults init
    for i in $(seq 60); do
        next
        [ "$(jq -r .scope <<<"$line")" = defaults ] && break
    done
    [ "$(jq -c '[.scope,.generation]' <<<"$line")" = '["defaults",1]' ]
}

@test "usage and faults" {
    qs watch --from 1 --once
    refused 2 scope
    qs --system watch --from 0 --once
    refused 2 "from 1 up"
    qs --system watch --from x
    refused 2 x
    qs --system watch 'a..b' --once
    refused 3 a..b
    truncate -s 0 "$ROOT/system/data.mdb"
    qs --system watch --from 1 --once
    refused 6
}

@test "a reader that goes away ends the watch" {
    run --separate-stderr bash -c '"$1" --root "$2" --system watch --from 1 >/dev/full' _ "$QS" "$ROOT"
    refused 10 "standard output"
}

# said TEXT: waits until the watch has said it on standard error.
said() {
    local try
    for try in {1..200}; do
        [[ $(cat "$SCRATCH/errors") == *"$1"* ]] && return 0
        kill -0 "$WATCHER" || return 1
        sleep 0.1
    done
    return 1
}

@test "damage is told once and watched on, and the restore is told with its policy" {
    quietly --system set tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
    quietly --system backup "$SCRATCH/b"
    quietly --system set tools.executionSandbox.network open
    watching --system --from 3 --json
    next
    [ "$(jq .generation <<<"$line")" = 4 ]
    dd if=/dev/zero of="$ROOT/system/data.mdb" bs=4096 count=2 conv=notrunc status=none
    said '"status":6'
    quietly --system restore "$SCRATCH/b"
    next
    [ "$(jq -c '[.generation > 4, .policyChanged, .action]' <<<"$line")" = '[true,true,"restore"]' ]
    [ "$(wc -l <"$SCRATCH/errors")" -eq 1 ]
}

@test "a store that is removed and made anew is followed, whatever is seen in between" {
    watching --system --from 1 --json
    next
    rm "$ROOT/system/data.mdb" # as rm -rf on its way
    said 'no data.mdb'
    rm -r "$ROOT/system"
    quietly --system init
    next
    [ "$(jq -c '[.generation,.storeReplaced]' <<<"$line")" = '[1,true]' ]
}

@test "--once ends with the damage that it cannot see past" {
    watching --system --once
    rm "$ROOT/system/data.mdb"
    status=0
    wait "$WATCHER" || status=$?
    [ "$status" -eq 6 ]
    [[ $(cat "$SCRATCH/errors") == *"no data.mdb"* ]]
}

@test "an older file put in place by hand is told, whatever the prefix" {
    cp "$ROOT/system/data.mdb" "$SCRATCH/old"
    quietly --system set b 1
    quietly --system set b 2
    watching --system --from 3 b --json
    next
    [ "$(jq .generation <<<"$line")" = 4 ]
    cp "$SCRATCH/old" "$ROOT/system/new"
    mv "$ROOT/system/new" "$ROOT/system/data.mdb"
    next
    [ "$(jq -c '[.generation,.historyMissing]' <<<"$line")" = '[2,true]' ]
}
