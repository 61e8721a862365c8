// SPDX-License-Identifier: Apache-2.0
// The package's face: plain values in and out, errors with their status, and nothing that stands in for what could not
// be read. build/Release/qsettings.node does the work; `make node` or node-gyp puts it there.
"use strict";

const native = require("./build/Release/qsettings.node");

const CODES = [
  "QS_OK", "QS_NOT_FOUND", "QS_USAGE", "QS_INVALID", "QS_NO_POLICY", "QS_ABSENT", "QS_DAMAGED", "QS_UNTRUSTED",
  "QS_CONFLICT", "QS_BUSY", "QS_IO", "QS_FOLLOW_UP", "QS_STALE", "QS_NEWER",
];
const SCOPES = { defaults: 1, user: 2, system: 3 };
const QSANDBOX_PLACES = ["/usr/bin/qsandbox", "/usr/local/bin/qsandbox"];

class QsError extends Error {
  constructor(fields) {
    super(fields.message);
    this.status = fields.status;
    this.code = CODES[fields.status] ?? "QS_IO";
    for (const name of ["advice", "file", "path", "line", "column", "errno"]) this[name] = fields[name] ?? null;
    this.sources = fields.sources ? deepFreeze(fields.sources) : null;
  }
}
Object.defineProperty(QsError.prototype, "name", { value: "QsError", configurable: true, writable: true });
native.setErrorClass(QsError);

const refuse = (status, message, more) => new QsError({ status, message, ...more });

// ---- values ----

function deepFreeze(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return value;
  for (const name of Object.keys(value)) deepFreeze(value[name]);
  return Object.freeze(value);
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

// Settings hold 64-bit integers. One that a number would round becomes a bigint: its text is marked before parsing, with
// a mark that the text does not have.
function parse(text) {
  if (!/\d{16}/.test(text)) return deepFreeze(JSON.parse(text));
  let mark = "bigint:";
  while (text.includes(mark)) mark += ":";
  const marked = text.replace(TOKEN, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token);
  return deepFreeze(JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value));
}

// ---- arguments: a misspelt option must not read other stores than was meant ----

const isText = (value) => typeof value === "string" && value !== "" && !value.includes("\0");
const isScope = (value) => typeof value === "string" && Object.hasOwn(SCOPES, value);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const CHECKS = {
  root: [isText, "an absolute path"],
  waitMs: [(value) => isCount(value) && value > 0 && value < 2 ** 32, "a positive number of milliseconds"],
  workspace: [isText, "a file name"],
  program: [isText, "a path"],
  require: [(value) => Array.isArray(value) && value.every(isScope), "an array of scopes"],
  scopes: [(value) => Array.isArray(value) && value.length > 0 && value.every(isScope), "an array of scopes"],
  from: [(value) => isObject(value) &&
    Object.entries(value).every(([scope, at]) => isScope(scope) && (at === null || at === undefined || isCount(at))),
    "an object of generations by scope"],
  onError: [(value) => typeof value === "function", "a function"],
  signal: [(value) => isObject(value) && typeof value.addEventListener === "function", "an AbortSignal"],
};

function options(given, names) {
  if (given === undefined) return {};
  if (!isObject(given)) throw new TypeError("options must be an object");
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name)) throw new TypeError(`no such option: ${name} (there are ${names.join(", ")})`);
    if (value !== undefined && !CHECKS[name][0](value)) throw new TypeError(`${name} must be ${CHECKS[name][1]}`);
  }
  return given;
}

function keyText(key) {
  if (typeof key === "string") return key;
  if (Array.isArray(key) && key.every((segment) => typeof segment === "string")) return native.keyText(key);
  throw new TypeError("a key must be a string or an array of strings");
}

// Wrong arguments reject the promise, too.
const later = (work) => new Promise((resolve) => resolve(work()));

// ---- the policy ----

function policyReport(read) {
  const { document, digest, sources, fd } = read;
  const report = { policy: parse(document), document, digest, sources: deepFreeze(sources) };
  if (fd !== undefined) report.fd = fd;
  return Object.freeze(report);
}

function policyOptions(given, freeze) {
  const { root, waitMs, require: scopes = [] } = options(given, ["root", "waitMs", "require"]);
  return { root, waitMs, freeze, require: scopes.reduce((bits, scope) => bits | (1 << SCOPES[scope]), 0) };
}

const readPolicySync = (given) => policyReport(native.policyRead(policyOptions(given, false), false));
const readPolicy = (given) => later(() => native.policyRead(policyOptions(given, false), true)).then(policyReport);
const freezePolicySync = (given) => policyReport(native.policyRead(policyOptions(given, true), false));
const freezePolicy = (given) => later(() => native.policyRead(policyOptions(given, true), true)).then(policyReport);

function thawPolicySync(fd) {
  if (!isCount(fd) || fd >= 2 ** 31) throw new TypeError("fd must be a descriptor's number");
  return policyReport(native.policyThaw(fd));
}

