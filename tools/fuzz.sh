#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs fuzz targets for so many seconds each, one line for each. Usage: tools/fuzz.sh BUILD SECONDS [NAME...]
# New inputs go to BUILD/corpus/NAME, what crashed to BUILD/found/NAME-*; the committed corpus is only read.
set -u
build=$(cd "${1:?build folder}" && pwd)
seconds=${2:?seconds}
shift 2
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
mkdir -p "$build/found" "$build/logs"
names=("$@")
((${#names[@]})) || for source in fuzz/fuzz_*.c; do
    name=${source#fuzz/fuzz_}
    names+=("${name%.c}")
done

bad=0
for name in "${names[@]}"; do
    if ! [[ -x $build/bin/fuzz_$name ]]; then
        echo "fuzz: there is no target '$name'" >&2
        bad=1
        continue
    fi
    if [[ -z $(ls "fuzz/corpus/$name" 2>/dev/null) ]]; then
        echo "fuzz: fuzz/corpus/$name is missing or empty" >&2
        bad=1
        continue
    fi
    mkdir -p "$build/corpus/$name"
    log=$build/logs/$name.log
    dictionary=()
    [[ -e fuzz/$name.dict ]] && dictionary=("-dict=fuzz/$name.dict")
    LLVM_PROFILE_FILE=/dev/null "$build/bin/fuzz_$name" -max_total_time="$seconds" -timeout=25 -print_final_stats=1 -seed=1 \
        -artifact_prefix="$build/found/$name-" ${dictionary[@]+"${dictionary[@]}"} \
        "$build/corpus/$name" "fuzz/corpus/$name" >"$log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    new=$(sed -n 's/^stat::new_units_added: *//p' "$log")
    edges=$(grep -oE ' cov: [0-9]+' "$log" | tail -1 | tr -dc 0-9)
    printf '%-16s %12s runs  %6s edges  %5s new inputs  %s\n' "$name" "${runs:-?}" "${edges:-?}" "${new:-?}" \
        "$( ((code)) && echo "FAILED, status $code" || echo clean)"
    if ((code)); then
        bad=1
        grep -E '^(==|SUMMARY|.*ERROR:|artifact_prefix|.*runtime error)' "$log" | head -8 | sed 's/^/    /'
        tail -5 "$log" | sed 's/^/    /'
    fi
done
exit $bad
