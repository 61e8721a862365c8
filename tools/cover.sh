#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target once over its committed corpus and reports how many lines of its own files (fuzz/targets) that
# reaches. Usage: tools/cover.sh BUILD [NAME...]. Fails where a file stays below COVER_MIN (90) percent.
set -u
build=$(cd "${1:?build folder}" && pwd)
shift
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
least=${COVER_MIN:-90}
work=$build/cover
rm -rf "$work"
mkdir -p "$work"

# One number for a file under several targets would hide that one of them no longer reaches it: so by target and file.
cover_one() {
    local name=$1 file percent lines missed
    shift
    if ! LLVM_PROFILE_FILE=$work/$name.raw "$build/bin/fuzz_$name" -runs=0 -seed=1 "fuzz/corpus/$name" >"$work/$name.log" 2>&1; then
        echo "cover: fuzz_$name fails on its corpus; see $work/$name.log" >&2
        return 1
    fi
    llvm-profdata merge -sparse "$work/$name.raw" -o "$work/$name.data" || return 1
    local bad=0
    for file in "$@"; do
        read -r lines missed < <(llvm-cov export -summary-only -instr-profile="$work/$name.data" "$build/bin/fuzz_$name" \
            "$file" | jq -r '.data[0].files[0].summary.lines | "\(.count) \(.count - .covered)"')
        if [[ -z ${lines:-} || $lines == null || $lines == 0 ]]; then
            echo "cover: $file is not in fuzz_$name" >&2
            bad=1
            continue
        fi
        percent=$(((lines - missed) * 1000 / lines))
        printf '%-16s %-28s %4d lines  %3d.%d %%%s\n' "$name" "$file" "$lines" $((percent / 10)) $((percent % 10)) \
            "$( ((percent < least * 10)) && echo "  BELOW $least" || echo "")"
        if ((percent < least * 10)); then
            bad=1
            llvm-cov show -instr-profile="$work/$name.data" "$build/bin/fuzz_$name" "$file" >"$work/$name-${file//\//_}.txt"
        fi
    done
    return $bad
}

bad=0
targets=$(sed 's/#.*//; /^[[:space:]]*$/d' fuzz/targets)
for source in fuzz/fuzz_*.c; do
    name=${source#fuzz/fuzz_}
    name=${name%.c}
    ((${#@} == 0)) || [[ " $* " == *" $name "* ]] || continue
    read -r -a files < <(awk -v name="$name" '$1 == name {$1 = ""; print}' <<<"$targets")
    if ((${#files[@]} == 0)); then
        echo "cover: fuzz/targets does not say what $name covers" >&2
        bad=1
        continue
    fi
    [[ ${files[0]} == - ]] && continue
    cover_one "$name" "${files[@]}" || bad=1
done
exit $bad
