# SPDX-License-Identifier: Apache-2.0
# The demo passes, and fails when a read is absent, torn or stale: a program that gives such reads stands in for qsettings.
load ../support/cli

setup() {
    cli_setup
    export QS_DEMO_SECONDS=1 TMPDIR=$SCRATCH/tmp
    mkdir "$TMPDIR"
}
teardown() {
    cli_teardown
}

# faulty CODE: a build whose qsettings runs CODE (shell, $text is the true output) on every list.
faulty() {
    mkdir -p "$SCRATCH/out/bin"
    install -m 755 "$QS" "$SCRATCH/true-qsettings"
    install -m 755 "$QS_BUILD/bin/qsandbox" "$SCRATCH/out/bin/"
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

@test "the demo shows only complete reads, and ends with a confined command that gets at nothing outside" {
    run --separate-stderr timeout 60 bash "$QS_TOP/tools/demo.sh" "$QS_BUILD"
    [ "$status" -eq 0 ] || show
    [[ $output =~ ([0-9]+)\ commits,\ ([0-9]+)\ complete\ reads\;\ absent\ 0,\ torn\ 0,\ stale\ 0 ]] || show
    [ "${BASH_REMATCH[1]}" -gt 0 ]
    [ "${BASH_REMATCH[2]}" -gt 0 ]
    [[ $output == *"writes in its workspace           yes"*"writes beside its workspace       no"* ]] || show
    [ "$(grep -cE '^  .* (yes|no)$' <<<"$output")" -eq 5 ] || show
    [ -z "$(ls "$TMPDIR")" ]
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

# with_sandbox CODE: the demo with a qsandbox that does CODE (shell, its arguments are qsandbox's)
with_sandbox() {
    mkdir -p "$SCRATCH/out/bin"
    install -m 755 "$QS" "$SCRATCH/out/bin/qsettings"
    printf '#!/bin/bash\n%s\n' "$1" >"$SCRATCH/out/bin/qsandbox"
    chmod 755 "$SCRATCH/out/bin/qsandbox"
    run --separate-stderr timeout 60 bash "$QS_TOP/tools/demo.sh" "$SCRATCH/out"
}
# what a sandbox that confines nothing does: the command after "--" runs in the workspace
unconfined='until [ "$1" = -- ]; do [ "$1" = --cwd ] && dir=$2; shift; done; shift; cd "$dir" || exit 125'

@test "the demo fails where the command is not confined, and every attempt then succeeds" {
    with_sandbox "$unconfined; exec \"\$@\""
    [ "$status" -eq 1 ] || show
    [ "$(grep -cE '^  .* yes$' <<<"$output")" -eq 5 ] || show
}

@test "the demo fails where nothing was run and the sandbox says it was" {
    with_sandbox 'exit 0'
    [ "$status" -eq 1 ] || show
}

@test "the demo says so where no sandbox can be had, and under QS_NO_SKIP fails" {
    QS_NO_SKIP='' with_sandbox 'echo "qsandbox: refused" >&2; exit 125'
    [ "$status" -eq 0 ] || show
    [[ $output == *"refused"*"never run unconfined"* ]] || show
    QS_NO_SKIP=1 with_sandbox 'exit 125'
    [ "$status" -eq 1 ] || show
}

@test "the demo fails where a command ran although its sandbox was refused" {
    with_sandbox "$unconfined; \"\$@\"; exit 125"
    [ "$status" -eq 1 ] || show
}
