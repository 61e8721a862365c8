#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Debian packages: lintian, a second build, and a root file system in which they are installed, used and purged. Run by
# `make deb-check`, as root. QS_DEB_ROOT names a root to use (a copy of it) instead of one made from this machine's
# packages: debootstrap's, say, with what setup_file asks for.
bats_require_minimum_version 1.5.0

PACKAGES="libqsettings0 libqsettings-dev qsettings qsandbox qstress"

setup_file() {
    export DEBS=$QS_BUILD/deb ROOT=$BATS_FILE_TMPDIR/root
    # What the packages say they depend on, a compiler to try the headers with, and mount, by which the root is entered.
    local needed
    needed=$(cd "$DEBS" && for p in $PACKAGES; do dpkg-deb -f "$p"_[0-9]*.deb Depends | tr ',' '\n'; done | awk '{print $1}' |
        grep -v qsettings | sort -u)
    if [ -n "${QS_DEB_ROOT:-}" ]; then
        cp -a "$QS_DEB_ROOT" "$ROOT"
    else
        # shellcheck disable=SC2086 # words
        bash "$QS_TOP/packaging/fresh-root.sh" "$ROOT" gcc libc6-dev pkg-config mount $needed
    fi
    echo 'ann:x:1000:1000:Ann:/home/ann:/bin/sh' >>"$ROOT/etc/passwd"
    install -d -m 700 -o 1000 -g 1000 "$ROOT/home/ann"
    # Once a package has come and gone, dpkg and ldconfig have made all the files that they make for themselves.
    mkdir -p "$BATS_FILE_TMPDIR/none/DEBIAN"
    printf 'Package: none\nVersion: 1\nArchitecture: all\nMaintainer: none <none@none.invalid>\nDescription: none\n' \
        >"$BATS_FILE_TMPDIR/none/DEBIAN/control"
    dpkg-deb -b "$BATS_FILE_TMPDIR/none" "$BATS_FILE_TMPDIR/none.deb" >/dev/null
    for _ in 1 2; do
        bash "$QS_TOP/packaging/in-root.sh" "$ROOT" "$BATS_FILE_TMPDIR" sh -ec 'dpkg -i /mnt/none.deb; dpkg --purge none; ldconfig' >/dev/null
    done
    files >"$BATS_FILE_TMPDIR/before"
}

# inside COMMAND...: as root in the new root; the packages lie in /mnt
inside() {
    bash "$QS_TOP/packaging/in-root.sh" "$ROOT" "$DEBS" "$@"
}

# as_ann SCRIPT: as a plain user, in her home
as_ann() {
    inside setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/ann sh -c "cd && $1"
}

# Every name in the root with kind, mode, owner and the target of links.
files() {
    find "$ROOT" -xdev ! -path "$ROOT/tmp/*" -printf '%P %y %m %U %G %l\n' | sort
}

# leftovers: the names that are not as before, in /dev/stdin's order
leftovers() {
    files | diff "$BATS_FILE_TMPDIR/before" - | sed -n 's/^[<>] //p' | sort
}

install_all() {
    # shellcheck disable=SC2016 # the inner shell expands
    inside sh -ec 'cd /mnt; for p; do set -- "$@" "$(echo "$p"_[0-9]*.deb)"; shift; done; dpkg -i "$@"; dpkg --audit; test -z "$(dpkg --audit)"' sh $PACKAGES
}

purge_all() {
    # shellcheck disable=SC2086 # words
    inside dpkg --purge $PACKAGES
}

