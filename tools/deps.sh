#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of tools/packages (and of the lists given) that are missing; where it may not, prints the
# exact command and fails. NAME:FILE is needed only where there is no FILE.
set -eu
here=$(dirname "$0")
installed=" $(dpkg-query -W -f='${Package} ${Status}\n' 2>/dev/null | sed -n 's/ install ok installed$//p' | tr '\n' ' ') "
missing=
for package in $(cat "$here/packages" ${1+"$@"} | sed 's/#.*//'); do
    case $package in *:*) [ ! -e "${package#*:}" ] || continue ;; esac
    package=${package%%:*}
    case $installed in *" $package "*) ;; *) missing="$missing $package" ;; esac
done
[ -z "$missing" ] && exit 0
command="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null; then
    echo "qsettings: these Debian packages (or your system's like) are missing:$missing" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    echo "installing (it may take some minutes):$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
else
    echo "qsettings: packages are missing; run:" >&2
    echo "    sudo $command" >&2
    exit 1
fi
