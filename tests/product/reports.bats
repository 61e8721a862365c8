#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The reports in a real browser: what a reader sees is there, nothing is cut off, laid over another or fetched, and a
# picture of the page has the colours of its verdict.

setup() {
    bats_require_minimum_version 1.5.0
    command -v chromium >/dev/null || skip "chromium is not installed (tools/packages-ci)"
    dir=$(mktemp -d /tmp/qs-reports-XXXXXX)
    cd "$dir" || exit 1
}

teardown() {
    [ -z "${dir:-}" ] || { cd / && rm -rf "$dir"; }
}

# browser WIDTH ARGUMENT...: its own profile and home; as root it has no sandbox of its own.
browser() {
    HOME=$dir timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$dir/profile" --hide-scrollbars --force-color-profile=srgb --window-size="$1" "${@:2}" 2>browser.err
}

# look PAGE WIDTH: measures the page as shown in a window of that width; $seen is the JSON.
look() {
    { cat "$1"; cat "$QS_TOP/tests/support/measure.html"; } >measured.html
    browser "$2,1000" --dump-dom "file://$dir/measured.html" >dom.html || { cat browser.err; return 1; }
    seen=$(sed -n 's:.*<title>\({.*}\)</title>.*:\1:p' dom.html | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g')
    echo "$seen"
    jq -e '.heading' <<<"$seen" >/dev/null
}

# pixels PAGE: colours of a picture of it, most first.
pixels() {
    browser 1000,1000 --screenshot="$dir/page.png" "file://$dir/$1" >/dev/null || { cat browser.err; return 1; }
    python3 "$QS_TOP/tests/support/png_colors.py" page.png >colors
}
# colored RRGGBB LEAST: so many pixels have that colour.
colored() {
    awk -v color="$1" -v least="$2" '$1 == color && $2 >= least { found = 1 } END { exit !found }' colors || { head -n 20 colors; return 1; }
}

@test "a race that found something shows it" {
    "$QS_BUILD/bin/qstress" race --backend rename-away --writers 4 --seconds 1 --expect-violation --html race.html >/dev/null
    look race.html 1280
    jq -e '.heading == "qstress race: rename-away" and .pictures == 2 and .shapes > 20 and .rows > 10 and .words > 100' <<<"$seen"
    jq -e '.faults == [] and .links == 0' <<<"$seen"
    pixels race.html
    colored ffffff 300000
    colored 3565b0 2000
    colored b3261e 100
}

@test "a page of sessions is whole in a narrow window too" {
    "$QS_BUILD/bin/qstress" sessions --backend qsettings --starts 2000 --html sessions.html >/dev/null
    for width in 1280 500; do
        look sessions.html "$width"
        jq -e '.heading == "qstress sessions: qsettings" and .pictures == 1 and .faults == [] and .links == 0' <<<"$seen"
    done
}

@test "the page of the bench shows each row and each curve" {
    local figures=$QS_TOP/tests/fixtures/bench/bench.json
    "$QS_BUILD/tools/bench-page" "$figures" >bench.html
    look bench.html 1280
    jq -e --slurpfile b "$figures" '.pictures == 1 + ($b[0].curves | length) and .shapes > ($b[0].results | length) and
        .rows >= ($b[0].counts | length) + ($b[0].machine | length) and .faults == [] and .links == 0' <<<"$seen"
    look bench.html 500
    jq -e '.faults == []' <<<"$seen"
    pixels bench.html
    colored 3c8c5a 5000
    colored b3261e 500
}

@test "bench-page refuses what is no bench, and says where" {
    echo '{"results": [' >bad.json
    run -3 --separate-stderr "$QS_BUILD/tools/bench-page" bad.json
    [[ $stderr == *bad.json:2:* ]]
    echo '{}' >bad.json
    run -3 --separate-stderr "$QS_BUILD/tools/bench-page" bad.json
    [[ $stderr == *missing* && -z $output ]]
}

# Controls: what these checks look for is found in a page that has it.
@test "a page with a text cut off, one laid over another, something fetched or too wide is found out" {
    cat >bad.html <<'PAGE'
<!doctype html><title>x</title><h1>bad</h1><svg width="200" height="100"><text x="190" y="20">cut off here</text>
<text x="10" y="50">one over</text><text x="12" y="52">the other</text></svg><div style="width:3000px">wide</div>
<img src="dot.svg">
PAGE
    look bad.html 1280
    jq -e '[.faults[] | split(":")[0]] | index("cut off") != null and index("overlap") != null' <<<"$seen"
    jq -e '.faults | any(startswith("wider"))' <<<"$seen"
    jq -e '.links == 1' <<<"$seen"
}

@test "a blank page is found out" {
    echo '<!doctype html><title>x</title><h1></h1>' >blank.html
    look blank.html 1280
    jq -e '.words <= 1 and .pictures == 0 and .shapes == 0' <<<"$seen"
    pixels blank.html
    [ "$(wc -l <colors)" -eq 1 ]
}
