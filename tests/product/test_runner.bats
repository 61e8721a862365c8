#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh and `make check`: what matches is run and nothing else, what failed is named at the end, and nothing passes
# that did not report.
bats_require_minimum_version 1.5.0

setup() {
    cd "$QS_TOP"
    out=$BATS_TEST_TMPDIR/out
    mkdir -p "$out/tests"
    unset QS_NO_SKIP
}

# program NAME SHELL: a test program of a build that has no other
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$out/tests/$1"
    chmod 755 "$out/tests/$1"
}

@test "a failing run lists the failures at its end, and what passed counts too" {
    program test_good 'echo "ok 1 - this"; echo "ok 2 - that"'
    program test_bad 'echo "ok 1 - fine"; echo "not ok 2 - wrong"; exit 1'
    program test_dead 'echo "ok 1 - fine"; kill -SEGV $$'
    run bash tests/run.sh "$out" '^/test_'
    echo "$output"
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "4 passed, 2 failed, 0 skipped" ]
    [ "${lines[-4]}" = "failed:" ]
    [ "${lines[-3]}" = "    test_bad: wrong" ]
    [ "${lines[-2]}" = "    test_dead: ended with status 139" ]
}

@test "a program that reports nothing has failed; a skipped test fails where everything should run" {
    program test_silent true
    run bash tests/run.sh "$out" '/test_silent$'
    [ "$status" -eq 1 ]
    program test_skips 'echo "ok 1 - this"; echo "ok 2 # SKIP no such device"'
    run bash tests/run.sh "$out" '/test_skips$'
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "1 passed, 0 failed, 1 skipped" ]
    QS_NO_SKIP=1 run bash tests/run.sh "$out" '/test_skips$'
    [ "$status" -eq 1 ]
}

@test "a pattern chooses; one that matches nothing and a build that is not there are errors" {
    program test_plan 'echo "ok 1 - this"'
    program test_planet 'echo "not ok 1 - this"; exit 1'
    run bash tests/run.sh "$out" '/test_plan$'
    [ "$status" -eq 0 ]
    run bash tests/run.sh "$out" 'test_plain'
    [ "$status" -eq 1 ]
    [[ $output == *"no test matches 'test_plain'"* ]]
    run bash tests/run.sh "$out/nowhere" '/test_plan$'
    [ "$status" -eq 2 ]
}

@test "each suite's time is left, the longest first" {
    program test_quick 'echo "ok 1 - this"'
    program test_slow 'sleep 0.3; echo "ok 1 - this"'
    run bash tests/run.sh "$out" '^/test_'
    awk '{ print NF, $3 }' "$out/test-logs/times" | diff - <(printf '3 test_slow\n3 test_quick\n')
}

@test "the suites that start first are there" {
    for name in $(sed -n '/^longest="/,/"$/p' tests/run.sh | sed 's/longest=//; s/"//g'); do
        compgen -G "tests/*/$name" || compgen -G "tests/*/$name.c" || { echo "no $name"; return 1; }
    done
}

@test "make check T= builds the test programs that match and nothing else, and is in make help" {
    make --no-print-directory help | grep -q 'make check .*T=PATTERN'
    run make --no-print-directory -n check T=/test_plan$ OUT="$out"
    [ "$status" -eq 0 ]
    [[ $output == *"$out/tests/test_plan"* && $output != *"$out/tests/test_spec"* && $output != *" tests"$'\n'* ]]
    run make --no-print-directory -n check T=test_verify OUT="$out"
    [[ $output == *"$out/tests/test_verify"* ]]
    run make --no-print-directory -n check T=qsandbox_run OUT="$out"
    [[ $output == *" tests"$'\n'* ]]
}
