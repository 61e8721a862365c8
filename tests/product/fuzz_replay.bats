#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every fuzz target over its corpus, under the compiler of this build; and what keeps that from becoming empty.

setup() {
    bats_require_minimum_version 1.5.0
    dir=$(mktemp -d /tmp/fuzz-replay-XXXXXX)
    cd "$QS_TOP" || exit 1
}

teardown() {
    rm -rf "$dir"
}

names() {
    local source
    for source in fuzz/fuzz_*.c; do
        source=${source#fuzz/fuzz_}
        echo "${source%.c}"
    done
}

@test "every_target_holds_its_invariant_over_its_corpus" {
    local name failed=0
    for name in $(names); do
        if ! "$QS_BUILD/tests/replay/$name" "fuzz/corpus/$name" >"$dir/out" 2>&1; then
            echo "$name:"
            tail -20 "$dir/out"
            failed=1
        fi
    done
    [ "$failed" = 0 ]
}

@test "every_target_is_built_has_a_small_corpus_and_says_what_it_covers" {
    local name count=0
    for name in $(names); do
        echo "$name"
        [ -x "$QS_BUILD/tests/replay/$name" ]
        [ -n "$(find "fuzz/corpus/$name" -type f)" ]
        [ "$(find "fuzz/corpus/$name" -type f | wc -l)" -le 200 ]
        [ "$(du -sb "fuzz/corpus/$name" | cut -f1)" -le 400000 ]
        grep -qE "^$name +[a-z-]" fuzz/targets
        count=$((count + 1))
    done
    [ "$count" -gt 0 ]
    # and nothing is left of a target that is gone
    for name in fuzz/corpus/*; do
        [ -e "fuzz/fuzz_${name##*/}.c" ]
    done
    for name in $(sed 's/#.*//' fuzz/targets | awk 'NF {print $1}'); do
        [ -e "fuzz/fuzz_$name.c" ]
    done
    local file
    for file in $(sed 's/#.*//' fuzz/targets | awk 'NF {$1 = ""; print}'); do
        [ "$file" = - ] || [ -e "$file" ]
    done
}

@test "a_missing_or_an_empty_corpus_fails" {
    local replay
    replay=$QS_BUILD/tests/replay/$(names | head -1)
    run -1 "$replay" "$dir/nowhere"
    [[ $output == *"No such file"* ]]
    mkdir "$dir/empty"
    run -1 "$replay" "$dir/empty"
    [[ $output == *"no file in it"* ]]
    run -1 "$replay"
    [[ $output == *"usage"* ]]
}

# The driver itself, with a target that has a bug in it.
@test "the_driver_ends_with_the_crash_and_names_the_input" {
    cat >"$dir/target.c" <<'EOF'
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 2 && data[0] == 'b')
        abort();
    return 0;
}
EOF
    gcc -std=c17 -D_GNU_SOURCE -o "$dir/replay" "$dir/target.c" fuzz/replay.c
    mkdir "$dir/corpus"
    echo good >"$dir/corpus/1"
    run -0 "$dir/replay" "$dir/corpus"
    [[ $output == *"1 inputs"* ]]
    echo bad >"$dir/corpus/2"
    run "$dir/replay" "$dir/corpus"
    [ "$status" = 134 ]
    [[ ${lines[-1]} == *"corpus/2: 4 bytes"* || $output == *"corpus/2: 4 bytes"* ]]
}

@test "the_driver_runs_a_targets_own_mutator" {
    cat >"$dir/target.c" <<'EOF'
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == '!')
        exit(3);
    return 0;
}
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8 == 0 && size)
        data[0] = '!';
    return size;
}
EOF
    gcc -std=c17 -D_GNU_SOURCE -o "$dir/replay" "$dir/target.c" fuzz/replay.c
    mkdir "$dir/corpus"
    echo good >"$dir/corpus/1"
    run "$dir/replay" "$dir/corpus"
    [ "$status" = 3 ]
}
