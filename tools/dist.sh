#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs the source into TARBALL, NAME-VERSION.tar.gz, with that folder inside. The same source gives the same bytes, whoever
# packs it, where, when and under whatever umask. In a clone: the tracked files as they are in the working tree, dated
# like the last commit. In an unpacked tarball: all of it but build/ and debian/. Usage: tools/dist.sh TARBALL
set -euo pipefail
export LC_ALL=C TZ=UTC
tarball=$(realpath "${1:?tarball}")
cd "$(dirname "$0")/.."
name=$(basename "$tarball" .tar.gz)

if [[ -e .git ]]; then
    date=$(git log -1 --format=%ct)
    files() { git ls-files -z | while IFS= read -r -d '' file; do if [[ -e $file || -L $file ]]; then printf '%s\0' "$file"; fi; done; }
else
    date=$(stat -c %Y README.md)
    files() { find . -mindepth 1 \( -path ./build -o -path ./debian -o -path ./.pc \) -prune -o ! -type d -printf '%P\0'; }
fi
files | sort -z |
    tar --create --null --no-recursion --files-from=- --format=ustar --hard-dereference --owner=0 --group=0 --numeric-owner \
        --mtime="@${SOURCE_DATE_EPOCH:-$date}" --mode=u=rwX,go=rX --transform="s,^,$name/,S" |
    gzip -9n >"$tarball.new"
mv "$tarball.new" "$tarball"
