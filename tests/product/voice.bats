#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One voice: every program answers help, completion and a wrong command line in the same way.
load ../support/cli

setup() {
    cli_setup
    BIN=$(dirname "$QS")
    PROGRAMS=$(cd "$BIN" && ls | grep -vx qsandbox-shim)
}
teardown() {
    cli_teardown
}

# Commands of a program, without those that every program has: $shared.
shared="completion help version"
commands() {
    "$BIN/$1" help --json | jq -r '.[].name'
}

@test "all programs are tried" {
    for program in qsettings qsandbox qstress; do
        grep -qx $program <<<"$PROGRAMS"
    done
}

@test "every command of every program has help, in three spellings, with its options" {
    for program in $PROGRAMS; do
        [ "$(commands $program | wc -l)" -ge 7 ]
        for command in $(commands $program); do
            run --separate-stderr "$BIN/$program" help "$command"
            ok
            [[ $output == "$program $command: "*"usage: $program "*"$command"* ]] || show
            [ "$(wc -L <<<"$output")" -le 92 ] || show
            page=$output
            for option in --help -h; do
                run --separate-stderr "$BIN/$program" "$command" $option
                ok
                is "$page"
            done
            diff <("$BIN/$program" help "$command" --json | jq -r '.[0].options[] | "--" + .' | sort) \
                <(grep -oE '^  (-., )?--[a-z-]+' <<<"$page" | grep -oE -- '--[a-z-]+$' | sort)
            diff <("$BIN/$program" __complete -- "$command" -- | cut -f1 | sort) \
                <(grep -oE '^  (-., )?--[a-z-]+' <<<"$page" | grep -oE -- '--[a-z-]+$' | sort)
        done
        for word in $shared; do commands $program | grep -qx $word; done
    done
}

@test "help, --help, -h and nothing name every command" {
    for program in $PROGRAMS; do
        run --separate-stderr "$BIN/$program"
        [[ $status -eq 2 && -z $output ]] || show
        for command in $(commands $program); do [[ $stderr == *" $command"* ]]; done
        for option in help --help -h; do
            run --separate-stderr "$BIN/$program" $option
            ok
            [[ $output == "$program: "*$'\n\nusage: '"$program "* ]] || show
            for command in $(commands $program); do [[ $output == *$'\n'"  $command "* ]] || show; done
        done
        for option in version --version; do
            run --separate-stderr "$BIN/$program" $option
            ok
            [[ $output == "$program "[0-9]* ]]
        done
    done
}

# wrong STATUS PROGRAM WORD... => MESSAGE: exactly this on standard error, and nothing else
wrong() {
    local status_wanted=$1 words=()
    shift
    while [ "$1" != "=>" ]; do
        words+=("$1")
        shift
    done
    run --separate-stderr "$BIN/${words[0]}" "${words[@]:1}"
    [[ $status -eq $status_wanted && -z $output && $stderr == "$2" ]] || show
}

@test "a wrong command line is refused in the same words, with the same status" {
    for program in $PROGRAMS; do
        wrong 2 $program --bogus "=>" "$program: unknown option '--bogus'; see '$program --help'"
        wrong 2 $program bogus "=>" "$program: unknown command 'bogus'; see '$program --help'"
        wrong 2 $program hlep "=>" "$program: unknown command 'hlep'; did you mean 'help'? See '$program --help'"
        wrong 2 $program help bogus "=>" "$program: help: unknown command 'bogus'; see '$program help --help'"
        wrong 2 $program help --jsn "=>" \
            "$program: help: unknown option '--jsn'; did you mean '--json'? See '$program help --help'"
        wrong 2 $program version x "=>" "$program: version: unexpected argument 'x'; see '$program version --help'"
        wrong 2 $program help --json=1 "=>" "$program: help: option '--json' takes no value; see '$program help --help'"
        wrong 2 $program help --color "=>" \
            "$program: help: option '--color' needs auto|always|never; see '$program help --help'"
        wrong 2 $program help --color blue "=>" \
            "$program: help: option '--color' takes 'auto', 'always' or 'never', not 'blue'; see '$program help --help'"
        wrong 2 $program completion "=>" \
            "$program: completion: bash|zsh|fish is missing; usage: $program completion [OPTIONS] bash|zsh|fish"
        wrong 2 $program completion csh "=>" \
            "$program: completion: takes 'bash', 'zsh' or 'fish', not 'csh'; see '$program completion --help'"
    done
    wrong 2 qsettings get a b "=>" "qsettings: get: unexpected argument 'b'; see 'qsettings get --help'"
    wrong 2 qsandbox audit --verif "=>" \
        "qsandbox: audit: unknown option '--verif'; did you mean '--verify'? See 'qsandbox audit --help'"
    # where 2 may be the status of what was to be run
    wrong 125 qsandbox run --bogus "=>" \
        "qsandbox: run: status 2 (usage): unknown option '--bogus'; see 'qsandbox run --help'"
}

@test "no long option may be abbreviated" {
    tried=0
    for program in $PROGRAMS; do
        while read -r command option; do
            short=--${option%?}
            "$BIN/$program" "$command" --help | grep -qE -- "^  (-., )?$short( |\$)" && continue
            run --separate-stderr "$BIN/$program" "$command" $short
            [[ $status -eq 2 || $status -eq 125 ]] || show
            kind=
            [ "$status" -eq 2 ] || kind="status 2 (usage): "
            [[ -z $output && $stderr == "$program: $command: $kind"@(unknown option|takes no option)" '$short'"* ]] || show
            tried=$((tried + 1))
        done < <("$BIN/$program" help --json | jq -r '.[] | .name as $n | .options[] | "\($n) \(.)"' | sort -u -k2)
    done
    [ $tried -ge 90 ]
}

@test "errors are JSON with --json" {
    for program in $PROGRAMS; do
        run --separate-stderr "$BIN/$program" help --json bogus
        [[ $status -eq 2 && -z $output ]] || show
        [ "$(jq -r '.error.status' <<<"$stderr")" = 2 ]
        [[ $(jq -r .error.message <<<"$stderr") == "unknown command 'bogus'; see '$program help --help'" ]]
    done
}

@test "an advice can be pasted: it has the root and the scope of the command" {
    mkdir "$SCRATCH/a b"
    for scope in system defaults user; do
        for command in "set a b" "edit" "log" "fsck" "diff"; do
            run --separate-stderr "$QS" --root "$SCRATCH/a b" --$scope $command
            [[ $status -eq 5 && $stderr == *"'qsettings --root $SCRATCH/a\\ b --$scope init'"* ]] || show
        done
        advice=$(grep -oE "qsettings --root [^']+ init" <<<"$stderr" | head -1)
        bash -c "PATH=$BIN:\$PATH; $advice" >/dev/null
        [ -s "$SCRATCH/a b/$scope/data.mdb" ]
    done
}
