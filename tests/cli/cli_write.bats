# SPDX-License-Identifier: Apache-2.0
# init, require, set, unset, apply, lock, unlock: what they store, print and refuse.
load ../support/cli

setup() {
    cli_setup
}
teardown() {
    cli_teardown
}

# ---- init ----

@test "init creates a system store that everyone may read and that must exist" {
    qs --system init
    ok
    [[ $output == *"$ROOT/system"* ]]
    [ "$(stat -c %a "$ROOT/system/data.mdb")" = 644 ]
    [ "$(stat -c %a "$ROOT/system/writer.lock")" = 600 ]
    [ ! -e "$ROOT/system/lock.mdb" ]
    [ -e "$ROOT/require-system" ]
}

@test "init of a user store keeps others out" {
    qs --user init --json
    ok
    json .scope '"user"'
    json .generation 1
    json .requireStore false
    [ "$(stat -c %a "$ROOT/user/data.mdb")" = 600 ]
}

@test "init leaves the requirement out when asked" {
    qs --system init --no-require --json
    ok
    json .requireStore false
    [ ! -e "$ROOT/require-system" ]
}

@test "a second init changes nothing and says that the store exists" {
    quietly --system init
    quietly --system set a.b 1
    qs --system init
    refused 8 "$ROOT/system"
    qs --system get a.b
    is 1
}

@test "a umask of 077 or 000 changes no mode of a store" {
    for mask in 077 000; do
        (umask "$mask" && "$QS" --root "$ROOT" --system init --no-require && "$QS" --root "$ROOT" --system set a 1) >/dev/null
        [ "$(stat -c %a "$ROOT/system")" = 755 ]
        [ "$(stat -c %a "$ROOT/system/data.mdb")" = 644 ]
        [ "$(stat -c %a "$ROOT/system/writer.lock")" = 600 ]
        (umask "$mask" && "$QS" --root "$ROOT" --user init && "$QS" --root "$ROOT" --user set a 1) >/dev/null
        [ "$(stat -c %a "$ROOT/user/data.mdb")" = 600 ]
        rm -r "$ROOT/system" "$ROOT/user"
    done
}

# ---- who may write, and where ----

@test "root must name a scope for each command that writes" {
    [ "$(id -u)" -eq 0 ] || skip "this is about root"
    quietly --user init
    echo '{}' >"$SCRATCH/d.json"
    for command in init require "set a 1" "unset a" "apply $SCRATCH/d.json" edit "lock a" "unlock a" "rollback 1" \
        "purge a" repair compact "restore $SCRATCH/d.json"; do
        qs $command
        refused 7 --system
    done
    [ "$(generation user)" = 1 ]
}

@test "root must name a scope for a command that reads one store" {
    [ "$(id -u)" -eq 0 ] || skip "this is about root"
    for command in "show 1" diff fsck "backup $SCRATCH/b"; do
        qs $command
        refused 2 --system
    done
    [ ! -e "$SCRATCH/b" ]
}

@test "a plain user writes the own store without naming it" {
    install -d -o 65534 -m 700 "$SCRATCH/own"
    ROOT=$SCRATCH/own
    public_qs init
    ok
    public_qs set a.b 1 --json
    ok
    json .scope '"user"'
}

@test "another's store is read but not written" {
    quietly --system init
    quietly --system set a 1
    public_qs --system get a
    ok
    is 1
    public_qs --system set a 2
    refused 7
    public_qs --system get a
    is 1
}

@test "a store that does not exist is absent for writers too, and the message names init" {
    qs --system set a 1
    refused 5 "init"
    [ ! -e "$ROOT/system" ]
}

# ---- set ----

@test "set prints what is stored, with its type, and the generation" {
    quietly --system init
    qs --system set x.a abc x.b 5 x.c true x.d null x.e '[1,2]' x.f 1.50 x.g '{"h":1}' x.s '"5"'
    ok
    [[ $output == *'x.a = "abc" (string)'* ]]
    [[ $output == *'x.b = 5 (integer)'* ]]
    [[ $output == *'x.c = true (boolean)'* ]]
    [[ $output == *'x.d = null (null)'* ]]
    [[ $output == *'x.e = [1,2] (array)'* ]]
    [[ $output == *'x.f = 1.5 (real)'* ]]
    [[ $output == *'x.g = {"h":1} (object)'* ]]
    [[ $output == *'x.s = "5" (string)'* ]]
    [[ $output == *"generation 2"* ]]
}

