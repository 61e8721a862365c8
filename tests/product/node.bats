#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The binding for Node.js: its own tests (bindings/node/test), its types, and its build by node-gyp.

setup() {
    bats_require_minimum_version 1.5.0
    package=$QS_BUILD/node
    [ -e "$package/build/Release/qsettings.node" ] || skip "the binding is not built in $QS_BUILD"
    # A program's view: a package by its name.
    mkdir "$BATS_TEST_TMPDIR/node_modules"
    ln -s "$package" "$BATS_TEST_TMPDIR/node_modules/qsettings"
}

# deps FILE: in the system, or unpacked below build/.
deps() {
    [ -e "/$1" ] && echo "/$1" || echo "$QS_TOP/build/node-deps/$1"
}

# tested NAME: node's own runner over one file; something must have been run, and nothing skipped.
tested() {
    run node --test "$QS_TOP/bindings/node/test/$1"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ pass\ [1-9] && $output == *"skipped 0"* ]]
}

@test "the policy is read or refused, frozen and thawed" {
    tested policy.test.cjs
}

@test "effective settings are read from an ES module" {
    tested settings.test.mjs
}

@test "stores are watched from a thread that ends" {
    tested watch.test.cjs
}

@test "reading keeps no memory" {
    tested memory.test.cjs
}

@test "the package is found by its name, by require and by import" {
    cd "$BATS_TEST_TMPDIR"
    run -0 node -e 'console.log(require("qsettings").version)'
    [ "$output" = "$("$QS_BUILD/bin/qsettings" version | sed 's/^qsettings //')" ]
    [ "$output" = "$(node -p 'require("qsettings/package.json").version')" ]
    echo 'import q, { readPolicySync } from "qsettings"; console.log(q.readPolicySync === readPolicySync)' >use.mjs
    run -0 node use.mjs
    [ "$output" = true ]
}

@test "the types are what the schema table says" {
    "$QS_BUILD/tools/schema-ts" | diff - "$QS_TOP/bindings/node/schema.d.ts"
    while IFS=$'\t' read -r key _; do
        [[ $key != \#* && -n $key && $key != *'<'* && $key != *'*'* ]] || continue
        grep -qF "\"$key\":" "$QS_TOP/bindings/node/schema.d.ts" || { echo "$key is missing"; false; }
    done <"$QS_TOP/tests/fixtures/cases/qwen-keys.tsv"
}

@test "the types are checked by TypeScript, and what they forbid is refused" {
    tsc=$(deps usr/share/nodejs/typescript/bin/tsc)
    [ -e "$tsc" ] || skip "there is no TypeScript compiler"
    cd "$BATS_TEST_TMPDIR"
    for kind in mts cts; do # as import and as require see it
        cp "$QS_TOP/bindings/node/test/types.ts" use.$kind
    done
    # Without its leave, each of the forbidden lines is an error.
    grep -v ts-expect-error use.mts >bare.mts
    run node "$tsc" --strict --noEmit --noUncheckedIndexedAccess --target es2022 --module node16 --esModuleInterop \
        use.mts use.cts bare.mts
    echo "$output"
    [ "$(grep -c '^bare.mts.*: error TS' <<<"$output")" -eq "$(grep -c ts-expect-error use.mts)" ]
    [ "$(grep -c 'error TS' <<<"$output")" -eq "$(grep -c ts-expect-error use.mts)" ]
}

@test "every name of the package has its type, and no other" {
    node -p 'Object.keys(require(process.argv[1])).sort().join("\n")' "$package" >"$BATS_TEST_TMPDIR/names"
    # Settings and Watch are given out, not made by the program.
    sed -nE 's/^export (function|const|class) ([A-Za-z]+).*/\2/p' "$QS_TOP/bindings/node/index.d.ts" | grep -v '^Settings$' |
        LC_ALL=C sort -u | diff - <(LC_ALL=C sort "$BATS_TEST_TMPDIR/names")
}

@test "the addon asks of node what Node-API promises, and shares no name with the process" {
    addon=$package/build/Release/qsettings.node
    run bash -c 'nm -D --undefined-only "$1" | grep -oE "(v8|node|uv)[A-Z_:].*|_ZN[0-9]*(2v8|4node).*" | grep -v "^node_api_"' _ "$addon"
    [ -z "$output" ]
    nm -D --undefined-only "$addon" | grep -q ' napi_create_threadsafe_function$'
    run bash -c 'nm -D --defined-only "$1" | grep -E " (qs_|json_|store_|watcher)"' _ "$addon"
    [ -z "$output" ]
}

@test "node-gyp builds it against the installed library, as npm install does" {
    local gyp
    gyp=$(command -v node-gyp || echo /usr/lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js)
    [ -e "$gyp" ] || skip "there is no node-gyp"
    make -C "$QS_TOP" --no-print-directory -s install PREFIX="$BATS_TEST_TMPDIR/usr" >/dev/null
    cp -r "$QS_TOP/bindings/node" "$BATS_TEST_TMPDIR/package"
    mkdir "$BATS_TEST_TMPDIR/package/node_modules"
    ln -s "$(dirname "$(deps usr/share/nodejs/node-addon-api/napi.h)")" "$BATS_TEST_TMPDIR/package/node_modules/node-addon-api"
    cd "$BATS_TEST_TMPDIR/package"
    export PKG_CONFIG_PATH=$BATS_TEST_TMPDIR/usr/lib/pkgconfig LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/usr/lib HOME=$BATS_TEST_TMPDIR
    home=$(node -p 'require("path").resolve(process.execPath, "../..")')
    [ -e "$home/include/node/node_api.h" ] || home=$QS_TOP/build/node-deps/usr
    CXXFLAGS=-O0 run node "$(readlink -f "$gyp")" rebuild --nodedir="$home" --offline
    echo "$output"
    [ "$status" -eq 0 ]
    ldd build/Release/qsettings.node | grep -q "libqsettings.so.0 => $BATS_TEST_TMPDIR/usr/lib"
    run node -e 'require(".").readPolicySync({ root: "/nonexistent" })'
    [ "$status" -ne 0 ]
    [[ $output == *QS_NO_POLICY* ]]
}

# Each block is a program. The last store of the README's watch is changed while it waits.
@test "the examples of the binding's README run as they stand" {
    local root=$BATS_TEST_TMPDIR/try count=0 block
    mkdir "$root"
    cd "$BATS_TEST_TMPDIR"
    qs() { "$QS_BUILD/bin/qsettings" --root "$root" --system "$@" >/dev/null; }
    qs init
    awk -v dir="$BATS_TEST_TMPDIR" '/^```js/ {n++; on = 1; next} /^```/ {on = 0} on {print >(dir "/example" n ".mjs")}' \
        "$QS_TOP/bindings/node/README.md"
    sed -i "s|/tmp/try|$root|" example*.mjs
    run node example1.mjs
    [ "$status" -eq 4 ]
    [[ $output == "refused: QS_NO_POLICY: "* ]]
    qs set tools.executionSandbox '{"filesystem":"read-only","network":"closed"}'
    qs set permissions.deny '["x"]'
    for block in 1 2 4; do
        run -0 node "example$block.mjs"
        echo "$block: $output"
        [ -n "$output" ]
    done
    [ "$output" = read-only ]
    node example3.mjs >watched 3>&- &
    # It says nothing before something happens, so commits are made until it ends.
    for count in $(seq 200); do
        qs set tools.executionSandbox.network "$([ $((count % 2)) = 0 ] && echo open || echo closed)"
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    wait $!
    grep -q 'system is at generation' watched
    [ ! -e example5.mjs ]
}
