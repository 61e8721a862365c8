#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# apply, killed by strace at the system calls that change anything, one in each run: afterwards the policy is the old or the new one, never
# absent and never stale; require-serial is not above the store; and one more run converges. QS_FLEET_KILL_STEP=1 (7) takes
# every call.
load ../support/fleet

setup() { fleet_setup; }
teardown() { fleet_teardown; }

policy_of() {
    jq -nc --arg n "$1" '{tools: {executionSandbox: {filesystem: "workspace-write", network: $n}}}'
}

# looks NAME WHERE: what must hold at any moment
looks() {
    local network serial demanded
    network=$("$QS" --root "$SCRATCH/$1" policy --json | jq -r .policy.network) || { echo "$2: no policy"; return 1; }
    serial=$("$QS" --root "$SCRATCH/$1" --system get fleet.serial)
    case $network$serial in closed1 | open2) ;; *) echo "$2: network $network with serial $serial"; return 1 ;; esac
    demanded=$(cut -d' ' -f3 "$SCRATCH/$1/require-serial")
    [ "$demanded" -le "$serial" ] || { echo "$2: require-serial $demanded above $serial"; return 1; }
}

@test "apply can be killed at any system call" {
    local call name n step=${QS_FLEET_KILL_STEP:-7} killed=0 tried=0
    local changing=open,openat,openat2,write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat2,linkat,unlinkat,mkdir,mkdirat
    changing+=,fchmod,fchown,flock,fcntl,fsetxattr,close
    machine base
    release "$(policy_of closed)"
    update base
    is 0
    build "$(policy_of open)" # of the same fleet, with a key document before it
    key_document 2 '["root"]' '["ops"]'
    sign root "$WORK/keys-2.json"
    rm "$WORK/$BUNDLE"
    release "$(policy_of open)"
    "$QF" fetch --once --root "$SCRATCH/base"
    cp -a "$SCRATCH/base" "$SCRATCH/m"
    strace -f -e trace=$changing -o "$SCRATCH/trace" "$QF" apply --root "$SCRATCH/m" >/dev/null
    looks m "not killed"
    # NAME N: the N-th call of this name, as strace counts
    awk '{ sub(/\(.*/, "", $2); print $2, ++n[$2] }' "$SCRATCH/trace" | grep -E '^[a-z0-9_]+ ' >"$SCRATCH/calls"
    echo "# $(wc -l <"$SCRATCH/calls") system calls, every ${step}th" >&3
    while read -r name n; do
        tried=$((tried + 1))
        call="$name $n"
        rm -rf "$SCRATCH/m"
        cp -a "$SCRATCH/base" "$SCRATCH/m"
        { strace -f -o /dev/null -e "inject=$name:signal=KILL:when=$n" "$QF" apply --root "$SCRATCH/m" >/dev/null 2>&1 && continue; } 2>/dev/null
        killed=$((killed + 1))
        looks m "killed at $call"
        on m apply
        is 0 || { echo "after a kill at $call"; return 1; }
        same "$(value m fleet.serial) $(report m .state)" "2 current" || { echo "after a kill at $call"; return 1; }
        same "$(cat "$SCRATCH/m/require-serial")" "north 2 2"
        [ -z "$(find "$SCRATCH/m" -name '.qs-*')" ] || { find "$SCRATCH/m" -name '.qs-*'; echo "left after $call"; return 1; }
    done < <(awk -v step="$step" -v from=$((RANDOM % step)) 'NR % step == from' "$SCRATCH/calls")
    echo "# killed $killed of $tried" >&3
    [ "$killed" -gt $((tried * 3 / 4)) ]
}
