#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Completion: the candidates of the three programs, and the scripts in the real shells.
load ../support/cli

setup() {
    cli_setup
    BIN=$(dirname "$QS")
}
teardown() {
    cli_teardown
}

# candidates PROGRAM WORD...: for the last word, without their descriptions
candidates() {
    local program=$1
    shift
    "$BIN/$program" __complete -- "$@" 2>"$SCRATCH/err" | cut -f1
    [ ! -s "$SCRATCH/err" ]
}

# offers WORD... => EXPECTED...: exactly these, of qsettings
offers() {
    local words=()
    while [ "$1" != "=>" ]; do
        words+=("$1")
        shift
    done
    shift
    diff <(printf '%s\n' "$@" | sed '/^$/d') <(candidates qsettings "${words[@]}") || { echo "for: ${words[*]}"; return 1; }
}

@test "commands are offered with what they do" {
    run --separate-stderr "$QS" __complete -- exp
    ok
    is $'explain\tshow each layer\'s value, which one wins, and why\nexport\tprint the settings as one document'
    offers zzz "=>"
    diff <("$QS" help --json | jq -r '.[].name' | sort) <(candidates qsettings "" | sort)
    diff <("$QS" help --json | jq -r '.[].name' | sort) <(candidates qsettings help "" | sort)
}

@test "each command's options are offered, and no other's" {
    for command in $("$QS" help --json | jq -r '.[].name'); do
        "$QS" help "$command" | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+$' | sort >"$SCRATCH/takes"
        candidates qsettings "$command" -- | sort | diff "$SCRATCH/takes" - || { echo "for $command"; false; }
    done
    offers get --re "=>"
    offers list --re "=>" --reveal
    offers list -- --re "=>" # after -- there are none
}

@test "qsandbox's and qstress's options are those of their help" {
    for program in qsandbox qstress; do
        count=0
        for command in $("$BIN/$program" --help | sed -nE 's/^  ([a-z]+) .*/\1/p' | grep -vx completion); do
            {
                "$BIN/$program" "$command" --help | grep -oE '^  --[a-z-]+' | tr -d ' '
                echo --help
            } | sort >"$SCRATCH/takes"
            candidates $program "$command" -- | sort | diff "$SCRATCH/takes" - || { echo "for $program $command"; false; }
            candidates $program "" | grep -qx "$command"
            count=$((count + 1))
        done
        [ "$count" -ge 4 ]
        is_choice=$(candidates $program completion "" | tr '\n' ' ')
        [ "$is_choice" = "bash zsh fish " ]
    done
    [ "$(candidates qsandbox run --network "")" = closed ]
    [ "$(candidates qsandbox --root /x run --workspace "")" = ":dirs" ]
    [ "$(candidates qsandbox run --json "")" = ":commands" ]
    [ "$(candidates qsandbox run -- ls "")" = ":files" ]
    [ "$(candidates qsandbox run -- ls -)" = ":files" ] # a command's option, not ours
    [ "$(candidates qstress powercut --fs=x)" = "--fs=xfs" ]
    [ "$(candidates qstress race --html "")" = ":files" ]
    [ -z "$(candidates qstress nothing --)" ]
}

@test "values of options: scopes, formats, kinds, files" {
    offers --scope "" "=>" system user defaults
    offers --scope=sy "=>" --scope=system
    offers export --format "" "=>" json yaml
    offers set --type s "=>" string
    offers completion "" "=>" bash zsh fish
    offers publish --for "" "=>" qwen
    offers --root "" "=>" :dirs
    offers get --workspace "" "=>" :files
    offers get --default "" "=>"
    run --separate-stderr "$QS" __complete -- --root=x
    is $':dirs\t7'
    for command in apply check publish replace backup restore; do
        offers $command "" "=>" :files
        offers $command x "" "=>" # one file
    done
}

