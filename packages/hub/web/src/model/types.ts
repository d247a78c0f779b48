/** The shapes that a hub sends, as far as the page looks at them. Everything is optional that an agent may forget. */

import type { SteeringWay } from "./steering";

export interface ContentBlock {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  title?: string | null;
  description?: string | null;
  size?: number | null;
  resource?: { uri?: string; mimeType?: string | null; text?: string; blob?: string };
}

export interface ToolContent {
  type: string;
  content?: ContentBlock;
  path?: string;
  oldText?: string | null;
  newText?: string;
  terminalId?: string;
}

export interface ToolCall {
  toolCallId: string;
  title?: string | null;
  name?: string | null;
  kind?: string | null;
  status?: string | null;
  content?: ToolContent[] | null;
  locations?: { path: string; line?: number | null }[] | null;
  rawInput?: unknown;
  rawOutput?: unknown;
  _meta?: Record<string, unknown> | null;
}

export interface PlanEntry {
  content: string;
  priority?: string;
  status?: string;
}

export interface PermissionOption {
  optionId: string;
  name: string;
  kind: string;
}

export interface Modes {
  currentModeId: string;
  availableModes: { id: string; name: string; description?: string | null }[];
}

export interface Choice {
  value: string;
  name: string;
  description?: string | null;
}
export interface ConfigOption {
  id: string;
  name: string;
  description?: string | null;
  type: string;
  currentValue: string | boolean;
  options?: (Choice | { group: string; name: string; options: Choice[] })[];
}

export interface Command {
  name: string;
  description?: string;
  input?: { hint?: string } | null;
}

export interface Usage {
  used?: number;
  size?: number;
  cost?: { amount: number; currency: string } | null;
}

export type SessionState = "running" | "waiting" | "idle" | "failed" | "closed" | "archived";

/** A hub that the person has added to the page of another one. */
export interface OtherHub {
  /** What this browser calls it. */
  key: string;
  address: string;
  name: string;
  token: string;
}

export interface SessionInfo {
  sessionId: string;
  /** Which hub of several has told it: written by the page, never taken from a hub. */
  hub?: string;
  agent: string;
  cwd: string;
  title?: string | null;
  state: SessionState;
  updatedAt?: string;
  /** Where it stands in lists: when its state changed last, as far as this page has seen. Written by the page. */
  movedAt?: string;
  createdAt?: string;
  cursor?: string;
  queue?: number;
  asking?: number;
  /** While a turn runs: how its agent is given a message. */
  steering?: SteeringWay | null;
  /** The session whose agent began this one. */
  parent?: string;
  /** Of a child session: who asks for whom. */
  requester?: string;
  /** Of a child session: what its agent has announced. */
  work?: { state?: string; stopReason?: string };
}

/** What a rule of the reviewer found in a request. */
export interface Risk {
  rule?: string;
  severity?: string;
  text?: string;
  path?: string;
  line?: number;
}

export interface ShownChange {
  path: string;
  /** What `new` replaces; missing: `new` is the whole file. With neither `new` nor `patch`, nobody knows the content. */
  old?: string;
  new?: string;
  patch?: string;
  everywhere?: boolean;
}

/** What the hub has judged of a question: see docs/hub-protocol.md. */
export interface ShownAct {
  deed: string;
  kinds?: string[];
  agent?: string;
  tool?: string;
  title?: string;
  command?: string;
  folder?: string;
  isFolderOutside?: boolean;
  variables?: string[];
  places?: { path: string; isOutside?: boolean }[];
  changes?: ShownChange[];
  remarks?: string[];
  input?: { name?: string; text: string }[];
  unknownTexts?: string[];
  doubts?: string[];
  why?: string;
  always?: string;
}

export interface Asked {
  sessionId: string;
  /** Which hub of several asks: written by the page, never taken from a hub. */
  hub?: string;
  request: string;
  method: string;
  params: Record<string, any>; // each method has its own; whoever draws one knows which
  askedAt?: string | number;
  expiresAt?: string | number | null;
  agent?: string;
  title?: string | null;
  /** Which subagent asks, and for whom. */
  requester?: string;
  rule?: unknown;
  /** Missing if it is no request for permission, or the hub is of an older version. */
  act?: ShownAct;
  /** Missing as long as nothing was judged; empty if everything was and nothing was found. */
  risks?: Risk[];
  risksNote?: string;
}

/** What the hub denied for want of a rule, and the command line that writes one. */
export interface Denied {
  sessionId: string;
  hub?: string;
  time: string;
  agent?: string;
  title?: string | null;
  what: string;
  why: string;
  remedy: string;
  /** Whether its next try can be allowed. */
  once?: boolean;
}

export interface Queued {
  key: string;
  by?: string;
  prompt: ContentBlock[];
}

/** What an agent takes in prompts besides text. */
export interface PromptCapabilities {
  image?: boolean;
  audio?: boolean;
  embeddedContext?: boolean;
}

export interface Snapshot {
  promptCapabilities?: PromptCapabilities | null;
  modes?: Modes | null;
  configOptions?: ConfigOption[] | null;
  availableCommands?: Command[] | null;
  plan?: { entries?: PlanEntry[] } | PlanEntry[] | null;
  usage?: Usage | null;
  turn?: { key?: string; by?: string } | null;
  queue?: Queued[] | null;
  requests?: Asked[] | null;
  /** Whether the hub can put files back to how they were before a turn. */
  remembersFiles?: boolean;
}

export interface AgentInfo {
  name: string;
  title?: string;
  description?: string;
  /** The machine or the container that it lives on, with its folders; absent for the hub's own. */
  place?: string;
  state?: string;
  sessions?: number;
  restarts?: number;
  pid?: number;
  started?: number;
  version?: string | null;
  invalidFrames?: number;
  lastError?: string;
  lastEnd?: { exitStatus?: number | null; signal?: string | null; stderr?: string };
  authMethods?: { id: string; name?: string; description?: string | null }[];
}

export interface FileChange {
  path: string;
  kind: string;
  diff?: string | null;
  hunks?: { id: string | number; text: string }[];
  /** Who changed it, where that was not this session for certain: `others` or `unknown`. */
  by?: string;
}

/** A message of a session: a notification or a request, as it stood on the wire. */
export interface Message {
  id?: unknown;
  method?: string;
  params?: any; // decoded JSON of somebody else: looked at with care in the fold
  result?: any;
  error?: { code: number; message: string };
}
