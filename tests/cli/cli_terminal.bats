# SPDX-License-Identifier: Apache-2.0
# Habits of a terminal: colour, pager, what values may not do, progress, suggestions. A pty of its own for each command.
load ../support/cli

ESC=$'\e'

setup() {
    cli_setup
    export TERM=xterm
    unset NO_COLOR PAGER QSETTINGS_PAGER LESS LESSOPEN SUDO_UID SUDO_USER DOAS_USER PKEXEC_UID
    quietly --system init
}
teardown() {
    [ -z "${HOLDER:-}" ] || kill "$HOLDER" 2>/dev/null || true
    cli_teardown
}

# tty [PTY OPTIONS --] ARGUMENT...: qsettings on a terminal, on the root.
tty() {
    local options=()
    while [[ $1 == --rows || $1 == --columns || $1 == --stderr || $1 == --when ]]; do
        [[ $1 == --when ]] && { options+=("$1" "$2" "$3"); shift 3; continue; }
        options+=("$1" "$2")
        shift 2
    done
    run timeout 90 python3 "$QS_TOP/tests/support/terminal.py" "${options[@]}" -- "$QS" --root "$ROOT" "$@"
}

# pager SCRIPT: a pager that does this; its standard input is the text.
pager() {
    printf '#!/bin/sh\n%s\n' "$1" >"$SCRATCH/pager"
    chmod 755 "$SCRATCH/pager"
}

many_settings() { # N settings in one commit
    seq "$1" | jq -sc 'map({("k\(.)"): .}) | add' | "$QS" --root "$ROOT" --system apply --format json - >/dev/null
}

# ---- colour ----

@test "colour is on a terminal alone" {
    tty --system log
    [[ $status -eq 0 && $output == "$ESC[33msystem generation 1$ESC[0m"* ]] || show
    qs --system log
    ok
    [[ $output != *"$ESC"* ]]
}

@test "NO_COLOR and a dumb terminal are respected; --color decides over both" {
    NO_COLOR=1 tty --system log
    [[ $status -eq 0 && $output != *"$ESC"* ]] || show
    NO_COLOR='' tty --system log
    [[ $output == *"$ESC"* ]] || show
    TERM=dumb tty --system log
    [[ $output != *"$ESC"* ]] || show
    NO_COLOR=1 tty --color always --system log
    [[ $output == *"$ESC[33m"* ]] || show
    tty --color=never --system log
    [[ $output != *"$ESC"* ]] || show
    qs --system log --color always
    [[ $output == *"$ESC[33m"* ]] || show
    qs --system log --color sometimes
    refused 2 "option '--color' takes 'auto', 'always' or 'never', not 'sometimes'"
}

@test "errors and notes are coloured where standard error is a terminal; JSON never is" {
    tty --system get nope
    [[ $status -eq 1 && $output == "$ESC[31mqsettings: get: not found: $ESC[0m"* ]] || show
    tty --stderr "$SCRATCH/err" --system get nope
    [ "$status" -eq 1 ]
    [[ $(cat "$SCRATCH/err") == "qsettings: get: not found: "* ]]
    tty --color always --json --system get nope
    [[ $output != *"$ESC"* ]] || show
    tty --color always --json --system log
    [[ $output != *"$ESC"* ]] || show
    jq -e . <<<"$output" >/dev/null
}

# ---- pager ----

@test "log and list page when they are longer than the screen, and only then" {
    many_settings 30
    pager 'echo "paged $(wc -l)"'
    export PAGER=$SCRATCH/pager
    tty --rows 20 --system list
    is "paged 30"
    tty --rows 20 --system log
    [[ $output == "paged "* ]] || show
    tty --rows 30 --system list
    is "paged 30"
    tty --rows 31 --system list # the prompt has its line
    [ "${#lines[@]}" -eq 30 ] || show
    qs --system list
    [ "${#lines[@]}" -eq 30 ]
    tty --rows 20 --system get k1
    is 1
}

@test "long lines count as the lines that they take" {
    quietly --system set wide "$(printf '%02000d' 7)x"
    pager 'echo "paged $(wc -l)"'
    PAGER=$SCRATCH/pager tty --rows 20 --columns 80 --system list
    is "paged 1"
    NO_COLOR=1 PAGER=$SCRATCH/pager tty --rows 20 --columns 300 --system list
    [[ $output == wide* ]] || show
}

