// SPDX-License-Identifier: Apache-2.0
// The package's types. Those of the settings themselves are in schema.d.ts, made from the schema table.
import type { ExecutionPolicy, Json, SettingTypes, SettingsDocument } from "./schema";

export * from "./schema";

export type Scope = "defaults" | "user" | "system";
export type Layer = Scope | "workspace";

/** 1 not found, 2 usage, 3 invalid, 4 no policy, 5 absent, 6 damaged, 7 untrusted, 8 conflict, 9 busy, 10 input/output,
 * 12 stale, 13 made by a newer version: the exit statuses of the programs. */
export type Status = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12 | 13;
export type Code =
  | "QS_NOT_FOUND" | "QS_USAGE" | "QS_INVALID" | "QS_NO_POLICY" | "QS_ABSENT" | "QS_DAMAGED" | "QS_UNTRUSTED"
  | "QS_CONFLICT" | "QS_BUSY" | "QS_IO" | "QS_FOLLOW_UP" | "QS_STALE" | "QS_NEWER";

/** What the library refuses, and why. Every one of them means: do not go on. */
export class QsError extends Error {
  private constructor();
  readonly name: "QsError";
  readonly status: Status;
  readonly code: Code;
  /** What to do about it. */
  readonly advice: string | null;
  /** The file or store concerned, and the place in it where it is a text. */
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  /** The key path concerned. */
  readonly path: string | null;
  /** The system call's error number. */
  readonly errno: number | null;
  /** A refused policy: what was found at each store. */
  readonly sources: readonly PolicySource[] | null;
}

export interface PlaceOptions {
  /** Stores at DIR/defaults, DIR/user and DIR/system instead of the fixed places. */
  root?: string;
  /** How long a read may retry while writers move on (2000). */
  waitMs?: number;
}

// ---- the policy ----

export interface PolicySource {
  readonly scope: Scope;
  /** "ok", or the kind of what was wrong. */
  readonly state: string;
  readonly setsPolicy: boolean;
  readonly required: boolean;
  readonly generation: number | null;
  readonly storeId: string | null;
  readonly digest: string | null;
  readonly place: string;
}

export interface PolicyReport {
  readonly policy: ExecutionPolicy;
  /** The same as the canonical text that the digest is of. */
  readonly document: string;
  readonly digest: string;
  readonly sources: readonly PolicySource[];
}

export interface FrozenPolicy extends PolicyReport {
  /** A sealed memfd, close-on-exec. Whoever froze it closes it. */
  readonly fd: number;
}

export interface PolicyOptions extends PlaceOptions {
  /** Stores that must exist, beside what the stores themselves demand. */
  require?: readonly Scope[];
}

/** The policy, whole and verified. Throws where there is none, for whatever reason. */
export function readPolicySync(options?: PolicyOptions): PolicyReport;
export function readPolicy(options?: PolicyOptions): Promise<PolicyReport>;

/** Reads the policy and freezes what was read, for a child process to thaw. */
export function freezePolicySync(options?: PolicyOptions): FrozenPolicy;
export function freezePolicy(options?: PolicyOptions): Promise<FrozenPolicy>;
/** A frozen policy out of its descriptor, which stays open. */
export function thawPolicySync(fd: number): PolicyReport;

/** The policy of the `qsandbox session` that this process runs in; never that of the stores. program is the qsandbox
 * that the session must be (/usr/bin/qsandbox, else /usr/local/bin/qsandbox). Throws QS_NOT_FOUND outside a session. */
export function sessionPolicySync(options?: { program?: string }): PolicyReport;

// ---- effective settings ----

export interface SettingsOptions extends PlaceOptions {
  /** The workspace's settings file, JSON or YAML by its ending. */
  workspace?: string;
}

/** A key path: tools.approvalMode, mcpServers."docs.local".command, /tools/approvalMode, or its segments. */
export type Key = string | readonly string[];

