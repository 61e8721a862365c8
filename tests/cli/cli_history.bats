# SPDX-License-Identifier: Apache-2.0
# log, show, diff, rollback, purge: what the history tells, and going back.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
    quietly --system set a 1 b.c x -m first
    quietly --system set a 2 -m second
    quietly --system unset b.c
}
teardown() {
    cli_teardown
}

@test "log lists generations, newest first, with who, when and what" {
    qs --system log --json
    ok
    json 'map(.generation)' '[4,3,2,1]'
    json '.[1].message' '"second"'
    json '.[1].changed' '[{"new":2,"old":1,"path":"a"}]'
    json '.[0].changed' '[{"new":null,"old":"x","path":"b.c"}]'
    json '.[0].actor | keys' '["loginUid","pid","program","uid","user"]'
    json '.[0].actor.uid' "$(id -u)"
    json '.[0].actor.user' "\"$(id -un)\""
    jq -e 'all(.[]; .time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"))' <<<"$output"
    jq -e 'all(.[]; .digest | test("^blake2b-256:[0-9a-f]{64}$"))' <<<"$output"
}

@test "each record names the digest of the one before it" {
    qs --system log --json
    jq -e '. as $all | all(range(0; length - 1); $all[.].previous == $all[. + 1].digest)' <<<"$output"
    qs --system set z 1 --json
    digest=$(jq -r .digest <<<"$output")
    qs --system log -n 1 --json
    json '.[0].content' "\"$digest\""
}

@test "log -n and log KEY narrow" {
    qs --system log -n 2 --json
    json 'map(.generation)' '[4,3]'
    qs --system log b --json
    json 'map(.generation)' '[4,2]'
    json '.[1].changed' '[{"new":"x","old":null,"path":"b.c"}]'
    qs --system log b.c.d --json
    json 'map(.generation)' '[4,2]'
    qs --system log nothing
    ok
    is ""
    qs --system log -n x
    refused 2 "-n"
    qs --system log 'a..b'
    refused 3 a..b
}

@test "log as text holds message and both sides of each change" {
    qs --system log
    ok
    [[ $output == *"system generation 3"* ]]
    [[ $output == *$'    | second\n    - a = 1\n    + a = 2'* ]]
}

@test "a message cannot write to the terminal" {
    quietly --system set a 3 -m $'one\ntwo \033[31mred'
    qs --system log -n 1
    ok
    [[ $output == *$'    | one\n    | two \\u001b[31mred'* ]]
    [[ $output != *$'\033'* ]]
    qs --system log -n 1 --json
    json '.[0].message' '"one\ntwo \u001b[31mred"'
}

@test "log without a scope puts all stores in one order" {
    quietly --defaults init
    quietly --defaults set d 1
    qs log --json
    ok
    json 'map(.scope) | unique' '["defaults","system"]'
    json 'map(select(.scope == "system").generation)' '[4,3,2,1]'
    json '.[0].scope' '"defaults"'
    qs log -n 1 --json
    json 'map(.generation)' '[2]'
    qs --user log
    refused 5
}

@test "log of no store at all is absent" {
    ROOT=$SCRATCH/empty
    mkdir "$ROOT"
    qs log
    refused 5
}

@test "show gives one record, and says what range there is" {
    qs --system show 3 --json
    ok
    json .generation 3
    json .changed '[{"new":2,"old":1,"path":"a"}]'
    qs --system show 3
    [[ $output == *"previous blake2b-256:"* ]]
    qs --system show 5
    refused 1 4
    qs --system show 0
    refused 1
    qs --system show -1
    refused 2
    qs --system show
    refused 2 GEN
}

@test "diff compares any two generations" {
    qs --system diff --json
    ok
    json . '[{"new":null,"old":"x","path":"b.c"}]'
    qs --system diff 2 --json
    json . '[{"new":2,"old":1,"path":"a"},{"new":null,"old":"x","path":"b.c"}]'
    qs --system diff 4 1
    ok
    is "- a = 2"
    qs --system diff 3 3 --exit-code
    ok
    is ""
    qs --system diff 2 3 --exit-code
    [ "$status" -eq 1 ]
    is $'- a = 1\n+ a = 2'
    qs --system diff 2 9
    refused 1 9
}

@test "diff tells a stored null from nothing, and shows locks" {
    quietly --system set n null
    quietly --system lock a
    qs --system diff 4 6 --json
    ok
    json . '[{"new":null,"newIsNull":true,"old":null,"path":"n"},{"area":"lock","new":true,"old":null,"path":"a"}]'
    qs --system diff 4 6
    is $'+ n = null\n+ lock a'
}

@test "diff in a store with one generation has nothing to compare" {
    quietly --defaults init
    qs --defaults diff
    refused 1
}

@test "rollback is a new generation with the old settings and locks" {
    quietly --system lock a
    qs --system rollback 2 -m back --json
    ok
    json .generation 6
    json .changed '["a","b.c","a"]'
    qs --system list
    is $'a = 1\nb.c = "x"'
    qs --system locks
    is ""
    qs --system log -n 1 --json
    json '.[0] | [.action, .message]' '["rollback","back"]'
    qs --system rollback 6
    ok
    [ "$(generation system)" = 6 ]
}

@test "rollback refuses what is not there, and another base" {
    qs --system rollback 99
    refused 1 99
    qs --system rollback 2 --if-generation 3
    refused 8
    qs --system rollback two
    refused 2 two
    [ "$(generation system)" = 4 ]
}

@test "rollback --dry-run prints the change and makes none" {
    qs --system rollback 2 --dry-run
    ok
    is $'- a = 2\n+ a = 1\n+ b.c = "x"'
    [ "$(generation system)" = 4 ]
}

@test "purge takes a value out of settings, history and file, and the chain still verifies" {
    quietly --system set s.deep needle-in-hay
    quietly --system set s.deep other
    grep -q needle-in-hay "$ROOT/system/data.mdb"
    qs --system purge s -m leak --json
    ok
    json .changed '["s"]'
    json .generation 7
    never grep -q needle-in-hay "$ROOT/system/data.mdb"
    qs --system fsck
    ok
    qs --system log s --json
    [[ $output != *needle* ]]
    json '[.[] | select(.generation == 5).changed[].new]' '["<purged>"]'
    qs --system get s.deep
    refused 1
    for generation in 5 6; do
        qs --system get a --at $generation
        refused 3 s.deep purged
        qs --system rollback $generation
        refused 3 s.deep
    done
    # those before it was set, and after, are whole
    qs --system get a --at 4
    ok
    is 2
    qs --system diff 2 7
    ok
    qs --system rollback 2
    ok
    qs --system list
    is $'a = 1\nb.c = "x"'
}

@test "purge of what never was fails" {
    qs --system purge never.was
    refused 1 never.was
    qs --system purge 'a..b'
    refused 3 a..b
    [ "$(generation system)" = 4 ]
}
