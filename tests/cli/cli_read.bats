# SPDX-License-Identifier: Apache-2.0
# get, list, export, explain: values, layers, secrets, and what is refused.
load ../support/cli

setup() {
    cli_setup
    quietly --system init
}
teardown() {
    cli_teardown
}

@test "get prints a string bare and all else as JSON" {
    quietly --system set s 'two words' i 9007199254740993 r 0.1 one 1.0 b false n null l '[1, "x"]' o '{"b":1,"a":{}}'
    qs --system get s
    ok
    is 'two words'
    qs --system get i
    is 9007199254740993
    qs --system get r
    is 0.1
    qs --system get one
    is 1.0
    qs --system get b
    is false
    qs --system get n
    is null
    qs --system get l
    [ "$(jq -c . <<<"$output")" = '[1,"x"]' ]
    qs --system get o
    [ "$(jq -c . <<<"$output")" = '{"a":{},"b":1}' ]
}

@test "get --json gives key, value, scope and generation" {
    quietly --system set a.b 1
    qs --system get a.b --json
    ok
    is "$(printf '{\n  "generation": 2,\n  "key": "a.b",\n  "scope": "system",\n  "value": 1\n}')"
}

@test "get of what is not set fails, suggests a near key, or gives the default" {
    quietly --system set tools.approvalMode plan
    qs --system get tools.aprovalMode
    refused 1 tools.aprovalMode "did you mean 'tools.approvalMode'?"
    qs --system get nothing.like.it --json
    refused_json 1
    [ "$(jq -r .error.path <<<"$stderr")" = nothing.like.it ]
    qs --system get nope --default fallback
    ok
    is fallback
    qs --system get nope --default '[1]' --json
    ok
    json .value '[1]'
    qs --system get tools.approvalMode --default fallback
    is plan
    qs --system get 'a..b' --default fallback
    refused 3 a..b
}

@test "a default never hides a store that is absent or damaged" {
    qs --user get a --default x
    refused 5
    truncate -s 0 "$ROOT/system/data.mdb"
    qs --system get a --default x
    refused 6
    qs get a --default x
    refused 6
}

@test "get --at gives the value of an older generation" {
    quietly --system set a 1
    quietly --system set a 2
    qs --system get a --at 2
    ok
    is 1
    qs --system get a --at 1
    refused 1 a
    qs --system get a --at 99
    refused 1 99
    qs --system get a --at zero
    refused 2 zero
}

@test "without a scope get merges the layers" {
    quietly --defaults init
    quietly --user init
    quietly --defaults set a.x d a.y d a.z d
    quietly --user set a.x u a.y u
    quietly --system set a.x s
    qs get a.x
    is s
    qs get a.y
    is u
    qs get a.z
    is d
    qs get a.x --json
    json '[.value,.scope,.generation]' '["s","system",2]'
    qs get a.y --json
    json '[.value,.scope,.generation]' '["u","user",2]'
    qs get a --json
    json '[.value,.scope,.generation]' '[{"x":"s","y":"u","z":"d"},"effective",null]'
    qs --user get a.x
    is u
}

@test "a workspace file is a layer between user and system" {
    quietly --user init
    quietly --user set a.x u a.y u
    quietly --system set a.x s
    echo '{"a": {"x": "w", "y": "w"}}' >"$SCRATCH/w.json"
    qs get a.x --workspace "$SCRATCH/w.json"
    ok
    is s
    qs get a.y --workspace "$SCRATCH/w.json"
    is w
    qs --user get a.y --workspace "$SCRATCH/w.json"
    refused 2 workspace
}

@test "a workspace file never sets what only operators may set" {
    printf '{\n  "tools": {"executionSandbox": {"filesystem": "workspace-write", "network": "open"}}\n}\n' >"$SCRATCH/w.json"
    qs get tools.executionSandbox --workspace "$SCRATCH/w.json"
    [ "$status" -eq 1 ]
    [[ $stderr == *"$SCRATCH/w.json"* ]]
    [[ $stderr == *2* ]]
}

@test "a workspace file that cannot be read is an error" {
    echo '{"a":' >"$SCRATCH/w.json"
    qs get a --workspace "$SCRATCH/w.json"
    refused 3 "$SCRATCH/w.json"
    qs get a --workspace "$SCRATCH/none.json"
    [ "$status" -ne 0 ]
}