@test "lintian finds no error and no warning" {
    run lintian --allow-root --fail-on error,warning "$DEBS"/*.changes
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *[EW]:\ * ]]
}

@test "lintian does look: a program that everyone may write is an error" {
    dpkg-deb -R "$DEBS"/qsettings_[0-9]*.deb "$BATS_TEST_TMPDIR/bad"
    chmod 777 "$BATS_TEST_TMPDIR/bad/usr/bin/qsettings"
    dpkg-deb -b "$BATS_TEST_TMPDIR/bad" "$BATS_TEST_TMPDIR/bad.deb" >/dev/null
    run lintian --allow-root --fail-on error,warning "$BATS_TEST_TMPDIR/bad.deb"
    [ "$status" -ne 0 ]
}

@test "a second build elsewhere, under another umask and time zone, gives the same packages" {
    (
        umask 077
        TZ=Pacific/Chatham bash "$QS_TOP/tools/deb.sh" "$QS_BUILD"/dist/*.tar.gz "$BATS_TEST_TMPDIR/elsewhere/deb" >/dev/null
    )
    for package in $PACKAGES; do
        cmp "$DEBS/$package"_[0-9]*.deb "$BATS_TEST_TMPDIR/elsewhere/deb/$package"_[0-9]*.deb
    done
}

@test "each program's package has its manual page and a copyright, and its completions where the shells look" {
    for program in qsettings qsandbox qstress; do
        dpkg-deb -c "$DEBS/$program"_[0-9]*.deb | awk '{print $6}' >"$BATS_TEST_TMPDIR/list"
        for file in usr/bin/$program usr/share/man/man1/$program.1.gz usr/share/doc/$program/copyright \
            usr/share/bash-completion/completions/$program usr/share/zsh/vendor-completions/_$program \
            usr/share/fish/vendor_completions.d/$program.fish; do
            grep -qx "./$file" "$BATS_TEST_TMPDIR/list" || { echo "$program lacks $file"; return 1; }
        done
    done
    dpkg-deb -f "$DEBS"/qsandbox_[0-9]*.deb Depends | grep -q bubblewrap
}

@test "the AppArmor profile is sound" {
    profile=$QS_TOP/packaging/apparmor/qsandbox
    # An AppArmor before 4 knows neither the rule nor its abi; the rest it reads.
    grep -vE '^ *(abi|userns)\b' "$profile" >"$BATS_TEST_TMPDIR/profile"
    apparmor_parser -Q -K "$BATS_TEST_TMPDIR/profile"
    if [ -e /etc/apparmor.d/abi/4.0 ]; then apparmor_parser -Q -K "$profile"; fi
    sed 's/flags=/flag=/' "$BATS_TEST_TMPDIR/profile" >"$BATS_TEST_TMPDIR/unsound"
    run ! apparmor_parser -Q -K "$BATS_TEST_TMPDIR/unsound"
}

@test "installed and purged again, the packages leave nothing" {
    install_all
    [ -d "$ROOT/etc/qsettings" ]
    [ "$(stat -c '%a %u %g' "$ROOT/etc/qsettings")" = "755 0 0" ]
    [ "$(leftovers | wc -l)" -gt 50 ] # the list does tell what is there
    purge_all
    leftovers
    [ -z "$(leftovers)" ]
}

@test "installed, they set, read and publish a policy, confine a command and serve a C program; purging leaves the stores" {
    install_all
    mkdir "$ROOT/home/ann/ws"
    chown 1000:1000 "$ROOT/home/ann/ws"
    run as_ann 'cd ws && qsandbox run -- touch file'
    [ "$status" -eq 125 ] # without a policy nothing is run
    [ ! -e "$ROOT/home/ann/ws/file" ]
    inside qsettings --system init
    inside qsettings --system set tools.approvalMode default tools.executionSandbox \
        '{"filesystem":"workspace-write","network":"closed"}' -m 'first policy'
    as_ann 'qsettings policy' | grep -q workspace-write
    inside sh -ec 'qsettings publish /tmp/s.json >&2; cat /tmp/s.json' >"$BATS_TEST_TMPDIR/published"
    grep -q '"network": *"closed"' "$BATS_TEST_TMPDIR/published"
    inside qstress race --seconds 0.2 --writers 1 --readers 1
    # shellcheck disable=SC2016 # the inner shell expands
    [ "$(inside bash --norc -c 'source /usr/share/bash-completion/completions/qsandbox; COMP_WORDS=(qsandbox ver) COMP_CWORD=1
        COMP_LINE="qsandbox ver" COMP_POINT=12; _qsandbox; echo "${COMPREPLY[*]}"')" = "verify version" ]

    # As a plain user: the workspace is writable, the rest of the home is not.
    run --separate-stderr as_ann 'cd ws && qsandbox run -- sh -c "echo in >file; echo out >../outside || exit 33"'
    echo "$output $stderr"
    [ "$status" -eq 33 ]
    [ "$(cat "$ROOT/home/ann/ws/file")" = in ]
    [ ! -e "$ROOT/home/ann/outside" ]
    rm -r "$ROOT/home/ann/ws"

    # The first program of the manual, against the installed headers.
    zcat "$ROOT/usr/share/man/man3/libqsettings.3.gz" | awk '/^\.Bd -literal/{on=1; next} on && /^\.Ed/{exit} on' |
        sed 's/\\e/\\/g' >"$ROOT/root/example.c"
    # shellcheck disable=SC2016 # the inner shell expands
    inside sh -ec 'cd /root; gcc -Wall -Werror -o example example.c $(pkg-config --cflags --libs qsettings)
        gcc -o static example.c -Wl,-Bstatic -lqsettings -Wl,-Bdynamic $(pkg-config --static --libs-only-l qsettings | sed s/-lqsettings//)
        ./example | head -1; ./static | head -1; ldd example | grep -c libqsettings.so.0; ldd static | grep -c libqsettings || true' >"$BATS_TEST_TMPDIR/said"
    cat "$BATS_TEST_TMPDIR/said"
    [ "$(cat "$BATS_TEST_TMPDIR/said")" = $'tools.approvalMode is "default"\ntools.approvalMode is "default"\n1\n0' ]
    rm "$ROOT"/root/example* "$ROOT"/root/static

    sha256sum "$ROOT/etc/qsettings/system/data.mdb" >"$BATS_TEST_TMPDIR/sum"
    purge_all
    sha256sum -c "$BATS_TEST_TMPDIR/sum"
    leftovers | awk '{print $1}' | grep -vE '^(etc/qsettings|home/ann)(/|$)' >"$BATS_TEST_TMPDIR/others" || true
    cat "$BATS_TEST_TMPDIR/others"
    [ ! -s "$BATS_TEST_TMPDIR/others" ]
    rm -r "$ROOT"/etc/qsettings "$ROOT"/home/ann/.[a-z]*
    [ -z "$(leftovers)" ]
}

@test "the AppArmor profile is linked where the parser understands it, when it comes to, and goes with the package" {
    install_all
    [ ! -e "$ROOT/etc/apparmor.d" ] # no AppArmor here
    # One that understands every profile stands in for AppArmor 4; its arrival sets the trigger off.
    mkdir "$ROOT/etc/apparmor.d"
    printf '#!/bin/sh\nexit 0\n' >"$ROOT/usr/sbin/apparmor_parser"
    chmod 755 "$ROOT/usr/sbin/apparmor_parser"
    inside dpkg-trigger --by-package=apparmor /etc/apparmor.d/abi/4.0
    inside dpkg --configure --pending
    [ "$(readlink "$ROOT/etc/apparmor.d/qsandbox")" = /usr/share/qsandbox/apparmor/qsandbox ]
    purge_all
    [ ! -L "$ROOT/etc/apparmor.d/qsandbox" ]
    # One that does not understand it.
    printf '#!/bin/sh\nexit 1\n' >"$ROOT/usr/sbin/apparmor_parser"
    install_all
    [ ! -L "$ROOT/etc/apparmor.d/qsandbox" ]
    # The administrator's own stays.
    printf '#!/bin/sh\nexit 0\n' >"$ROOT/usr/sbin/apparmor_parser"
    purge_all
    echo mine >"$ROOT/etc/apparmor.d/qsandbox"
    install_all
    purge_all
    [ "$(cat "$ROOT/etc/apparmor.d/qsandbox")" = mine ]
    rm -r "$ROOT/etc/apparmor.d" "$ROOT/usr/sbin/apparmor_parser"
    [ -z "$(leftovers)" ]
}
