# SPDX-License-Identifier: Apache-2.0
# Help, usage errors, --json of every command, the manual.
load ../support/cli

setup() {
    cli_setup
}
teardown() {
    cli_teardown
}

commands() {
    "$QS" help --json | jq -r '.[].name'
}

@test "help and --help show the map of commands" {
    for arguments in help --help -h; do
        run --separate-stderr "$QS" $arguments
        ok
        for command in $(commands); do
            [[ $output == *"  $command "* ]] || { echo "$command is not on the map"; false; }
        done
        [[ $output != *__complete* ]]
    done
}

@test "every command has help, the same in three spellings" {
    [ "$(commands | wc -l)" -ge 32 ]
    for command in $(commands); do
        run --separate-stderr "$QS" help "$command"
        ok
        [[ $output == "qsettings $command: "* ]]
        [[ $output == *"usage: qsettings "* ]]
        page=$output
        for option in --help -h; do
            run --separate-stderr "$QS" "$command" $option
            ok
            is "$page"
        done
        [ "$(awk '{ if (length > 100) n++ } END { print n + 0 }' <<<"$page")" -eq 0 ]
    done
}

@test "every command of the plan is there" {
    for command in init require set unset get list explain apply export edit check lock unlock locks log show diff \
        rollback purge policy publish replace watch doctor fsck repair compact backup restore schema completion version; do
        commands | grep -qx "$command"
    done
}

@test "every command's --json is JSON" {
    quietly --system init
    quietly --system set a 1 tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
    echo '{"b": 2}' >"$SCRATCH/d.json"
    tried=" edit watch "
    try() {
        run --separate-stderr "$QS" --root "$ROOT" "$@" --json
        [ "$status" -eq 0 ] || show
        jq -e . <<<"$output" >/dev/null || show
    }
    each() {
        for word in $*; do [[ $word == -* ]] || { tried+="$word "; break; }; done
        try $*
    }
    each --user init
    each --system require
    each --system set c 3
    each --system unset c
    each --system apply "$SCRATCH/d.json"
    each --system lock b
    each locks
    each --system unlock b
    each --system add l x
    each --system remove l x
    each check "$SCRATCH/d.json"
    each get a
    each list
    each explain a
    each export
    each log
    each --system show 2
    each --system diff
    each --system rollback 2
    each --system purge b
    each policy
    each schema
    each publish "$SCRATCH/p.json"
    each --system fsck
    each --system repair
    each --system compact
    each --system backup "$SCRATCH/backup"
    each --system restore "$SCRATCH/backup"
    each doctor
    each completion bash
    each help
    each version
    EDITOR=true try --system edit
    run --separate-stderr "$QS" replace --json "$SCRATCH/r" <<<"x"
    ok
    json .bytes 2
    tried+="replace "
    run --separate-stderr "$QS" --root "$ROOT" --system watch --from 1 --once --json
    ok
    json .generation 2
    for command in $(commands); do
        [[ $tried == *" $command "* ]] || { echo "not tried: $command"; false; }
    done
}

@test "global options stand before or after the command" {
    quietly --system init
    quietly --system set a 1
    for order in "--json --system get a" "get --json --system a" "get a --scope system --json" \
        "--scope=system get a --json"; do
        qs $order
        ok
        json .value 1
    done
}

@test "a relative --root is meant from here" {
    cd "$SCRATCH"
    run --separate-stderr "$QS" --root root --system init --json
    ok
    json .store "\"$SCRATCH/root/system\""
    run --separate-stderr "$QS" --root "" --system get a
    refused 2 root
}

@test "usage errors exit with 2 and say what to do" {
    run --separate-stderr "$QS" get --replace a
    refused 2 "qsettings: get: takes no option '--replace'; see 'qsettings get --help'"
    run --separate-stderr "$QS" --replace
    refused 2 "qsettings: unknown option '--replace'; see 'qsettings --help'"
    run --separate-stderr "$QS" get -z a
    refused 2 "unknown option '-z'"
    run --separate-stderr "$QS" get a --default
    refused 2 "option '--default' needs V"
    run --separate-stderr "$QS" get a --json=yes
    refused 2 "option '--json' takes no value"
    run --separate-stderr "$QS" get a b
    refused 2 "unexpected argument 'b'"
    run --separate-stderr "$QS" --system --user get a
    refused 2 "two scopes"
    run --separate-stderr "$QS" --scope workspace get a
    refused 2 workspace
    run --separate-stderr "$QS" --wait soon get a
    refused 2 soon
    run --separate-stderr "$QS" -5
    refused 2
    run --separate-stderr "$QS" get nope --frobnicate --json
    [ "$status" -eq 2 ]
}

@test "a misspelt command gets a suggestion" {
    run --separate-stderr "$QS" exprot
    refused 2 "did you mean 'export'?"
    run --separate-stderr "$QS" frobnicate
    refused 2 frobnicate "see 'qsettings --help'"
    [[ $stderr != *"did you mean"* ]]
    run --separate-stderr "$QS" help frobnicate
    refused 2 frobnicate
}

@test "version" {
    run --separate-stderr "$QS" version
    ok
    [[ $output =~ ^qsettings\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    run --separate-stderr "$QS" --version
    ok
    run --separate-stderr "$QS" --version --json
    ok
    jq -e '.version == .library' <<<"$output"
}

# ---- the manual ----

@test "the manual knows every command and option and is sound" {
    page=$QS_TOP/docs/man/qsettings.1
    [ -e "$page" ]
    for command in $(commands); do
        grep -qE "^\.(It|Ss) .*\b$command\b" "$page" || { echo "not in the manual: $command"; false; }
    done
    for option in $("$QS" help --json | jq -r '[.[].options[]] | unique[]'); do
        grep -qE -- "Fl -$option( |\$)" "$page" || { echo "not in the manual: --$option"; false; }
    done
    if command -v mandoc >/dev/null; then
        run mandoc -T lint -W warning "$page"
        [ "$status" -eq 0 ] || show
    fi
}