@test "list prints keys as people type them, below a prefix" {
    quietly --system set b 1 a.x '{"y":{}}' 'm."p.q"' '["é"]'
    qs --system list
    ok
    is $'a.x.y = {}\nb = 1\nm."p.q" = ["é"]'
    qs --system list a --keys
    ok
    is a.x.y
    qs --system list --json
    json .settings '{"a.x.y":{},"b":1,"m.\"p.q\"":["é"]}'
    json .generation 2
    qs --system list --keys --json
    json .keys '["a.x.y","b","m.\"p.q\""]'
    qs --system list nope
    refused 1 nope
    qs list
    is $'a.x.y = {}\nb = 1\nm."p.q" = ["é"]'
}

@test "an empty store lists nothing and exports the empty object" {
    qs --system list
    ok
    is ""
    qs --system export
    ok
    is "{}"
    qs --system export --format yaml
    ok
    is "{}"
}

@test "export and apply give back the same document in both formats" {
    quietly --system apply "$CASES/good/operator.jsonc"
    for format in json yaml; do
        "$QS" --root "$ROOT" --system export --format $format >"$SCRATCH/e.$format"
        rm -rf "$SCRATCH/again"
        mkdir "$SCRATCH/again"
        "$QS" --root "$SCRATCH/again" --system init
        "$QS" --root "$SCRATCH/again" --system apply "$SCRATCH/e.$format"
        diff <("$QS" --root "$ROOT" --system export) <("$QS" --root "$SCRATCH/again" --system export)
    done
    qs --system export --format yaml --json
    refused_json 2
    qs --system export --format xml
    refused 2 xml
}

@test "strings that look like other types survive both formats" {
    printf '%s' '{"s": ["00215e6","1e3","014","no","~","null","2026-01-01","True","0x1f","1.0",".inf","","- a","a: b","\u0001\u2028😀"]}' \
        >"$SCRATCH/d.json"
    quietly --system apply "$SCRATCH/d.json"
    "$QS" --root "$ROOT" --system export --format yaml >"$SCRATCH/e.yaml"
    quietly --system apply --replace "$SCRATCH/e.yaml"
    qs --system get s
    [ "$(jq -c . <<<"$output")" = "$(jq -c .s "$SCRATCH/d.json")" ]
    [ "$(generation system)" = 2 ]
}

@test "secrets are covered in list and export, and shown by --reveal and by get" {
    quietly --user init
    "$QS" --root "$ROOT" --user set security.auth.apiKey - <<<hunter2 >/dev/null
    for command in "list" "export" "export --format yaml" "list --json" "explain security.auth.apiKey" \
        "explain security.auth.apiKey --json" "log" "log --json"; do
        qs $command
        ok
        [[ $output == *"<secret>"* ]] || show
        [[ $output != *hunter2* ]] || show
        qs $command --reveal
        [[ $output == *hunter2* ]] || show
    done
    for command in "show 2" "diff 1 2"; do
        qs --user $command
        [[ $output == *"<secret>"* && $output != *hunter2* ]] || show
        qs --user $command --reveal
        [[ $output == *hunter2* ]] || show
    done
    qs get security.auth.apiKey
    is hunter2
}

@test "explain names every layer, the winner and why" {
    quietly --defaults init
    quietly --defaults set a.b d
    quietly --system set a.b s -m why
    qs explain a.b
    ok
    [[ $output == 'a.b = "s"'* ]]
    [[ $output == *user*"(absent)"* ]]
    [[ $output == *"$ROOT/system, generation 2"* ]]
    qs explain a.b --json
    ok
    json '.layers | map(.layer)' '["defaults","user","workspace","system"]'
    json .winner '"system"'
    json .value '"s"'
    json '.layers[3].set.generation' 2
    json '.layers[1].state' '"absent"'
    json '.layers[0].value' '"d"'
    json .reason '"precedence"'
}

@test "explain shows a lock that silences a weaker layer" {
    quietly --defaults init
    quietly --user init
    quietly --defaults set a.b d
    quietly --defaults lock a
    quietly --user set a.b u 2>/dev/null
    qs explain a.b --json
    ok
    json .value '"d"'
    json .reason '"lock"'
    json '.layers[1].silenced' true
    json '.layers[0].locked' true
}

@test "explain of a key that no layer sets says so" {
    qs explain not.there --json
    ok
    json .isSet false
    json .value null
    json .reason '"none"'
    qs --system explain a
    refused 2 explain
}