@test "set gives scope, generation, digest and the changed paths as JSON" {
    quietly --system init
    qs --system set a.b 1 'm."x.y"' 2 --json
    ok
    json 'keys' '["changed","digest","generation","scope"]'
    json .scope '"system"'
    json .generation 2
    json .changed '["a.b","m.\"x.y\""]'
    [[ $(jq -r .digest <<<"$output") =~ ^blake2b-256:[0-9a-f]{64}$ ]]
}

@test "a key may be a JSON Pointer" {
    quietly --system init
    quietly --system set /m/x.y/z 7
    qs --system get 'm."x.y".z'
    ok
    is 7
}

@test "all pairs of a set are one generation, or nothing is stored" {
    quietly --system init
    quietly --system set a 1 b 2 c 3
    [ "$(generation system)" = 2 ]
    qs --system set a 9 tools null
    refused 3 tools
    [ "$(generation system)" = 2 ]
    qs --system get a
    is 1
}

@test "a value that is stored already makes no generation" {
    quietly --system init
    quietly --system set a 1
    qs --system set a 1 --json
    ok
    json .generation 2
    json .changed '[]'
    [ "$(generation system)" = 2 ]
}

@test "--type decides where the guess would be another" {
    quietly --system init
    qs --system set a 5 --type string
    ok
    [[ $output == *'a = "5" (string)'* ]]
    qs --system set a '{"b":1}' --type string
    ok
    [[ $output == *'(string)'* ]]
    qs --system set a abc --type json
    refused 3 a
    qs --system set a 1 --type yaml
    refused 2 yaml
}

@test "the schema decides between JSON and string" {
    quietly --user init
    qs --user set proxy 8080
    ok
    [[ $output == *'proxy = "8080" (string)'* ]]
    qs --user set telemetry.enabled false
    ok
    [[ $output == *'telemetry.enabled = false (boolean)'* ]]
    qs --user set telemetry.enabled maybe
    refused 3 telemetry.enabled
}

@test "a value comes from standard input or a file, without its last newline" {
    quietly --system init
    run --separate-stderr "$QS" --root "$ROOT" --system set a - <<<"from input"
    ok
    qs --system get a
    is "from input"
    printf 'two\nlines\n\n' >"$SCRATCH/v"
    quietly --system set b "@$SCRATCH/v"
    qs --system get b --json
    json .value '"two\nlines\n"'
    qs --system set c "@$SCRATCH/none"
    refused 1 "$SCRATCH/none"
    qs --system set d - e -
    refused 2 "standard input"
}

@test "what looks like broken JSON is stored as a string, and said" {
    quietly --system init
    qs --system set a '{"b":'
    [ "$status" -eq 0 ]
    [[ $stderr == *"looks like JSON"* ]]
    qs --system get a
    is '{"b":'
}

@test "a value that is not UTF-8 is refused" {
    quietly --system init
    qs --system set a $'\xff'
    refused 3 UTF-8
    printf 'a\0b' >"$SCRATCH/z"
    qs --system set a "@$SCRATCH/z"
    refused 3 "zero byte"
}

@test "a key path with a fault is refused with its place" {
    quietly --system init
    for key in '' 'a..b' '.a' 'a.' '"a' "a.$(printf 'x%.0s' {1..600})"; do
        qs --system set "$key" 1
        refused 3
    done
    [ "$(generation system)" = 1 ]
}

@test "near misses of known keys are refused with the right name" {
    quietly --system init
    qs --system set tools.ExecutionSandbox.network closed
    refused 3 executionSandbox
    qs --system set '"tools.executionSandbox"' '{}'
    refused 3 tools.executionSandbox
    qs --system set tools.executionSandbox.network off
    refused 3 "open|closed" tools.executionSandbox.network
}

@test "the whole scope must fit the schema at commit" {
    quietly --system init
    qs --system set tools.executionSandbox.network closed
    refused 3 filesystem
    qs --system set tools.executionSandbox.network closed tools.executionSandbox.filesystem read-only
    ok
    qs --system unset tools.executionSandbox.network
    refused 3 network
    [ "$(generation system)" = 2 ]
}

@test "--if-generation refuses another base" {
    quietly --system init
    qs --system set a 1 --if-generation 1
    ok
    qs --system set a 2 --if-generation 1
    refused 8 2
    qs --system get a
    is 1
    qs --system set a 2 --if-generation x
    refused 2 if-generation
    qs --system set a 2 --if-generation 0
    refused 2 if-generation
}

@test "a message is kept in the history" {
    quietly --system init
    quietly --system set a 1 -m "ops-114: why"
    qs --system log -n 1 --json
    json '.[0].message' '"ops-114: why"'
}