/** What all layers together said when they were read. It does not change any more. */
export class Settings {
  private constructor();
  /** The whole, frozen. */
  readonly document: SettingsDocument;
  /** The generation that each store was read at; null: there is no such store. watch() goes on from here. */
  readonly generations: Readonly<Record<Scope, number | null>>;
  /** What of the workspace's file does not count, and why. */
  readonly warnings: readonly string[];
  has(key: Key): boolean;
  /** The value, a subtree as an object. Throws QS_NOT_FOUND where it is not set and no fallback is given. */
  get<K extends keyof SettingTypes>(key: K): SettingTypes[K];
  get<K extends keyof SettingTypes, F>(key: K, fallback: F): SettingTypes[K] | F;
  get(key: Key): Json;
  get<F>(key: Key, fallback: F): Json | F;
  /** Path and value of each leaf at and below prefix. */
  list(prefix?: Key): [path: string, value: Json][];
}

/** Reads all layers once. Stores that are absent say nothing; if there is no layer at all, QS_ABSENT is thrown. */
export function readSettingsSync(options?: SettingsOptions): Settings;
export function readSettings(options?: SettingsOptions): Promise<Settings>;

export interface ExplainedLayer {
  readonly layer: Layer;
  readonly state: "absent" | "unset" | "set";
  readonly value: Json | undefined;
  /** The store's directory, or the workspace's file. */
  readonly store: string | null;
  readonly generation: number | null;
  /** Set, but counts for nothing. */
  readonly silenced: boolean;
  /** Holds the lock that covers the key. */
  readonly locked: boolean;
  readonly line: number | null;
  /** Who set it last. */
  readonly set: { readonly user: string; readonly generation: number; readonly time: Date } | null;
}

export interface Explanation {
  readonly key: string;
  /** The effective value; undefined: not set. */
  readonly value: Json | undefined;
  readonly winner: Layer | null;
  readonly reason: "none" | "only" | "precedence" | "merged" | "lock" | "operator-only" | "tighten-only";
  readonly text: string;
  /** From the weakest. */
  readonly layers: readonly ExplainedLayer[];
}

/** Reads all layers and says why the setting has its value. Secrets are not covered. */
export function explainSync(key: Key, options?: SettingsOptions): Explanation;
export function explain(key: Key, options?: SettingsOptions): Promise<Explanation>;

// ---- watching ----

export interface WatchEvent {
  readonly scope: Scope;
  readonly generation: number;
  /** Something that the policy is made of differs: a program that runs under the old one should start anew. */
  readonly policyChanged: boolean;
  readonly storeReplaced: boolean;
  readonly historyMissing: boolean;
  /** From the history's record; null and empty where the history does not have it. */
  readonly time: Date | null;
  readonly user: string | null;
  readonly program: string | null;
  readonly pid: number | null;
  readonly action: string | null;
  readonly message: string | null;
  /** The paths of the settings, and of the locks, that the generation changed. */
  readonly changed: readonly string[];
  readonly locks: readonly string[];
}

export interface WatchOptions extends PlaceOptions {
  /** Which stores (all). */
  scopes?: readonly Scope[];
  /** After which generation of each store: Settings.generations. Without, from now on. */
  from?: Partial<Readonly<Record<Scope, number | null>>>;
  /** Called once for a store that cannot be read any more; the watch goes on. Without it, the iteration throws and ends. */
  onError?: (error: QsError) => void | Promise<void>;
  /** Ends the iteration when it is aborted. */
  signal?: { readonly aborted: boolean; addEventListener(...args: any[]): void; removeEventListener(...args: any[]): void };
}

/** Each new generation once, in order. Keeps the process alive only while next() waits. */
export interface Watch extends AsyncIterableIterator<WatchEvent> {
  /** Ends the iteration; fulfilled when nothing of it is left. */
  close(): Promise<void>;
}

/** Opens the stores at once (an absent one is waited for) and gives what comes after. */
export function watch(options?: WatchOptions): Watch;

/** The library's version. */
export const version: string;
