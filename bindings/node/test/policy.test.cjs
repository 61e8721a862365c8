// SPDX-License-Identifier: Apache-2.0
// The policy: whole or refused, frozen, and of a session.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const { POLICY, build, q, run, scratch } = require("./support.cjs");

// Both forms refuse, with the same error; nothing is given that could be taken for a policy.
async function refuses(options, status, code, look = () => {}) {
  let given;
  const judge = (error) => {
    assert.ok(error instanceof q.QsError);
    assert.equal(error.name, "QsError");
    assert.equal(error.status, status, error.message);
    assert.equal(error.code, code);
    assert.notEqual(error.message, "");
    assert.equal(error.sources.length, 3);
    look(error);
    return true;
  };
  assert.throws(() => { given = q.readPolicySync(options); }, judge);
  await assert.rejects(async () => { given = await q.readPolicy(options); }, judge);
  assert.throws(() => q.freezePolicySync(options), judge);
  assert.equal(given, undefined);
}

test("the policy is what the program says it is, with defaults, digest and sources", async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  s.make("user", { executor: { limits: { wallSeconds: 5 } } });
  const told = JSON.parse(s.qs("policy", "--json"));
  for (const report of [q.readPolicySync({ root: s.root }), await q.readPolicy({ root: s.root })]) {
    assert.deepEqual({ ...report.policy }, told.policy);
    assert.equal(report.digest, told.digest);
    assert.deepEqual(report.sources.map((source) => ({ ...source })), told.sources);
    assert.deepEqual(JSON.parse(report.document), told.policy);
    assert.equal(report.policy.limits.wallSeconds, 5);
    assert.throws(() => { report.policy.network = "open"; }, TypeError);
    assert.throws(() => { report.policy.environment.pass[0].push("*"); }, TypeError);
  }
});

test("no store and no policy are refused, and nothing stands in for them", async (t) => {
  const s = scratch(t);
  await refuses({ root: s.root }, 4, "QS_NO_POLICY");
  s.make("system", { tools: { approvalMode: "default" } });
  await refuses({ root: s.root }, 4, "QS_NO_POLICY");
});

test("a store that must exist and does not is refused", async (t) => {
  const s = scratch(t);
  s.make("user", POLICY);
  assert.equal(q.readPolicySync({ root: s.root }).policy.network, "closed"); // without the demand it is there
  await refuses({ root: s.root, require: ["system"] }, 5, "QS_ABSENT");
  s.make("system", POLICY); // which leaves require-system
  fs.rmSync(path.join(s.root, "system"), { recursive: true });
  await refuses({ root: s.root }, 5, "QS_ABSENT");
});

test("a damaged store is refused with its file, also beside a healthy one", async (t) => {
  const s = scratch(t);
  s.make("user", POLICY);
  s.make("system", POLICY);
  s.damage("system");
  await refuses({ root: s.root }, 6, "QS_DAMAGED", (error) => {
    assert.match(error.file, /system/);
    assert.equal(error.sources.find((source) => source.scope === "system").state, "damaged");
  });
});

test("a store that others may write is refused", async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  fs.chmodSync(s.data("system"), 0o666);
  await refuses({ root: s.root }, 7, "QS_UNTRUSTED");
  fs.chmodSync(s.data("system"), 0o644);
  assert.equal(q.readPolicySync({ root: s.root }).policy.network, "closed");
});

test("wrong arguments are refused, so that a misspelt option never reads other stores", async () => {
  for (const options of [{ Root: "/tmp" }, { root: "" }, { root: 1 }, { root: "a\0b" }, { waitMs: -1 }, null, "/tmp",
    { require: ["workspace"] }, { require: ["toString"] }, { workspace: "w.json" }]) {
    assert.throws(() => q.readPolicySync(options), TypeError);
    await assert.rejects(q.readPolicy(options), TypeError);
  }
  assert.throws(() => q.readPolicySync({ root: "relative" }), { status: 2, code: "QS_USAGE" });
});

// ---- frozen ----

test("a child thaws what was frozen, whatever the store holds by then", async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  for (const frozen of [q.freezePolicySync({ root: s.root }), await q.freezePolicy({ root: s.root })]) {
    t.after(() => fs.closeSync(frozen.fd));
    s.qs("--system", "set", "tools.executionSandbox.network", "open");
    const child = await run("console.log(JSON.stringify(q.thawPolicySync(3)))", { stdio: [frozen.fd] });
    assert.equal(child.err, "");
    const report = JSON.parse(child.out);
    assert.equal(report.policy.network, "closed");
    assert.equal(report.digest, frozen.digest);
    assert.deepEqual(report.sources[0].generation, frozen.sources[0].generation);
    s.qs("--system", "set", "tools.executionSandbox.network", "closed");
  }
});

test("what is no sealed policy is not thawed", (t) => {
  const s = scratch(t);
  const fd = fs.openSync(s.file("policy.json", '{"network":"open"}'), "r");
  assert.throws(() => q.thawPolicySync(fd), { status: 7, code: "QS_UNTRUSTED" });
  fs.closeSync(fd);
  assert.throws(() => q.thawPolicySync(fd), { status: 2 });
  for (const wrong of [-1, 1.5, "3", undefined]) assert.throws(() => q.thawPolicySync(wrong), TypeError);
});

// ---- sessions ----

const qsandbox = path.join(build, "bin/qsandbox");
const READ = `
  try { console.log(JSON.stringify(q.sessionPolicySync({ program: process.argv[1] }))); }
  catch (error) { console.log(JSON.stringify({ status: error.status, message: error.message })); }`;

test("below qsandbox session the session's policy is read, and no other", async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  const text = `require("node:child_process").execFileSync(process.argv[2], ["--root", process.argv[3], "--system", "set",
    "tools.executionSandbox.network", "open"]); ${READ}`;
  const child = await run(text, {
    command: [qsandbox, "--root", s.root, "session", "--", process.execPath],
    args: [qsandbox, path.join(build, "bin/qsettings"), s.root],
  });
  assert.equal(child.err, "");
  assert.equal(JSON.parse(child.out).policy.network, "closed");
  assert.equal(q.readPolicySync({ root: s.root }).policy.network, "open");
});

test("a session of another program, a forged name and no session at all are refused", async (t) => {
  const s = scratch(t);
  s.make("system", POLICY);
  const session = { command: [qsandbox, "--root", s.root, "session", "--", process.execPath] };
  for (const program of [process.execPath, "/no/such/file"])
    assert.equal(JSON.parse((await run(READ, { ...session, args: [program] })).out).status, 7);
  const start = fs.readFileSync("/proc/self/stat", "utf8").replace(/.*\) /s, "").split(" ")[19];
  const frozen = q.freezePolicySync({ root: s.root });
  t.after(() => fs.closeSync(frozen.fd));
  for (const name of ["nonsense", "1:1:3", "", `${process.pid}:${start}:${frozen.fd}`]) {
    const answer = JSON.parse((await run(READ, { args: [qsandbox], env: { QSANDBOX_SESSION: name } })).out);
    assert.equal(answer.status, 7, name);
  }
  const env = { QSANDBOX_SESSION: undefined };
  assert.equal(JSON.parse((await run(READ, { args: [qsandbox], env })).out).status, 1);
});
