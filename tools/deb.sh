#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian source and binary packages into FOLDER from a tarball of `make dist` and packaging/debian, and nothing
# else of the tree. Usage: tools/deb.sh TARBALL FOLDER
set -euo pipefail
tarball=$(realpath "${1:?tarball}")
folder=${2:?folder}
debian=$(realpath "$(dirname "$0")/../packaging/debian")
source=$(basename "$tarball" .tar.gz) # NAME-VERSION
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
cp "$tarball" "${source/-/_}.orig.tar.gz"
tar -xf "$tarball"
cp -R "$debian" "$source/debian"
cd "$source"
# What the caller's make or shell set is not the packages' business.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS -u CPPFLAGS -u LDFLAGS -u KIND -u PREFIX -u DESTDIR \
    dpkg-buildpackage --no-sign --jobs="$(nproc)" >../build.log 2>&1 || {
    tail -n 60 ../build.log >&2
    exit 1
}
cd ..
rm -rf "$source"
ls ./*.deb
