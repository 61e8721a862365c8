#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The library as others see it: headers, symbols, soname, pkg-config, install and uninstall; and the rooms' one-way arrows.

setup() {
    cd "$QS_TOP"
    prefix=$BATS_TEST_TMPDIR/usr
}

install_there() {
    make --no-print-directory -s install PREFIX="$prefix" >"$BATS_TEST_TMPDIR/log" 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
}

@test "each public header compiles alone as C and as C++" {
    for header in include/qsettings/*.h; do
        name=qsettings/$(basename "$header")
        printf '#include <%s>\nextern int nothing;\n' "$name" >"$BATS_TEST_TMPDIR/one.c"
        gcc -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$BATS_TEST_TMPDIR/one.c"
        g++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$BATS_TEST_TMPDIR/one.c"
    done
}

# An example is a run of comment lines indented by five columns; it stands in a function with these names around it.
@test "the examples in the headers compile as C and as C++" {
    count=0
    for header in include/qsettings/*.h; do
        grep -q '^ \*     struct qs_' "$header" || continue
        count=$((count + 1))
        {
            echo '#include <qsettings/qsettings.h>'
            echo '#include <stdio.h>'
            echo 'int refuse(const struct qs_error *err);'
            awk -v name="$(basename "$header" .h)" '
                /^ \*     struct qs_/ || (inside && /^ \*     /) { if (!inside) { n++; printf "int %s%d(struct qs_store *given, struct qs_snapshot *seen);\n", name, n
                                            printf "int %s%d(struct qs_store *given, struct qs_snapshot *seen)\n{\n", name, n }
                             inside = 1; text = text substr($0, 8) "\n"; next }
                inside { finish() }
                END { if (inside) finish() }
                function finish() {
                    if (text !~ /struct qs_error err/) print "struct qs_error err; err.status = QS_OK;"
                    if (text !~ /qs_store \*store/) print "struct qs_store *store = given;"
                    if (text !~ /qs_snapshot \*snapshot/) print "struct qs_snapshot *snapshot = seen;"
                    print text "return 0;\n}"; text = ""; inside = 0 }' "$header"
        } >"$BATS_TEST_TMPDIR/example.c"
        cat "$BATS_TEST_TMPDIR/example.c"
        gcc -std=c17 -Wall -Wno-unused -Iinclude -Werror -fsyntax-only "$BATS_TEST_TMPDIR/example.c"
        g++ -x c++ -std=c++20 -Wall -Wno-unused -Iinclude -Werror -fsyntax-only "$BATS_TEST_TMPDIR/example.c"
    done
    [ "$count" -ge 4 ]
}

@test "the shared library exports exactly the recorded symbols and has its soname" {
    so=$QS_BUILD/lib/libqsettings.so
    nm -D --defined-only "$so" | awk '$2 ~ /[TDBR]/ {sub(/@@?.*/, "", $3); print $3}' | grep -v '^QSETTINGS_' | sort >"$BATS_TEST_TMPDIR/symbols"
    diff -u tests/fixtures/abi/libqsettings.symbols "$BATS_TEST_TMPDIR/symbols"
    readelf -d "$so" | grep -q 'SONAME.*\[libqsettings.so.0\]'
    # each one under the release that it came with, and none under a wildcard
    nm -D --defined-only --with-symbol-versions "$so" | sed -n 's/.* T \(qs_.*\)@@\(.*\)/\1 \2/p' | sort >"$BATS_TEST_TMPDIR/versions"
    awk '/^QSETTINGS_/ { node = $1 } /^ +qs_/ { sub(/;/, "", $1); print $1, node }' libqsettings.map | sort | diff -u - "$BATS_TEST_TMPDIR/versions"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/versions")" -eq "$(wc -l <tests/fixtures/abi/libqsettings.symbols)" ]
    run grep 'qs_\*' libqsettings.map
    [ "$status" -eq 1 ]
}

@test "the Debian package records the same symbols" {
    sed -n 's/^ \(qs_[a-z_0-9]*\)@QSETTINGS_[0-9.]* .*/\1/p' packaging/debian/libqsettings0.symbols >"$BATS_TEST_TMPDIR/packaged"
    diff -u tests/fixtures/abi/libqsettings.symbols "$BATS_TEST_TMPDIR/packaged"
}

