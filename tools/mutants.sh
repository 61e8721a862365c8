#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Breaks one promised check at a time, in a copy of the source, and asks whether the suite that must notice does.
#
#   tools/mutants.sh [--check] [--patches DIR] [--tenth N] [NAME...]
#
# NAME: only these. --tenth N: every tenth one, from N on (0 to 9; a larger number counts modulo 10). --check: only
# whether each patch is well formed and applies; nothing is built. Ends with 1 if a mutant survives, or is in error.
#
# A mutant is a file NAME.patch: lines "suite: SUITE [FILTER]" (a program of tests, or a bats suite and a regular
# expression for its tests), "promise: FILE: TEXT" and, where wanted, "env: NAME=VALUE"; then for each file "--- FILE",
# and for each place "@@" and lines that begin with " ", "-" or "+". There are no line numbers: the lines " " and "-"
# must occur exactly once.
set -u
unset LC_ALL MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS
export LANG=C.UTF-8
top=$(cd "$(dirname "$0")/.." && pwd)
patches=$top/tests/mutants
tenth=
build=1
names=()
while (($#)); do
    case $1 in
    --check) build=0 ;;
    --patches) patches=$(cd "$2" && pwd) && shift ;;
    --tenth) tenth=$(($2 % 10)) && shift ;;
    -*) echo "mutants: $1: no such option" >&2 && exit 2 ;;
    *) names+=("$1") ;;
    esac
    shift