function sessionPolicySync(given) {
  const { program } = options(given, ["program"]);
  const session = process.env.QSANDBOX_SESSION;
  if (session === undefined)
    throw refuse(1, "this process does not run in a session", { advice: "start it with `qsandbox session`" });
  const { existsSync } = require("node:fs");
  return policyReport(native.policySession(session, program ?? QSANDBOX_PLACES.find(existsSync) ?? QSANDBOX_PLACES[0]));
}

// ---- effective settings ----

const SETTINGS_OPTIONS = ["root", "waitMs", "workspace"];

class Settings {
  #document;

  constructor(read) {
    this.#document = parse(read.text);
    this.generations = Object.freeze(read.generations);
    this.warnings = Object.freeze(read.warnings);
    Object.freeze(this);
  }

  get document() {
    return this.#document;
  }

  #find(key) {
    let at = this.#document;
    for (const segment of native.keySegments(keyText(key))) {
      if (!isObject(at) || !Object.hasOwn(at, segment)) return undefined;
      at = at[segment];
    }
    return at;
  }

  has(key) {
    return this.#find(key) !== undefined;
  }

  get(key, ...fallback) {
    const value = this.#find(key);
    if (value !== undefined) return value;
    if (fallback.length > 0) return fallback[0];
    throw refuse(1, `${keyText(key)} is not set`, { path: keyText(key) });
  }

  list(prefix) {
    const segments = prefix === undefined ? [] : native.keySegments(keyText(prefix));
    const found = [];
    const walk = (value, path) => {
      if (!isObject(value) || (Object.keys(value).length === 0 && path.length > 0))
        found.push([native.keyText(path), value]);
      else for (const name of Object.keys(value)) walk(value[name], [...path, name]);
    };
    const at = prefix === undefined ? this.#document : this.#find(prefix);
    if (at !== undefined) walk(at, segments);
    return found;
  }
}

const readSettingsSync = (given) => new Settings(native.settingsRead(options(given, SETTINGS_OPTIONS), false));
const readSettings = (given) =>
  later(() => native.settingsRead(options(given, SETTINGS_OPTIONS), true)).then((read) => new Settings(read));

function explanation(told) {
  const value = (text) => (text === null ? undefined : parse(text));
  return deepFreeze({
    ...told,
    value: value(told.value),
    layers: told.layers.map((layer) => ({ ...layer, value: value(layer.value) })),
  });
}

const explainSync = (key, given) =>
  explanation(native.settingsExplain(options(given, SETTINGS_OPTIONS), keyText(key), false));
const explain = (key, given) =>
  later(() => native.settingsExplain(options(given, SETTINGS_OPTIONS), keyText(key), true)).then(explanation);

// ---- watching ----

const ENDED = Object.freeze({ done: true, value: undefined });

class Watch {
  #handle;
  #onError;
  #signal;
  #turn = Promise.resolve();
  #finish = null; // ends the call of next() that waits
  #closed = null;
  #abort = () => { this.close(); };

  constructor(handle, onError, signal) {
    this.#handle = handle;
    this.#onError = onError;
    this.#signal = signal;
    if (signal?.aborted) this.close();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  next() {
    const turn = this.#turn.then(() => this.#one());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  #one() {
    if (this.#closed) return ENDED;
    return new Promise((resolve, reject) => {
      this.#finish = () => resolve(ENDED);
      native.watchNext(this.#handle, (error, event) => {
        this.#finish = null;
        if (error) this.#failed(error).then(resolve, reject);
        else resolve({ done: false, value: deepFreeze(event) });
      });
    });
  }

  async #failed(error) {
    try {
      if (!this.#onError) throw error;
      await this.#onError(error);
    } catch (thrown) {
      this.close();
      throw thrown;
    }
    return this.#one();
  }

  close() {
    if (!this.#closed) {
      this.#closed = new Promise((resolve) => native.watchClose(this.#handle, resolve));
      this.#signal?.removeEventListener("abort", this.#abort);
      this.#finish?.();
    }
    return this.#closed;
  }

  async return() {
    await this.close();
    return ENDED;
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

function watch(given) {
  const { root, waitMs, scopes = Object.keys(SCOPES), from = {}, onError, signal } =
    options(given, ["root", "waitMs", "scopes", "from", "onError", "signal"]);
  // A store that was absent when it was read (null) is told of from its first generation on.
  const start = (scope) => (from[scope] === null ? -1 : from[scope] ?? 0);
  const asked = [...new Set(scopes)].map((scope) => ({ scope: SCOPES[scope], from: start(scope) }));
  return new Watch(native.watchOpen({ root, waitMs, scopes: asked }), onError, signal);
}

module.exports = {
  QsError,
  explain,
  explainSync,
  freezePolicy,
  freezePolicySync,
  readPolicy,
  readPolicySync,
  readSettings,
  readSettingsSync,
  sessionPolicySync,
  thawPolicySync,
  version: native.version,
  watch,
};
