#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `make dist`: the same source gives the same bytes, and the tarball is whole.
bats_require_minimum_version 1.5.0

setup_file() {
    export ONE=$BATS_FILE_TMPDIR/one TWO=$BATS_FILE_TMPDIR/two/deeper
    [ -e "$QS_TOP/.git" ] || skip "no clone: an unpacked tarball has no history to clone"
    # safe.directory: a build may run as another user than the clone's owner
    git -c safe.directory='*' clone -q --depth 1 "file://$QS_TOP" "$ONE"
    make -s -C "$ONE" dist
}

tarball() { echo "$1"/build/dist/*.tar.gz; }

@test "another clone, umask, time zone, locale and clock give the same bytes" {
    (
        umask 077
        git clone -q "file://$ONE" "$TWO"
    )
    find "$TWO" -name '*.c' -exec touch -d 2001-01-01 {} +
    TZ=Pacific/Chatham LC_ALL=C.UTF-8 make -s -C "$TWO" dist
    cmp "$(tarball "$ONE")" "$(tarball "$TWO")"
}

@test "what is not tracked stays out, and a change shows" {
    before=$(sha256sum <"$(tarball "$ONE")")
    echo x >"$ONE/untracked"
    make -s -C "$ONE" dist
    [ "$(sha256sum <"$(tarball "$ONE")")" = "$before" ]
    cp "$ONE/README.md" "$BATS_TEST_TMPDIR/"
    echo x >>"$ONE/README.md"
    make -s -C "$ONE" dist
    [ "$(sha256sum <"$(tarball "$ONE")")" != "$before" ]
    cp "$BATS_TEST_TMPDIR/README.md" "$ONE/"
    make -s -C "$ONE" dist
    [ "$(sha256sum <"$(tarball "$ONE")")" = "$before" ]
}

@test "the unpacked tarball holds every tracked file, and makes itself again, without git" {
    tar -C "$BATS_TEST_TMPDIR" -xf "$(tarball "$ONE")"
    there=$(echo "$BATS_TEST_TMPDIR"/qsettings-*)
    diff <(git -C "$ONE" ls-files | LC_ALL=C sort) <(cd "$there" && find . ! -type d -printf '%P\n' | LC_ALL=C sort)
    run --separate-stderr make -s -C "$there" dist
    [ -z "$stderr" ]
    cmp "$(tarball "$ONE")" "$(tarball "$there")"
}
