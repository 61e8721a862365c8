#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The examples for other people's CI, run as they are, with a good and with a bad writer.

setup() {
    bats_require_minimum_version 1.5.0
    dir=$(mktemp -d /tmp/qstress-ci-XXXXXX)
    cd "$dir" || exit 1
    mkdir -p bin ci
    ln -s "$QS_BUILD/bin/qstress" bin/qstress
    cp "$QS_TOP/examples/race-regression.sh" ci/
    cat >good.sh <<'EOF'
printf '{"tools": {"theme": "dark"}}\n' >"$QSTRESS_PATH.$QSTRESS_WRITER" && mv "$QSTRESS_PATH.$QSTRESS_WRITER" "$QSTRESS_PATH"
EOF
    cat >bad.sh <<'EOF'
printf '{"tools": {"theme": "dark"}}\n' >"$QSTRESS_PATH"
EOF
    cat >forgetful.sh <<'EOF'
printf '{"theme": "dark"}\n' >"$QSTRESS_PATH.$QSTRESS_WRITER" && mv "$QSTRESS_PATH.$QSTRESS_WRITER" "$QSTRESS_PATH"
EOF
    export PATH=$dir/bin:$PATH RACE_SECONDS=0.5
}

teardown() {
    cd /
    rm -rf "$dir"
}

@test "the_script_passes_a_good_writer_and_keeps_both_reports" {
    SETTINGS_WRITER='sh good.sh' SETTINGS_MUST=/tools/theme run -0 sh ci/race-regression.sh
    [[ $output == *"ok 1 - rename-away is seen to be bad"* ]]
    local report
    for report in control race; do
        xmllint --noout "reports/$report.xml"
        grep -q '<svg ' "reports/$report.html"
    done
    [ "$(xmllint --xpath 'count(//failure)' reports/race.xml)" = 0 ]
}

@test "the_script_fails_a_bad_writer_and_keeps_the_reports" {
    SETTINGS_WRITER='sh bad.sh' SETTINGS_FILE=my.json run -1 sh ci/race-regression.sh
    [ "$(xmllint --xpath 'count(//testcase[@name="never torn"]/failure)' reports/race.xml)" = 1 ]
    [ -s reports/race.html ]
}

@test "the_script_fails_a_writer_that_drops_what_a_reader_relies_on" {
    SETTINGS_WRITER='sh forgetful.sh' SETTINGS_MUST=/tools run -1 sh ci/race-regression.sh
    [ "$(xmllint --xpath 'count(//failure[@type="lost"])' reports/race.xml)" = 1 ]
}

@test "the_script_takes_a_reader_of_yours" {
    SETTINGS_WRITER='sh good.sh' SETTINGS_READER='grep -q dark "$QSTRESS_PATH"' run -0 sh ci/race-regression.sh
    SETTINGS_WRITER='sh good.sh' SETTINGS_READER='grep -q light "$QSTRESS_PATH"' run -1 sh ci/race-regression.sh
    [ "$(xmllint --xpath 'count(//failure[@type="absent"])' reports/race.xml)" = 1 ]
}

@test "the_script_says_what_it_needs" {
    run -2 sh ci/race-regression.sh
    [[ $output == *SETTINGS_WRITER* ]]
}

# The commands of the workflow's step "Race", and its env block, taken from the file itself.
@test "the_workflows_race_step_runs_as_it_stands" {
    local workflow=$QS_TOP/examples/race-regression.yml
    awk '/- name: Race/ {on = 1} on && /run: \|/ {take = 1; next} take && /^          / {print substr($0, 11); next} take {exit}' \
        "$workflow" >step.sh
    [ -s step.sh ]
    grep -qx 'sh ci/race-regression.sh' step.sh
    awk '/^env:/ {take = 1; next} take && /^  [A-Z]/ {sub(/^  /, ""); sub(/ #.*/, ""); sub(/: /, "=\""); print "export " $0 "\""; next}
         take {exit}' "$workflow" >env.sh
    [ "$(wc -l <env.sh)" = 4 ]
    printf '#!/bin/sh\n[ "$1 $2" = "--theme dark" ] && exec sh good.sh\n' >save-settings
    chmod +x save-settings
    run -0 sh -e -c '. ./env.sh; . ./step.sh'
    [ -s reports/race.xml ]
    # And the step before it really builds what it runs: the packages it installs are those the build needs.
    local package
    for package in gcc make pkg-config $(sed 's/#.*//' "$QS_TOP/tools/packages" | grep -E '^lib(lmdb|yaml|jansson|sodium|seccomp|fuse3)-dev$'); do
        grep -qw -- "$package" "$workflow"
    done
}
