#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The README is tried: every command of its first five minutes runs as it stands there, in order.

# told: what a reader sees in the console blocks, but for numbers, which differ from run to run.
numbers() { sed -E 's/[0-9]+/N/g'; }
told() { awk '/^```/ { on = $0 == "```console"; next } on' "$QS_TOP/README.md"; }

# replay COMMANDS: runs each "$ " line of a file as on a machine where nothing is configured yet; prints it and its output.
replay() {
    {
        echo 'exec 2>&1'
        sed -n 's/^\$ //p' "$1" | while IFS= read -r line; do
            printf 'printf "%%s\\n" %q\n%s\n' "\$ $line" "$line"
        done
    } >"$dir/script"
    unshare -m bash "$QS_TOP/tests/support/fresh_machine.sh" "$dir" "$dir/script" 3>&-
}

fresh() {
    [ "$(id -u)" -eq 0 ] || skip "needs root, for a mount namespace with an /etc that forgets"
    dir=$(mktemp -d /srv/qs-readme.XXXXXX)
    chmod 755 "$dir"
    mkdir "$dir/bin" "$dir/work"
    install -m 755 "$QS_BUILD"/bin/q* "$dir/bin/"
}

teardown() {
    [ -z "${dir:-}" ] || rm -rf "$dir"
}

@test "the first five minutes go as the README shows them" {
    fresh
    told >"$dir/told"
    [ "$(grep -c '^\$ ' "$dir/told")" -ge 12 ]
    replay "$dir/told" >"$dir/seen"
    cat "$dir/seen"
    diff <(numbers <"$dir/told") <(numbers <"$dir/seen")
    # and what numbers hide: none unconfined with the store
    tail -n 1 "$dir/seen" | jq -e '.confined == 2000 and .unconfined == 0'
}

@test "a README that shows something else is found out" {
    fresh
    printf '%s\n' '$ qsettings --root /tmp/no policy' 'policy: present' >"$dir/told"
    run diff <(numbers <"$dir/told") <(replay "$dir/told" | numbers)
    [ "$status" -eq 1 ]
}

@test "each file that the README and the documents link to exists" {
    cd "$QS_TOP"
    for page in *.md docs/*.md; do
        while IFS= read -r target; do
            [ -e "$(dirname "$page")/$target" ] || { echo "$page: $target"; return 1; }
        done < <(grep -oE '\]\([^)#:]+\)' "$page" | sed 's/^](//; s/)$//')
    done
}

@test "each target that the README and CONTRIBUTING.md name is in make help" {
    cd "$QS_TOP"
    make help >"$BATS_TEST_TMPDIR/help"
    for target in $(grep -ohE '(^    |`)make [a-z-]+' README.md CONTRIBUTING.md | awk '{print $2}'); do
        grep -q "make $target " "$BATS_TEST_TMPDIR/help" || { echo "$target"; return 1; }
    done
}
