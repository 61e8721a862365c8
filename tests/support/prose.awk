# SPDX-License-Identifier: Apache-2.0
# Names each sentence of Markdown that has more than 35 words, and each line of more than 140 columns; ends with 1 if
# there is one. A cell of a table, a list item and a heading end a sentence; code in backticks is one word.
function words(text, line,   parts, n, i, sentence, pieces, count) {
    gsub(/`[^`]*`/, "code", text)
    gsub(/\]\([^)]*\)/, "]", text)
    gsub(/ [-–=→·|] /, " ", text)
    n = split(text, parts, /[.?!]["')*]*([ \t]+|$)/)
    for (i = 1; i <= n; i++) {
        count = split(parts[i], pieces, /[ \t]+/)
        if (pieces[1] == "") count--
        if (count > most) { printf "%s:%d: %d words: %s\n", file, line, count, substr(parts[i], 1, 90); bad = 1 }
    }
}
function width(line) { gsub(/[\200-\277]/, "", line); return length(line) }
function flush() { if (text != "") words(text, from); text = ""; file = FILENAME }
BEGIN { most = most ? most : 35; columns = columns ? columns : 140 }
FNR == 1 { flush(); code = 0; file = FILENAME }
width($0) > columns { printf "%s:%d: %d columns\n", FILENAME, FNR, width($0); bad = 1 }
/^[ \t]*```/ { flush(); code = !code; next }
code || /^(    |\t)/ && text == "" { next }
/^[ \t]*$/ { flush(); next }
/^[|]/ { flush(); n = split($0, cells, /[ \t]*[|][ \t]*/); for (c = 1; c <= n; c++) words(cells[c], FNR); next }
/^#/ { flush(); next }
/^[ \t]*([-*]|[0-9]+\.)[ \t]/ { flush() }
{ if (text == "") from = FNR; sub(/^[ \t]*([-*]|[0-9]+\.|>)[ \t]+/, ""); text = text " " $0 }
END { flush(); exit bad }
