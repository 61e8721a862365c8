// SPDX-License-Identifier: Apache-2.0
// What the tests of the binding share: a root of one's own for each test, the programs, and the package as it was built.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const build = process.env.QS_BUILD;
if (!build) throw new Error("QS_BUILD names the build folder");

const POLICY = { tools: { executionSandbox: { filesystem: "read-only", network: "closed" } } };

class Scratch {
  constructor() {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "qs-node-"));
    fs.chmodSync(this.dir, 0o755);
    this.root = path.join(this.dir, "root");
    fs.mkdirSync(this.root);
  }

  qs(...args) {
    return execFileSync(path.join(build, "bin/qsettings"), ["--root", this.root, ...args], { encoding: "utf8" });
  }

  apply(scope, document, ...more) {
    const file = this.file("apply.json", JSON.stringify(document));
    this.qs(`--${scope}`, "apply", ...more, file);
  }

  make(scope, document, ...more) {
    this.qs(`--${scope}`, "init", ...more);
    if (document) this.apply(scope, document);
  }

  file(name, text) {
    const file = path.join(this.dir, name);
    fs.writeFileSync(file, text);
    return file;
  }

  data(scope) {
    return path.join(this.root, scope, "data.mdb");
  }

  // Both metas gone: no generation verifies any more.
  damage(scope) {
    const fd = fs.openSync(this.data(scope), "r+");
    fs.writeSync(fd, Buffer.alloc(8192), 0, 8192, 0);
    fs.closeSync(fd);
  }

  remove() {
    fs.rmSync(this.dir, { recursive: true });
  }
}

function scratch(t) {
  const made = new Scratch();
  t.after(() => made.remove());
  return made;
}

// A node of its own that runs this text, with q for the package; {code, signal, out, err}.
function run(text, { args = [], flags = [], env = {}, stdio = [], command = [process.execPath] } = {}) {
  const whole = `"use strict"; const q = require(${JSON.stringify(path.join(build, "node"))}); ${text}`;
  const child = spawn(command[0], [...command.slice(1), ...flags, "-e", whole, "--", ...args], {
    env: { ...process.env, NODE_TEST_CONTEXT: "", ...env },
    stdio: ["ignore", "pipe", "pipe", ...stdio],
  });
  let out = "", err = "";
  child.stdout.on("data", (data) => { out += data; });
  child.stderr.on("data", (data) => { err += data; });
  return new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, out, err })));
}

// Turns of the event loop until it is so; half a minute at most.
async function eventually(isSo) {
  for (const end = Date.now() + 30000; Date.now() < end;) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never so: ${isSo}`);
}

// How many threads of watches this process has. One may end while it is looked at.
function threads() {
  const { readFileSync, readdirSync } = require("node:fs");
  return readdirSync("/proc/self/task").filter((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, "utf8") === "qsettings-watch\n";
    } catch (error) {
      return false;
    }
  }).length;
}

module.exports = { POLICY, build, eventually, q: require(path.join(build, "node")), run, scratch, threads };
