#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# qstress race: known-bad ways are caught, the store is clean, anybody's program can be judged.
# The races are short; where a violation must be seen, the race is repeated until it is, at most so often that a machine
# under load has its chance too. A race that must be clean is run once: there every run must be.

setup() {
    bats_require_minimum_version 1.5.0
    qstress=$QS_BUILD/bin/qstress
    dir=$(mktemp -d /tmp/qstress-test-XXXXXX)
    chmod 755 "$dir"
    cd "$dir" || exit 1
}

teardown() {
    cd /
    rm -rf "$dir"
}

# Runs a race until a jq condition on its JSON holds; fails after ten.
race_until() {
    local condition=$1
    shift
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        status=0
        "$qstress" race "$@" --seed "$i" --json >result.json || status=$?
        ((status <= 1)) || return 1
        jq -e "$condition" result.json >/dev/null && return 0
    done
    echo "in ten races never: $condition; the last: $(cat result.json)"
    return 1
}

@test "rename_away_is_seen_absent_torn_and_lost" {
    race_until '.absent > 0 and .torn > 0 and .lost > 0 and .gaps.count > 0' \
        --backend rename-away --writers 4 --readers 2 --values 400 --seconds 0.7
    [ "$status" = 1 ]
    jq -e '.gaps.max_us >= .gaps.mean_us and .gaps.mean_us > 0' result.json
}

@test "in_place_is_seen_torn" {
    race_until '.torn > 0' --backend in-place --seconds 0.5
    [ "$status" = 1 ]
}

@test "copy_backup_is_never_absent_but_loses_changes" {
    race_until '.lost > 0 and .stale > 0' --backend copy-backup --writers 3 --seconds 0.5
    [ "$status" = 1 ]
    jq -e '.absent == 0 and .torn == 0 and .gaps.count == 0' result.json
}

@test "rename_over_without_a_lock_loses_changes_with_two_writers" {
    race_until '.lost > 0' --backend rename-over --writers 2 --seconds 0.5
    jq -e '.absent == 0 and .torn == 0 and .gaps.count == 0' result.json
}

@test "rename_over_with_one_writer_is_clean" {
    run -0 --separate-stderr "$qstress" race --backend rename-over --writers 1 --seconds 0.5 --json
    jq -e '.writes > 0 and .reads > 1 and .absent + .torn + .stale + .lost + .errors + .gaps.count == 0' <<<"$output"
}

@test "the_store_is_never_absent_torn_stale_or_lost" {
    run -0 --separate-stderr "$qstress" race --backend qsettings --writers 3 --readers 3 --seconds 3 --json
    echo "$output"
    jq -e '.writes > 0 and .reads > 1 and .absent + .torn + .stale + .lost + .errors + .gaps.count == 0' <<<"$output"
}

@test "the_store_is_clean_for_readers_that_are_another_user" {
    run -0 --separate-stderr "$qstress" race --backend qsettings --writers 2 --readers 2 --as-user nobody --seconds 1 --json
    jq -e '.writes > 0 and .reads > 1 and .absent + .torn + .stale + .lost + .errors + .gaps.count == 0' <<<"$output"
}

@test "the_result_as_json_has_exactly_the_promised_fields" {
    run -0 --separate-stderr "$qstress" race --backend rename-over --writers 1 --readers 1 --seconds 1 --seed 42 --json
    [ -z "$stderr" ]
    jq -e 'keys == (["backend","writers","readers","seconds","seed","writes","reads","absent","torn","stale","lost",
        "errors","gaps","read_us","retries"] | sort)' <<<"$output"
    jq -e '.gaps | keys == ["count","max_us","mean_us"]' <<<"$output"
    jq -e '.read_us | keys == (["p50","p99","p999","max"] | sort)' <<<"$output"
    jq -e '.backend == "rename-over" and .writers == 1 and .readers == 1 and .seconds == 1 and .seed == 42' <<<"$output"
    jq -e '.read_us | .p50 > 0 and .p50 <= .p99 and .p99 <= .p999 and .p999 <= .max' <<<"$output"
}

@test "an_expected_violation_turns_the_exit_status_round" {
    run -0 "$qstress" race --backend in-place --writers 2 --seconds 1 --expect-violation
    [[ $output == *"ok 1 - in-place is seen to be bad"* ]]
    run -1 "$qstress" race --backend rename-over --writers 1 --seconds 0.3 --expect-violation
    [[ $output == *"not ok 1 - "* ]]
}

