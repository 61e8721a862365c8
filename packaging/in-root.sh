#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with FOLDER as the root of a mount namespace of its own: pivot_root, not chroot, for in a chroot the kernel
# refuses user namespaces. BIND is a folder of the outside that stands there as /mnt. Usage: packaging/in-root.sh FOLDER BIND COMMAND...
set -euo pipefail
root=$(realpath "${1:?folder}")
outside=$(realpath "${2:?folder}")
shift 2
mkdir -p "$root/mnt" "$root/.old"
# shellcheck disable=SC2016 # the inner shell expands
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive unshare --mount --propagation private sh -ec '
    root=$1 outside=$2
    shift 2
    mount --bind "$root" "$root"
    mount --bind "$outside" "$root/mnt"
    for name in dev proc sys; do mount --rbind "/$name" "$root/$name"; done
    cd "$root"
    pivot_root . .old
    umount -l /.old
    rmdir /.old
    exec "$@"' sh "$root" "$outside" "$@"