@test "the packages' version is the program's" {
    version=$(sed -n 's/^VERSION *:= *//p' Makefile)
    [[ $(head -1 packaging/debian/changelog) == "qsettings ($version-"* ]]
}

@test "every function that a header declares is exported, and no other" {
    cat include/qsettings/*.h | tr '\n' ' ' | grep -oE 'QS_API[^;{]*\(' | grep -oE '(qs_[a-z_0-9]+) *\(' | tr -d ' (' |
        grep -v -E '^(qs_list)$' | sort -u >"$BATS_TEST_TMPDIR/declared"
    diff -u "$BATS_TEST_TMPDIR/declared" tests/fixtures/abi/libqsettings.symbols
}

@test "the static library has no global name but the public ones" {
    nm "$QS_BUILD/lib/libqsettings.a" | awk 'NF == 3 && $2 ~ /[TDBRC]/ {print $3}' | grep -v '^qs_' >"$BATS_TEST_TMPDIR/others" || true
    cat "$BATS_TEST_TMPDIR/others"
    [ ! -s "$BATS_TEST_TMPDIR/others" ]
}

@test "programs and library are hardened: PIE, full RELRO, no executable stack" {
    for file in "$QS_BUILD"/bin/* "$QS_BUILD/lib/libqsettings.so"; do
        readelf -h "$file" | grep -q 'Type:.*DYN'
        readelf -d "$file" | grep -q 'BIND_NOW\|Flags:.*NOW'
        readelf -lW "$file" | grep -q GNU_RELRO
        readelf -lW "$file" | grep GNU_STACK | grep -qv RWE
    done
}

@test "install tells the loader's cache where the loader looks, and nobody where it does not" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "$1" = -N ] && echo "%s/lib: (from x:1)" || echo told >>"%s/told"\n' "$prefix" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/bin/ldconfig"
    chmod +x "$BATS_TEST_TMPDIR/bin/ldconfig"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    make --no-print-directory -s install PREFIX="$BATS_TEST_TMPDIR/other"
    make --no-print-directory -s install PREFIX="$prefix" DESTDIR="$BATS_TEST_TMPDIR/stage"
    [ ! -e "$BATS_TEST_TMPDIR/told" ]
    install_there
    [ "$(cat "$BATS_TEST_TMPDIR/told")" = told ]
}

@test "without a compiler make says so where one is wanted, and what to do" {
    run --separate-stderr make --no-print-directory CC=no-such-compiler help
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    run --separate-stderr make --no-print-directory CC=no-such-compiler OUT="$BATS_TEST_TMPDIR/out" OBJ="$BATS_TEST_TMPDIR/obj" all
    [ "$status" -eq 2 ]
    [[ $stderr == *"there is no no-such-compiler; run: make deps"* ]]
}

@test "install, pkg-config, a program built against it, uninstall" {
    install_there
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    [ "$(pkg-config --modversion qsettings)" = "$(sed -n 's/^#define QS_VERSION *"\(.*\)"/\1/p' include/qsettings/version.h)" ]
    cat >"$BATS_TEST_TMPDIR/use.c" <<'END'
#include <qsettings/qsettings.h>
#include <stdio.h>
int main(void)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    if (qs_store_open(QS_SCOPE_SYSTEM, &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = "/nonexistent"}, &store, &err))
        return 1;
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_snapshot_take(store, &snapshot, &err);
    printf("%s %s\n", qs_version(), qs_status_name(status));
    qs_store_close(store);
    return 0;
}
END
    # shellcheck disable=SC2046
    gcc -o "$BATS_TEST_TMPDIR/use" "$BATS_TEST_TMPDIR/use.c" $(pkg-config --cflags --libs qsettings)
    run env LD_LIBRARY_PATH="$prefix/lib" "$BATS_TEST_TMPDIR/use"
    [ "$status" -eq 0 ]
    [ "$output" = "0.1.0 absent" ]
    # shellcheck disable=SC2046
    gcc -static-libgcc -o "$BATS_TEST_TMPDIR/use-static" "$BATS_TEST_TMPDIR/use.c" -I"$prefix/include" "$prefix/lib/libqsettings.a" \
        -llmdb -lyaml -ljansson -lsodium -pthread
    run "$BATS_TEST_TMPDIR/use-static"
    [ "$output" = "0.1.0 absent" ]
    make --no-print-directory -s uninstall PREFIX="$prefix"
    run find "$prefix" -type f -o -type l
    echo "$output"
    [ -z "$output" ]
}

@test "DESTDIR is honoured" {
    make --no-print-directory -s install PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/root" >/dev/null
    [ -x "$BATS_TEST_TMPDIR/root/usr/bin/qsettings" ]
    [ ! -e "$QS_BUILD/bin/qsandbox-shim" ] || [ -x "$BATS_TEST_TMPDIR/root/usr/libexec/qsettings/qsandbox-shim" ]
    [ -e "$BATS_TEST_TMPDIR/root/usr/lib/libqsettings.so.0" ]
    grep -q '^prefix=/usr$' "$BATS_TEST_TMPDIR/root/usr/lib/pkgconfig/qsettings.pc"
}

# ---- the rooms ----

# Names each include of a file of room $1 that leads to another room than those that follow (names with their slash), and
# fails then. The public headers are everybody's.
room_knows() {
    local room=$1 known
    [ -d "$room" ] || { echo "no room $room"; return 1; }
    known=$(printf '|%s' "${@:2}")
    grep -nE '#include "' "$room"*.[ch]* | grep -vE "#include \"($room|qsettings/$known|[^/\"]*\")" && return 1
    return 0
}

@test "includes point one way: each room knows what docs/architecture.md says, and no other" {
    local rooms=0 room known
    while IFS='|' read -r _ room known _; do
        # shellcheck disable=SC2086
        room_knows ${room//\`/} ${known//[\`]/}
        rooms=$((rooms + 1))
    done < <(sed -n '/^## What may include what/,/^## Words/p' docs/architecture.md | grep -E '^\| `[a-z/]+/` \|' | sed 's/| nothing |/|  |/')
    # all rooms are there
    [ "$rooms" -eq "$(find . \( -name .git -o -path ./build -o -path ./tests -o -path ./examples \) -prune -o \( -name '*.c' -o -name '*.cc' \) -printf '%h\n' | sort -u | wc -l)" ]
    run room_knows cli/ store/ # the check can fail
    [ "$status" -ne 0 ]
    [[ $output == *'"terminal/'* ]]
}

@test "each room's question stands at the head of a header of its own, and the picture has every room" {
    local room question rooms=0
    while IFS='|' read -r _ room question _; do
        room=${room//[\` ]/}
        question=$(sed 's/`//g; s/^ //; s/ $//' <<<"$question")
        rooms=$((rooms + 1))
        grep -qF ">${room%%/*}/" docs/layers.svg || grep -qF " ${room%%/*}/" docs/layers.svg ||
            [[ ${room%%/*} =~ ^(bench|fuzz|tools)$ ]] || { echo "not in docs/layers.svg: $room"; return 1; }
        compgen -G "$room*.h" >/dev/null || continue
        grep -qxF " * Room $room: $question" "$room"*.h || { echo "no header of $room asks: $question"; return 1; }
    done < <(sed -n '/^## Rooms/,/^## What may include what/p' docs/architecture.md | grep -E '^\| `[a-z/]+/` \|')
    [ "$rooms" -gt 20 ]
}

@test "each function of the walks in docs/architecture.md is in the file that is named" {
    local function file count=0
    while read -r function file; do
        grep -qE "(^|[^a-z_])$function\\(" "$file" || { echo "no $function in $file"; return 1; }
        count=$((count + 1))
    done < <(sed -n '/^## Walks/,/^## Decisions/p' docs/architecture.md |
        awk '/^```/ { on = $0 == "```text"; next } on { print $1, $NF }')
    [ "$count" -gt 60 ]
}

@test "one file alone knows LMDB" {
    run grep -lE '#include [<"]lmdb\.h' {base,text,schema,store,reader,writer,publish,terminal,cli,cli/*,sandbox/*,stress/*}/*.[ch]
    [ "$output" = store/env.c ]
}

@test "the library never prints, exits or aborts" {
    run grep -nE '(^|[^a-z_])(v?f?printf|puts|fputs|perror|exit|_exit|abort|assert) *\(' {base,text,schema,store,reader,writer,publish}/*.c
    echo "$output"
    [ "$status" -eq 1 ]
}

@test "the library reads no environment variable but HOME, which it only compares" {
    run bash -c 'grep -nE "getenv *\(" {base,text,schema,store,reader,writer,publish}/*.c | grep -v "getenv(\"HOME\")"'
    echo "$output"
    [ -z "$output" ]
}

# ---- the programs of libqsettings(3) ----

# Writes each program of the manual to $BATS_TEST_TMPDIR, by the name in its first line; prints the names.
manual_programs() {
    awk -v dir="$BATS_TEST_TMPDIR" '
        /^\.Bd -literal/ { on = 1; file = ""; next }
        /^\.Ed/ { on = 0 }
        on && file == "" { file = $2; sub(/:$/, "", file); print file }
        on { gsub(/\\e/, "\\"); print > (dir "/" file) }' docs/man/libqsettings.3
}

# built NAME: as C; run with the build's library.
built() {
    LD_LIBRARY_PATH=$QS_BUILD/lib timeout 120 "$BATS_TEST_TMPDIR/$1" "$ROOT"
}

@test "the programs of libqsettings(3) compile as C and as C++, and do what the manual says" {
    ROOT=$BATS_TEST_TMPDIR/root
    mkdir "$ROOT"
    chmod 755 "$ROOT"
    names=$(manual_programs)
    [ "$(echo $names)" = "read.c write.c policy.c watch.c errors.c threads.c" ]
    for name in $names; do
        gcc -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -o "$BATS_TEST_TMPDIR/${name%.c}" "$BATS_TEST_TMPDIR/$name" \
            -L"$QS_BUILD/lib" -lqsettings -pthread
        # no C++ compiler knows that fields which are not named are meant to be zero
        g++ -x c++ -std=c++20 -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror -Iinclude -fsyntax-only \
            "$BATS_TEST_TMPDIR/$name"
    done

    run built read
    [ "$status" -eq 5 ]
    [[ $output == "absent: "* ]]
    run built policy
    [ "$status" -eq 4 ]
    [[ $output == "no command runs: none: "* ]]
    "$QS_BUILD/bin/qsettings" --root "$ROOT" --system init >/dev/null

    run built write
    [ "$status" -eq 0 ]
    [ "$output" = "generation 2, 2 changed" ]
    run built read
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = 'tools.approvalMode is "default"' ]
    [ "${lines[1]}" = 'model.maxSessionTurns = 40' ]

    run built errors
    [ "$status" -eq 3 ]
    [[ $output == "invalid input: "*"at mode.json:2:"*"key tools.approvalMode"*"mend the input" ]]
    run built threads
    [ "$status" -eq 0 ]
    [ "$(grep -c 'a thread counts 2 settings' <<<"$output")" -eq 4 ]

    built watch >"$BATS_TEST_TMPDIR/watched" 3>&- &
    "$QS_BUILD/bin/qsettings" --root "$ROOT" --system set proxy x -m unseen >/dev/null
    "$QS_BUILD/bin/qsettings" --root "$ROOT" --system set -m "and policy" \
        tools.executionSandbox '{"filesystem":"read-only","network":"closed"}' >/dev/null
    wait $!
    [ "$(grep -o '^generation [0-9]*' "$BATS_TEST_TMPDIR/watched" | tr '\n' ' ')" = "generation 1 generation 2 generation 3 generation 4 " ]
    grep -q 'ops-114: ask first' "$BATS_TEST_TMPDIR/watched"
    [ "$(tail -1 "$BATS_TEST_TMPDIR/watched")" = "the policy has changed: start the agents anew" ]
    run built policy
    [ "$status" -eq 0 ]
    [ "$output" = "network closed, read-only" ]
}
