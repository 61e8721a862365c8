#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The mutants: each still applies, and the runner tells a killed one from a survivor, and both from what is no mutant.

bats_require_minimum_version 1.5.0

setup() {
    patches=$BATS_TEST_TMPDIR/patches
    mkdir "$patches"
    cd "$QS_TOP"
}

# mutant NAME SUITE FILE OLD NEW: one line changed
mutant() {
    printf 'suite: %s\npromise: here: this holds\n--- %s\n@@\n-%s\n+%s\n' "$2" "$3" "$4" "$5" >"$patches/$1.patch"
}

length='    digest_add_u64(digest, len);'

@test "every mutant applies, to a check in the source as it is, and names a suite and a promise" {
    run bash tools/mutants.sh --check
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(ls tests/mutants | grep -c '\.patch$')" -ge 60 ]
    [ "$(ls tests/mutants | grep -vc '\.patch$')" -eq 0 ]
    # and each promise names a document that is there
    for document in $(sed -n 's/^promise: \([^:]*\): .*/\1/p' tests/mutants/*.patch | sort -u); do
        [ -e "$document" ] || { echo "$document"; return 1; }
    done
    [ "$(grep -L '^promise: [^:]*: .' tests/mutants/*.patch)" = "" ]
}

@test "a mutant that a test notices is killed, one that none notices survives and is named" {
    grep -qxF "$length" base/digest.c
    mutant noticed test_digest base/digest.c "$length" '    digest_add_u64(digest, len + 1);'
    mutant unnoticed test_digest base/digest.c "$length" '    digest_add_u64(digest, len + 0);'
    run bash tools/mutants.sh --patches "$patches"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output =~ noticed\ +killed.*test_digest ]]
    [[ $output =~ unnoticed\ +SURVIVED ]]
    [[ $output == *"survived  unnoticed: here: this holds"* ]]
    [[ $output == *"2 mutants, 1 killed, 1 survived, 0 in error"* ]]
    rm "$patches/unnoticed.patch"
    run bash tools/mutants.sh --patches "$patches"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "what does not apply, build, or name a suite is an error, and so is a suite that fails anyway or tries nothing" {
    mutant gone test_digest base/digest.c 'no such line' 'x'
    mutant twice test_digest base/digest.c '}' '};'
    mutant idle test_digest base/digest.c "$length" "$length"
    mutant broken test_digest base/digest.c "$length" '    no C at all'
    mutant homeless test_nothing base/digest.c "$length" '    digest_add_u64(digest, len + 1);'
    mutant untried 'mutants no test has this name' base/digest.c "$length" '    digest_add_u64(digest, len + 1);'
    mutant headless test_digest base/digest.c "$length" '    digest_add_u64(digest, len + 1);'
    sed -i /^promise/d "$patches/headless.patch"
    run bash tools/mutants.sh --patches "$patches"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output =~ gone\ +error.*"not there" ]]
    [[ $output =~ twice\ +error.*"more than once" ]]
    [[ $output =~ idle\ +error.*"changes nothing" ]]
    [[ $output =~ broken\ +error.*"does not build" ]]
    [[ $output =~ homeless\ +error.*"no suite" ]]
    [[ $output =~ untried\ +error.*"fails on the source as it is" ]]
    [[ $output =~ headless\ +error ]]
    [[ $output == *"7 mutants, 0 killed, 0 survived, 7 in error"* ]]
}

@test "ten tenths are the whole, and a name that is none is an error" {
    for number in $(seq 25); do mutant "m$number" test_digest base/digest.c "$length" "    digest_add_u64(digest, len + $number);"; done
    for tenth in $(seq 20 29); do
        bash tools/mutants.sh --check --patches "$patches" --tenth "$tenth" | tail -n 1
    done >"$BATS_TEST_TMPDIR/counts"
    cat "$BATS_TEST_TMPDIR/counts"
    [ "$(awk '{ all += $1 } END { print all }' "$BATS_TEST_TMPDIR/counts")" -eq 25 ]
    run bash tools/mutants.sh --check --patches "$patches" nothing
    [ "$status" -eq 1 ]
    run bash tools/mutants.sh --no-such-option
    [ "$status" -eq 2 ]
}
