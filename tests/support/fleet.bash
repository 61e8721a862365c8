# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the suites of fleets share: an operator's work directory, signed with minisign, a carrier that is a directory, and
# machines with roots of their own, all below $SCRATCH.
bats_require_minimum_version 1.5.0

QF=$QS_BUILD/bin/qfleet
QS=$QS_BUILD/bin/qsettings

fleet_setup() {
    umask 022
    SCRATCH=$(mktemp -d /tmp/qs-fleet-XXXXXX)
    chmod 755 "$SCRATCH"
    WORK=$SCRATCH/work CARRIER=$SCRATCH/carrier
    mkdir -p "$WORK" "$CARRIER/reports" "$SCRATCH/keys"
    jq -n --arg path "$CARRIER" '{format: "qsettings-fleet-work-1", fleet: "north", carriers: [{type: "file", path: $path}]}' \
        >"$WORK/fleet.json"
    new_key root
    new_key ops
    key_document 1 '["root"]' '["ops"]'
}

fleet_teardown() {
    rm -rf "$SCRATCH"
}

# new_key NAME: a minisign key without a password.
new_key() {
    minisign -G -W -f -p "$SCRATCH/keys/$1.pub" -s "$SCRATCH/keys/$1.key" >/dev/null
}
public() {
    tail -1 "$SCRATCH/keys/$1.pub"
}
# sign NAME FILE: appends a block of this key.
sign() {
    minisign -S -s "$SCRATCH/keys/$1.key" -m "$2" -x "$SCRATCH/one.minisig" -t "by $1" >/dev/null
    cat "$SCRATCH/one.minisig" >>"$2.minisig"
}

# key_document VERSION ROOT-NAMES BUNDLE-NAMES [ROOT-THRESHOLD [BUNDLE-THRESHOLD]]
key_document() {
    local root bundle
    root=$(for name in $(jq -r '.[]' <<<"$2"); do public "$name"; done | jq -R . | jq -s .)
    bundle=$(for name in $(jq -r '.[]' <<<"$3"); do public "$name"; done | jq -R . | jq -s .)
    jq -n --argjson v "$1" --argjson root "$root" --argjson bundle "$bundle" --argjson rt "${4:-1}" --argjson bt "${5:-1}" \
        '{format: "qsettings-fleet-keys-1", fleet: "north", version: $v, issued: 1000,
          root: {threshold: $rt, keys: $root}, bundle: {threshold: $bt, keys: $bundle}}' >"$WORK/keys-$1.json"
}

# build DOCUMENT [OPTION...]: the next bundle; BUNDLE is its name.
build() {
    printf '%s' "$1" >"$SCRATCH/document.json"
    shift
    operate build "$SCRATCH/document.json" "$@"
}
# operate COMMAND [ARGUMENT...]: one that writes a bundle; must succeed.
operate() {
    local out
    out=$("$QF" "$1" --work "$WORK" "${@:2}") || { echo "qfleet $* failed"; return 1; }
    BUNDLE=$(sed -n 's/^wrote .*\/\(bundle-[0-9-]*\.json\); .*/\1/p' <<<"$out")
    [ -n "$BUNDLE" ]
}
push() {
    [ -e "$WORK/$BUNDLE.minisig" ] || sign "${1:-ops}" "$WORK/$BUNDLE"
    "$QF" push --work "$WORK" >/dev/null
}
# release DOCUMENT [OPTION...]: built, signed, pushed.
release() {
    build "$@"
    push
}

# machine NAME [JSON]: enrolled, with these members in its configuration. Its root is $SCRATCH/NAME.
machine() {
    mkdir -p "$SCRATCH/$1"
    jq -n --arg path "$CARRIER" --argjson more "${2:-{\}}" \
        '{format: "qsettings-fleet-config-1", fleet: "north", carriers: [{type: "file", path: $path}]} + $more' \
        >"$SCRATCH/$1.config"
    "$QF" enrol --root "$SCRATCH/$1" "$SCRATCH/$1.config" "$WORK/keys-1.json" >"$SCRATCH/$1.id" || return 1
    ID=$(sed -n 's/^id: //p' "$SCRATCH/$1.id")
}

# on NAME COMMAND...: qfleet there; status, output, stderr.
on() {
    run --separate-stderr "$QF" "$2" --root "$SCRATCH/$1" "${@:3}"
}
# update NAME: fetch and apply; status of apply.
update() {
    "$QF" fetch --once --root "$SCRATCH/$1" 2>"$SCRATCH/fetch.err" || true
    on "$1" apply
}
# value NAME KEY: a setting there now.
value() {
    "$QS" --root "$SCRATCH/$1" --system get "$2"
}
# report NAME FILTER: of the report there.
report() {
    jq -rc "$2" "$SCRATCH/$1/var/lib/qfleet-out/report.json"
}
# policy NAME: exit status of a policy read.
policy_status() {
    "$QS" --root "$SCRATCH/$1" policy >/dev/null 2>&1 && echo 0 || echo $?
}

# is STATUS [TEXT...]: this exit status, and standard error holds the texts.
is() {
    [ "$status" -eq "$1" ] || { echo "status $status: $output / $stderr"; return 1; }
    shift
    local text
    for text; do [[ $stderr == *"$text"* ]] || { echo "not said: $text in: $stderr"; return 1; }; done
}
same() {
    [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }
}