done
if ((${#names[@]} == 0)); then
    for patch in "$patches"/*.patch; do names+=("$(basename "$patch" .patch)"); done
    if [[ $tenth ]]; then
        picked=()
        for ((i = tenth; i < ${#names[@]}; i += 10)); do picked+=("${names[i]}"); done
        names=("${picked[@]+"${picked[@]}"}")
    fi
fi

place=${TMPDIR:-/tmp}
[[ ! -w /srv ]] || place=/srv # what lies in /tmp cannot be seen inside a sandbox
scratch=$(mktemp -d "$place/qs-mutants.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch" # some suites try things as another user
copy=$scratch/source
mkdir "$copy"
if ((build)); then
    (cd "$top" && git ls-files -z --cached --others --exclude-standard ':!fuzz/corpus' | while IFS= read -r -d '' f; do
        [[ -e $f || -L $f ]] && printf '%s\0' "$f"
    done | tar --null -T - -cf -) | tar -C "$copy" -xf - || exit 1
    ln -s "$top/fuzz/corpus" "$copy/fuzz/corpus"
    # Objects are taken along, so that a mutant costs one compilation.
    mkdir -p "$copy/build/obj"
    for part in bin lib tools obj/release; do
        [[ ! -d $top/build/$part ]] || cp -a "$top/build/$part" "$copy/build/$part" || exit 1
    done
else
    cd "$top" && sed -n 's/^--- //p' "$patches"/*.patch | sort -u | while read -r f; do
        [[ ! -e $f ]] || cp --parents -t "$copy" "$f" || exit 1
    done || exit 1
fi

header() { sed -n "/^---/q; s/^$2: *//p" "$patches/$1.patch"; }

# apply NAME: changes the copy, or says why not. What it changed stands in $scratch/changed.
apply() {
    : >"$scratch/changed"
    LC_ALL=C awk -v top="$copy/" -v list="$scratch/changed" '
        function fail(why) { print why; failed = 1; exit 1 }
        function put(   line, text, at, rest) {
            if (old == "" && new == "") return
            if (old == new) fail("changes nothing")
            text = "\n"
            while ((getline line < (top file)) > 0) text = text line "\n"
            close(top file)
            at = index(text, "\n" old)
            if (old == "" || !at) fail(file ": the lines are not there")
            rest = substr(text, at + 1)
            if (index(rest, "\n" old)) fail(file ": the lines are there more than once")
            print file >> list
            printf "%s%s%s", substr(text, 2, at - 1), new, substr(rest, length(old) + 1) > (top file)
            close(top file)
            old = new = ""
            applied++
        }
        !body && !/^---/ { if (!/^(suite|promise|env): ./) fail("no header line: " $0); seen[$1]++; next }
        /^--- / { put(); body = 1; file = $2; next }
        /^@@/ { put(); next }
        /^[ -]/ { old = old substr($0, 2) "\n" }
        /^[ +]/ { new = new substr($0, 2) "\n" }
        !/^[ +-]/ { fail("no line of a patch: " $0) }
        END {
            if (failed) exit 1
            put()
            if (seen["suite:"] != 1 || seen["promise:"] != 1) { print "not one suite: and one promise:"; exit 1 }
            if (!applied) { print "changes nothing"; exit 1 }
        }' "$patches/$1.patch"
}

restore() {
    while IFS= read -r f; do cp "$top/$f" "$copy/$f"; done <"$scratch/changed"
}

# suite_file SUITE: its source
suite_file() {
    local f
    for f in "$top"/tests/*/"$1".bats "$top"/tests/*/"$1".c; do [[ -e $f ]] && echo "$copy${f#"$top"}" && return 0; done
    return 1
}

# make_for FILE: builds what the suite runs. A warning about what a mutant no longer uses is none of ours.
make_for() {
    local goals=(all)
    [[ $1 == *.bats ]] || goals=("build/tests/$(basename "$1" .c)")
    if grep -q 'QS_BUILD"*/tests/replay' "$1"; then goals+=(tests); fi
    while read -r wanted; do goals+=("build/$wanted"); done < <(
        grep -oE 'QS_BUILD"?/tests/[a-z_]+(\.so)?' "$1" | grep -v /replay | sed 's/.*tests/tests/' | sort -u)
    make -s -j"$(nproc)" -C "$copy" WERROR= "${goals[@]}" >"$scratch/make.log" 2>&1
}

# run_suite FILE FILTER ENV: status of the suite; its output in $scratch/suite.log
run_suite() {
    local run=(bats --tap)
    [[ ! $2 ]] || run+=(--filter "$2")
    run+=("$1")
    [[ $1 == *.bats ]] || run=("$copy/build/tests/$(basename "$1" .c)")
    (cd "$copy" && env ${3:+"$3"} QS_BUILD="$copy/build" QS_TOP="$copy" CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 300 "${run[@]}") \
        >"$scratch/suite.log" 2>&1 </dev/null
}

# sound FILE FILTER ENV: on the source as it is the suite passes, and tries something. Asked once for each.
declare -A judged=()
sound() {
    local key="$1|$2|$3"
    if [[ ! ${judged[$key]:-} ]]; then
        if make_for "$1" && run_suite "$@" && grep -E '^ok ' "$scratch/suite.log" | grep -qviE '# skip'; then
            judged[$key]=yes
        else
            judged[$key]=no
            cat "$scratch/make.log" "$scratch/suite.log" 2>/dev/null | tail -n 20 | sed 's/^/    /'
        fi
    fi
    [[ ${judged[$key]} == yes ]]
}

killed=0
survivors=()
errors=()
say() { printf '%-32s %-9s %s\n' "$1" "$2" "${3:-}"; }
error() {
    say "$1" error "$2"
    errors+=("$1: $2")
}

# try NAME FILE FILTER ENV: what came of one mutant, which is in the copy now.
try() {
    local name=$1 start status failed
    start=$(date +%s)
    if ! make_for "$2"; then
        grep -m 3 error "$scratch/make.log" | sed 's/^/    /'
        error "$name" "does not build"
        return
    fi
    run_suite "${@:2}"
    status=$?
    failed=$(grep -m 1 '^not ok' "$scratch/suite.log" | sed 's/^not ok [0-9]* *-* *//')
    if ((status == 0)); then
        survivors+=("$name: $(header "$name" promise)")
        say "$name" SURVIVED "$(header "$name" suite)"
    else
        killed=$((killed + 1))
        say "$name" killed "$(($(date +%s) - start)) s, $(basename "$2"): ${failed:-status $status}"
    fi
}

one() {
    local name=$1 suite filter variable file why
    [[ -e $patches/$name.patch ]] || { error "$name" "no such mutant"; return; }
    read -r suite filter < <(header "$name" suite)
    variable=$(header "$name" env)
    if ! file=$(suite_file "$suite"); then
        error "$name" "no suite $suite"
    elif ((build)) && ! sound "$file" "$filter" "$variable"; then
        error "$name" "$suite fails on the source as it is"
    else
        if ! why=$(apply "$name"); then
            error "$name" "$why"
        elif ((build)); then
            try "$name" "$file" "$filter" "$variable"
        fi
        restore
    fi
}

for name in "${names[@]}"; do one "$name"; done
((${#survivors[@]} == 0)) || printf 'survived  %s\n' "${survivors[@]}"
((${#errors[@]} == 0)) || printf 'error     %s\n' "${errors[@]}"
if ((!build)); then
    echo "${#names[@]} mutants, ${#errors[@]} in error"
else
    echo "${#names[@]} mutants, $killed killed, ${#survivors[@]} survived, ${#errors[@]} in error"
fi
((${#names[@]} > 0 && ${#survivors[@]} == 0 && ${#errors[@]} == 0))
