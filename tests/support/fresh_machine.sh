#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a script as on a machine where nothing is configured yet: in a mount namespace of its own, with an /etc and a
# /var that take writes and forget them, and empty /tmp and home. Needs root. Usage: unshare -m fresh_machine.sh SCRATCH SCRIPT
#
# SCRATCH/bin holds the programs, SCRATCH/work is where the script runs; SCRATCH must lie outside /tmp and home.
set -eu
scratch=$1 script=$2
mount --make-rprivate /
mkdir -p "$scratch/upper"
mount -t tmpfs -o mode=755 none "$scratch/upper"
for top in etc var; do
    mkdir "$scratch/upper/$top" "$scratch/upper/$top-work"
    mount -t overlay -o "lowerdir=/$top,upperdir=$scratch/upper/$top,workdir=$scratch/upper/$top-work" none "/$top"
done
home=$(getent passwd 0 | cut -d: -f6)
mount -t tmpfs -o mode=700 none "$home"
mount -t tmpfs -o mode=1777 none /tmp
cd "$scratch/work"
export HOME=$home PATH=$scratch/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset XDG_CONFIG_HOME QWEN_SANDBOX
exec bash "$script"
