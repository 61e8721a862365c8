#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The README is tried: every command of its first five minutes runs as it stands there, in order.

@test "each command of the first five minutes works" {
    cd "$BATS_TEST_TMPDIR"
    PATH=$QS_BUILD/bin:$PATH
    count=0
    # The scratch root of the README is put below the test's own directory; nothing else is changed.
    while IFS= read -r line; do
        count=$((count + 1))
        line=${line//\/tmp\/try/$BATS_TEST_TMPDIR/try}
        echo "\$ $line"
        bash -c "$line"
    done < <(sed -n 's/^    \$ //p' "$QS_TOP/README.md")
    [ "$count" -ge 8 ]
    # and what they say happened: the rollback took the list away again, and the file was published
    run qsettings --root "$BATS_TEST_TMPDIR/try" get permissions.deny
    [ "$status" -eq 1 ]
    run jq -r .tools.executionSandbox.network "$BATS_TEST_TMPDIR/try/settings.json"
    [ "$output" = closed ]
}

@test "each file that the README and the documents link to exists" {
    cd "$QS_TOP"
    for page in README.md docs/*.md; do
        while IFS= read -r target; do
            [ -e "$(dirname "$page")/$target" ] || { echo "$page: $target"; return 1; }
        done < <(grep -oE '\]\([^)#:]+\)' "$page" | sed 's/^](//; s/)$//')
    done
}

@test "each target that the README names is in make help" {
    cd "$QS_TOP"
    make help >"$BATS_TEST_TMPDIR/help"
    for target in $(grep -oE '^    make [a-z-]+' README.md | awk '{print $2}'); do
        grep -q "make $target " "$BATS_TEST_TMPDIR/help"
    done
}
