#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The battery before a commit: a candidate is held only if it fails what the present policy passes. A stand-in for
# qsandbox says what fails, by a word in the policy that it is given; the real one is tried once.
load ../support/fleet

setup() {
    [ "$(id -u)" -eq 0 ] || skip "needs root, for a user of the battery's own"
    fleet_setup
    mkdir "$SCRATCH/bin" "$SCRATCH/battery-home"
    install -m 755 "$QS_BUILD/bin/qfleet" "$QS_BUILD/bin/qsettings" "$SCRATCH/bin/"
    QF=$SCRATCH/bin/qfleet
    chown 12399 "$SCRATCH/battery-home"
    { cat /etc/passwd; echo "qfleet-battery:x:12399:12399::$SCRATCH/battery-home:/usr/sbin/nologin"; } >"$SCRATCH/passwd"
    cat >"$SCRATCH/bin/qsandbox" <<'END'
#!/bin/sh
# --root DIR verify --json: fails the checks that the policy's hiddenPaths name, and says as whom it runs
names=$("$(dirname "$0")/qsettings" --root "$2" --system get executor.hiddenPaths 2>/dev/null | tr -d '[]"/' | tr ',' ' ')
case " $names " in *" hang "*) exec sleep 600;; *" die "*) exit 10;; esac
printf '{"checks":[{"name":"fine","result":"pass","detail":""}'
for name in $names; do printf ',{"name":"%s","result":"fail","detail":"%s"}' "$name" "$(id -u) $HOME"; done
printf '],"result":"x"}'
END
    chmod 755 "$SCRATCH/bin/qsandbox"
}
teardown() { fleet_teardown; }

# as on, where the battery's user exists
apply_there() {
    "$QF" fetch --once --root "$SCRATCH/$1" 2>/dev/null || true
    run --separate-stderr unshare -m bash -c 'mount --bind "$1" /etc/passwd; shift; exec "$@"' _ "$SCRATCH/passwd" \
        "$QF" apply --root "$SCRATCH/$1"
}
# a policy that fails these checks
failing() {
    jq -nc --args '{tools: {executionSandbox: {filesystem: "workspace-write", network: "closed"}},
        executor: {hiddenPaths: [$ARGS.positional[] | "/" + .]}, x: "v"}' "$@"
}

@test "a candidate that fails what the present one passes is held; the old policy stays, and a newer bundle frees it" {
    machine m
    release "$(failing)"
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result]')" '["current","pass"]'
    release "$(failing files)"
    apply_there m
    is 1
    same "$(report m '[.state, .battery.result, .battery.failed, .seen, .applied]')" '["held","held",["files"],[1,2],[1,1]]'
    same "$(value m executor.hiddenPaths)" "[]"
    mv "$SCRATCH/bin/qsandbox" "$SCRATCH/bin/away" # the same one is not tried again at once
    apply_there m
    is 1
    rm -r "$SCRATCH/m/run/qfleet" # a restart of the machine
    mv "$SCRATCH/bin/away" "$SCRATCH/bin/qsandbox"
    apply_there m
    is 1
    same "$(ls -A "$SCRATCH/m/run/qfleet")" held # no scratch store is left
    release "$(failing)"
    apply_there m
    is 0
    same "$(report m .state)" current
}

@test "battery: report commits what it would have held, and says so" {
    machine m
    release "$(failing)"
    apply_there m
    release "$(failing files)" --battery report
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result, .battery.failed, .applied]')" '["current","report",["files"],[1,2]]'
}

@test "what the present policy fails as well is the machine's fault" {
    machine m
    release "$(failing net)"
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result]')" '["current","broken"]'
    release "$(failing net files)"
    apply_there m
    is 1
    release "$(failing net)" --locks executor
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result, .applied]')" '["current","broken",[1,3]]'
}

@test "a battery that cannot be run is broken, and holds nothing" {
    machine m
    release "$(failing die)"
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result]')" '["current","broken"]'
    machine other
    update other # without the battery's user
    is 0
    same "$(report other '[.state, .battery.result]')" '["current","broken"]'
}

@test "a document without a policy has no battery" {
    machine m
    release '{"x":1}'
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result]')" '["current","none"]'
}

@test "the battery runs as its own user, with an empty home, over a store that is root's" {
    cat >"$SCRATCH/bin/qsandbox" <<'END'
#!/bin/sh
printf '{"checks":[{"name":"%s","result":"fail","detail":""}]}' "$(id -u)/$(id -G)/$HOME/$(ls -A "$HOME" | wc -l)/$(stat -c '%u-%a' "$2")/$*"
END
    machine m
    release "$(failing)" --battery report
    apply_there m
    is 0
    failed=$(report m '.battery.failed[0]')
    [[ $failed == "12399/12399/$SCRATCH/battery-home/0/0-755/--root $SCRATCH/m/run/qfleet/battery-"??????" verify --json" ]] || { echo "$failed"; return 1; }
}

@test "the real battery passes a real policy" {
    install -m 755 "$QS_BUILD/bin/qsandbox" "$SCRATCH/bin/qsandbox"
    [ ! -e "$QS_BUILD/bin/qsandbox-shim" ] || install -m 755 "$QS_BUILD/bin/qsandbox-shim" "$SCRATCH/bin/"
    machine m
    release '{"tools":{"executionSandbox":{"filesystem":"workspace-write","network":"closed"}}}'
    apply_there m
    is 0
    same "$(report m '[.state, .battery.result, .battery.failed]')" '["current","pass",[]]'
}
