// SPDX-License-Identifier: Apache-2.0
// Watching: each generation once, the event loop free, and nothing left behind.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const test = require("node:test");
const { POLICY, eventually, q, run, scratch, threads } = require("./support.cjs");

const generation = async (watch) => (await watch.next()).value.generation;

test("each generation comes once and in order, with what it changed", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const { generations } = q.readSettingsSync({ root: s.root });
  s.qs("--system", "set", "a", "2", "-m", "why");
  s.apply("system", POLICY);
  s.qs("--system", "lock", "a");
  const seen = [];
  for await (const event of q.watch({ root: s.root, from: generations })) {
    seen.push(event);
    if (seen.length === 3) break;
  }
  assert.deepEqual(seen.map((event) => [event.scope, event.generation]), [["system", 3], ["system", 4], ["system", 5]]);
  assert.deepEqual(seen[0].changed, ["a"]);
  assert.deepEqual([seen[0].message, seen[0].action, seen[0].program], ["why", "set", "qsettings"]);
  assert.ok(seen[0].time instanceof Date);
  assert.deepEqual(seen.map((event) => event.policyChanged), [false, true, false]);
  assert.deepEqual([seen[2].changed, seen[2].locks], [[], ["a"]]);
});

test("the event loop turns while a watch waits", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const watch = q.watch({ root: s.root, scopes: ["system"] });
  let came = false;
  const waiting = watch.next().then((result) => { came = true; return result; });
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  assert.equal(came, false);
  s.qs("--system", "set", "a", "2");
  assert.equal((await waiting).value.generation, 3);
  await watch.close();
});

test("a store that was absent when it was read is told of from its first generation on", async (t) => {
  const s = scratch(t);
  s.make("user", { a: 1 });
  const { generations } = q.readSettingsSync({ root: s.root });
  assert.equal(generations.system, null);
  s.make("system", { a: 2 });
  const watch = q.watch({ root: s.root, from: generations });
  assert.equal(await generation(watch), 1);
  assert.equal(await generation(watch), 2);
  fs.rmSync(`${s.root}/require-system`);
  await watch.close();
  const later = q.watch({ root: s.root }); // and without from only what comes from now on
  const next = generation(later);
  s.qs("--system", "set", "a", "3");
  assert.equal(await next, 3);
  await later.close();
});

test("calls of next that overlap are answered one after the other", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const watch = q.watch({ root: s.root, scopes: ["system"], from: { system: 0 } });
  const both = Promise.all([generation(watch), generation(watch)]);
  s.qs("--system", "set", "a", "2");
  s.qs("--system", "set", "a", "3");
  assert.deepEqual(await both, [3, 4]);
  await watch.close();
});

test("close, an abort and a break end it, also while it waits, and its thread is gone", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  assert.equal(threads(), 0);
  const closed = q.watch({ root: s.root });
  const waiting = closed.next();
  await eventually(() => threads() === 1); // there is a thread to be missed
  await closed.close();
  assert.equal((await waiting).done, true);
  assert.equal((await closed.next()).done, true);
  await eventually(() => threads() === 0);

  const controller = new AbortController();
  const aborted = q.watch({ root: s.root, signal: controller.signal });
  const ended = aborted.next();
  controller.abort();
  assert.equal((await ended).done, true);
  await aborted.close();
  assert.equal((await q.watch({ root: s.root, signal: controller.signal }).next()).done, true);

  s.qs("--system", "set", "a", "2");
  for await (const event of q.watch({ root: s.root, from: { system: 2 } })) {
    assert.equal(event.generation, 3);
    break;
  }
  await eventually(() => threads() === 0);
});

test("a store that cannot be read any more ends the iteration with its status", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const watch = q.watch({ root: s.root });
  const next = watch.next();
  s.damage("system");
  await assert.rejects(next, (error) => error instanceof q.QsError && error.status === 6);
  assert.equal((await watch.next()).done, true);
  await watch.close();
  assert.throws(() => q.watch({ root: s.root }), { status: 6 });
});

test("with onError it goes on, and tells what the restore brought", async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  s.qs("--system", "backup", `${s.dir}/backup`);
  const errors = [];
  const watch = q.watch({ root: s.root, onError: (error) => { errors.push(error.code); } });
  const next = watch.next();
  s.damage("system");
  await eventually(() => errors.length > 0);
  s.qs("--system", "restore", `${s.dir}/backup`);
  assert.equal((await next).value.action, "restore");
  assert.deepEqual(errors, ["QS_DAMAGED"]);
  await watch.close();
  const thrower = q.watch({ root: s.root, onError: () => { throw new RangeError("mine"); } });
  s.damage("system");
  await assert.rejects(thrower.next(), RangeError);
});

test("wrong arguments are refused", () => {
  for (const options of [{ scope: "system" }, { scopes: [] }, { scopes: ["workspace"] }, { from: { system: -1 } },
    { from: { workspace: 1 } }, { from: 3 }, { onError: 1 }, { signal: 1 }])
    assert.throws(() => q.watch(options), TypeError);
});

// ---- the ends ----

// For the programs of these tests.
const HELP = `const threads = ${threads}; const soon = ${eventually};`;

test("a process that waits for nothing ends by itself, and one that exits ends at once", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const args = [s.root];
  const ends = {
    "const w = q.watch({ root: process.argv[1] });": 0,
    "const w = q.watch({ root: process.argv[1] }); w.next(); w.close();": 0,
    "const w = q.watch({ root: process.argv[1] }); w.next(); setImmediate(() => process.exit(7));": 7,
    "const w = q.watch({ root: process.argv[1] }); w.next(); setImmediate(() => { throw new Error('mine'); });": 1,
  };
  for (const [text, code] of Object.entries(ends)) {
    const ended = await run(text, { args });
    assert.deepEqual([ended.code, ended.signal], [code, null], `${text} ${ended.err}`);
  }
});

test("a worker that is ended in the middle of it leaves no thread", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const text = `
    const { Worker } = require("node:worker_threads");
    ${HELP}
    const body = 'const { parentPort, workerData } = require("node:worker_threads"); const q = require(workerData.package);' +
      'globalThis.kept = [q.watch({ root: workerData.root }), q.watch({ root: workerData.root })]; kept[0].next(); parentPort.postMessage(1);';
    (async () => {
      for (let i = 0; i < 10; i++) {
        const workerData = { package: ${JSON.stringify(require.resolve(`${process.env.QS_BUILD}/node`))}, root: process.argv[1] };
        const worker = new Worker(body, { eval: true, workerData });
        await new Promise((resolve) => worker.once("message", resolve));
        await soon(() => threads() === 2);
        await worker.terminate();
        await soon(() => threads() === 0);
      }
    })();`;
  const ended = await run(text, { args: [s.root] });
  assert.deepEqual([ended.code, ended.err], [0, ""]);
});

test("a watch that is forgotten is collected with its thread", async (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const text = `
    ${HELP}
    (async () => {
      let kept = [1, 2, 3, 4, 5].map(() => q.watch({ root: process.argv[1] }));
      await soon(() => threads() === 5 && kept.length === 5);
      kept = null;
      await soon(() => { gc(); return threads() === 0; });
    })();`;
  const ended = await run(text, { args: [s.root], flags: ["--expose-gc"] });
  assert.deepEqual([ended.code, ended.err], [0, ""]);
});
