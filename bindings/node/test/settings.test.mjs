// SPDX-License-Identifier: Apache-2.0
// Effective settings, and why. An ES module, as half of the package's users have.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";

const { q: required, scratch, build } = createRequire(import.meta.url)("./support.cjs");
const q = await import(`${build}/node/index.mjs`);

test("import and require give the same package", () => {
  assert.deepEqual(Object.keys(q).filter((name) => name !== "default").sort(), Object.keys(required).sort());
  for (const name of Object.keys(required)) assert.equal(q[name], required[name]);
  assert.equal(q.default, required);
});

test("the layers are merged, each value is found in both spellings, and the whole is frozen", async (t) => {
  const s = scratch(t);
  s.make("defaults", { tools: { approvalMode: "plan" }, a: 1 });
  s.make("user", { tools: { approvalMode: "auto" }, mcpServers: { "docs.local": { command: "x", args: [] } } });
  s.make("system", { permissions: { deny: ["rm"] } });
  const workspace = s.file("w.yaml", "tools:\n  approvalMode: default\npermissions:\n  deny: [curl]\n");
  const options = { root: s.root, workspace };
  for (const settings of [q.readSettingsSync(options), await q.readSettings(options)]) {
    assert.equal(settings.get("tools.approvalMode"), "default");
    assert.equal(settings.get("/mcpServers/docs.local/command"), "x");
    assert.equal(settings.get('mcpServers."docs.local".command'), "x");
    assert.equal(settings.get(["mcpServers", "docs.local", "command"]), "x");
    assert.deepEqual(settings.get("permissions"), { deny: ["curl", "rm"] });
    assert.deepEqual(settings.list(), [["a", 1], ['mcpServers."docs.local".args', []],
      ['mcpServers."docs.local".command', "x"], ["permissions.deny", ["curl", "rm"]], ["tools.approvalMode", "default"]]);
    assert.deepEqual(settings.list("tools"), [["tools.approvalMode", "default"]]);
    assert.deepEqual(settings.list("a"), [["a", 1]]);
    assert.deepEqual(settings.list("nothing"), []);
    assert.deepEqual({ ...settings.generations }, { defaults: 2, user: 2, system: 2 });
    assert.deepEqual(settings.warnings, []);
    assert.throws(() => { settings.document.a = 2; }, TypeError);
    assert.throws(() => settings.get("permissions.deny").push("x"), TypeError);
  }
});

test("what is not set is refused, and a fallback counts only for that", async (t) => {
  const s = scratch(t);
  s.make("user", { a: { b: [1], n: null, z: 0 } });
  const settings = q.readSettingsSync({ root: s.root });
  for (const key of ["b", "a.c", "a.b.0", "a.b.length", "a.constructor", "__proto__", "toString"]) {
    assert.throws(() => settings.get(key), { status: 1, code: "QS_NOT_FOUND", path: key });
    assert.equal(settings.get(key, "else"), "else");
    assert.equal(settings.get(key, undefined), undefined);
    assert.equal(settings.has(key), false);
  }
  assert.equal(settings.get("a.n", "else"), null);
  assert.equal(settings.get("a.z", "else"), 0);
  assert.equal(settings.has("a.n"), true);
  for (const key of ["", "a..b", "a\0b", 'a."b'])
    assert.throws(() => settings.get(key, "else"), { status: 3, code: "QS_INVALID" });
  assert.throws(() => settings.get(7, "else"), TypeError);
});

test("integers are exact, whatever stands beside them", (t) => {
  const s = scratch(t);
  s.make("user");
  fs.writeFileSync(s.file("x.json", ""), `{"big": 9223372036854775807, "low": -9223372036854775808, "edge": 9007199254740993,
    "safe": 9007199254740991, "real": 1234567890123456.5, "text": "bigint:9223372036854775807 \\" 9007199254740993",
    "list": [9007199254740992, "9007199254740993"], "1234567890123456789": 1}`);
  s.qs("--user", "apply", `${s.dir}/x.json`);
  assert.deepEqual(q.readSettingsSync({ root: s.root }).get("/"  + "list"), [9007199254740992n, "9007199254740993"]);
  const { document } = q.readSettingsSync({ root: s.root });
  assert.equal(document.big, 9223372036854775807n);
  assert.equal(document.low, -9223372036854775808n);
  assert.equal(document.edge, 9007199254740993n);
  assert.equal(document.safe, 9007199254740991);
  assert.equal(document.real, 1234567890123456.5);
  assert.equal(document.text, 'bigint:9223372036854775807 " 9007199254740993');
  assert.equal(document["1234567890123456789"], 1);
});

