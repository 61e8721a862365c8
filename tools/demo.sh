#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, shown on a scratch root: a system store is made and filled, and read by an unprivileged user while a writer
# commits for three seconds; then a command runs confined under the policy of that store. Fails if any read was absent, torn
# or stale, or if the command could read or write what it must not. Usage: tools/demo.sh OUT
#
# Each commit sets demo.a and demo.b to the same rising number; so a read with two different numbers is torn, and one with
# a number below the last it saw, or below the last that was acknowledged before it began, is stale.
set -eu
out=$(cd "${1:?build folder}" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
seconds=${QS_DEMO_SECONDS:-3}

umask 022
scratch=$(mktemp -d "${TMPDIR:-/tmp}/qsettings-demo-XXXXXX")
trap 'touch "$scratch/stop"; wait; rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
mkdir "$scratch/root" "$scratch/seen"
chmod 777 "$scratch/seen"
# where the build lies another user may not be let in
install -m 755 "$out/bin/qsettings" "$out/bin/qsandbox" "$scratch/"
qs=("$scratch/qsettings" --root "$scratch/root" --system)
: >"$scratch/acknowledged"

echo "A system store on a scratch root, filled from operator.jsonc:"
"${qs[@]}" init
"${qs[@]}" apply "$top/tests/fixtures/cases/good/operator.jsonc" -m "the operator's settings"
"${qs[@]}" set demo.a 0 demo.b 0 >/dev/null

cat >"$scratch/reader.sh" <<'READER'
# reader.sh SCRATCH NAME: reads until told to stop; counts into seen/NAME.
scratch=$1
reads=0 absent=0 torn=0 stale=0 last=0 acknowledged=0
exec 9<"$scratch/acknowledged"
while [[ ! -e $scratch/stop ]]; do
    # what the writer knew to be stored before this read began
    while read -r -u 9 number; do acknowledged=$number; done
    if ! text=$("$scratch/qsettings" --root "$scratch/root" --system list demo 2>>"$scratch/seen/$2.errors") ||
        [[ ! $text =~ ^demo\.a\ =\ ([0-9]+)$'\n'demo\.b\ =\ ([0-9]+)$ ]]; then
        absent=$((absent + 1))
        continue
    fi
    reads=$((reads + 1))
    a=${BASH_REMATCH[1]} b=${BASH_REMATCH[2]}
    ((a == b)) || torn=$((torn + 1))
    ((a >= last && a >= acknowledged)) || stale=$((stale + 1))
    last=$a
done
echo "$reads $absent $torn $stale" >"$scratch/seen/$2"
READER

who=()
name=$(id -un)
if [[ $(id -u) == 0 ]]; then
    who=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    name="uid 65534"
fi
echo "Two readers ($name) read while a writer commits for $seconds seconds:"
for reader in 1 2; do
    "${who[@]}" bash "$scratch/reader.sh" "$scratch" "$reader" &
done

commits=0
end=$((${EPOCHREALTIME//[!0-9]/} + seconds * 1000000))
while ((${EPOCHREALTIME//[!0-9]/} < end)); do
    "${qs[@]}" set demo.a $((commits + 1)) demo.b $((commits + 1)) >/dev/null
    commits=$((commits + 1))
    echo "$commits" >>"$scratch/acknowledged"
done
touch "$scratch/stop"
wait

read -r reads absent torn stale < <(cat "$scratch"/seen/[12] | awk '{ r += $1; a += $2; t += $3; s += $4 } END { print r, a, t, s }')
echo "$commits commits, $reads complete reads; absent $absent, torn $torn, stale $stale"
if ((commits == 0 || reads == 0 || absent + torn + stale > 0)); then
    sort "$scratch"/seen/*.errors 2>/dev/null | uniq -c | sort -rn | head -n 5 >&2
    echo "qsettings: the demo failed: every read must be complete and none absent, torn or stale" >&2
    exit 1
fi
"${qs[@]}" fsck

# ---- a confined command ----
# Its workspace may be written. The store, a file beside the workspace, a variable that looks like a secret and the
# network are what it tries to get at; each line it prints is a real attempt.
mkdir "$scratch/workspace" "$scratch/private"
echo "left alone" >"$scratch/private/notes"
cat >"$scratch/workspace/attempts.sh" <<ATTEMPTS
echo started >ran
try() {
    printf '  %-34s' "\$1"
    shift
    if "\$@" >out 2>err; then echo yes; else echo no; fi
}
beside() { echo changed >"$scratch/private/notes"; }
store() { cat "$scratch/root/system/data.mdb" >copy; }
secret() { test -n "\${DEMO_API_TOKEN:-}"; }
reachable() { test "\$(grep -c : /proc/net/dev)" -gt 1; }
try "writes in its workspace" touch made
try "writes beside its workspace" beside
try "reads the policy store" store
try "sees DEMO_API_TOKEN" secret
try "has a network but loopback" reachable
ATTEMPTS
"${qs[@]}" set executor '{"audit":"off","caches":"none"}' >/dev/null
[[ -s $scratch/root/system/data.mdb ]] || { echo "qsettings: the demo looks for the store in the wrong place" >&2; exit 1; }

echo
echo "A command under that policy (qsandbox run):"
status=0
DEMO_API_TOKEN=hunter2 "$scratch/qsandbox" --root "$scratch/root" run --workspace "$scratch/workspace" \
    --cwd "$scratch/workspace" -- /bin/sh attempts.sh >"$scratch/attempts" 2>"$scratch/refusal" || status=$?
cat "$scratch/attempts"
if ((status == 125)) && [[ ! -e $scratch/workspace/ran ]]; then
    sed 's/^/  /' "$scratch/refusal"
    echo "No sandbox can be had here, so the command was not run: it is refused, never run unconfined."
    [[ ${QS_NO_SKIP:-} != 1 ]] || exit 1
    exit 0
fi
if [[ $status != 0 || $(sed 's/.* //' "$scratch/attempts" | tr '\n' ' ') != "yes no no no no " ||
    $(cat "$scratch/private/notes") != "left alone" || ! -e $scratch/workspace/made ]]; then
    cat "$scratch/refusal" >&2
    echo "qsettings: the demo failed: the command was not confined" >&2
    exit 1
fi
echo
echo "Next: make install, then the README's first five minutes."