@test "live keys are those of the store that the line names" {
    quietly --system init
    quietly --system set zsys.one 1 'zsys."x.y"' 2
    quietly --user init
    quietly --user set zuser 1
    mkdir "$SCRATCH/other"
    "$QS" --root "$SCRATCH/other" --user init >/dev/null
    "$QS" --root "$SCRATCH/other" --user set zother 1 >/dev/null
    offers --root "$ROOT" get z "=>" zsys.one 'zsys."x.y"' zuser
    offers --root "$ROOT" --system get z "=>" zsys.one 'zsys."x.y"'
    offers --root "$ROOT" get --scope=user z "=>" zuser
    offers --root="$ROOT" get --scope user z "=>" zuser
    offers --root "$SCRATCH/other" get z "=>" zother
    offers --root "$SCRATCH/none" get z "=>"
    cd "$SCRATCH"
    offers --root other get z "=>" zother # relative, as the command takes it
    quietly --user set zuser2 1
    offers --root "$ROOT" --user get --at 2 z "=>" zuser
    echo '{"zproject": 1}' >"$SCRATCH/w.json"
    offers --root other get --workspace "$SCRATCH/w.json" z "=>" zother zproject
}

@test "what is unset, purged or unlocked is offered from that store alone, and a schema's key only where it is set" {
    quietly --system init
    quietly --system set zebra 1 telemetry.enabled true
    quietly --user init
    quietly --user set zuser 1
    quietly --system lock zebra telemetry
    for command in unset purge; do
        offers --root "$ROOT" --system $command "" "=>" telemetry.enabled zebra
        offers --root "$ROOT" --user $command "" "=>" zuser
    done
    offers --root "$ROOT" --system unlock "" "=>" telemetry zebra
    offers --root "$ROOT" --user unlock "" "=>"
    candidates qsettings --root "$ROOT" --system get tele | grep -qx telemetry.enabled
    [ "$(candidates qsettings --root "$ROOT" --system get telemetry.en | grep -cx telemetry.enabled)" -eq 1 ]
    candidates qsettings schema "" | grep -qx telemetry.enabled
    offers --root "$ROOT" schema z "=>"
}

