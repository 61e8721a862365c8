// SPDX-License-Identifier: Apache-2.0
// How an agent in Node.js starts: with its policy or not at all, its commands through qsandbox, and with an eye on what
// changes. Usage: node agent.mjs [DIR] (the stores below DIR instead of the fixed places)
import { spawn } from "node:child_process";
import { QsError, readPolicySync, readSettingsSync, sessionPolicySync, watch } from "qsettings";

const [root] = process.argv.slice(2);

function begin() {
  try {
    // Below `qsandbox session` its frozen policy holds, as it does for every command.
    const { policy } = process.env.QSANDBOX_SESSION === undefined ? readPolicySync({ root }) : sessionPolicySync();
    return { policy, settings: readSettingsSync({ root }) };
  } catch (error) {
    if (!(error instanceof QsError)) throw error;
    console.error(`refused: ${error.code}: ${error.message}`);
    process.exit(error.status);
  }
}

// The agent checks nothing of the policy itself: qsandbox reads it, and runs the command under it or not at all.
function runCommand(...command) {
  const place = root === undefined ? [] : ["--root", root];
  const child = spawn("qsandbox", [...place, "run", "--", ...command], { stdio: "inherit" });
  return new Promise((resolve, reject) => child.on("error", reject).on("exit", resolve));
}

const { policy, settings } = begin();
console.log(`network ${policy.network}, approval mode ${settings.get("tools.approvalMode", "default")}`);
console.log(`the command ended with ${await runCommand("sh", "-c", "echo a command of the agent")}`);

for await (const event of watch({ root, from: settings.generations })) {
  console.log(`${event.scope}, generation ${event.generation}: ${event.changed.join(", ")}`);
  if (event.policyChanged) break;
}
console.log("the policy is another one now: start me anew");