@test "standard_output_is_tap_with_the_seed_and_the_first_things_seen" {
    run -1 "$qstress" race --backend in-place --writers 2 --seconds 1 --seed 5
    [[ ${lines[0]} == "TAP version 13" ]]
    [[ $output == *"# seed: 5"* ]]
    [[ $output == *$'\n'"1..6"$'\n'* ]]
    [ "$(grep -cE '^(not )?ok [1-6] - ' <<<"$output")" = 6 ]
    [[ $output == *"not ok 2 - never torn"* ]]
    [[ $output == *"s, reader "* ]]
}

@test "junit_and_html_reports_are_written_and_stand_alone" {
    run -1 "$qstress" race --backend in-place --writers 2 --seconds 1 --junit r.xml --html r.html
    xmllint --noout r.xml
    [ "$(xmllint --xpath 'count(//testcase)' r.xml)" = 6 ]
    xmllint --xpath '//testcase[@name="never torn"]/failure' r.xml >/dev/null
    [ "$(xmllint --xpath 'count(//testcase[@name="never absent"]/failure)' r.xml)" = 0 ]
    [ "$(grep -c '<svg ' r.html)" = 2 ]
    run ! grep -E 'https?:|src=|href=|url\(|<script' r.html
}

@test "a_report_that_cannot_be_written_fails_the_run" {
    run -10 --separate-stderr "$qstress" race --backend rename-over --writers 1 --seconds 0.2 --junit "$dir/no/r.xml"
    [[ $stderr == *"cannot write"* ]]
}

@test "a_foreign_writer_that_renames_away_is_caught" {
    cat >save.sh <<'EOF'
printf '{"tools": {"sandbox": "bwrap"}}\n' >"$QSTRESS_PATH.tmp"
[ -e "$QSTRESS_PATH" ] && mv "$QSTRESS_PATH" "$QSTRESS_PATH.orig"
mv "$QSTRESS_PATH.tmp" "$QSTRESS_PATH"
rm -f "$QSTRESS_PATH.orig"
EOF
    race_until '.absent > 0 and .gaps.count > 0' --path settings.json --writer-cmd 'sh save.sh' --writers 1 --seconds 1
    [ "$status" = 1 ]
    jq -e '.backend == "foreign"' result.json
}

@test "a_foreign_writer_that_writes_in_place_is_caught" {
    race_until '.torn > 0' --path settings.json --writer-cmd 'echo "{\"a\": 1}" >"$QSTRESS_PATH"' --writers 1 --seconds 0.5
    jq -e '.absent == 0' result.json
}

@test "a_foreign_writer_that_renames_over_is_clean" {
    run -0 "$qstress" race --path settings.json --writers 2 --seconds 1 --must-have /a/0/b~1c \
        --writer-cmd 'echo "{\"a\": [{\"b/c\": null}]}" >"$QSTRESS_PATH.$QSTRESS_WRITER" && mv "$QSTRESS_PATH.$QSTRESS_WRITER" "$QSTRESS_PATH"'
    [[ $output == *"ok 1 - never absent"* ]]
    [ ! -e settings.json.0 ]
}

@test "a_value_that_must_be_there_and_is_not_is_lost" {
    echo 0 >n
    run -1 --separate-stderr "$qstress" race --path settings.json --writers 1 --seconds 1 --must-have /a --json \
        --writer-cmd 'echo "{\"b\": 1}" >t && mv t settings.json'
    jq -e '.lost > 0 and .absent == 0 and .torn == 0' <<<"$output"
}

@test "a_reader_commands_status_is_its_verdict" {
    local expected
    while read -r code field; do
        run --separate-stderr "$qstress" race --path f.json --writer-cmd 'echo 1 >t; mv t f.json' --writers 1 --readers 1 \
            --reader-cmd "echo because; exit $code" --seconds 0.3 --json
        echo "$code: $output"
        if [ "$field" = fine ]; then
            [ "$status" = 0 ]
        else
            [ "$status" = 1 ]
            jq -e ".$field > 0" <<<"$output"
            jq -e '[.absent, .torn, .errors] | map(select(. > 0)) | length == 1' <<<"$output"
        fi
    done <<'EOF'
0 fine
1 absent
3 torn
4 absent
5 absent
6 torn
7 errors
127 errors
EOF
    run -1 "$qstress" race --path f.json --writer-cmd 'echo 1 >t; mv t f.json' --writers 1 --readers 1 \
        --reader-cmd 'echo because; exit 6' --seconds 0.3
    [[ $output == *"the reader command ended with status 6: because"* ]]
}

