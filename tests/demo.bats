# SPDX-License-Identifier: Apache-2.0
# The demo passes, and fails when a read is absent, torn or stale: a program that gives such reads stands in for qsettings.
load support/cli

setup() {
    cli_setup
    export QS_DEMO_SECONDS=1
}
teardown() {
    cli_teardown
}

# faulty CODE: a build whose qsettings runs CODE (shell, $text is the true output) on every list.
faulty() {
    mkdir -p "$SCRATCH/out/bin"
    install -m 755 "$QS" "$SCRATCH/true-qsettings"
    cat >"$SCRATCH/out/bin/qsettings" <<FAKE
#!/bin/bash
[[ " \$* " == *" list "* ]] || exec "$SCRATCH/true-qsettings" "\$@"
text=\$("$SCRATCH/true-qsettings" "\$@")
nl='
'
$1
echo "\$text"
FAKE
    chmod 755 "$SCRATCH/out/bin/qsettings"
    run --separate-stderr timeout 60 bash "$QS_TOP/tools/demo.sh" "$SCRATCH/out"
}

@test "the demo shows commits and complete reads and none that is absent, torn or stale" {
    run --separate-stderr timeout 60 bash "$QS_TOP/tools/demo.sh" "$QS_BUILD"
    [ "$status" -eq 0 ] || show
    [[ $output =~ ([0-9]+)\ commits,\ ([0-9]+)\ complete\ reads\;\ absent\ 0,\ torn\ 0,\ stale\ 0 ]] || show
    [ "${BASH_REMATCH[1]}" -gt 0 ]
    [ "${BASH_REMATCH[2]}" -gt 0 ]
    [ -z "$(ls -d /tmp/qsettings-demo-* 2>/dev/null)" ] || echo "another demo may be running"
}

@test "the demo fails on an absent read" {
    faulty '((RANDOM % 20)) || exit 5'
    [ "$status" -eq 1 ] || show
    [[ $output =~ absent\ [1-9] ]] || show
}

@test "the demo fails on a torn read" {
    faulty 'text="${text%%$nl*}${nl}demo.b = 0"'
    [ "$status" -eq 1 ] || show
    [[ $output =~ torn\ [1-9] ]] || show
}

@test "the demo fails on a stale read" {
    faulty 'text="demo.a = 1${nl}demo.b = 1"'
    [ "$status" -eq 1 ] || show
    [[ $output =~ stale\ [1-9] ]] || show
}