@test "a waiting writer is told who holds the lock" {
    quietly --system init
    hold_lock "$ROOT/system/writer.lock"
    qs --system --wait 0.2 set a 1
    busy=$status said=$stderr
    qs --system list # readers do not care
    release_lock
    ok
    [ "$busy" -eq 9 ]
    [[ $said == "qsettings: "*": busy: "* ]]
    [ "$(generation system)" = 1 ]
    qs --system set a 1
    ok
}

@test "a negative number is a value, not an option" {
    quietly --system init
    qs --system set a -5 b -1.5e3 c -- -x
    ok
    qs --system get a
    is -5
    qs --system get c
    is -x
}

@test "missing and odd arguments are usage errors" {
    quietly --system init
    qs --system set
    refused 2 KEY
    qs --system set a
    refused 2 VALUE
    qs --system set a 1 b
    refused 2 b
    qs --system unset
    refused 2 KEY
}

# ---- secrets ----

@test "secrets are refused where everyone may read" {
    for scope in system defaults; do
        quietly --$scope init
        qs --$scope set security.auth.apiKey - <<<"hunter2"
        refused 3 security.auth.apiKey
        never grep -q hunter2 "$ROOT/$scope/data.mdb"
        [[ $stderr != *hunter2* ]]
    done
}

@test "a secret on the command line is stored with a warning, from standard input without" {
    quietly --user init
    qs --user set security.auth.apiKey hunter2
    [ "$status" -eq 0 ]
    [[ $stderr == *"process list"* ]]
    [[ $output == *"<secret>"* ]]
    [[ $output != *hunter2* ]]
    run --separate-stderr "$QS" --root "$ROOT" --user set security.auth.apiKey - <<<"hunter3"
    ok
    qs --user get security.auth.apiKey
    is hunter3
}

@test "the text that stands for a secret is no value" {
    quietly --user init
    run --separate-stderr "$QS" --root "$ROOT" --user set security.auth.apiKey - <<<"hunter2"
    "$QS" --root "$ROOT" --user export >"$SCRATCH/e.json"
    never grep -q hunter2 "$SCRATCH/e.json"
    qs --user apply "$SCRATCH/e.json"
    refused 3 security.auth.apiKey reveal
    qs --user get security.auth.apiKey
    is hunter2
}

# ---- a stronger scope ----

@test "set warns when a stronger scope overrides the value, and not when it does not" {
    quietly --system init
    quietly --user init
    quietly --system set a.b 1
    qs --user set a.b 2
    [ "$status" -eq 0 ]
    [[ $stderr == *"a.b: the system scope overrides it"* ]]
    qs --user set a.c 2
    ok
    qs --user set a.b 1
    ok
}

@test "set warns when a lock of another scope makes the value count for nothing" {
    quietly --defaults init
    quietly --user init
    quietly --defaults set a.b 1
    quietly --defaults lock a
    qs --user set a.b 2
    [ "$status" -eq 0 ]
    [[ $stderr == *"the defaults scope locks it"* ]]
}

@test "an element that merely joins a union is no override" {
    quietly --system init
    quietly --user init
    quietly --system set permissions.deny '["A"]'
    qs --user set permissions.deny '["B"]'
    ok
}

# ---- unset ----

@test "unset removes a key and all below it" {
    quietly --system init
    quietly --system set a.b.c 1 a.b.d 2 a.e 3
    qs --system unset a.b --json
    ok
    json .changed '["a.b.c","a.b.d"]'
    qs --system list
    is "a.e = 3"
}

@test "unset of what is not there fails, and of one among several stores nothing" {
    quietly --system init
    quietly --system set a 1
    qs --system unset nope
    refused 1 nope
    qs --system unset a nope
    refused 1 nope
    qs --system get a
    is 1
}

# ---- apply ----

@test "apply merges objects and replaces arrays and scalars" {
    quietly --system init
    quietly --system set a.keep 1 a.list '[1,2]' a.change old
    echo '// why
    {"a": {"list": [3], /* new */ "change": "new"}}' >"$SCRATCH/d.json"
    qs --system apply "$SCRATCH/d.json" --json
    ok
    json .changed '["a.change","a.list"]'
    qs --system get a
    [ "$(jq -c . <<<"$output")" = '{"change":"new","keep":1,"list":[3]}' ]
}

@test "apply --replace makes the scope the document" {
    quietly --system init
    quietly --system set a 1 b 2
    run --separate-stderr "$QS" --root "$ROOT" --system apply --replace --format yaml - <<<"b: 3"
    ok
    qs --system list
    is "b = 3"
}

@test "apply of what is there makes no generation" {
    quietly --system init
    quietly --system apply "$CASES/good/operator.jsonc"
    qs --system apply "$CASES/good/operator.jsonc" --json
    ok
    json .generation 2
    json .changed '[]'
}