@test "reading needs no write permission and leaves nothing behind" {
    quietly --system set a 1
    before=$(find "$ROOT" -printf '%p %T@ %m %s\n' | sort)
    for command in "get a" list export "log" "fsck" "diff" "show 2" locks; do
        public_qs --system $command
        ok
    done
    public_qs explain a
    ok
    [ "$before" = "$(find "$ROOT" -printf '%p %T@ %m %s\n' | sort)" ]
}

@test "another user's store is refused, not absent" {
    [ "$(id -u)" -eq 0 ] || skip "this is about root and another user"
    quietly --user init
    public_qs --user get a
    refused 7
    quietly --system set a 1
    chmod 770 "$ROOT/system"
    chmod o+w "$ROOT/system"
    qs --system get a
    refused 7 "$ROOT/system"
}

@test "the environment moves no store and a differing home is told" {
    [ "$(id -u)" -eq 0 ] || skip "needs a mount namespace"
    install -d -m 700 "$SCRATCH/home" "$SCRATCH/elsewhere"
    sed "s|^root:\([^:]*\):0:0:\([^:]*\):[^:]*:|root:\1:0:0:\2:$SCRATCH/home:|" /etc/passwd >"$SCRATCH/passwd"
    in_home() {
        run --separate-stderr unshare -m sh -c 'mount --bind "$1" /etc/passwd; shift; exec "$@"' _ "$SCRATCH/passwd" "$@"
    }
    in_home env HOME="$SCRATCH/home" "$QS" --user init
    ok
    [ -e "$SCRATCH/home/.config/qsettings/user/data.mdb" ]
    in_home env HOME="$SCRATCH/home" "$QS" --user set a 1
    ok
    in_home env HOME="$SCRATCH/elsewhere" XDG_CONFIG_HOME="$SCRATCH/elsewhere" "$QS" --user get a
    [ "$status" -eq 0 ]
    is 1
    [[ $stderr == *"HOME is $SCRATCH/elsewhere"* ]]
    [[ $stderr == *"XDG_CONFIG_HOME is $SCRATCH/elsewhere"* ]]
    [ -z "$(ls -A "$SCRATCH/elsewhere")" ]
    in_home env HOME="$SCRATCH/elsewhere" "$QS" --user get a --json
    [ "$(jq -r '.warning.message' <<<"$stderr")" != null ]
    # sudo -E: the environment's home is another user's
    chown 65533 "$SCRATCH/elsewhere"
    in_home env HOME="$SCRATCH/elsewhere" "$QS" --user set a 2
    [ "$status" -eq 7 ] || show
    [ -z "$output" ]
    [[ $stderr == *"sudo -E"* ]]
    in_home env HOME="$SCRATCH/home" "$QS" --user get a
    is 1
}

@test "a write into a home that is another user's is refused" {
    [ "$(id -u)" -eq 0 ] || skip "needs a mount namespace"
    install -d -m 700 -o 65534 "$SCRATCH/home"
    sed "s|^root:\([^:]*\):0:0:\([^:]*\):[^:]*:|root:\1:0:0:\2:$SCRATCH/home:|" /etc/passwd >"$SCRATCH/passwd"
    run --separate-stderr unshare -m sh -c 'mount --bind "$1" /etc/passwd; HOME="$2" exec "$3" --user init' _ \
        "$SCRATCH/passwd" "$SCRATCH/home" "$QS"
    refused 7 "$SCRATCH/home"
    [ -z "$(ls -A "$SCRATCH/home")" ]
}

# sudo -E: root's own home would be written, and the user's was meant
@test "a write under a HOME that is another user's is refused" {
    [ "$(id -u)" -eq 0 ] || skip "needs a mount namespace"
    mkdir "$SCRATCH/roots"
    install -d -m 700 -o 65534 "$SCRATCH/home"
    sed "s|^root:\([^:]*\):0:0:\([^:]*\):[^:]*:|root:\1:0:0:\2:$SCRATCH/roots:|" /etc/passwd >"$SCRATCH/passwd"
    init_as() { # init_as HOME
        run --separate-stderr unshare -m sh -c 'mount --bind "$1" /etc/passwd; HOME="$2" exec "$3" --user init' _ \
            "$SCRATCH/passwd" "$1" "$QS"
    }
    init_as "$SCRATCH/home"
    refused 7 "HOME"
    [ -z "$(ls -A "$SCRATCH/home")" ]
    [ ! -e "$SCRATCH/roots/.config/qsettings/user" ]
    init_as "$SCRATCH/roots"
    [ "$status" -eq 0 ]
}