@test "the schema's keys and values" {
    run --separate-stderr "$QS" __complete -- set tools.executionSandbox.net
    ok
    [[ $output == tools.executionSandbox.network$'\t'?* ]]
    offers set tools.executionSandbox.network "" "=>" open closed
    offers set zebra 1 tools.executionSandbox.network "" "=>" open closed
    offers set telemetry.enabled t "=>" true
    offers set zebra "" "=>"
    offers set zebra @x "=>" :files
    # Each key whose values the schema names has them offered.
    count=0
    while IFS=$'\t' read -r key values; do
        [ "$(candidates qsettings set "$key" "" | sort | tr '\n' ' ')" = "$values" ] || { echo "$key"; false; }
        count=$((count + 1))
    done < <("$QS" schema --json | jq -r '.keys[] | select(.allowed // [] | length > 0) | select(.path | contains("<") | not)
        | "\(.path)\t\(.allowed | map(tostring) | sort | join(" ")) "')
    [ "$count" -ge 3 ]
}

@test "generations are offered with their messages, newest first" {
    quietly --system init -m first
    quietly --system set zebra 1 -m "why not"
    for words in "--system rollback" "--system show" "get --system --at"; do
        run --separate-stderr "$QS" __complete -- --root "$ROOT" $words ""
        is $'2\twhy not\n1\tfirst'
    done
}

@test "a store that cannot be read is passed over in silence" {
    quietly --system init
    quietly --system set zebra 1
    head -c 5000 /dev/zero >"$ROOT/system/data.mdb"
    offers --root "$ROOT" --system get z "=>"
    offers --root "$ROOT" get tools.executionSandbox.net "=>" tools.executionSandbox.network
}

@test "completion of an unknown shell" {
    run --separate-stderr "$QS" completion csh
    refused 2 csh
    for program in qsandbox qstress; do
        run --separate-stderr "$BIN/$program" completion csh
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
}

# ---- the shells ----

# What is typed, and the words that the shell has after a Tab.
shell_cases() {
    quietly --system init
    quietly --system set zebra.stripes 1 'm."x.y"' 2
    mkdir "$SCRATCH/bin" "$SCRATCH/home"
    printf '#!/bin/sh\n' >"$SCRATCH/bin/zz-command"
    chmod 755 "$SCRATCH/bin/zz-command"
    touch "$SCRATCH/some file.json"
    PATH=$BIN:$SCRATCH/bin:$PATH
    ln -s "$ROOT" "$SCRATCH/home/mine"
    cat >"$SCRATCH/cases" <<CASES
qsettings rol|<qsettings><rollback>
qsettings --root $ROOT get ze|<qsettings><--root><$ROOT><get><zebra.stripes>
qsettings --root ~/mine get ze|<qsettings><--root><$SCRATCH/home/mine><get><zebra.stripes>
qsettings --root=$ROOT --scope=sys|<qsettings><--root=$ROOT><--scope=system>
qsettings --root=$ROOT get ze|<qsettings><--root=$ROOT><get><zebra.stripes>
qsettings --root=$SCRATCH/roo|<qsettings><--root=$SCRATCH/root>
qsettings --root $ROOT get m.|<qsettings><--root><$ROOT><get><m."x.y">
qsettings --root $ROOT get "ze|<qsettings><--root><$ROOT><get><zebra.stripes>
qsettings set telemetry.enabled t|<qsettings><set><telemetry.enabled><true>
qsettings apply $SCRATCH/som|<qsettings><apply><$SCRATCH/some file.json>
qsettings set a @$SCRATCH/som|<qsettings><set><a><@$SCRATCH/some file.json>
qsandbox run --network |<qsandbox><run><--network><closed>
qsandbox run -- zz-|<qsandbox><run><--><zz-command>
qstress race --backend cop|<qstress><race><--backend><copy-backup>
CASES
}

# in_terminal SHELL PREPARATION: each case typed at a terminal
in_terminal() {
    command -v zsh >/dev/null || skip "zsh, which gives the terminal, is not installed"
    while IFS='|' read -r line expected; do
        run timeout 60 env HOME="$SCRATCH/home" zsh -f "$QS_TOP/tests/support/type.zsh" "$1" "$2" "$line"
        output=${output//$'\r'/}
        [ "${output/\/>/>}" = "$expected" ] || { echo "typed:    $line"; echo "expected: $expected"; show; }
    done <"$SCRATCH/cases"
}

BASH_READY='bind "set bell-style none"; bind "set enable-bracketed-paste off"'
BASH_LOADED='for p in qsettings qsandbox qstress; do source <($p completion bash); done'
ZSH_READY='unsetopt zle_bracketed_paste prompt_sp; bindkey -e; autoload -Uz compinit; compinit -u -D'
ZSH_LOADED='for p in qsettings qsandbox qstress; do source <($p completion zsh); done'

@test "completion works in bash, at a terminal" {
    shell_cases
    in_terminal "bash --norc --noprofile -i" "$BASH_READY; $BASH_LOADED"
}

@test "completion works in zsh, at a terminal" {
    shell_cases
    in_terminal "zsh -f -i" "$ZSH_READY; $ZSH_LOADED"
}

@test "without the scripts neither shell completes: it was they" {
    shell_cases
    sed -i 2q "$SCRATCH/cases"
    sed -i 's/|.*//; s/.*/&|&/; s/|/ |/' "$SCRATCH/cases"
    while IFS='|' read -r line _; do
        for shell in "bash --norc --noprofile -i:$BASH_READY" "zsh -f -i:$ZSH_READY"; do
            run timeout 60 env HOME="$SCRATCH/home" zsh -f "$QS_TOP/tests/support/type.zsh" "${shell%%:*}" "${shell#*:}" "${line% }"
            [[ $output != *rollback* && $output != *zebra.stripes* ]] || show
        done
    done <"$SCRATCH/cases"
}

@test "completion works in zsh from a directory of fpath, as the package installs it" {
    shell_cases
    mkdir "$SCRATCH/fpath"
    for program in qsettings qsandbox qstress; do "$BIN/$program" completion zsh >"$SCRATCH/fpath/_$program"; done
    sed -i 2q "$SCRATCH/cases"
    in_terminal "zsh -f -i" "fpath=($SCRATCH/fpath \$fpath); $ZSH_READY"
}

# fish gives the candidates for a line, each a whole last word.
@test "completion works in fish" {
    command -v fish >/dev/null || skip "fish is not installed"
    shell_cases
    while IFS='|' read -r line expected; do
        expected=${expected##*<}
        run --separate-stderr env HOME="$SCRATCH/home" LINE="$line" fish --no-config -c \
            'for p in qsettings qsandbox qstress; $p completion fish | source; end; complete -C "$LINE"'
        found=$(cut -f1 <<<"$output")
        [ "${found%/}" = "${expected%>}" ] || { echo "typed: $line"; echo "expected: ${expected%>}"; show; }
    done <"$SCRATCH/cases"
    run --separate-stderr env HOME="$SCRATCH/home" fish --no-config -c 'complete -C "qsettings rol"'
    [[ $output != *rollback* ]] # without the script
}
