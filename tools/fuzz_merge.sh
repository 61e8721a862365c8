#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds to the committed corpora the smallest inputs among those that fuzzing found which reach edges of the program that
# the corpus does not reach yet. Counters are left out: how often an edge was taken would keep hundreds of inputs.
# Usage: tools/fuzz_merge.sh BUILD [NAME...]
set -eu
build=$(cd "${1:?build folder}" && pwd)
shift
cd "$(dirname "$0")/.."
names=("$@")
((${#names[@]})) || for found in "$build"/corpus/*/; do names+=("$(basename "$found")"); done
for name in "${names[@]}"; do
    before=$(find "fuzz/corpus/$name" -type f | wc -l)
    LLVM_PROFILE_FILE=/dev/null "$build/bin/fuzz_$name" -merge=1 -use_counters=0 -max_len=65536 "fuzz/corpus/$name" \
        "$build/corpus/$name" >"$build/logs/$name-merge.log" 2>&1
    echo "$name: $before inputs, now $(find "fuzz/corpus/$name" -type f | wc -l)"
done
