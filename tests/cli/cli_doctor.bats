# SPDX-License-Identifier: Apache-2.0
# doctor: each finding about stores, policy and published files is provoked; nothing is changed; nothing makes it hang.
load ../support/cli

setup() {
    cli_setup
    # alone, without qsandbox beside it: that has a suite of its own
    mkdir "$SCRATCH/bin"
    QS_BUILT=$QS
    install -m 755 "$QS" "$SCRATCH/bin/qsettings"
    QS=$SCRATCH/bin/qsettings
    unset NO_COLOR
    quietly --system init
    quietly --system set tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
}
teardown() {
    cli_teardown
}

doctor() {
    run --separate-stderr timeout 60 "$QS" --root "$ROOT" doctor --json "$@"
    [ -z "$stderr" ] || show
    jq -e '.checks | all(has("name") and has("result") and has("detail") and has("advice"))' <<<"$output" >/dev/null || show
}

# finding NAME RESULT TEXT [ADVICE]: there is such a check, and the whole and the exit status follow from the worst one.
finding() {
    jq -e --arg n "$1" --arg r "$2" --arg t "$3" --arg a "${4:-}" '.checks | any(.name == $n and .result == $r and
        (.detail | contains($t)) and ($a == "" or ((.advice // "") | contains($a))))' <<<"$output" >/dev/null || show
    local worst
    worst=$(jq -r '[.checks[].result] | if any(. == "fail") then "fail" elif any(. == "warn") then "warn" else "ok" end' \
        <<<"$output")
    json .result "\"$worst\""
    [ "$status" -eq "$([ "$worst" = fail ] && echo 1 || echo 0)" ] || show
}

no_fail() {
    jq -e '.checks | all(.result != "fail")' <<<"$output" >/dev/null || show
    [ "$status" -eq 0 ]
}

# Everything of the tree but the times of reading.
tree() {
    find "$SCRATCH" -printf '%p %y %m %U %G %n %s %T@ %C@ %i %l\n' | sort
    find "$SCRATCH" -type f -exec sha256sum {} + | sort
}

@test "a store in order, and one that is not there" {
    doctor
    no_fail
    finding store.system ok "whole: generation 2, 2 settings, 2 records, format 1"
    finding required ok "must exist"
    finding modes.system ok ""
    finding store.user ok "none; that is allowed"
    finding store.defaults ok "none; that is allowed"
    finding policy ok "filesystem read-only, network closed"
    finding published ok "no file is registered"
    finding qsandbox ok "not installed"
    jq -e '.checks | all(.result != "ok" or .advice == null)' <<<"$output" >/dev/null
}

@test "a required store that is absent fails, one that is not required warns while it stands" {
    rm -rf "$ROOT/system"
    doctor
    finding store.system fail "required, and absent" "qsettings --root $ROOT --system init"
    finding policy fail ""
    quietly --system init --no-require
    rm "$ROOT/require-system" 2>/dev/null || quietly --system require --off
    doctor
    finding required warn "may be missing" "qsettings --root $ROOT --system require"
    rm -rf "$ROOT/system"
    doctor
    finding store.system ok "none; that is allowed"
}

@test "no policy is a warning that says how to set one" {
    quietly --system unset tools
    doctor
    no_fail
    finding policy warn "none is set" "set tools.executionSandbox"
}

@test "a damaged, empty or missing file fails and repair is named" {
    printf 'XXXXXXXX' | dd of="$ROOT/system/data.mdb" bs=1 seek=20 conv=notrunc status=none
    printf 'XXXXXXXX' | dd of="$ROOT/system/data.mdb" bs=1 seek=4116 conv=notrunc status=none
    doctor
    finding store.system fail damaged "qsettings --root $ROOT --system repair"
    finding policy fail damaged
    : >"$ROOT/system/data.mdb"
    doctor
    finding store.system fail damaged repair
    rm "$ROOT/system/data.mdb"
    mkfifo "$ROOT/system/data.mdb"
    doctor
    finding store.system fail damaged
}

@test "a store of a later format is named as such" {
    python3 - "$ROOT/system/data.mdb" <<'PY'
import hashlib, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.find(b"QSETMETA")
while at >= 0:
    data[at + 8] = 2
    data[at + 168:at + 200] = hashlib.blake2b(bytes(data[at:at + 168]), digest_size=32).digest()
    at = data.find(b"QSETMETA", at + 1)
open(sys.argv[1], "r+b").write(data)
PY
    doctor
    finding store.system fail "format version 2"
}

@test "untrusted ways fail, with the command that helps or shows them" {
    chmod 777 "$ROOT/system"
    doctor
    finding store.system fail "writable by group or others" "chmod go-w $ROOT/system"
    chmod 755 "$ROOT/system"
    ln -s data.mdb "$ROOT/link" && mv "$ROOT/system/data.mdb" "$ROOT/aside" && ln -s ../aside "$ROOT/system/data.mdb"
    doctor
    finding store.system fail ""
    mv "$ROOT/aside" "$ROOT/system/data.mdb"
    chmod 755 "$ROOT/system"
    chmod 666 "$ROOT/system/data.mdb"
    doctor
    finding store.system fail ""
    [ "$(id -u)" -eq 0 ] || skip "needs root to give a file away"
    chmod 644 "$ROOT/system/data.mdb"
    chown 12345 "$ROOT/system/data.mdb"
    doctor
    finding store.system fail "12345"
    chown 0 "$ROOT/system/data.mdb"
    chmod 700 "$ROOT/system"
    run --separate-stderr as_nobody "$QS" --root "$ROOT" doctor --json
    finding store.system fail "not permitted" "namei -l $ROOT/system"
}

@test "modes that let others in, or keep readers out" {
    quietly --user init
    chmod 644 "$ROOT/user/data.mdb"
    chmod 604 "$ROOT/system/writer.lock"
    chmod 640 "$ROOT/system/data.mdb"
    doctor
    no_fail
    finding modes.user warn "others need not see it" "chmod 0600 $ROOT/user/data.mdb"
    finding modes.system warn "keep writers waiting" "chmod 0600 $ROOT/system/writer.lock"
    finding modes.system warn "lets everyone read it" "chmod 0644 $ROOT/system/data.mdb"
    for command in $(jq -r '.checks[] | select(.name | startswith("modes")) | .advice // empty | @base64' <<<"$output"); do
        sh -c "$(base64 -d <<<"$command")" # what it advises helps
    done
    doctor
    finding modes.user ok ""
    finding modes.system ok ""
}

@test "a store in memory is a warning" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to mount"
    mkdir "$ROOT/tmpfs"
    doctor_in_memory() {
        unshare -m sh -c 'mount -t tmpfs -o mode=755 none "$1/tmpfs" && "$0" --root "$1/tmpfs" --user init >/dev/null &&
            exec "$0" --root "$1/tmpfs" doctor --json' "$QS" "$ROOT"
    }
    run --separate-stderr doctor_in_memory
    finding filesystem.user warn "in memory" "on a disk"
}

@test "litter is named: a killed writer's, a killed init's, what repair kept, what nobody knows" {
    touch "$ROOT/system/data.mdb.tmp" "$ROOT/system/data.mdb.damaged-20260101T000000Z-000000001" "$ROOT/system/notes"
    mkdir "$ROOT/.qsettings-init-0123456789abcdef"
    doctor
    no_fail
    finding litter.system warn "data.mdb.tmp: left by a writer that was killed"
    finding litter.system warn "kept aside by repair"
    finding litter.system warn "notes: not a file of the store" "ls -l $ROOT/system/notes"
    finding litter warn "init that was killed"
    quietly --system set a 1 # the advice: the next write removes it
    [ ! -e "$ROOT/system/data.mdb.tmp" ]
}

@test "an environment that names another home is a warning; a user of no name fails" {
    user_home=$(getent passwd "$(id -u)" | cut -d: -f6)
    run --separate-stderr env HOME=/nowhere "$QS" doctor --json
    finding home warn "HOME is /nowhere" "unset HOME"
    run --separate-stderr env HOME="$user_home" XDG_CONFIG_HOME=/nowhere "$QS" doctor --json
    finding home warn "XDG_CONFIG_HOME is /nowhere"
    run --separate-stderr env -u XDG_CONFIG_HOME HOME="$user_home" "$QS" doctor --json
    finding home ok ""
    [ "$(id -u)" -eq 0 ] || skip "needs root to become another user"
    install -m 755 "$QS" "$SCRATCH/qsettings" # where the build lies another user may not be let in
    run --separate-stderr setpriv --reuid=54321 --regid=54321 --clear-groups "$SCRATCH/qsettings" doctor --json
    finding home fail "no entry for uid 54321"
    finding store.user fail ""
}

@test "published files: current, stale, edited, missing, foreign, open to others" {
    file=$SCRATCH/agent.json
    quietly --system publish "$file" --on-commit
    doctor
    finding published ok "$file: current"
    cp -a "$file" "$SCRATCH/older"
    quietly --system set a 1
    cp -a "$SCRATCH/older" "$file" # as a crash between commit and publishing would leave it
    doctor
    finding published fail "$file: stale" "qsettings --root $ROOT --system publish $file"
    PATH=$SCRATCH/bin:$PATH sh -c "$(jq -r '.checks[] | select(.name == "published") | .advice' <<<"$output")" >/dev/null
    doctor
    finding published ok "$file: current"
    echo '{"a": 2}' >"$file"
    doctor
    finding published fail "$file: edited" "publish $file --check"
    chmod 666 "$file"
    doctor
    finding published fail "written by group or others" "chmod go-w $file"
    rm "$file"
    doctor
    finding published fail "$file: missing" "publish $file"
    mkfifo "$file"
    doctor
    finding published fail "$file"
    rm "$file"
    [ "$(id -u)" -eq 0 ] || skip "needs root to give a file away"
    touch "$file"
    chown 12345 "$file"
    doctor
    finding published fail "belongs to uid 12345" "chown 0 $file"
}

@test "what this user may not look at is a warning" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to be another user"
    quietly --system publish "$SCRATCH/agent.json" --on-commit
    chmod 600 "$SCRATCH/agent.json"
    run --separate-stderr as_nobody "$QS" --root "$ROOT" doctor --json
    no_fail
    finding published warn "cannot be looked at by this user" "as its owner"
    finding store.system ok "whole"
}

@test "it changes nothing, whoever runs it, and whatever it finds" {
    quietly --system publish "$SCRATCH/agent.json" --on-commit
    echo edited >"$SCRATCH/agent.json"
    touch "$ROOT/system/data.mdb.tmp"
    quietly --user init
    printf 'XXXX' | dd of="$ROOT/user/data.mdb" bs=1 seek=20 conv=notrunc status=none
    install -m 755 "$(dirname "$QS_BUILT")/qsandbox" "$SCRATCH/bin/"
    before=$(tree)
    doctor
    [ "$status" -eq 1 ]
    [ "$(tree)" = "$before" ]
    run --separate-stderr as_nobody "$QS" --root "$ROOT" doctor
    [ "$(tree)" = "$before" ]
    "$QS" --root "$ROOT" --system set b 1 >/dev/null 2>&1 || true # the control
    [ "$(tree)" != "$before" ]
}

# ---- what looks apart ----

beside() { # a program in qsandbox's place that does this
    printf '#!/bin/sh\n%s\n' "$1" >"$SCRATCH/bin/qsandbox"
    chmod 755 "$SCRATCH/bin/qsandbox"
}

@test "a look that does not come back is a finding, and is ended" {
    mkfifo "$SCRATCH/never"
    beside 'echo $$ >"$(dirname "$0")/pid"; exec 3<>"$(dirname "$0")/../never"; read -r x <&3'
    doctor --wait 1
    finding qsandbox fail "no answer within 1000 ms"
    never kill -0 "$(cat "$SCRATCH/bin/pid")" 2>/dev/null
}

@test "a look that crashes, or tells nothing, is a finding" {
    beside 'kill -SEGV $$'
    doctor
    finding qsandbox fail "ended by signal 11"
    beside 'echo nonsense'
    doctor
    finding qsandbox fail "no report"
    beside 'echo "{\"checks\": []}"; exit 3'
    doctor
    finding qsandbox fail "status 3 and no report"
    beside 'echo "{\"checks\": [{\"name\": \"x\", \"result\": \"fine\", \"detail\": \"\"}]}"'
    doctor
    finding qsandbox fail "no report"
    beside '[ "$*" = "--root '"$ROOT"' doctor --json" ] || exit 9
        echo "{\"checks\": [{\"name\": \"x\", \"result\": \"warn\", \"detail\": \"seen\", \"advice\": null}]}"'
    doctor
    no_fail
    finding x warn seen
}

@test "a qsandbox that others can write is not run" {
    beside 'touch "$(dirname "$0")/ran"'
    chmod 777 "$SCRATCH/bin/qsandbox"
    doctor
    finding qsandbox fail "was not run" "install it anew"
    [ ! -e "$SCRATCH/bin/ran" ]
}

@test "lines for people: result, name, detail and what to do, aligned, in colour on a terminal" {
    quietly --system unset tools
    qs doctor
    [ "$status" -eq 0 ]
    grep -qE '^ok    store\.system +whole' <<<"$output"
    grep -qE "^warn  policy +none is set: qsandbox runs nothing; qsettings --root $ROOT --system set " <<<"$output"
    column=$(grep -ob 'whole' <<<"${lines[0]}" | cut -d: -f1)
    for line in "${lines[@]}"; do [[ ${line:column-2:2} == "  " && ${line:column:1} != " " ]] || { echo "$line"; false; }; done
    TERM=xterm run timeout 60 python3 "$QS_TOP/tests/support/terminal.py" -- "$QS" --root "$ROOT" doctor
    [[ $output == $'\e[32mok  \e[0m  store.system'*$'\e[33mwarn\e[0m  policy'* ]] || show
}
