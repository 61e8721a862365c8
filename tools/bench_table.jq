# SPDX-License-Identifier: Apache-2.0
# bench.json to Markdown tables: rows, curves, counts.
def time: if . >= 1000 then "\(. / 10 | round / 100) ms" else "\(. * 10 | round / 10) us" end;
def ratio: . * 100 | round / 100 | tostring;
"| work | against | ratio | at most | ours | theirs | pairs |",
"|---|---|---|---|---|---|---|",
(.results[] |
 "| \(.name) | \(.against) | \(if .limit > 0 and .ratio > .limit then "**\(.ratio | ratio)**" else (.ratio | ratio) end) | " +
 "\(if .limit > 0 then (.limit | tostring) else "" end) | \(.ours | time) | \(.theirs | time) | \(.samples) |"),
(.curves[] | "", "\(.name):", "",
 "| \(.x) | \([.series[0].points[][0] | tostring] | join(" | ")) |",
 "|---|\(.series[0].points | map("---|") | join(""))",
 (.series[] | "| \(.name) | \([.points[][1] | time] | join(" | ")) |")),
"", "| counted | of | flushes | writes | bytes |", "|---|---|---|---|---|",
(.counts[] | "| \(.name) | \(.of) | \(.flushes) | \(.writes // "") | \(.bytes // "") |")
