# SPDX-License-Identifier: Apache-2.0
# qsandbox doctor: each finding about this machine and about what runs left behind is provoked; nothing is changed.
load ../support/sandbox

# doctor USER [COMMAND...]: the report, as that user; a COMMAND goes before (a namespace in which something differs).
doctor() {
    local user=$1
    shift
    run --separate-stderr as "$user" timeout 60 "$@" "$qsandbox" --root "$base/root" doctor --json
    jq -e '.checks | all(has("name") and has("result") and has("detail") and has("advice"))' <<<"$output" >/dev/null || show
}

show() {
    echo "status: $status"
    echo "output: $output"
    echo "stderr: $stderr"
    return 1
}

# finding NAME RESULT TEXT [ADVICE]: as in cli_doctor.bats
finding() {
    jq -e --arg n "$1" --arg r "$2" --arg t "$3" --arg a "${4:-}" '.checks | any(.name == $n and .result == $r and
        (.detail | contains($t)) and ($a == "" or ((.advice // "") | contains($a))))' <<<"$output" >/dev/null || show
    [ "$status" -eq "$(jq 'if .result == "fail" then 1 else 0 end' <<<"$output")" ] || show
}

# with SCRIPT: a mount namespace in which SCRIPT was run first; for doctor.
with() {
    printf '#!/bin/sh\nset -e\n%s\nexec "$@"\n' "$1" >"$base/with"
    chmod 755 "$base/with"
}

# bwrap_is SCRIPT: /usr/bin/bwrap is a program of root's that does this.
bwrap_is() {
    printf '#!/bin/sh\n%s\n' "$1" >"$base/bwrap"
    chmod 755 "$base/bwrap"
    with "mount --bind $base/bwrap /usr/bin/bwrap"
}

journaled() { # a policy under which runs are recorded
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"caches":"none"}'
}

@test "a machine in order, for root and for a plain user" {
    for user in root ann; do
        doctor $user
        [ "$(jq -r .result <<<"$output")" != fail ] || show
        [ "$status" -eq 0 ]
        finding bwrap ok /usr/bin/bwrap
        finding bwrap.features ok bubblewrap
        finding namespaces ok "can be made"
        finding seccomp ok ""
        finding pending ok "no sweep"
        finding quarantine ok empty
        finding journal ok "none yet"
    done
}

@test "it changes nothing, though there are findings" {
    journaled
    sandboxed ann -- sh -c 'touch .envrc' >/dev/null 2>&1
    before=$(cd "$base/home" && find . -printf '%p %y %m %U %s %T@ %C@ %i\n' | sort)
    doctor ann
    finding quarantine warn "1 entries"
    [ "$(cd "$base/home" && find . -printf '%p %y %m %U %s %T@ %C@ %i\n' | sort)" = "$before" ]
    sandboxed ann -- true # the control
    [ "$(cd "$base/home" && find . -printf '%p %y %m %U %s %T@ %C@ %i\n' | sort)" != "$before" ]
}

# ---- bubblewrap ----

@test "bubblewrap that is not there, foreign, open to others or set-user-ID" {
    # /usr/bin as it is, but for bwrap
    mkdir "$base/orig" "$base/bin2"
    with "mount --bind /usr/bin $base/orig; ln -s $base/orig/* $base/bin2/; rm $base/bin2/bwrap; mount --bind $base/bin2 /usr/bin"
    doctor root unshare -m "$base/with"
    finding bwrap fail "not installed" "install"
    bwrap_is :
    chown 12345 "$base/bwrap"
    doctor root unshare -m "$base/with"
    finding bwrap fail "belongs to root" "apt-get install --reinstall bubblewrap"
    chown 0 "$base/bwrap"
    chmod 777 "$base/bwrap"
    doctor root unshare -m "$base/with"
    finding bwrap fail "only root can write"
    chmod 4755 "$base/bwrap"
    doctor root unshare -m "$base/with"
    finding bwrap fail "set-user-ID" "without that bit"
}

@test "bubblewrap that is too old, or does not bind by descriptor" {
    cp /usr/bin/bwrap "$base/real"
    bwrap_is "case \" \$* \" in *' --perms '*) exit 1 ;; esac; exec $base/real \"\$@\""
    doctor root unshare -m "$base/with"
    finding bwrap.features fail "too old" "install bubblewrap"
    bwrap_is "case \" \$* \" in *-bind-fd*) exit 1 ;; esac; exec $base/real \"\$@\""
    doctor root unshare -m "$base/with"
    finding bwrap.features ok "does not bind by descriptor"
    bwrap_is "exec $base/real \"\$@\""
    doctor root unshare -m "$base/with"
    [ "$(jq -r .result <<<"$output")" != fail ] || show
}

# ---- namespaces ----

@test "user namespaces that the kernel refuses" {
    # a user namespace of one's own has its own limit
    printf '#!/bin/sh\nmount -t proc proc /proc && echo 0 >/proc/sys/user/max_user_namespaces && %s exec "$@"\n' '' \
        >"$base/none"
    chmod 755 "$base/none"
    doctor root unshare -Urmpf "$base/none"
    finding namespaces fail "user.max_user_namespaces is 0" "sysctl -w user.max_user_namespaces"
    finding namespaces.users fail "nobody can"
}

@test "AppArmor's restriction is named where the kernel refuses" {
    # The refusal is real; what AppArmor's switch says is put there, for this kernel may have none.
    mkdir "$base/kernel"
    echo 1 >"$base/kernel/apparmor_restrict_unprivileged_userns"
    echo 65534 | tee "$base/kernel/overflowuid" >"$base/kernel/overflowgid"
    echo 1000 >"$base/max"
    printf '#!/bin/sh\nmount -t proc proc /proc && echo 0 >/proc/sys/user/max_user_namespaces &&
        mount --bind %s/kernel /proc/sys/kernel && mount --bind %s/max /proc/sys/user/max_user_namespaces && exec "$@"\n' \
        "$base" "$base" >"$base/none"
    chmod 755 "$base/none"
    doctor root unshare -Urmpf "$base/none"
    finding namespaces fail "AppArmor restricts user namespaces" "profile for /usr/bin/bwrap with the rule 'userns,'"
}

@test "root is told what plain users are kept from" {
    mkdir "$base/kernel"
    echo 65534 | tee "$base/kernel/overflowuid" >"$base/kernel/overflowgid"
    echo 0 >"$base/kernel/unprivileged_userns_clone"
    with "mount --bind $base/kernel /proc/sys/kernel"
    doctor root unshare -m "$base/with"
    finding namespaces.users warn "only root can make" "sysctl -w kernel.unprivileged_userns_clone=1"
    rm "$base/kernel/unprivileged_userns_clone"
    echo 1 >"$base/kernel/apparmor_restrict_unprivileged_userns"
    doctor root unshare -m "$base/with"
    finding namespaces.users warn "AppArmor restricts" "doctor' as a plain user"
    echo 0 >"$base/kernel/apparmor_restrict_unprivileged_userns"
    doctor root unshare -m "$base/with"
    finding namespaces.users ok ""
    doctor ann
    [ "$(jq '[.checks[] | select(.name == "namespaces.users")] | length' <<<"$output")" -eq 0 ]
}

# ---- what runs left ----

@test "a shim or a state directory that others can write" {
    if [ -e "$base/bin/qsandbox-shim" ]; then
        chmod 777 "$base/bin/qsandbox-shim"
        doctor ann
        finding shim fail "not a file that is kept" "install qsandbox anew"
        chmod 755 "$base/bin/qsandbox-shim"
    fi
    journaled
    sandboxed ann -- true
    chmod 777 "$base/home/ann/.local/state/qsettings/sandbox/journal"
    doctor ann
    finding state fail "writable by group or others" "chmod go-w"
}

@test "a sweep that a killed run left is pending until the next run" {
    started ann -- sh -c 'touch .envrc started; sleep 1000'
    eventually test -e "$(ws ann)/started"
    during=$(as ann "$qsandbox" --root "$base/root" doctor --json)
    kill -KILL "$executor"
    wait "$job" || true
    status=0 output=$during
    finding pending ok "a run is going on in $(ws ann)"
    nothing_left() { doctor ann && finding pending warn "a run in $(ws ann) was killed" "the next run there sweeps"; }
    eventually nothing_left
    run sandboxed ann -- true
    doctor ann
    finding pending ok "no sweep is pending"
    finding quarantine warn "1 entries" "$base/home/ann/.local/state/qsettings/sandbox/quarantine"
    touch "$base/home/ann/.local/state/qsettings/sandbox/pending/0123.new"
    doctor ann
    finding pending ok "0123.new: an unfinished list"
}

@test "the journal: whole, unfinished, broken, open to others" {
    journaled
    sandboxed ann -- true
    journal=$base/home/ann/.local/state/qsettings/sandbox/journal/journal
    doctor ann
    finding journal ok "2 records, the chain is whole"
    printf '{"unfinished' >>"$journal"
    doctor ann
    finding journal warn "unfinished line follows" "next run cuts it off"
    sandboxed ann -- true # as advised
    doctor ann
    finding journal ok "4 records"
    chmod 666 "$journal"
    doctor ann
    finding journal fail "not a file of the runner alone" "ls -l"
    chmod 600 "$journal"
    sed -i 's/"exit":0/"exit":1/' "$journal"
    doctor ann
    finding journal fail "chain breaks at line 3" "keep it aside"
    PATH=$PATH as ann sh -c "$(jq -r '.checks[] | select(.name == "journal") | .advice' <<<"$output" | sed 's/^.*: mv/mv/')"
    sandboxed ann -- true
    doctor ann
    finding journal ok "2 records"
    rm "$journal"
    mkfifo "$journal"
    doctor ann
    finding journal fail "not a file of the runner alone"
}

@test "a user without an entry or a home" {
    run --separate-stderr setpriv --reuid=54321 --regid=54321 --clear-groups "$qsandbox" doctor --json
    finding state fail "no entry for uid 54321"
    mv "$base/home/ann" "$base/home/gone"
    run --separate-stderr as ann "$qsandbox" doctor --json
    finding state fail "does not exist"
}

@test "qsettings doctor tells all of it, too" {
    bwrap_is :
    chmod 4755 "$base/bwrap"
    run --separate-stderr as root unshare -m "$base/with" "$qsettings" --root "$base/root" doctor --json
    finding bwrap fail "set-user-ID"
    finding store.system ok whole
    finding journal ok "none yet"
}

@test "lines for people" {
    run --separate-stderr as ann "$qsandbox" --root "$base/root" doctor
    [ "$status" -eq 0 ]
    grep -qE '^ok    bwrap +/usr/bin/bwrap' <<<"$output"
    [[ $output != *$'\e'* ]]
}

@test "names that a command chose do not reach the terminal of who looks" {
    # (here, since it needs the same scene)
    journaled
    odd=$(ws ann)/$'odd\e[2J\n2026-01-01T00:00:00Z forged'
    as ann mkdir "$odd"
    run --separate-stderr as ann sh -c 'cd "$0" && exec "$@"' "$odd" "$qsandbox" --root "$base/root" run \
        --workspace "$(ws ann)" --cwd "$odd" -- sh -c 'true' $'arg\u009b31m'
    [ "$status" -eq 0 ] || show
    run --separate-stderr as ann "$qsandbox" --root "$base/root" audit
    [[ $status -eq 0 && ${#lines[@]} -eq 2 && $output != *$'\e'* && $output != *$'\u009b'* ]] || show
    [[ $output == *'odd\u001b[2J\n2026'*'arg\u009b31m'* ]] || show
    run --separate-stderr as ann sh -c 'cd "$0" && exec "$@"' "$odd" "$qsandbox" --root "$base/root" inspect
    [[ $status -eq 0 && $output != *$'\e'* && $output == *'odd\u001b[2J\n2026'* ]] || show
}
