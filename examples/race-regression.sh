#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A race regression for the program that saves your settings file, for any CI.
#
#   SETTINGS_FILE    the file it saves                                [settings.json]
#   SETTINGS_WRITER  a shell command that saves it once               (must be given)
#   SETTINGS_READER  a shell command whose exit status judges it      [qstress reads the file itself]
#   SETTINGS_MUST    a JSON Pointer that must always be in it         [nothing]
#   RACE_SECONDS     how long to race                                 [10]
#   REPORTS          where JUnit and HTML reports go                  [reports]
#   QSTRESS          the program                                      [qstress]
#
# Exit status: 0 never absent, torn or lost; 1 it was, and the reports say how; anything else: the race could not be run.
set -eu
: "${SETTINGS_WRITER:?a shell command that saves the settings file once}"
file=${SETTINGS_FILE:-settings.json}
seconds=${RACE_SECONDS:-10}
reports=${REPORTS:-reports}
qstress=${QSTRESS:-qstress}
mkdir -p "$reports"

# First the control: a way of saving that is known to be bad must be caught on this machine, or a clean result of the
# second race would mean nothing.
"$qstress" race --backend rename-away --writers 4 --seconds "$seconds" --expect-violation \
    --junit "$reports/control.xml" --html "$reports/control.html"

set -- --path "$file" --writer-cmd "$SETTINGS_WRITER" --seconds "$seconds" \
    --junit "$reports/race.xml" --html "$reports/race.html"
[ -z "${SETTINGS_READER:-}" ] || set -- "$@" --reader-cmd "$SETTINGS_READER"
[ -z "${SETTINGS_MUST:-}" ] || set -- "$@" --must-have "$SETTINGS_MUST"
exec "$qstress" race "$@"
