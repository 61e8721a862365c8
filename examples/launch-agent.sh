#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts an agent in a session: all that it runs through `qsandbox run` is under the policy as it stands now, whatever
# the stores hold later. Without a policy the agent is not started, and the exit status says why.
#
#   launch-agent.sh [--root DIR] AGENT [ARGUMENT...]
set -eu
root=
if [ "${1:-}" = --root ]; then
    root=${2:?a directory}
    shift 2
fi
: "${1:?usage: launch-agent.sh [--root DIR] AGENT [ARGUMENT...]}"
qsettings ${root:+--root "$root"} policy >/dev/null
exec qsandbox ${root:+--root "$root"} session -- "$@"
