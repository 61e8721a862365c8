#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every example of the manuals and the documents is taken out and run, as on a machine where nothing is configured yet.
# A page's examples run in their order as one script, and the first command that fails fails the page. They run as they
# stand, but races last a second and 10,000 sessions do.
# The C examples are compiled by library.bats; the README has its own suite.

setup() {
    bats_require_minimum_version 1.5.0
    [ "$(id -u)" -eq 0 ] || skip "needs root, for a mount namespace with an /etc that forgets"
    dir=$(mktemp -d /srv/qs-documents.XXXXXX)
    chmod 755 "$dir"
    mkdir "$dir/bin" "$dir/work"
    install -m 755 "$QS_BUILD"/bin/q* "$dir/bin/"
    cd "$QS_TOP"
}

teardown() {
    rm -rf "$dir"
}

# shell_of PAGE: the commands of its examples.
shell_of() {
    case $1 in
    *.md) awk '/^```/ { on = $0 == "```sh"; next } on' "$1" ;;
    *) awk '/^\.Sh /{ in_examples = $2 == "EXAMPLES" } !in_examples { next }
            /^\.Bd /{ on = 1; next } /^\.Ed/ { on = 0 } on
            /^\.Dl [$#] / { sub(/^\.Dl [$#] /, ""); print }' "$1" | sed 's/\\e/\\/g; s/\\&//g' ;;
    esac
}

# try PAGE [BEFORE [AFTER]]: shell code that prepares what a reader would have, and that looks at what came of it.
try() {
    {
        echo "set -eu"
        echo "${2:-}"
        echo "set -x"
        shell_of "$1" | sed -E 's/--seconds [0-9]+/--seconds 1/; s/--starts 100000/--starts 10000/'
        echo "set +x"
        echo "${3:-}"
    } >"$dir/script"
    [ "$(shell_of "$1" | grep -c .)" -gt 0 ] || { echo "$1 has no examples"; return 1; }
    unshare "${NAMESPACES:--m}" bash tests/support/fresh_machine.sh "$dir" "$dir/script" 3>&-
}

# What the examples call "agent" and "save": a program with a version, and a writer that is as it should be.
agent='printf "#!/bin/sh\necho agent 1.2\n" >"${PATH%%:*}/agent"; chmod 755 "${PATH%%:*}/agent"'
save='for name in save save-settings; do
    printf "#!/bin/sh\necho \"{\\\\\"tools\\\\\": {}}\" | exec qsettings replace settings.json\n" >$name
    chmod 755 $name
done
./save'

@test "the examples of qsettings(1)" {
    try docs/man/qsettings.1 'echo secret >key.txt; mkdir -p /etc/agent; qsettings --user init' \
        '[ "$(qsettings get security.auth.apiKey)" = secret ]
         [ "$(qsettings --system get tools.approvalMode)" = plan ]
         qsettings publish /etc/agent/settings.json --for qwen --check --system'
}

@test "the examples of qsettings(5)" {
    try docs/man/qsettings.5 '' '[ "$(qsettings get tools.approvalMode)" = plan ]'
}

@test "the examples of qsandbox(1)" {
    try docs/man/qsandbox.1 "printf 'test:\n\ttouch made\n' >Makefile; $agent" '[ -e made ]; grep -q ^result: receipt.yaml'
}

@test "the examples of qstress(1)" {
    try docs/man/qstress.1 "$save" 'grep -q "<testsuite" race.xml'
}

@test "the example of qsettings-policy(5) is a policy" {
    awk '/^\.Sh EXAMPLES/ { e = 1 } e && /^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' docs/man/qsettings-policy.5 >"$dir/work/policy.yaml"
    "$QS_BUILD/bin/qsettings" check "$dir/work/policy.yaml"
    mkdir "$dir/root"
    "$QS_BUILD/bin/qsettings" --root "$dir/root" --system init
    "$QS_BUILD/bin/qsettings" --root "$dir/root" --system apply "$dir/work/policy.yaml"
    "$QS_BUILD/bin/qsettings" --root "$dir/root" policy
}