@test "QSETTINGS_PAGER goes before PAGER; empty, cat, --no-pager and a dumb terminal mean none" {
    many_settings 30
    pager 'echo paged; cat >/dev/null'
    QSETTINGS_PAGER=$SCRATCH/pager PAGER=cat tty --rows 9 --system list
    is paged
    for none in "PAGER=" "PAGER=cat" "QSETTINGS_PAGER=" "TERM=dumb"; do
        export PAGER=$SCRATCH/pager
        run env "$none" timeout 90 python3 "$QS_TOP/tests/support/terminal.py" --rows 9 -- "$QS" --root "$ROOT" --system list
        [[ $status -eq 0 && ${#lines[@]} -eq 30 ]] || { echo "$none"; show; }
    done
    tty --rows 9 --no-pager --system list
    [ "${#lines[@]}" -eq 30 ]
}

@test "a pager that ends early is no error" {
    many_settings 20000
    PAGER=true tty --system list
    [ "$status" -eq 0 ] || show
    is ""
    PAGER='head -n 1' tty --color never --system list
    [ "$status" -eq 0 ] || show
    is "k1 = 1"
}

@test "a pager that cannot be started leaves the text printed" {
    many_settings 30
    PAGER=/no/such/pager tty --rows 9 --stderr "$SCRATCH/err" --system list
    [[ $status -eq 0 && ${#lines[@]} -eq 30 ]] || show
}

@test "less shows a screen, and ends by itself on a short text" {
    command -v less || skip "less is not installed"
    many_settings 100
    tty --rows 10 --when : send:q --system list
    [ "$status" -eq 0 ] || show
    [[ $output == *k1* && $output != *k99* ]] || show
}

@test "root's pager is told to start nothing, another's is not" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    many_settings 30
    pager 'echo "secure=$LESSSECURE"; cat >/dev/null'
    PAGER=$SCRATCH/pager LESSSECURE=0 tty --rows 9 --system list
    is secure=1
    install -m 755 "$QS" "$SCRATCH/qsettings"
    install -m 755 "$QS_TOP/tests/support/terminal.py" "$SCRATCH/terminal.py"
    PAGER=$SCRATCH/pager run as_nobody /usr/bin/python3 "$SCRATCH/terminal.py" --rows 9 -- "$SCRATCH/qsettings" --root "$ROOT" \
        --system list
    is secure=
}

@test "with lent rights no pager of the environment runs" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    many_settings 30
    pager ': >"$(dirname "$0")/ran"; cat >/dev/null'
    # what stands where less does shows how it would be started
    printf '#!/bin/sh\necho "less $* secure=$LESSSECURE open=$LESSOPEN editor=$EDITOR"\n' >"$SCRATCH/less"
    chmod 755 "$SCRATCH/less"
    [ -e /usr/bin/less ] || skip "less is not installed"
    for lent in SUDO_UID=1000 SUDO_USER=ann DOAS_USER=ann PKEXEC_UID=1000; do
        run env "$lent" PAGER="$SCRATCH/pager" QSETTINGS_PAGER="$SCRATCH/pager" LESSOPEN='|touch /x %s' EDITOR=x \
            unshare -m sh -c 'mount --bind "$1" "$(readlink -f /usr/bin/less)"; shift; exec "$@"' _ "$SCRATCH/less" \
            timeout 90 python3 "$QS_TOP/tests/support/terminal.py" --rows 9 -- "$QS" --root "$ROOT" --system list
        is "less -FRX secure=1 open= editor="
        [ ! -e "$SCRATCH/ran" ]
    done
    PAGER=$SCRATCH/pager tty --rows 9 --system list # the control: it does run otherwise
    [ -e "$SCRATCH/ran" ]
}

# ---- what a value, a message or a name may not do ----

@test "control characters of a value are shown, not obeyed" {
    quietly --system set bad "$(printf '"red\\u001b[31m del\\u007f csi\\u009b31m rtl\\u202e end"')"
    seen='bad = "red\u001b[31m del\u007f csi\u009b31m rtl\u202e end"'
    qs --system list
    is "$seen"
    NO_COLOR=1 tty --system list
    is "$seen"
    NO_COLOR=1 tty --system get bad
    is 'red\u001b[31m del\u007f csi\u009b31m rtl\u202e end'
    qs --system get bad # what a program reads is the value itself
    [ "$(od -An -tx1 <<<"$output" | tr -d ' \n')" = "$(printf 'red\e[31m del\x7f csi\xc2\x9b31m rtl\xe2\x80\xae end\n' | od -An -tx1 | tr -d ' \n')" ]
    NO_COLOR=1 tty --system list --json
    [ "$(jq -r .settings.bad <<<"$output")" = "$("$QS" --root "$ROOT" --system get bad)" ]
    [[ $output != *$'\x7f'* ]]
}

@test "no value, key or message can pass for another row" {
    quietly --system set a "$(printf 'x\nforged = 1')" '/k\tb' 1 '/k
forged = 2' 1 -m "$(printf 'why\n- a = 9\n\tsystem generation 9\e[1m')"
    qs --system list
    ok
    [ "${#lines[@]}" -eq 3 ]
    [[ $'\n'$output != *$'\n'forged* ]]
    qs --system log
    [ "$(grep -c '^system generation' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^    - ' <<<"$output")" -eq 0 ] || show
    [[ $output == *$'    | why\n    | - a = 9\n    | \\tsystem generation 9\\u001b[1m\n    + '* ]] || show
}

@test "an error is one line whatever was typed" {
    run --separate-stderr "$QS" --root "$ROOT" --system get "$(printf 'a\nqsettings: all is well\e[2J\xff')"
    [ "$status" -eq 3 ] || [ "$status" -eq 1 ]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [[ $stderr != *"$ESC"* && $stderr != *$'\xff'* ]] || show
    run --separate-stderr "$QS" "$(printf 'exprot\nqsettings: all is well\e[2J\xff')"
    [[ $status -eq 2 && $(wc -l <<<"$stderr") -eq 1 ]] || show
    [[ $stderr != *"$ESC"* && $stderr != *$'\xff'* ]] || show
    run --separate-stderr "$QS" $'csi\u009b31m'
    [[ $status -eq 2 && $stderr == *"'csi\u009b31m'"* ]] || show
}

# ---- edit ----

@test "edit marks the place of a fault below wide characters and tabs" {
    export TMPDIR=$SCRATCH/tmp EDITOR="$SCRATCH/editor"
    mkdir "$TMPDIR"
    printf '#!/bin/sh\nprintf '"'"'tools: {"日本": "é\\t", executionSandbox: {filesystem: read-only, network: off}}\n'"'"' >"$1"\n' >"$EDITOR"
    chmod 755 "$EDITOR"
    NO_COLOR=1 tty --columns 200 --when "again?" 'send:n\n' --system edit
    [ "$status" -eq 3 ] || show
    line=$(grep -m1 '^ *1 | ' <<<"$output")
    mark=$(grep -m1 '^      | *^' <<<"$output")
    [[ $line == *'"é "'* ]] || show # the tab is one column
    # before "off": each of the two wide characters takes one column more than it has letters
    before=${line%%off*}
    spaces=${mark%%^*}
    [ "${#spaces}" -eq $((${#before} + 2)) ] || show
}

# ---- progress ----

@test "work that takes long shows on a terminal that it goes on, and leaves no trace" {
    hold_lock "$ROOT/system/writer.lock"
    tty --when "compact: " ": >'$SCRATCH/let-go'" --wait 60 --system compact
    [ "$status" -eq 0 ] || { release_lock; show; }
    wait "$HOLDER"
    [[ $output =~ $'\r'"compact: "[0-9]+" s, "[0-9.]+" MiB read, "[0-9.]+" MiB written$ESC[K" ]] || show
    [[ $output == *$'\r'"$ESC[K"*"system: compacted "* ]] || show
}

@test "no progress where standard error is no terminal, or a dumb one" {
    hold_lock "$ROOT/system/writer.lock"
    tty --stderr "$SCRATCH/err" --wait 1.3 --system compact
    [ "$status" -eq 9 ] || show
    [[ $(cat "$SCRATCH/err") == "qsettings: "*": busy"* ]]
    TERM=dumb tty --wait 1.3 --system compact
    [[ $status -eq 9 && $output == "qsettings: "*": busy"* ]] || show
    tty --wait 2 --system compact # the control
    [[ $status -eq 9 && $output == *"compact: 1 s"* ]] || show
    release_lock
}

# ---- the map and suggestions ----

@test "qsettings alone fits on a screen, and names every command under its task" {
    run --separate-stderr "$QS"
    [[ $status -eq 2 && -z $output ]] || show
    output=$stderr
    [ "$(wc -l <<<"$output")" -le 24 ]
    [ "$(wc -L <<<"$output")" -le 90 ]
    for command in $("$QS" help --json | jq -r '.[].name'); do
        grep -qE "^[A-Z][A-Za-z ]+ .*\b$command\b" <<<"$output" || { echo "not there: $command"; false; }
    done
}

@test "misspelt commands, options and scopes get a suggestion" {
    run --separate-stderr "$QS" help exprot
    refused 2 "did you mean 'export'?"
    run --separate-stderr "$QS" list --kesy
    refused 2 "unknown option '--kesy'" "did you mean '--keys'?"
    run --separate-stderr "$QS" list --workspce=x
    refused 2 "did you mean '--workspace'?"
    run --separate-stderr "$QS" --jsn list
    refused 2 "did you mean '--json'?"
    run --separate-stderr "$QS" --scope sytem list
    refused 2 "did you mean 'system'?"
    run --separate-stderr "$QS" list --frobnicate
    refused 2 --frobnicate
    [[ $stderr != *"did you mean"* ]]
    run --separate-stderr "$QS" get --dry-rn x # no option of this command
    refused 2 --dry-rn
    [[ $stderr != *"did you mean"* ]]
}

@test "misspelt keys get a suggestion from live keys and from the schema" {
    quietly --system set my.own.key 1
    for command in get list unset; do
        qs --system $command my.own.kye
        refused 1 "did you mean 'my.own.key'?"
        qs --system $command permissions.denny
        refused 1 "did you mean 'permissions.deny'?"
        qs --system $command nothing.of.the.kind
        [[ $status -eq 1 && $stderr != *"did you mean"* ]] || show
    done
    qs --system get permisions
    refused 1 "did you mean 'permissions'?"
    qs --system list my.onw
    refused 1 "did you mean 'my.own'?"
    quietly --system set permissions.denyy 1 2>/dev/null
    qs --system get permissions.deny # known, only not set
    [[ $status -eq 1 && $stderr != *"did you mean"* ]] || show
    qs explain my.own.kye
    [[ $status -eq 0 && $stderr == *"did you mean 'my.own.key'?"* ]] || show
    qs --system log my.own.kye
    [[ $status -eq 0 && $stderr == *"did you mean 'my.own.key'?"* ]] || show
    qs --system lock my.own.kye
    [[ $status -eq 0 && $stderr == *"did you mean 'my.own.key'?"* ]] || show
    qs --system lock my.own.key permissions.deny not.yet.set
    ok
}

# ---- the other programs ----

@test "qsandbox and qstress suggest, too, and draw progress on a terminal only" {
    run --separate-stderr "$QS_BUILD/bin/qsandbox" verifi
    [[ $status -eq 2 && $stderr == *"did you mean 'verify'?"* ]] || show
    run --separate-stderr "$QS_BUILD/bin/qsandbox" verify --jsn
    [[ $status -eq 2 && $stderr == *"did you mean '--json'?"* ]] || show
    run --separate-stderr "$QS_BUILD/bin/qstress" raze
    [[ $status -eq 2 && $stderr == *"did you mean 'race'?"* ]] || show
    run --separate-stderr "$QS_BUILD/bin/qstress" race --secnds 1
    [[ $status -eq 2 && $stderr == *"did you mean '--seconds'?"* ]] || show
    kill_some=("$QS_BUILD/bin/qstress" kill --operation set --mode kill --waiter no --every 40)
    run timeout 90 python3 "$QS_TOP/tests/support/terminal.py" -- "${kill_some[@]}"
    [[ $status -eq 0 && $output == *$'\r'"set: killed at "*" calls$ESC[K"*$'\r'"$ESC[K"* ]] || show
    run --separate-stderr "${kill_some[@]}"
    ok
    run --separate-stderr timeout 90 python3 "$QS_TOP/tests/support/terminal.py" -- "$QS_BUILD/bin/qsandbox" verifi
    [[ $output == "$ESC[31mqsandbox: $ESC[0munknown command"* ]] || show
}
