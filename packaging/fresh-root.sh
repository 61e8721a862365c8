#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a root file system in FOLDER from this machine's own packages, without the network: the essential ones, those given,
# and all that they depend on, registered with dpkg. What is not declared is not there. Needs root.
# Usage: packaging/fresh-root.sh FOLDER PACKAGE...
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
root=${1:?folder}
shift

mapfile -t essential < <(dpkg-query -W -f '${Essential}\t${Package}\n' | sed -n 's/^yes\t//p')
mapfile -t packages < <(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "${essential[@]}" "$@" | sed -nE 's/^([a-z0-9][^ :]*)(:[a-z0-9]+)?$/\1/p' | sort -u)
# Names without a package of their own (virtual ones, other architectures) fall out.
mapfile -t packages < <(dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' "${packages[@]}" 2>/dev/null | sed -n 's/^installed //p')

mkdir -p "$root"/{dev,etc,home,proc,root,run,sys,tmp,usr,var/lib/dpkg/{info,updates,triggers,alternatives,parts},var/log}
chmod 1777 "$root/tmp"
merged=
for name in bin sbin lib lib32 lib64 libx32; do
    [[ -L /$name ]] || continue
    merged+=${merged:+|}$name
    mkdir -p "$root/usr/$name"
    ln -s "usr/$name" "$root/$name"
done
# awk: its name is a link of the alternatives, in no package.
{
    dpkg-query -L "${packages[@]}"
    printf '%s\n' /usr/bin/awk /etc/alternatives/awk /etc/nsswitch.conf
} | grep '^/[^.]' | sed -E "s,^/(${merged:-none})(/|$),/usr/\1\2," | sort -u |
    while IFS= read -r path; do if [[ -e $path || -L $path ]]; then printf '%s\n' "${path#/}"; fi; done >"$root.list"
tar -C / -c --no-recursion -T "$root.list" 2>/dev/null | tar -C "$root" -x --skip-old-files
rm "$root.list"

dpkg-query -s "${packages[@]}" >"$root/var/lib/dpkg/status"
for package in "${packages[@]}"; do
    for file in /var/lib/dpkg/info/"$package".*; do
        if [[ -e $file ]]; then cp "$file" "$root/var/lib/dpkg/info/"; fi
    done
done
# Which packages wait for which triggers, of those that are there: "PATH PACKAGE/how" a line, or a file for a name.
for file in /var/lib/dpkg/triggers/*; do
    awk -v packages="${packages[*]}" 'BEGIN { n = split(packages, list, " "); for (i = 1; i <= n; i++) { there[list[i]]; sub(/:.*/, "", list[i]); there[list[i]] } }
        { name = $NF; sub(/\/.*/, "", name) } name in there' "$file" >"$root/var/lib/dpkg/triggers/${file##*/}"
done
cp /var/lib/dpkg/info/format "$root/var/lib/dpkg/info/"
cp /var/lib/dpkg/diversions "$root/var/lib/dpkg/"
: >"$root/var/lib/dpkg/statoverride"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
chroot "$root" ldconfig
