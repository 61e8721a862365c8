// SPDX-License-Identifier: Apache-2.0
// Made from schema/schema_table.h by `make node-types`; edit the table, not this file.

/** A value of a setting. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [name: string]: Json };

/** Settings hold 64-bit integers: a bigint where a number would not be exact, else a number. */
export type Integer = number | bigint;

/** What runs at an event. */
export interface HookMatcher {
  readonly matcher?: string;
  readonly sequential?: boolean;
  readonly hooks?: readonly Json[];
  readonly [name: string]: unknown;
}

/** A whole document of settings. */
export interface SettingsDocument {
  readonly tools?: Tools;
  /** The finer policy of this project's executor. Closed at every level; literals only. Without tools.executionSandbox it makes no policy. */
  readonly executor?: Executor;
  /** The fleet whose signed bundle the system scope holds. Written by qfleet alone. */
  readonly fleet?: Fleet;
  readonly permissions?: Permissions;
  /** MCP servers by name. */
  readonly mcpServers?: McpServers;
  readonly mcp?: Mcp;
  readonly hooks?: Hooks;
  /** Whether no hook runs. */
  readonly disableAllHooks?: boolean;
  readonly security?: Security;
  readonly policy?: Policy;
  readonly outboundCorrelation?: OutboundCorrelation;
  readonly agents?: Agents;
  readonly goals?: Goals;
  /** Environment variables of the agent. */
  readonly env?: { readonly [name: string]: string };
  readonly advanced?: Advanced;
  readonly context?: Context;
  /** The proxy's address. */
  readonly proxy?: string;
  /** Providers of models. */
  readonly modelProviders?: { readonly [name: string]: Json };
  readonly telemetry?: Telemetry;
  readonly privacy?: Privacy;
  readonly experimental?: Experimental;
  readonly model?: Model;
  readonly slashCommands?: SlashCommands;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Tools {
  /** The execution policy: how commands of an agent are confined. A closed object; literals only. Read from the operator's scopes, never from a workspace. */
  readonly executionSandbox?: ToolsExecutionSandbox;
  /** When the agent asks before it acts. It changes nothing of the execution policy. Default: "auto". */
  readonly approvalMode?: "plan" | "default" | "auto-edit" | "auto" | "yolo";
  /** Qwen Code's legacy sandbox; it does nothing here. bwrap is refused: tools.executionSandbox is meant. */
  readonly sandbox?: boolean | string;
  /** The built-in tools that are offered. */
  readonly core?: readonly string[];
  /** Tools that run without asking. */
  readonly allowed?: readonly string[];
  /** Tools that are not offered. */
  readonly exclude?: readonly string[];
  /** Tools that are switched off. */
  readonly disabled?: readonly string[];
  /** A command that lists further tools. */
  readonly discoveryCommand?: string;
  /** A command that calls a tool found by discoveryCommand. */
  readonly callCommand?: string;
  /** Whether workflows may run. */
  readonly workflowsEnabled?: boolean;
  /** Whether workflows may be called by name only. */
  readonly workflowNameOnly?: boolean;
  readonly shell?: ToolsShell;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

/** The execution policy: how commands of an agent are confined. A closed object; literals only. Read from the operator's scopes, never from a workspace. */
export interface ToolsExecutionSandbox {
  /** What a command may write: nothing, or the workspace and executor.writableRoots. */
  readonly filesystem: "read-only" | "workspace-write";
  /** Whether a command has a network; closed leaves it only its own loopback. */
  readonly network: "open" | "closed";
  /** What confines commands. Both values mean bubblewrap here. Default: "auto". */
  readonly backend?: "auto" | "bwrap";
}

/** The finer policy of this project's executor. Closed at every level; literals only. Without tools.executionSandbox it makes no policy. */
export interface Executor {
  /** Further roots that a command may write under workspace-write. They must exist, and may not be or hold the home directory, a system directory, a hidden place or a store. Default: []. */
  readonly writableRoots?: readonly string[];
  /** Paths relative to each writable root that stay read-only inside it. */
  readonly protectedPaths?: readonly string[];
  /** Paths that a command cannot read. */
  readonly hiddenPaths?: readonly string[];
  /** What a command finds in its environment, which is built from nothing. */
  readonly environment?: ExecutorEnvironment;
  /** Unix sockets: blocked allows connected pairs only, private hides the host's sockets, open hides none. Default: "blocked". */
  readonly unixSockets?: "blocked" | "private" | "open";
  /** Sockets of the host that stay reachable under private. Default: []. */
  readonly sockets?: readonly string[];
  /** Device nodes beyond the minimal set. Default: []. */
  readonly devices?: readonly string[];
  /** private gives each workspace writable caches of its own over those of the build tools, kept between runs; none gives none. Default: "private". */
  readonly caches?: "private" | "none";
  /** How a command's work in git reaches the host's repositories. */
  readonly git?: ExecutorGit;
  /** Limits of one run; 0 is no limit. */
  readonly limits?: ExecutorLimits;
  /** required makes a durable record before a command starts, or does not start it. Default: "required". */
  readonly audit?: "required" | "off";
}

/** What a command finds in its environment, which is built from nothing. */
export interface ExecutorEnvironment {
  /** Names and globs (* and ?) of variables that are passed on. */
  readonly pass?: readonly string[];
  /** Variables that are set, by name. Default: {}. */
  readonly set?: { readonly [name: string]: string };
  /** Names and globs of variables that are removed even when passed; letter case does not count. */
  readonly secrets?: readonly string[];
}

/** How a command's work in git reaches the host's repositories. */
export interface ExecutorGit {
  /** crossing gives a command a private git directory, from which objects, branches, tags, notes, the index and stashes come over as checked data; read-only lets it read git alone. Default: "crossing". */
  readonly mode?: "crossing" | "read-only";
  /** A repository that a command made: launder puts a fresh one with its commits in its place, quarantine moves it away, report leaves it. Default: "launder". */
  readonly newRepositories?: "launder" | "quarantine" | "report";
  /** Limits of one crossing; 0 is no limit. */
  readonly limits?: ExecutorGitLimits;
}

/** Limits of one crossing; 0 is no limit. */
export interface ExecutorGitLimits {
  /** Bytes of the objects that come over at once. Default: 1073741824. */
  readonly packBytes?: Integer;
  /** Bytes of a file in the place where they arrive. Default: 4294967296. */
  readonly scratchBytes?: Integer;
  /** Seconds that packing and checking them may take. Default: 600. */
  readonly seconds?: Integer;
}

/** Limits of one run; 0 is no limit. */
export interface ExecutorLimits {
  /** Seconds by the clock after which the whole run is ended. Default: 600. */
  readonly wallSeconds?: Integer;
  /** Processor seconds. Default: 0. */
  readonly cpuSeconds?: Integer;
  /** Bytes of memory: of all processes together where a control group can be made, else of each one's address space. Default: 0. */
  readonly memoryBytes?: Integer;
  /** Bytes of the largest file written. Default: 0. */
  readonly fileBytes?: Integer;
  /** Processes and threads at once. Root needs a control group for it; elsewhere it is refused. Default: 0. */
  readonly processes?: Integer;
  /** Open files of one process. Default: 0. */
  readonly openFiles?: Integer;
}

/** The fleet whose signed bundle the system scope holds. Written by qfleet alone. */
export interface Fleet {
  /** Its name. */
  readonly name: string;
  /** The version of the key document that the bundle is signed under. */
  readonly keys: Integer;
  /** The serial of the bundle under which the content was committed. */
  readonly serial: Integer;
  /** The digest of that bundle. */
  readonly bundle: string;
  /** The serial of the bundle that the content comes from: its own, or its base. */
  readonly source: Integer;
  /** The digest of the other settings and of the locks, as they were committed. */
  readonly content: string;
}

export interface ToolsShell {
  /** The shell tool's time limit in milliseconds. */
  readonly defaultTimeoutMs?: Integer;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Permissions {
  /** Rules for what runs without asking. */
  readonly allow?: readonly string[];
  /** Rules for what is asked about. */
  readonly ask?: readonly string[];
  /** Rules for what is refused. */
  readonly deny?: readonly string[];
  readonly autoMode?: PermissionsAutoMode;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface PermissionsAutoMode {
  readonly hints?: PermissionsAutoModeHints;
  /** What it is told about the surroundings. */
  readonly environment?: readonly string[];
  /** Whether every shell command goes through the classifier. */
  readonly classifyAllShell?: boolean;
  readonly mcp?: PermissionsAutoModeMcp;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface PermissionsAutoModeHints {
  /** What the classifier of the auto mode is told to allow. */
  readonly allow?: readonly string[];
  /** What it is told to refuse unless asked for. */
  readonly softDeny?: readonly string[];
  /** What it is told to refuse always. */
  readonly hardDeny?: readonly string[];
  /** What it is told to refuse. */
  readonly deny?: readonly string[];
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface PermissionsAutoModeMcp {
  /** Whether the classifier sees the arguments of MCP calls. Default: true. */
  readonly forwardArguments?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

/** MCP servers by name. */
export interface McpServers {
  /** One MCP server. */
  readonly [name: string]: McpServersEntry;
}

/** One MCP server. */
export interface McpServersEntry {
  /** The program that is started. */
  readonly command?: string;
  /** Its arguments. */
  readonly args?: readonly string[];
  /** Its environment. */
  readonly env?: { readonly [name: string]: string };
  /** Its working directory. */
  readonly cwd?: string;
  /** A server reached by server-sent events. */
  readonly url?: string;
  /** A server reached by streamed HTTP. */
  readonly httpUrl?: string;
  /** HTTP headers sent to it. */
  readonly headers?: { readonly [name: string]: string };
  /** Its time limit in milliseconds. */
  readonly timeout?: Integer;
  /** Whether its tools run without asking. */
  readonly trust?: boolean;
  /** The tools of it that are offered. */
  readonly includeTools?: readonly string[];
  /** The tools of it that are not offered. */
  readonly excludeTools?: readonly string[];
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Mcp {
  /** A command that starts an MCP server. */
  readonly serverCommand?: string;
  /** Globs of the servers that are allowed. */
  readonly allowed?: readonly string[];
  /** Globs of the servers that are not. */
  readonly excluded?: readonly string[];
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Hooks {
  /** What runs at an event: an array of {matcher, sequential, hooks[]}. */
  readonly [name: string]: readonly HookMatcher[];
}

export interface Security {
  readonly folderTrust?: SecurityFolderTrust;
  readonly auth?: SecurityAuth;
  /** Addresses that HTTP hooks may call. */
  readonly allowedHttpHookUrls?: readonly string[];
  /** Whether hooks may call private networks. */
  readonly allowPrivateNetworkHooks?: boolean;
  /** Addresses that voice may use without TLS. */
  readonly allowedInsecureVoiceBaseUrls?: readonly string[];
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface SecurityFolderTrust {
  /** Whether a folder must be trusted before its settings count. Default: false. */
  readonly enabled?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface SecurityAuth {
  /** How the agent authenticates. */
  readonly selectedType?: string;
  /** How it must authenticate. */
  readonly enforcedType?: string;
  /** The key of the model's API. Secret. */
  readonly apiKey?: string;
  /** The address of the model's API. */
  readonly baseUrl?: string;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Policy {
  /** Who decides about a permission where several may. */
  readonly permissionStrategy?: "first-responder" | "designated" | "consensus" | "local-only";
  /** How many must agree. */
  readonly consensusQuorum?: Integer;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface OutboundCorrelation {
  /** Whether correlation headers may hold computed values. */
  readonly allowDynamicHeaderValues?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Agents {
  /** Whether sessions may send each other messages. */
  readonly crossSessionMessaging?: boolean;
  /** Whether a session takes messages of others. */
  readonly crossSessionInbound?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Goals {
  /** Whether the model may propose goals. */
  readonly modelProposed?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Advanced {
  /** Variables of a project's .env file that do not count. */
  readonly excludedEnvVars?: readonly string[];
  /** Where the agent writes its own files. */
  readonly runtimeOutputDir?: string;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Context {
  /** Further directories of the workspace. */
  readonly includeDirectories?: readonly string[];
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Telemetry {
  /** Whether telemetry is sent. */
  readonly enabled?: boolean;
  /** Where it is sent. */
  readonly otlpEndpoint?: string;
  /** By which protocol. */
  readonly otlpProtocol?: "grpc" | "http";
  /** Whether it holds prompts. */
  readonly logPrompts?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Privacy {
  /** Whether usage statistics are sent. Default: true. */
  readonly usageStatisticsEnabled?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Experimental {
  /** Whether the agent may schedule runs. Default: true. */
  readonly cron?: boolean;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface Model {
  /** Turns of one session; -1 is no limit. */
  readonly maxSessionTurns?: Integer;
  /** Tool calls of one session. */
  readonly maxToolCalls?: Integer;
  /** Seconds of one session. */
  readonly maxWallTimeSeconds?: Integer;
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

export interface SlashCommands {
  /** Slash commands that are switched off. */
  readonly disabled?: readonly string[];
  /** What the schema does not know is kept as it is. */
  readonly [name: string]: unknown;
}

/** The type of each setting that the schema knows, by its path. */
export interface SettingTypes {
  "tools": Tools;
  "tools.executionSandbox": ToolsExecutionSandbox;
  "tools.executionSandbox.filesystem": "read-only" | "workspace-write";
  "tools.executionSandbox.network": "open" | "closed";
  "tools.executionSandbox.backend": "auto" | "bwrap";
  "executor": Executor;
  "executor.writableRoots": readonly string[];
  "executor.protectedPaths": readonly string[];
  "executor.hiddenPaths": readonly string[];
  "executor.environment": ExecutorEnvironment;
  "executor.environment.pass": readonly string[];
  "executor.environment.set": { readonly [name: string]: string };
  "executor.environment.secrets": readonly string[];
  "executor.unixSockets": "blocked" | "private" | "open";
  "executor.sockets": readonly string[];
  "executor.devices": readonly string[];
  "executor.caches": "private" | "none";
  "executor.git": ExecutorGit;
  "executor.git.mode": "crossing" | "read-only";
  "executor.git.newRepositories": "launder" | "quarantine" | "report";
  "executor.git.limits": ExecutorGitLimits;
  "executor.git.limits.packBytes": Integer;
  "executor.git.limits.scratchBytes": Integer;
  "executor.git.limits.seconds": Integer;
  "executor.limits": ExecutorLimits;
  "executor.limits.wallSeconds": Integer;
  "executor.limits.cpuSeconds": Integer;
  "executor.limits.memoryBytes": Integer;
  "executor.limits.fileBytes": Integer;
  "executor.limits.processes": Integer;
  "executor.limits.openFiles": Integer;
  "executor.audit": "required" | "off";
  "fleet": Fleet;
  "fleet.name": string;
  "fleet.keys": Integer;
  "fleet.serial": Integer;
  "fleet.bundle": string;
  "fleet.source": Integer;
  "fleet.content": string;
  "tools.approvalMode": "plan" | "default" | "auto-edit" | "auto" | "yolo";
  "tools.sandbox": boolean | string;
  "tools.core": readonly string[];
  "tools.allowed": readonly string[];
  "tools.exclude": readonly string[];
  "tools.disabled": readonly string[];
  "tools.discoveryCommand": string;
  "tools.callCommand": string;
  "tools.workflowsEnabled": boolean;
  "tools.workflowNameOnly": boolean;
  "tools.shell": ToolsShell;
  "tools.shell.defaultTimeoutMs": Integer;
  "permissions": Permissions;
  "permissions.allow": readonly string[];
  "permissions.ask": readonly string[];
  "permissions.deny": readonly string[];
  "permissions.autoMode": PermissionsAutoMode;
  "permissions.autoMode.hints": PermissionsAutoModeHints;
  "permissions.autoMode.hints.allow": readonly string[];
  "permissions.autoMode.hints.softDeny": readonly string[];
  "permissions.autoMode.hints.hardDeny": readonly string[];
  "permissions.autoMode.hints.deny": readonly string[];
  "permissions.autoMode.environment": readonly string[];
  "permissions.autoMode.classifyAllShell": boolean;
  "permissions.autoMode.mcp": PermissionsAutoModeMcp;
  "permissions.autoMode.mcp.forwardArguments": boolean;
  "mcpServers": McpServers;
  "mcp": Mcp;
  "mcp.serverCommand": string;
  "mcp.allowed": readonly string[];
  "mcp.excluded": readonly string[];
  "hooks": Hooks;
  "disableAllHooks": boolean;
  "security": Security;
  "security.folderTrust": SecurityFolderTrust;
  "security.folderTrust.enabled": boolean;
  "security.auth": SecurityAuth;
  "security.auth.selectedType": string;
  "security.auth.enforcedType": string;
  "security.auth.apiKey": string;
  "security.auth.baseUrl": string;
  "security.allowedHttpHookUrls": readonly string[];
  "security.allowPrivateNetworkHooks": boolean;
  "security.allowedInsecureVoiceBaseUrls": readonly string[];
  "policy": Policy;
  "policy.permissionStrategy": "first-responder" | "designated" | "consensus" | "local-only";
  "policy.consensusQuorum": Integer;
  "outboundCorrelation": OutboundCorrelation;
  "outboundCorrelation.allowDynamicHeaderValues": boolean;
  "agents": Agents;
  "agents.crossSessionMessaging": boolean;
  "agents.crossSessionInbound": boolean;
  "goals": Goals;
  "goals.modelProposed": boolean;
  "env": { readonly [name: string]: string };
  "advanced": Advanced;
  "advanced.excludedEnvVars": readonly string[];
  "advanced.runtimeOutputDir": string;
  "context": Context;
  "context.includeDirectories": readonly string[];
  "proxy": string;
  "modelProviders": { readonly [name: string]: Json };
  "telemetry": Telemetry;
  "telemetry.enabled": boolean;
  "telemetry.otlpEndpoint": string;
  "telemetry.otlpProtocol": "grpc" | "http";
  "telemetry.logPrompts": boolean;
  "privacy": Privacy;
  "privacy.usageStatisticsEnabled": boolean;
  "experimental": Experimental;
  "experimental.cron": boolean;
  "model": Model;
  "model.maxSessionTurns": Integer;
  "model.maxToolCalls": Integer;
  "model.maxWallTimeSeconds": Integer;
  "slashCommands": SlashCommands;
  "slashCommands.disabled": readonly string[];
}

/** The policy's document: every field is there, and nothing is implied. environment.pass holds lists that
 * must all have a match for a variable's name. */
export interface ExecutionPolicy {
  /** What a command may write: nothing, or the workspace and executor.writableRoots. */
  readonly filesystem: "read-only" | "workspace-write";
  /** Whether a command has a network; closed leaves it only its own loopback. */
  readonly network: "closed" | "open";
  /** What confines commands. Both values mean bubblewrap here. Default: "auto". */
  readonly backend: "bwrap" | "auto";
  /** Further roots that a command may write under workspace-write. They must exist, and may not be or hold the home directory, a system directory, a hidden place or a store. Default: []. */
  readonly writableRoots: readonly string[];
  /** Paths relative to each writable root that stay read-only inside it. */
  readonly protectedPaths: readonly string[];
  /** Paths that a command cannot read. */
  readonly hiddenPaths: readonly string[];
  readonly environment: {
    /** Names and globs (* and ?) of variables that are passed on. */
    readonly pass: readonly (readonly string[])[];
    /** Variables that are set, by name. Default: {}. */
    readonly set: { readonly [name: string]: string };
    /** Names and globs of variables that are removed even when passed; letter case does not count. */
    readonly secrets: readonly string[];
  };
  /** Unix sockets: blocked allows connected pairs only, private hides the host's sockets, open hides none. Default: "blocked". */
  readonly unixSockets: "blocked" | "private" | "open";
  /** Sockets of the host that stay reachable under private. Default: []. */
  readonly sockets: readonly string[];
  /** Device nodes beyond the minimal set. Default: []. */
  readonly devices: readonly string[];
  /** private gives each workspace writable caches of its own over those of the build tools, kept between runs; none gives none. Default: "private". */
  readonly caches: "none" | "private";
  readonly limits: {
    /** Seconds by the clock after which the whole run is ended. Default: 600. */
    readonly wallSeconds: Integer;
    /** Processor seconds. Default: 0. */
    readonly cpuSeconds: Integer;
    /** Bytes of memory: of all processes together where a control group can be made, else of each one's address space. Default: 0. */
    readonly memoryBytes: Integer;
    /** Bytes of the largest file written. Default: 0. */
    readonly fileBytes: Integer;
    /** Processes and threads at once. Root needs a control group for it; elsewhere it is refused. Default: 0. */
    readonly processes: Integer;
    /** Open files of one process. Default: 0. */
    readonly openFiles: Integer;
  };
  /** required makes a durable record before a command starts, or does not start it. Default: "required". */
  readonly audit: "required" | "off";
  readonly git: {
    /** crossing gives a command a private git directory, from which objects, branches, tags, notes, the index and stashes come over as checked data; read-only lets it read git alone. Default: "crossing". */
    readonly mode: "read-only" | "crossing";
    /** A repository that a command made: launder puts a fresh one with its commits in its place, quarantine moves it away, report leaves it. Default: "launder". */
    readonly newRepositories: "quarantine" | "launder" | "report";
    /** Bytes of the objects that come over at once. Default: 1073741824. */
    readonly packBytes: Integer;
    /** Bytes of a file in the place where they arrive. Default: 4294967296. */
    readonly scratchBytes: Integer;
    /** Seconds that packing and checking them may take. Default: 600. */
    readonly seconds: Integer;
  };
}