test("a name that means something to JavaScript is a name like any other", (t) => {
  const s = scratch(t);
  s.make("user");
  s.qs("--user", "apply", s.file("x.json", '{"__proto__": {"polluted": true}, "constructor": 1}'));
  const settings = q.readSettingsSync({ root: s.root });
  assert.equal({}.polluted, undefined);
  assert.equal(settings.get("__proto__.polluted"), true);
  assert.equal(settings.get("constructor"), 1);
  assert.deepEqual(settings.list().map(([path]) => path).sort(), ["__proto__.polluted", "constructor"]);
});

test("no layer at all is no empty document", async (t) => {
  const s = scratch(t);
  assert.throws(() => q.readSettingsSync({ root: s.root }), { status: 5, code: "QS_ABSENT" });
  await assert.rejects(q.readSettings({ root: s.root }), { status: 5, code: "QS_ABSENT" });
  assert.deepEqual({ ...q.readSettingsSync({ root: s.root, workspace: s.file("w.json", "{}") }).generations },
    { defaults: null, user: null, system: null });
  s.make("user");
  assert.deepEqual(q.readSettingsSync({ root: s.root }).document, {});
});

test("a layer that cannot be read is an error with its place, and no empty layer", async (t) => {
  const s = scratch(t);
  s.make("user", { a: 1 });
  const workspace = s.file("w.json", '{\n  "a": tru\n}');
  assert.throws(() => q.readSettingsSync({ root: s.root, workspace }),
    { status: 3, code: "QS_INVALID", file: workspace, line: 2 });
  assert.throws(() => q.readSettingsSync({ root: s.root, workspace }), (error) => error.column > 0);
  assert.throws(() => q.readSettingsSync({ root: s.root, workspace: `${s.dir}/none.json` }), q.QsError);
  fs.chmodSync(s.data("user"), 0o666);
  assert.throws(() => q.readSettingsSync({ root: s.root }), { status: 7 });
  fs.chmodSync(s.data("user"), 0o600);
  s.damage("user");
  await assert.rejects(q.readSettings({ root: s.root }), { status: 6, code: "QS_DAMAGED" });
});

test("what of the workspace does not count is told with its place", (t) => {
  const s = scratch(t);
  s.make("system", { a: 1 });
  const workspace = s.file("w.json", '{\n"tools": {"workflowsEnabled": true}}');
  const settings = q.readSettingsSync({ root: s.root, workspace });
  assert.equal(settings.has("tools.workflowsEnabled"), false);
  assert.equal(settings.warnings.length, 1);
  assert.ok(settings.warnings[0].startsWith(`${workspace}:2: `), settings.warnings[0]);
});

test("an explanation is the program's", async (t) => {
  const s = scratch(t);
  s.make("defaults", { a: { b: 1 } });
  s.make("system", { a: { b: 9007199254740993 } });
  s.qs("--system", "lock", "a");
  const told = JSON.parse(s.qs("explain", "a.b", "--json"));
  for (const given of [q.explainSync("a.b", { root: s.root }), await q.explain("a.b", { root: s.root })]) {
    for (const name of ["key", "winner", "reason", "text"]) assert.equal(given[name], told[name]);
    assert.equal(given.layers.length, told.layers.length);
    assert.deepEqual(given.layers.map((layer) => [layer.layer, layer.state, layer.store, layer.generation, layer.silenced,
      layer.locked]), told.layers.map((layer) => [layer.layer, layer.state, layer.store, layer.generation, layer.silenced,
      layer.locked]));
    assert.equal(given.layers[0].value, 1);
    assert.ok(given.layers[3].set.time instanceof Date);
  }
  assert.equal(q.explainSync("x", { root: s.root }).value, undefined);
  assert.throws(() => q.explainSync("a..b", { root: s.root }), { status: 3 });
});
