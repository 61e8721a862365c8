#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Private caches: what build tools do in theirs works, the host's stay as they are, two workspaces share nothing. The tools
# are heavy, so a stand-in does to each place what its tool does there, finding it by the tool's documented rules; where a
# tool itself is installed, it is run as well.
load ../support/sandbox

original_path=$PATH original_home=$HOME
setup() {
    sandbox_setup
    policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off"}'
    cat >"$base/tools.py" <<'P'
# tools.py put|get: each tool's cache, found as the tool finds it. To put is to lock, to write a temporary, to rename it, as
# they all do; to get is to read it back.
import fcntl, os, sys
env, home = os.environ.get, os.path.expanduser("~")
caches = env("XDG_CACHE_HOME") or home + "/.cache"
cargo = env("CARGO_HOME") or home + "/.cargo"
places = {
    "pip": caches + "/pip/http-v2/a/b",
    "go-build": (env("GOCACHE") or caches + "/go-build") + "/00",
    "npm": (env("npm_config_cache") or home + "/.npm") + "/_cacache/content-v2/sha512",
    "npm-logs": (env("npm_config_cache") or home + "/.npm") + "/_logs",
    "cargo-registry": cargo + "/registry/cache/index.crates.io",
    "cargo-git": cargo + "/git/db/x",
    "go-mod": (env("GOMODCACHE") or (env("GOPATH") or home + "/go") + "/pkg/mod") + "/cache/download/m",
}
for tool, place in places.items():
    name = place + "/entry"
    try:
        if sys.argv[1] == "put":
            os.makedirs(place, exist_ok=True)
            with open(place + "/.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                with open(name + ".tmp", "w") as f:
                    f.write(sys.argv[2])
                    os.fsync(f.fileno())
                os.rename(name + ".tmp", name)
            if tool == "go-mod":
                os.chmod(place, 0o500)  # extracted modules are read-only
        print(tool, open(name).read())
    except OSError as e:
        print(tool, e.strerror)
P
    chmod 644 "$base/tools.py"
    count=7
}

all() { [ "$(awk -v want="$1" '$2 == want' <<<"$output" | wc -l)" -eq $count ] || { echo "$output"; return 1; }; }
none() { [ "$(awk -v want="$1" '$2 == want' <<<"$output" | wc -l)" -eq 0 ] || { echo "$output"; return 1; }; }
host_caches() { # USER TEXT: as the tools leave them on the host
    mkdir -p "$base/home/$1/.cache" "$base/home/$1/.npm" "$base/home/$1/.cargo/registry" "$base/home/$1/.cargo/git" "$base/home/$1/go/pkg/mod"
    HOME=$base/home/$1 python3 "$base/tools.py" put "$2" >/dev/null
    echo "not a tool's" >"$base/home/$1/.cache/other"
    [ "$1" = root ] || chown -R $UID_ANN "$base/home/$1"
}
caches() { as "$1" "$qsandbox" --root "$base/root" caches --workspace "${3:-$(ws "$1")}" "$2"; }

@test "every tool's cache works, whether the home has one or not, and the home's is not touched" {
    for user in root ann; do
        for home in without with; do
            [ $home = without ] || host_caches $user host
            before=$(cd "$base/home/$user" && find . -mindepth 1 -path ./.local -prune -o -path ./ws -prune -o -printf '%p %m %s %T@\n')
            run -0 sandboxed $user -- python3 "$base/tools.py" put mine
            all mine
            run -0 sandboxed $user -- python3 "$base/tools.py" get
            all mine
            [ "$(cd "$base/home/$user" && find . -mindepth 1 -path ./.local -prune -o -path ./ws -prune -o -printf '%p %m %s %T@\n')" = "$before" ]
            caches $user --clear
        done
        policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off","caches":"none"}' # the control
        run -0 sandboxed $user -- python3 "$base/tools.py" put mine
        none mine
        policy '{"filesystem":"workspace-write","network":"closed"}' '{"audit":"off"}'
    done
}

@test "a cache that the caller has elsewhere is replaced by the private one" {
    mkdir -p "$base/elsewhere/cargo" "$base/elsewhere/go"
    chown -R $UID_ANN "$base/elsewhere"
    host_caches ann host
    CARGO_HOME=$base/elsewhere/cargo GOPATH=$base/elsewhere/go run -0 sandboxed ann -- python3 "$base/tools.py" put mine
    all mine
    [ -z "$(find "$base/elsewhere" -type f)" ]
}

@test "two workspaces share nothing, and clearing one leaves the other" {
    local other=$base/home/ann/other
    as ann mkdir "$other"
    run -0 sandboxed ann -- python3 "$base/tools.py" put first
    run -0 sandboxed ann --workspace "$other" --cwd "$other" -- python3 "$base/tools.py" get
    none first
    run -0 sandboxed ann --workspace "$other" --cwd "$other" -- python3 "$base/tools.py" put second
    caches ann --clear # also what go made read-only
    run -0 sandboxed ann -- python3 "$base/tools.py" get
    none first
    run -0 sandboxed ann --workspace "$other" --cwd "$other" -- python3 "$base/tools.py" get
    all second
}

@test "caches begin empty; --seed copies what the tools have, and nothing else" {
    for user in root ann; do
        host_caches $user host
        ln -s /etc/passwd "$base/home/$user/.npm/_cacache/link"
        mkfifo "$base/home/$user/.npm/_cacache/fifo"
        run -0 sandboxed $user -- python3 "$base/tools.py" get
        none host
        run -0 caches $user --seed
        [[ $output =~ ^[0-9]+\ files,\ [0-9]+\ bytes$ ]]
        count=6 # npm's logs are not what it has fetched
        run -0 sandboxed $user -- python3 "$base/tools.py" get
        all host
        run -0 sandboxed $user -- sh -c 'cat ~/.cache/other; readlink ~/.npm/_cacache/link; ls ~/.npm/_cacache; true'
        [[ $output != *"not a tool's"* && $output == */etc/passwd* && $output != *fifo* ]]
        count=7
        run -0 sandboxed $user -- sh -c 'chmod -R u+w ~/go; python3 '"$base/tools.py put mine"
        run -0 caches $user --seed # what is there stays
        run -0 sandboxed $user -- python3 "$base/tools.py" get
        all mine
        grep -qx host "$base/home/$user/.npm/_cacache/content-v2/sha512/entry"
    done
}

@test "what a command left in its caches leads a copy nowhere" {
    host_caches ann host
    as ann mkdir "$base/home/ann/target"
    for link in '~/.npm/_cacache' '~/.npm/_cacache/content-v2' '~/.npm/_cacache/content-v2/sha512/entry'; do
        caches ann --clear
        run -0 sandboxed ann -- sh -c "mkdir -p \$(dirname $link) && ln -s $base/home/ann/target $link"
        run caches ann --seed
        [ -z "$(find "$base/home/ann/target" -mindepth 1)" ]
    done
}

# ---- the tools themselves ----

# tool NAME: is it here? Sets tools, its directory. (A sandbox shows what root has installed, in its home as well.)
tool() {
    tools=$(PATH=$original_path:$original_home/.cargo/bin command -v "$1") && tools=${tools%/*} && return
    echo "# $1 is not installed: the stand-in alone was tried" >&3
    return 1
}
real() { PATH=$PATH:$tools RUSTUP_HOME=${RUSTUP_HOME:-$original_home/.rustup} sandboxed root -- "$@"; }

@test "npm ci of a tarball" {
    tool npm || return 0
    local ws
    ws=$(ws root)
    mkdir "$ws/dep"
    printf '{"name":"dep","version":"1.0.0","main":"i.js"}' >"$ws/dep/package.json"
    echo 'module.exports = 42' >"$ws/dep/i.js"
    printf '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep-1.0.0.tgz"}}' >"$ws/package.json"
    real sh -c 'npm pack --silent ./dep && npm install --silent --offline --package-lock-only && npm ci --silent --offline --no-audit &&
        node -p "require(\"dep\")" >answer && ls $npm_config_cache >cache'
    [ "$(cat "$ws/answer")" = 42 ]
    grep -qx _cacache "$ws/cache"
    [ ! -e "$base/home/root/.npm" ]
}

@test "cargo build with a path dependency" {
    tool cargo || return 0
    local ws
    ws=$(ws root)
    mkdir -p "$ws/lib/src" "$ws/src"
    printf '[package]\nname = "lib1"\nversion = "0.1.0"\n' >"$ws/lib/Cargo.toml"
    echo 'pub fn f() -> i32 { 7 }' >"$ws/lib/src/lib.rs"
    printf '[package]\nname = "bin1"\nversion = "0.1.0"\n[dependencies]\nlib1 = { path = "lib" }\n' >"$ws/Cargo.toml"
    echo 'fn main() { println!("{}", lib1::f()) }' >"$ws/src/main.rs"
    real cargo run -q --offline >"$base/out"
    [ "$(cat "$base/out")" = 7 ]
    [ ! -e "$base/home/root/.cargo" ]
}

@test "pip installs a wheel of the workspace, and its cache is the private one" {
    tool pip3 || return 0
    local ws
    ws=$(ws root)
    python3 - "$ws" <<'P'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/pp-1.0-py3-none-any.whl", "w") as z:
    z.writestr("pp.py", "X = 5\n")
    z.writestr("pp-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pp\nVersion: 1.0\n")
    z.writestr("pp-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("pp-1.0.dist-info/RECORD", "pp.py,,\npp-1.0.dist-info/METADATA,,\npp-1.0.dist-info/WHEEL,,\npp-1.0.dist-info/RECORD,,\n")
P
    run -0 real sh -c 'pip3 install -q --no-index --find-links . --target here pp && PYTHONPATH=here python3 -c "import pp; print(pp.X)"; pip3 cache dir'
    [[ $output == *5* && ${lines[-1]} == /tmp/.qsandbox-caches/cache/pip ]]
    [ ! -e "$base/home/root/.cache" ]
}

@test "go build with a module of the workspace" {
    tool go || return 0
    local ws
    ws=$(ws root)
    mkdir "$ws/m"
    printf 'module m\n' >"$ws/m/go.mod"
    printf 'package m\nfunc F() int { return 9 }\n' >"$ws/m/m.go"
    printf 'module app\nrequire m v0.0.0\nreplace m => ./m\n' >"$ws/go.mod"
    printf 'package main\nimport "m"\nfunc main() { println(m.F()) }\n' >"$ws/main.go"
    run -0 real sh -c 'GOFLAGS=-mod=mod GOPROXY=off go run . 2>&1; go env GOCACHE'
    [[ $output == *9* && ${lines[-1]} == /tmp/.qsandbox-caches/cache/go-build ]]
}