@test "apply --dry-run prints the change and makes none" {
    quietly --system init
    quietly --system set a 1 b 2
    echo '{"a": 5, "c": 6}' >"$SCRATCH/d.json"
    qs --system apply --dry-run "$SCRATCH/d.json"
    ok
    is $'- a = 1\n+ a = 5\n+ c = 6'
    qs --system apply --dry-run --replace "$SCRATCH/d.json" --json
    ok
    json .dryRun true
    json '.changed' '[{"new":5,"old":1,"path":"a"},{"new":null,"old":2,"path":"b"},{"new":6,"old":null,"path":"c"}]'
    [ "$(generation system)" = 2 ]
}

@test "apply --dry-run judges the whole scope as a commit would" {
    quietly --system init
    quietly --system set tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
    echo '{"x": 1}' >"$SCRATCH/d.json"
    echo '{"tools": {"executionSandbox": {"network": "closed"}}}' >"$SCRATCH/bad.json"
    qs --system apply --dry-run "$SCRATCH/d.json"
    ok
    qs --system apply --dry-run --replace "$SCRATCH/bad.json"
    refused 3 filesystem
}

@test "apply names file, line and column of a fault and stores nothing" {
    quietly --system init
    printf '{\n  "a": 1,\n  "b": }\n' >"$SCRATCH/d.json"
    qs --system apply "$SCRATCH/d.json"
    refused 3 "$SCRATCH/d.json:3:"
    qs --system apply "$SCRATCH/d.json" --json
    refused_json 3
    [ "$(jq -c '[.error.file,.error.line]' <<<"$stderr")" = "[\"$SCRATCH/d.json\",3]" ]
    run --separate-stderr "$QS" --root "$ROOT" --system apply - <<<'{"tools": null}'
    refused 3 "standard input:1:" tools
    [ "$(generation system)" = 1 ]
}

@test "apply of a missing file, a directory and an unknown format fail" {
    quietly --system init
    qs --system apply "$SCRATCH/none.json"
    refused 1 none.json
    qs --system apply "$SCRATCH"
    refused 10 "$SCRATCH"
    echo '{}' >"$SCRATCH/d.json"
    qs --system apply "$SCRATCH/d.json" --format toml
    refused 2 toml
}

@test "apply keeps a Qwen Code file with its version, and notes a legacy sandbox" {
    quietly --user init
    echo '{"$version": 4, "tools": {"sandbox": "docker"}}' >"$SCRATCH/d.json"
    qs --user apply "$SCRATCH/d.json"
    [ "$status" -eq 0 ]
    [[ $stderr == *tools.sandbox* ]]
    qs --user get '"$version"'
    is 4
}

# ---- locks ----

@test "lock, locks and unlock" {
    quietly --system init
    quietly --defaults init
    qs --system lock tools.x permissions --json
    ok
    json .changed '["permissions","tools.x"]'
    quietly --defaults lock a
    qs locks --json
    ok
    json 'map(.key + "@" + .scope)' '["permissions@system","tools.x@system","a@defaults"]'
    qs --system unlock tools.x
    ok
    qs --system locks
    ok
    is "permissions (system)"
    qs --system unlock tools.x
    refused 1 tools.x
    qs --user locks
    refused 5
}

# ---- require ----

@test "require --off lets the system store be missing again" {
    quietly --system init
    qs --system require --off --json
    ok
    json .requireStore false
    [ ! -e "$ROOT/require-system" ]
    qs --system require
    ok
    [ -e "$ROOT/require-system" ]
    qs --user require
    [ "$status" -eq 2 ]
}

@test "require --policy is a commit" {
    quietly --system init
    qs --system require --policy --json
    ok
    json .generation 2
    qs policy
    refused 4
    qs --system require --policy --off
    ok
    qs --system log -n 2 --json
    json 'map(.changed[0].area)' '["flag","flag"]'
}

# ---- output ----

@test "a report that cannot be printed is an error, and says that the work was done" {
    quietly --system init
    run --separate-stderr bash -c '"$1" --root "$2" --system set a 1 >/dev/full' _ "$QS" "$ROOT"
    refused 11 "generation 2 is stored, but the report was not printed" "standard output"
    qs --system get a
    is 1
    run --separate-stderr bash -c '"$1" --root "$2" --system get a >&-' _ "$QS" "$ROOT"
    refused 10 "standard output"
}

@test "output never lands in a store when the standard descriptors are closed" {
    quietly --system init
    run --separate-stderr bash -c '"$1" --root "$2" --system set a 1 <&- >&- 2>&-' _ "$QS" "$ROOT"
    [ "$status" -eq 11 ]
    qs --system fsck
    ok
    qs --system get a
    is 1
}
