#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Elements of arrays: a longer key never replaces what is above it; add and remove; numbers that do not fit.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
}
teardown() { cli_teardown; }

value() { "$QS" --root "$ROOT" --system get "$1" --json | jq -c .value; }

@test "a key into an array changes that element alone" {
    quietly --system set l '["x","y"]'
    for key in l.0 /l/0 'l[0]'; do
        qs --system set "$key" "z$key"
        ok
        [ "$(value l)" = "[\"z$key\",\"y\"]" ]
        [ "$(value "$key")" = "\"z$key\"" ]
    done
    quietly --system set 'l[+]' w
    quietly --system set l.3 v
    quietly --system set l.- u
    [ "$(value l)" = '["zl[0]","y","w","v","u"]' ]
    quietly --system unset 'l[1]' l.0
    [ "$(value l)" = '["w","v","u"]' ]
}

@test "a key deeper inside an array is found there" {
    quietly --system set o.p '[{"n":1,"q":[1,2]}]'
    quietly --system set o.p.0.n 5
    quietly --system set o.p.0.q.1 7
    [ "$(value o.p)" = '[{"n":5,"q":[1,7]}]' ]
    quietly --system unset o.p.0.n
    [ "$(value o.p)" = '[{"q":[1,7]}]' ]
    qs --system set o.p.0.q.1.x 1
    refused 3 "nothing inside"
    qs --system set o.p.0.none.x 1
    refused 3 "does not exist"
    qs --system unset o.p.3
    refused 1 "no such element"
    qs --system get o.p.3
    refused 1
    [ "$(value o.p)" = '[{"q":[1,7]}]' ]
}

@test "an index beyond the end is refused, and so is a word" {
    quietly --system set l '["x"]'
    for key in l.2 l.01 l.a 'l[9]'; do
        qs --system set "$key" z
        refused 3 "1 elements" add
    done
    [ "$(value l)" = '["x"]' ]
}

@test "nothing is set below a scalar" {
    quietly --system set s text t true n 1 z null
    for key in s t n z; do
        before=$(value $key)
        qs --system set $key.a.b 1
        refused 3 "there is nothing below it" "unset $key first"
        [ "$(value $key)" = "$before" ]
    done
    quietly --system set e '{}'
    quietly --system set e.a 1 # an empty object is an object
    [ "$(value e)" = '{"a":1}' ]
}

@test "an element of a known array that is not set is refused" {
    for key in 'permissions.deny[0]' permissions.deny.0 'mcpServers.x.args[1]'; do
        qs --system set "$key" 'Bash(rm)'
        refused 3 "is an array, and it is not set" "add ${key%[.[][0-9]*}"
    done
    qs --system list
    [ -z "$output" ]
}

@test "add is a union, remove takes one away, both under the lock" {
    qs --system add permissions.deny 'Bash(rm)' 'Bash(x)' 'Bash(rm)'
    ok
    [ "$(value permissions.deny)" = '["Bash(rm)","Bash(x)"]' ]
    qs --system add permissions.deny 'Bash(x)'
    ok
    [[ $output == "system: unchanged, generation 2"* ]]
    qs --system add permissions.deny 'Bash(x)' --if-absent
    refused 8 "is there already"
    qs --system remove permissions.deny 'Bash(rm)'
    ok
    [ "$(value permissions.deny)" = '["Bash(x)"]' ]
    qs --system remove permissions.deny 'Bash(rm)'
    refused 1 "no such element"
    qs --system add permissions.deny b --dry-run
    ok
    [ "$(value permissions.deny)" = '["Bash(x)"]' ]
    local i
    for i in $(seq 12); do "$QS" --root "$ROOT" --system add many "e$i" >/dev/null & done
    wait
    [ "$(value many | jq length)" = 12 ]
}

@test "add judges by the schema, and refuses what is no array" {
    quietly --system add l 1 true text '{"a":1}'
    [ "$(value l)" = '[1,true,"text",{"a":1}]' ]
    quietly --system add permissions.allow 1 # strings only
    [ "$(value permissions.allow)" = '["1"]' ]
    quietly --system add l 1 --type string
    [ "$(value l)" = '[1,true,"text",{"a":1},"1"]' ]
    quietly --system set s text
    qs --system add s x
    refused 3 "not an array"
    qs --system add tools.approvalMode x
    refused 3
    qs --system add l
    refused 2
}

@test "numbers that do not fit are refused, text that only looks like one is text" {
    for number in 9223372036854775808 -9223372036854775809 1e400; do
        qs --system set v "$number"
        refused 3 "--type string"
    done
    for text in 1.2.3 2026-11-30 007 +5 1e 1. .5; do
        qs --system set v "$text"
        [ "$status" -eq 0 ]
        [ "$(value v)" = "\"$text\"" ]
    done
    quietly --system set v 9223372036854775808 --type string
    [ "$(value v)" = '"9223372036854775808"' ]
    quietly --system set mcpServers.x.command 9223372036854775808 # a string by the schema
    [ "$(value mcpServers.x.command)" = '"9223372036854775808"' ]
}

@test "what looks like JSON and is not is stored with a note" {
    qs --system set v '"unterminated'
    [ "$status" -eq 0 ]
    [[ $stderr == *"looks like JSON but is not"* ]]
    qs --system set v @scope/name
    refused 1 "@FILE reads a file"
}

@test "check judges by scope" {
    echo '{"security":{"auth":{"apiKey":"k"}}}' >"$SCRATCH/k.json"
    qs check "$SCRATCH/k.json"
    ok
    qs --user check "$SCRATCH/k.json"
    ok
    qs --system check "$SCRATCH/k.json"
    refused 3 "is a secret"
    qs --system apply "$SCRATCH/k.json"
    refused 3 "is a secret"
}