@test "the examples of qfleet(1) and qfleet(5)" {
    try docs/man/qfleet.1 '' 'cd ..; [ "$(qsettings get tools.approvalMode)" = plan ]; [ "$(jq ".machines | length" work/machines.json)" = 1 ]'
    try docs/man/qfleet.5
}

@test "the commands of docs/fleet.md" {
    NAMESPACES=-mn # a loopback of its own, for the ports
    try docs/fleet.md 'ip link set lo up' '! pgrep -F fleet/nginx.pid 2>/dev/null'
}

@test "the commands of docs/ci.md" {
    try docs/ci.md "$save"
}

@test "the commands of docs/migrating.md" {
    cp tests/fixtures/cases/good/operator.jsonc "$dir/work/"
    cp tests/fixtures/cases/good/user.json "$dir/"
    try docs/migrating.md "mkdir ~/.qwen; cp $dir/user.json ~/.qwen/settings.json" \
        'jq -e .tools.executionSandbox ~/.qwen/settings.json'
}

@test "the JSON in the documents is JSON" {
    local page count=0
    for page in README.md docs/*.md; do
        awk '/^```/ { on = $0 == "```json"; next } on' "$page" >"$dir/json"
        [ -s "$dir/json" ] || continue
        jq -e . "$dir/json" >/dev/null || { echo "$page"; return 1; }
        count=$((count + 1))
    done
    [ "$count" -gt 0 ]
}

@test "no example is left out: each page with commands is tried above, and each block says what it is" {
    local page
    for page in docs/*.md docs/man/*; do
        [ -n "$(shell_of "$page")" ] || continue
        case $page in
        # C, and a settings file
        docs/man/libqsettings.3) grep -q "docs/man/libqsettings.3" tests/product/library.bats ;;
        docs/man/qsettings-policy.5) ;;
        *) grep -q "^    try $page" tests/product/documents.bats || { echo "not tried: $page"; return 1; } ;;
        esac
    done
    for page in README.md docs/*.md; do
        awk '/^```/ { if (!on && $0 !~ /^```(sh|text|json|console|yaml)$/) { print FILENAME ":" FNR ": " $0; bad = 1 } on = !on }
             END { exit bad }' "$page"
    done
}

@test "each manual has the sections that one looks for, and is sound mdoc" {
    local page section
    for page in docs/man/*; do
        for section in NAME DESCRIPTION ENVIRONMENT FILES EXAMPLES "SEE ALSO"; do
            grep -qx ".Sh $section" "$page" || { echo "$page has no $section"; return 1; }
        done
        grep -qxE '.Sh (EXIT STATUS|RETURN VALUES)' "$page" || { echo "$page has no EXIT STATUS"; return 1; }
        mandoc -Tlint -Wwarning "$page"
    done
}

@test "no sentence has more than 35 words and no line more than 140 columns" {
    awk -f tests/support/prose.awk README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs/*.md examples/*.md bindings/node/*.md
    # and the check sees both
    for text in "$(seq -s ' ' 36)." "$(seq -s '' 75)" "| $(seq -s ' ' 36) | short |"; do
        printf '%s\n' "$text" >"$dir/page.md"
        run awk -f tests/support/prose.awk "$dir/page.md"
        [ "$status" -eq 1 ]
        [ -n "$output" ]
    done
    printf '%s\n' "$(seq -s ' ' 35)." '```text' "$(seq -s ' ' 50)" '```' >"$dir/page.md"
    awk -f tests/support/prose.awk "$dir/page.md"
}

@test "an example that fails fails its page" {
    printf 'text\n```sh\nqsettings --system init\nqsettings get nothing.like.it\n```\n' >"$dir/page.md"
    run try "$dir/page.md"
    [ "$status" -ne 0 ]
    printf 'text\n```sh\nqsettings --system init\n```\n' >"$dir/page.md"
    try "$dir/page.md"
}
