#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ways out of the sandbox that somebody found by trying, one test for each kind; every one worked once.

load support/sandbox

@test "what the host mounts during a run does not become writable inside" {
    mkdir "$base/later"
    for user in root ann; do
        mkfifo "$(ws $user)/go"
        chown --reference="$(ws $user)" "$(ws $user)/go"
        as_first='mount --make-rshared /' started $user -- sh -c 'read x <go; echo x >'"$base/later/file"'; : >done; read x <go'
        eventually grep -qs . "/proc/$executor/task/$executor/children"
        nsenter -m -t "$executor" mount -t tmpfs -o mode=1777 tmpfs "$base/later"
        nsenter -m -t "$executor" touch "$base/later/host"
        echo >"$(ws $user)/go"
        eventually test -e "$(ws $user)/done"
        run nsenter -m -t "$executor" ls "$base/later"
        echo >"$(ws $user)/go"
        wait $job || true
        [ "$output" = host ]
        # From Landlock it would be "Permission denied", and the mount alone is to hold.
        grep -q 'Read-only file system' "$base/log"
        rm "$(ws $user)/go" "$(ws $user)/done"
    done
}

@test "a crash inside cannot start the host's handler of core dumps" {
    for user in root ann; do
        # 1 is the only limit at which the kernel starts none: core(5).
        run sandboxed $user -- python3 -c '
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))'
        [ "$output" = "(1, 1)" ]
    done
}
