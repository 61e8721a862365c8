#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches the packages of tools/packages-node whose file is neither in the system nor below DIR, and unpacks them there.
# Nothing is installed. Usage: tools/node_deps.sh DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in node c++; do
    command -v "$program" >/dev/null || { echo "qsettings: the binding wants $program, which is missing; run: make deps" >&2 && exit 1; }
done
mkdir -p "$1"
cd "$1"
# The headers that came with the node on PATH will do, wherever that one lives.
headers=$(node -p 'require("path").resolve(process.execPath, "../../include/node/node_api.h")')
sed 's/#.*//' "$here/packages-node" | while read -r package file; do
    [ -n "$package" ] || continue
    if [ -e "/$file" ] || [ -e "$file" ] || { [ "${file##*/}" = node_api.h ] && [ -e "$headers" ]; }; then continue; fi
    echo "unpacking: $package"
    if ! { apt-get download -qq "$package" || { apt-get update -qq && apt-get download -qq "$package"; }; } >log 2>&1; then
        cat log >&2
        echo "qsettings: $package is missing, and could not be fetched" >&2
        exit 1
    fi
    dpkg-deb -x "$package"_*.deb .
    rm -f "$package"_*.deb log
done