@test "a_reader_command_runs_as_the_user_asked_for" {
    run -0 "$qstress" race --path f.json --writer-cmd 'echo 1 >t; mv t f.json' --writers 1 --readers 1 --as-user nobody \
        --reader-cmd 'test "$(id -un)" = nobody' --seconds 0.3
}

@test "a_foreign_writer_that_fails_is_an_error" {
    run -1 --separate-stderr "$qstress" race --path f.json --writers 1 --readers 1 --seconds 0.3 --json \
        --writer-cmd 'test -e f.json && exit 3; echo 1 >f.json'
    jq -e '.errors > 0 and .absent + .torn + .lost == 0' <<<"$output"
}

@test "a_mistyped_writer_command_is_no_finding_but_a_failed_run" {
    run -10 "$qstress" race --path f.json --writer-cmd 'no-such-program-here' --seconds 0.3
    [[ $output == *"before the start, the writer command ended with status 127"* ]]
    run -10 "$qstress" race --path f.json --writer-cmd true --seconds 0.3
    [[ $output == *"did not make f.json"* ]]
}

@test "a_crashing_reader_is_an_error_with_its_signal" {
    run -1 "$qstress" race --path f.json --writer-cmd 'echo 1 >t; mv t f.json' --writers 1 --readers 1 \
        --reader-cmd 'kill -SEGV $$' --seconds 0.3
    [[ $output == *"not ok 5"* ]]
    [[ $output == *"status 139"* ]]
}

@test "writers_alone_and_readers_alone_are_a_race_too" {
    run -0 "$qstress" race --path f.json --writer-cmd 'echo 1 >t; mv t f.json' --writers 0 --readers 1 --seconds 0.2
    run -0 "$qstress" race --path f.json --writer-cmd 'echo 1 >t; mv t f.json' --writers 1 --readers 0 --seconds 0.2
}

@test "without_root_it_runs_too_but_nobody_becomes_another_user" {
    cp "$qstress" q
    run -0 --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups ./q race --writers 2 --seconds 0.5 --json
    jq -e '.backend == "qsettings" and .writes > 0 and .reads > 1' <<<"$output"
    run -0 setpriv --reuid=65534 --regid=65534 --clear-groups ./q race --seconds 0.3 --as-user nobody
    run -7 setpriv --reuid=65534 --regid=65534 --clear-groups ./q race --seconds 0.3 --as-user root
    [[ $output == *"needs root"* ]]
}

@test "usage_errors_end_with_2_and_leave_nothing" {
    export TMPDIR=$dir
    local args
    while read -r args; do
        # shellcheck disable=SC2086
        run -2 "$qstress" race $args
        [[ $output == "qstress: race: "* ]]
    done <<'EOF'
--backend none
--writers -1
--writers x
--writers 65
--seconds 1e99
--seconds nan
--seconds 0
--writers 0 --readers 0
--no-such-option
--seed
extra
--path f.json
--writer-cmd true
--must-have /a
--path f --writer-cmd true --must-have a
--as-user no-such-user-here
EOF
    run -2 "$qstress"
    run -2 "$qstress" no-such-command
    run -0 "$qstress" --help
    run -0 "$qstress" race --help
    [[ $output == *"--expect-violation"* ]]
    [ -z "$(ls "$dir")" ]
}

@test "scratch_directories_are_gone_after_every_end" {
    export TMPDIR=$dir/t
    mkdir -m 755 t
    run "$qstress" race --backend rename-away --seconds 0.3
    run "$qstress" race --path f.json --writer-cmd false --seconds 0.3
    "$qstress" race --backend rename-over --seconds 0.3 >/dev/full || true
    "$qstress" race --backend rename-over --seconds 0.3 | true
    [ -z "$(ls t)" ]
    local seed=$RANDOM$RANDOM$BASHPID # no other test's processes have it
    "$qstress" race --backend in-place --seconds 60 --seed "$seed" >/dev/null 2>&1 &
    local pid=$!
    until [ -n "$(ls t)" ]; do kill -0 "$pid"; done
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 10 ]
    [ -z "$(ls t)" ]
    run pgrep -f "qstress race --backend in-place --seconds 60 --seed $seed"
    [ -z "$output" ]
}
