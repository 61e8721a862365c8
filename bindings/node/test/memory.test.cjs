// SPDX-License-Identifier: Apache-2.0
// Reading over and over keeps nothing: not in a loop that never yields, not in promises, not where it is refused.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const test = require("node:test");
const { POLICY, run, scratch } = require("./support.cjs");

const READS = 10000;
const ALLOWED_KIB = 8192; // of the allocators' own unrest; 10,000 reads that are kept take ten times as much

// How much the process has grown by so many reads, after as many as it takes to settle.
const MEASURE = `
  const root = process.argv[1], kept = [];
  const resident = () => Number(/VmRSS:\\s+(\\d+)/.exec(require("node:fs").readFileSync("/proc/self/status", "utf8"))[1]);
  const read = { policy: () => q.readPolicySync({ root }), settings: () => q.readSettingsSync({ root }),
    promise: () => q.readPolicy({ root }), kept: () => kept.push(q.readPolicySync({ root })),
    refused: () => { try { q.readPolicySync({ root: root + "/none" }); } catch (error) { if (error.status !== 4) throw error; } },
  }[process.argv[2]];
  const wait = process.argv[2] === "promise";
  (async () => {
    const many = async (count) => { for (let i = 0; i < count; i++) { if (wait) await read(); else read(); } gc(); };
    await many(500);
    const before = resident();
    await many(Number(process.argv[3]));
    console.log(resident() - before);
  })();`;

test(`${READS} reads leave the process as it was`, async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  fs.rmSync(`${s.root}/require-system`);
  const grown = async (how, reads) => {
    const ended = await run(MEASURE, { args: [s.root, how, String(reads)], flags: ["--expose-gc"] });
    assert.equal(ended.err, "");
    return Number(ended.out);
  };
  for (const [how, reads] of Object.entries({ policy: READS, settings: READS, promise: READS / 4, refused: READS / 4 })) {
    const kib = await grown(how, reads);
    t.diagnostic(`${how}: ${kib} KiB`);
    assert.ok(kib < ALLOWED_KIB, `${how}: ${kib} KiB`);
  }
  const kib = await grown("kept", READS / 5); // the measure sees it
  t.diagnostic(`kept: ${kib} KiB`);
  assert.ok(kib > ALLOWED_KIB, `kept: ${kib} KiB`);
});
