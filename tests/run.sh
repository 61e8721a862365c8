#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test program and every bats suite of a build and counts. Usage: tests/run.sh OUT [PATTERN]
# QS_NO_SKIP=1: a skipped test fails the run (set by .ci/run, where everything can run).
set -u
out=$(cd "${1:?build folder}" && pwd)
pattern=${2:-}
unset LC_ALL
export LANG=C.UTF-8 # what is shown and counted hangs on it; a bare machine sets none
top=$(cd "$(dirname "$0")/.." && pwd)
logs=$out/test-logs
rm -rf "$logs"
mkdir -p "$logs"

run_one() {
    local out=$1 logs=$2 top=$3 what=$4 name start end code
    name=$(basename "$what")
    start=$(date +%s)
    if [[ $what == *.bats ]]; then
        (cd "$top" && QS_BUILD=$out QS_TOP=$top timeout 900 bats --tap "$what") >"$logs/$name.log" 2>&1
    else
        (cd "$top" && QS_BUILD=$out QS_TOP=$top CMOCKA_MESSAGE_OUTPUT=TAP timeout 900 "$what") >"$logs/$name.log" 2>&1
    fi
    code=$?
    end=$(date +%s)
    local passed failed skipped
    skipped=$(grep -cE '^(ok .*|1\.\.0 )# (SKIP|skip)' "$logs/$name.log")
    passed=$(grep -E '^ok ' "$logs/$name.log" | grep -cvE '# (SKIP|skip)')
    failed=$(grep -cE '^not ok ' "$logs/$name.log")
    # A program that died, or reported nothing, has failed whatever it counted.
    if ((code != 0 && failed == 0)) || ((passed + failed + skipped == 0)); then
        failed=$((failed + 1))
        echo "not ok - $name ended with status $code" >>"$logs/$name.log"
    fi
    echo "$passed $failed $skipped $((end - start)) $name" >"$logs/$name.count"
    printf '%-34s %4d passed  %d failed  %d skipped  %3d s\n' "$name" "$passed" "$failed" "$skipped" "$((end - start))"
    if ((failed)); then
        tail -c 3000 "$logs/$name.log" | sed 's/^/    /'
    fi
    grep -E '^(ok .*|1\.\.0 )# (SKIP|skip)' "$logs/$name.log" | sed 's/^/    skipped: /'
    return 0
}
export -f run_one

{
    for t in "$out"/tests/test_*; do [[ -x $t && $t != *.so ]] && echo "$t"; done
    for t in "$top"/tests/*/*.bats; do [[ -e $t ]] && echo "$t"; done
} | grep -E "$pattern" | xargs -P 2 -I{} bash -c 'run_one "$@"' _ "$out" "$logs" "$top" {}

read -r passed failed skipped < <(cat "$logs"/*.count | awk '{p+=$1; f+=$2; s+=$3} END {print p+0, f+0, s+0}')
echo "$passed passed, $failed failed, $skipped skipped"
if ((passed == 0 || failed > 0)); then exit 1; fi
if [[ ${QS_NO_SKIP:-} == 1 ]] && ((skipped > 0)); then
    echo "qsettings: tests were skipped where everything should run" >&2
    exit 1
fi
