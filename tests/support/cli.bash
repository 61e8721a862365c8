# SPDX-License-Identifier: Apache-2.0
# What the suites of the command line share. Each test has its own root; $QS_BUILD names the build.
bats_require_minimum_version 1.5.0

QS=$QS_BUILD/bin/qsettings
CASES=$QS_TOP/tests/fixtures/cases

# A root of one's own, which other users may search too.
cli_setup() {
    umask 022
    SCRATCH=$(mktemp -d /tmp/qs-cli-XXXXXX)
    chmod 755 "$SCRATCH"
    ROOT=$SCRATCH/root
    mkdir "$ROOT"
    unset VISUAL EDITOR XDG_CONFIG_HOME QWEN_SANDBOX
}

cli_teardown() {
    rm -rf "$SCRATCH"
}

# qs ARGUMENT...: runs qsettings on the root; status, output, stderr.
qs() {
    run --separate-stderr "$QS" --root "$ROOT" "$@"
}

# The same for preparation: must succeed, prints nothing.
quietly() {
    "$QS" --root "$ROOT" "$@" >/dev/null || { echo "preparation failed: $*"; return 1; }
}

show() {
    echo "status: $status"
    echo "output: $output"
    echo "stderr: $stderr"
    return 1
}

# Succeeded, and says nothing on standard error.
ok() {
    [ "$status" -eq 0 ] || show
    [ -z "$stderr" ] || show
}

# refused STATUS TEXT...: this exit status, nothing on standard output, and one error line that holds the texts.
refused() {
    [ "$status" -eq "$1" ] || show
    [ -z "$output" ] || show
    [[ $stderr == "qsettings: "* ]] || show
    shift
    local text
    for text; do
        [[ $stderr == *"$text"* ]] || { echo "not said: $text"; show; }
    done
}

# refused_json STATUS: the same with --json.
refused_json() {
    [ "$status" -eq "$1" ] || show
    [ -z "$output" ] || show
    [ "$(jq -r '.error.status' <<<"$stderr")" = "$1" ] || show
    jq -e '.error | has("message") and has("file") and has("line") and has("column") and has("path")' \
        <<<"$stderr" >/dev/null || show
}

# never COMMAND...: must fail. (A bare "!" is exempt from errexit, so it would let a test pass.)
never() {
    if "$@"; then
        echo "unexpectedly true: $*"
        return 1
    fi
}

# is TEXT: exactly this output.
is() {
    [ "$output" = "$1" ] || { echo "expected: $1"; show; }
}

# json FILTER VALUE: the output's part, as compact JSON.
json() {
    local found
    found=$(jq -c "$1" <<<"$output") || show
    [ "$found" = "$2" ] || { echo "$1 is $found, expected $2"; show; }
}

# generation SCOPE: of a store now.
generation() {
    "$QS" --root "$ROOT" "--$1" fsck --json | jq .generation
}

# as_nobody COMMAND...: as an unprivileged user (or as oneself, who is one). The program is copied to where others may read.
as_nobody() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
public_qs() {
    [ -e "$SCRATCH/qsettings" ] || install -m 755 "$QS" "$SCRATCH/qsettings"
    run --separate-stderr as_nobody "$SCRATCH/qsettings" --root "$ROOT" "$@"
}

# hold_lock FILE: holds the writer's lock of a store in the background until release_lock. perl is part of every Debian.
hold_lock() {
    mkfifo "$SCRATCH/held" "$SCRATCH/let-go"
    perl -e 'open(F, "+<", $ARGV[0]) or die; my $lock = pack("s s x4 q q i x4", 1, 0, 0, 0, 0);
             fcntl(F, 37, $lock) or die "lock: $!";
             open(H, ">", $ARGV[1]); close(H); open(L, "<", $ARGV[2]); <L>' "$1" "$SCRATCH/held" "$SCRATCH/let-go" 3>&- &
    HOLDER=$!
    timeout 20 cat "$SCRATCH/held" >/dev/null
}
release_lock() {
    timeout 20 sh -c ': >"$1"' _ "$SCRATCH/let-go"
    wait "$HOLDER"
}
