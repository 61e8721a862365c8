// SPDX-License-Identifier: Apache-2.0
// What a program in TypeScript may say, and on the marked lines what it may not. Compiled by the tests, never run.
import qsettings, { explainSync, freezePolicy, QsError, readPolicy, readPolicySync, readSettingsSync, watch } from "qsettings";
import type { ExecutionPolicy, Integer, Json, McpServersEntry, SettingsDocument, ToolsExecutionSandbox } from "qsettings";

// ---- the policy ----

const report = readPolicySync({ root: "/srv/x", require: ["system"] });
const policy: ExecutionPolicy = report.policy;
const network: "open" | "closed" = policy.network;
const wall: Integer = policy.limits.wallSeconds;
const pass: string | undefined = policy.environment.pass[0]?.[0];
// @ts-expect-error: no such word
if (policy.network === "ajar") throw new Error();
// @ts-expect-error: a policy is not loosened by the program
policy.network = "open";
// @ts-expect-error
policy.writableRoots.push("/");
// @ts-expect-error: a misspelt option
readPolicySync({ rot: "/srv/x" });
// @ts-expect-error: no such scope
readPolicySync({ require: ["workspace"] });
// @ts-expect-error: a promise is no policy
const early: ExecutionPolicy = readPolicy();
const fd: Promise<number> = freezePolicy().then((frozen) => frozen.fd);

// ---- settings ----

const settings = readSettingsSync({ workspace: ".agent.json" });
const mode: "plan" | "default" | "auto-edit" | "auto" | "yolo" = settings.get("tools.approvalMode");
const maybe: readonly string[] | undefined = settings.get("permissions.deny", undefined);
const sandbox: ToolsExecutionSandbox = settings.get("tools.executionSandbox");
const other: Json = settings.get(["my", "own", "key"]);
const document: SettingsDocument = settings.document;
const server: McpServersEntry | undefined = document.mcpServers?.["docs.local"];
const unknown: unknown = document["my"];
// @ts-expect-error: a boolean
const wrong: string = settings.get("security.folderTrust.enabled");
// @ts-expect-error: a closed object
sandbox.netwrok;
// @ts-expect-error: what is not known is not any
document["my"].own;
const why: string = explainSync("tools.approvalMode").layers[0]!.store ?? explainSync("x").text;

// ---- errors and watching ----

try {
  qsettings.readPolicySync();
} catch (error) {
  if (!(error instanceof QsError)) throw error;
  const code: "QS_NO_POLICY" | string = error.code;
  // @ts-expect-error: there is no status 0 to be thrown
  if (error.status === 0) throw error;
  console.error(code, error.file, error.line, error.column, error.path);
}

async function follow(): Promise<void> {
  for await (const event of watch({ from: settings.generations, onError: (error) => console.error(error.code) }))
    if (event.policyChanged) return;
  // @ts-expect-error: events are not changed
  for await (const event of watch()) event.generation = 0;
}

declare const console: { error(...words: unknown[]): void };
export { document, early, fd, follow, maybe, mode, network, other, pass, server, unknown, wall, why, wrong };
