/**
 * Folds the messages of one session into the items that a person reads, and into what stands around them: the turn,
 * the queue, open questions, modes, options, commands, usage. Takes messages in order, one by one; the same messages
 * give the same items, however they were cut into pages. Bad messages are passed over: they are an agent's mistakes.
 */

import { type End, type Item, type Note, type Plan, type Question, type Speech, type Tool, nameMessage, nameSubagent, nameUnknown, promptText, textOf } from "./items";
import { outcomeOf, steeredKey } from "./steering";
import { moment } from "./time";
import type { Asked, Command, ConfigOption, ContentBlock, Message, Modes, PlanEntry, PromptCapabilities, Queued, Snapshot, ToolCall, Usage } from "./types";

const SPEECH: Record<string, Speech["kind"]> = {
  user_message_chunk: "user",
  agent_message_chunk: "agent",
  agent_thought_chunk: "thought",
};
const FIELDS = ["title", "name", "kind", "status", "content", "locations", "rawInput", "rawOutput"] as const;

/** A session that streams for hours must not remember each of its messages: beyond the limit, the oldest go together. */
const MOST_PLACES = 50_000;
const PLACES_TO_FORGET = 5_000;

let serial = 0;

export class Fold {
  items: Item[] = [];
  turn: { key?: string; by?: string; started?: number; waited?: number; askedAt?: number } | null = null;
  queue: Queued[] = [];
  open = new Map<string, Question>();
  takes: PromptCapabilities | null = null;
  modes: Modes | null = null;
  options: ConfigOption[] = [];
  commands: Command[] = [];
  usage: Usage | null = null;
  plan: Plan | null = null;
  title: string | null = null;
  gone: string | null = null;
  remembersFiles = false;
  ended: "closed" | "deleted" | null = null;
  /** Keys of prompts that the hub has taken in: what was shown as being sent is no longer. */
  taken = new Set<string>();
  /** How turns ended, by the keys of their prompts. */
  stops = new Map<string, string>();
  tools = new Map<string, Tool>();
  /** Lines about child sessions by their ids, and messages to and from them by theirs. */
  subagents = new Map<string, Note>();
  messages = new Map<string, Note>();
  /** Which item a message went into, by its cursor: where a search result is found. */
  where = new Map<string, Item>();
  /** Items that an earlier page tells better, and by which of it. */
  replaced = new Map<Item, Item>();
  private touched: Item | null = null;
  /** Items that changed since `takeChanged`: whoever draws need not look at all the others. */
  private changed = new Set<Item>();
  /** Tool calls that have not ended, so that the end of a turn need not look at every tool of the session. */
  readonly running = new Set<Tool>();
  private withdrawn = new Set<string>();
  /** Whether a turn begins here, and the plan that stood before it: it may go on one from an earlier page. */
  begun = false;
  inherited: Plan | null = null;

  constructor(private sessionId: string) {}

  /** What is known without reading the history. */
  begin(snapshot: Snapshot): void {
    this.takes = snapshot.promptCapabilities ?? this.takes;
    this.modes = snapshot.modes ?? this.modes;
    this.options = snapshot.configOptions ?? this.options;
    this.commands = snapshot.availableCommands ?? this.commands;
    this.usage = snapshot.usage ?? this.usage;
    this.remembersFiles = snapshot.remembersFiles ?? this.remembersFiles;
    this.turn = snapshot.turn && snapshot.turn.key === this.turn?.key ? this.turn : (snapshot.turn ?? null);
    this.queue = [...(snapshot.queue ?? [])];
    for (const one of this.queue) this.taken.add(one.key);
    if (this.turn?.key) this.taken.add(this.turn.key);
    const named = new Set((snapshot.requests ?? []).map((one) => one.request));
    for (const name of [...this.open.keys()]) if (!named.has(name)) this.settle(name, { outcome: "settled" });
    for (const asked of snapshot.requests ?? []) this.ask(asked, { cursor: "" });
  }

  /** Every change of an item goes through here. */
  touch(item: Item): void {
    item.revision += 1;
    this.changed.add(item);
    this.touched = item;
  }

  takeChanged(): Set<Item> {
    const { changed } = this;
    this.changed = new Set();
    return changed;
  }

  apply(message: Message, cursor: string, time?: number): void {
    const params = message.params;
    if (!params || typeof params !== "object") return;
    const at = { cursor, time };
    this.touched = null;
    if (message.method === "session/update") this.update(params.update, at);
    else if (message.method === "_dragoman/hub/event") this.event(params, at);
    // A question is a request of the hub's, with an id: an agent may notify what it likes.
    else if (message.id !== undefined && (message.method === "session/request_permission" || message.method === "elicitation/create")) {
      const { request, act } = params._meta?.dragoman ?? {};
      if (typeof request === "string") this.ask({ sessionId: this.sessionId, request, method: message.method, params, act }, at);
    }
    if (!cursor || !this.touched) return;
    this.where.set(cursor, this.touched);
    if (this.where.size > MOST_PLACES + PLACES_TO_FORGET) this.forgetPlaces();
  }

  /** The item that a message went into; of a message that was forgotten, the one that began with it. */
  find(cursor: string): Item | undefined {
    // Who heard an entry live, in parts, knows it as 17.1; in the archive it is 17.
    const whole = cursor.replace(/\..*/, "");
    let item = this.where.get(cursor) ?? this.where.get(whole) ?? this.items.find((other) => other.cursor === cursor);
    while (item && this.replaced.has(item)) item = this.replaced.get(item);
    return item;
  }

  /** Of a page in front. What is in no item's beginning is found as long as there is room to remember it. */
  addPlaces(older: Fold): void {
    if (this.where.size < MOST_PLACES) for (const [cursor, item] of older.where) this.where.set(cursor, item);
    for (const [gone, by] of older.replaced) this.replaced.set(gone, by);
  }

  private forgetPlaces(): void {
    for (const cursor of this.where.keys()) {
      if (this.where.size <= MOST_PLACES) return;
      this.where.delete(cursor);
    }
  }

  private update(update: any, at: Where): void {
    const kind = update?.sessionUpdate;
    if (typeof kind !== "string") return;
    if (SPEECH[kind]) return this.speak(SPEECH[kind], update, at);
    switch (kind) {
      case "tool_call":
      case "tool_call_update":
        return this.tool(update, kind === "tool_call_update", at);
      case "plan":
        return this.planned(update.entries, at);
      case "plan_update":
        return this.planned(update.plan?.entries, at);
      case "available_commands_update":
        this.commands = Array.isArray(update.availableCommands) ? update.availableCommands : [];
        return;
      case "current_mode_update":
        if (this.modes) this.modes = { ...this.modes, currentModeId: String(update.currentModeId) };
        return;
      case "config_option_update":
        if (Array.isArray(update.configOptions)) this.options = update.configOptions;
        return;
      case "session_info_update":
        return; // the hub says what a session is called; it keeps a title that the agent would make of a brief
      case "usage_update":
        this.usage = { ...this.usage, ...update };
        return;
      case "notice":
        return this.note(toneOf(update.severity), str(update.title), str(update.description), at, str(update._meta?.dragoman?.remedy), update._meta?.dragoman?.once === true);
      case "compaction_update":
        return this.note("info", "The agent summarized the conversation to save space", "", at);
      case "subagent_update":
        return this.subagent(update, at);
      case "session_message":
      case "session_message_chunk":
        return this.sessionMessage(update, at);
      default:
        return this.unknown(kind, at);
    }
  }

  private unknown(kind: string, at: Where): void {
    const last = this.items.at(-1);
    const same = last?.kind === "note" && last.unknown?.kind === kind;
    const note = same ? last : this.push<Note>({ kind: "note", tone: "info", title: "", text: "", unknown: { kind, count: 0 }, ...at });
    note.unknown!.count += 1;
    nameUnknown(note);
    this.touch(note);
  }

  /** A subagent has one line, at the place of its announcement; later updates leave out what has not changed. */
  private subagent(update: any, at: Where): void {
    const id = str(update.sessionId);
    if (!id) return;
    let note = this.subagents.get(id);
    if (!note) {
      note = this.push<Note>({ kind: "note", tone: "info", title: "", text: "", subagent: { title: "", state: "", stopReason: "" }, ...at });
      this.subagents.set(id, note);
    }
    const told = note.subagent!;
    if (typeof update.title === "string") told.title = update.title;
    if (update.state) Object.assign(told, { state: str(update.state.state), stopReason: str(update.state.stopReason) });
    nameSubagent(note);
    this.touch(note);
    for (const message of this.messages.values()) if (message.message!.other === id) nameMessage(message, this.subagents);
  }

  /** What a session and a subagent say to each other. Each message has an id, so that a chunk is added to its own. */
  private sessionMessage(update: any, at: Where): void {
    const id = str(update.messageId);
    const blocks: ContentBlock[] = Array.isArray(update.content) ? update.content : update.content ? [update.content] : [];
    let note = this.messages.get(id);
    if (!note) {
      const isOwn = str(update.senderSessionId) === this.sessionId;
      const other = str(isOwn ? update.recipientSessionId : update.senderSessionId);
      note = this.push<Note>({ kind: "note", tone: "info", title: "", text: "", message: { isOwn, other }, ...at });
      this.messages.set(id, note);
    }
    if (update.sessionUpdate === "session_message") note.text = "";
    note.text += promptText(blocks);
    nameMessage(note, this.subagents);
    this.touch(note);
  }

  private speak(kind: Speech["kind"], update: any, at: Where): void {
    const block: ContentBlock | undefined = update.content;
    if (!block || typeof block.type !== "string") return;
    const messageId = typeof update.messageId === "string" ? update.messageId : undefined;
    const last = this.items.at(-1);
    const steered = kind === "user" ? steeredKey(messageId) : "";
    if (steered) this.taken.add(steered);
    // The prompt stood in `turn_started` already; its chunks say the same once more.
    if (kind === "user" && !steered && last?.kind === "user" && last.key !== undefined) {
      this.touched = last;
      return;
    }
    const same = last && last.kind === kind && last.messageId === messageId;
    const speech = same ? (last as Speech) : this.push<Speech>({ kind, parts: [], messageId, ...at });
    if (steered) speech.outcome = outcomeOf(update);
    add(speech, block);
    this.touch(speech);
  }

  private tool(update: ToolCall, partial: boolean, at: Where): void {
    if (typeof update.toolCallId !== "string") return;
    let tool = this.tools.get(update.toolCallId);
    if (!tool) {
      const call: ToolCall = { toolCallId: update.toolCallId };
      tool = this.push<Tool>({
        kind: "tool", call, output: new Map(), exit: new Map(), stub: partial, stopped: false, asking: 0, ...at,
      });
      this.tools.set(update.toolCallId, tool);
    }
    for (const field of FIELDS) {
      const value = update[field];
      if (value !== undefined && value !== null) Object.assign(tool.call, { [field]: value });
    }
    this.follow(tool);
    this.touch(tool);
  }

  /** The end of the turn stops a tool call that has not ended by then. */
  follow(tool: Tool): void {
    if (tool.call.status === "completed" || tool.call.status === "failed") this.running.delete(tool);
    else this.running.add(tool);
  }

  /** What goes on behind the last message is not known here: nothing runs or waits until a later page tells. */
  pause(): void {
    for (const tool of this.running) {
      tool.stopped = true;
      this.touch(tool);
    }
    for (const name of [...this.open.keys()]) this.settle(name, {});
  }

  private planned(entries: unknown, at: Where): void {
    if (!Array.isArray(entries)) return;
    const good = entries.filter((entry): entry is PlanEntry => typeof entry?.content === "string");
    if (this.plan && !this.plan.entries.every((entry) => entry.status === "completed")) {
      this.plan.entries = good;
      this.touch(this.plan);
    } else if (good.length) {
      this.plan = this.push<Plan>({ kind: "plan", entries: good, ...at });
      if (!this.begun) this.inherited ??= this.plan;
    }
  }

  private event(params: any, heard: Where): void {
    // By the hub's clock, also live: a turn takes as long for who watched it as for who reads it later.
    const at = { cursor: heard.cursor, time: moment(params.time) ?? heard.time };
    switch (params.event) {
      case "turn_started":
        return this.started(params, at);
      case "turn_ended":
        return this.finished(params, at);
      case "queued":
        this.taken.add(params.key);
        if (!this.queue.some((one) => one.key === params.key)) this.queue.push(queued(params));
        return;
      case "edited":
        this.queue = this.queue.map((one) => (one.key === params.key ? queued(params) : one));
        return;
      case "withdrawn":
        this.queue = this.queue.filter((one) => one.key !== params.key);
        this.withdrawn.add(params.key);
        return;
      case "asked":
        return this.ask({ ...params, sessionId: this.sessionId }, at);
      case "settled":
        return this.settle(str(params.request), params, at.time);
      case "agent_gone":
        this.gone = str(params.reason) || "its process ended";
        return this.note("bad", "The agent stopped", this.gone, at);
      case "agent_back":
        this.gone = null;
        return this.note(
          "info", "The agent restarted", params.remembers === false ? "It has no memory of this session." : "", at,
        );
      case "renamed":
        this.title = str(params.title);
        return;
      case "closed":
      case "deleted":
        this.ended = params.event;
        return this.note("info", params.event === "closed" ? "The session was closed" : "The session was deleted", "", at);
    }
  }

  private started(params: any, at: Where): void {
    const key = str(params.key);
    this.taken.add(key);
    this.queue = this.queue.filter((one) => one.key !== key);
    this.turn = { key, by: params.by, started: at.time };
    this.plan = null;
    this.begun = true;
    this.gone = null;
    const prompt: ContentBlock[] = Array.isArray(params.prompt) ? params.prompt : [];
    const last = this.items.at(-1);
    const echoed = last?.kind === "user" && last.key === undefined && last.outcome === undefined;
    if (echoed && (last.messageId === `prompt-${key}` || textOf(last.parts) === promptText(prompt))) {
      last.key = key;
      last.by = params.by;
      this.touch(last);
      return;
    }
    const speech = this.push<Speech>({ kind: "user", parts: [], key, by: params.by, ...at });
    for (const block of prompt) add(speech, block);
  }

  private finished(params: any, at: Where): void {
    // A prompt that was taken out of the queue is answered as well, but was no turn.
    const queued = this.queue.some((one) => one.key === params.key);
    this.queue = this.queue.filter((one) => one.key !== params.key);
    if (queued || this.withdrawn.has(params.key)) return;
    const { started, waited } = this.turn ?? {};
    this.turn = null;
    const { stopReason, error, usage } = params;
    this.stops.set(str(params.key), str(stopReason));
    for (const tool of this.running) {
      if (tool.stopped) continue;
      tool.stopped = true;
      this.touch(tool);
    }
    this.running.clear();
    this.push<End>({ kind: "end", stopReason, error, usage, started, waited, ...at });
  }

  private ask(asked: Asked, at: Where): void {
    if (typeof asked.request !== "string" || !asked.params) return;
    const known = this.questions.get(asked.request);
    if (known) {
      // The request itself came first, and without the hub's time.
      if (this.turn && this.turn.askedAt === known.time && this.open.has(asked.request)) this.turn.askedAt = at.time;
      return;
    }
    const question = this.push<Question>({ kind: "question", asked, ...at });
    this.questions.set(asked.request, question);
    this.open.set(asked.request, question);
    if (this.turn && this.open.size === 1) this.turn.askedAt = at.time;
    this.countQuestions(question, 1);
  }

  /** A call that a person is asked about is shown by the question's card, and folded in the conversation meanwhile. */
  private countQuestions(question: Question, change: number): void {
    const tool = this.tools.get(question.asked.params?.toolCall?.toolCallId);
    if (!tool) return;
    tool.asking += change;
    this.touch(tool);
    this.touched = question; // what was said is the question
  }

  questions = new Map<string, Question>();
  /** Answers to questions that stand in an earlier page. */
  settledBefore = new Map<string, { outcome?: string; by?: string; result?: unknown }>();

  settle(request: string, how: { outcome?: string; by?: string; result?: unknown }, time?: number): void {
    const question = this.questions.get(request);
    if (!question) {
      this.settledBefore.set(request, how);
      return;
    }
    if (this.open.delete(request)) {
      this.countQuestions(question, -1);
      const { turn } = this;
      if (turn?.askedAt && time && !this.open.size) turn.waited = (turn.waited ?? 0) + (time - turn.askedAt);
    }
    question.outcome = how.outcome ?? "settled";
    question.by = how.by;
    question.result = how.result;
    this.touch(question);
  }

  private note(tone: Note["tone"], title: string, text: string, at: Where, remedy = "", once = false): void {
    this.push<Note>({ kind: "note", tone, title, text, ...(remedy ? { remedy, once } : {}), ...at });
  }

  private push<T extends Item>(item: Omit<T, "id" | "revision">): T {
    const made = { ...item, id: ++serial, revision: 1 } as unknown as T;
    this.items.push(made);
    this.touched = made;
    return made;
  }
}

interface Where {
  cursor: string;
  time?: number;
}

export function add(speech: Speech, block: ContentBlock): void {
  const last = speech.parts.at(-1);
  if (block.type !== "text") speech.parts.push({ block });
  else if (last && "text" in last) last.text += str(block.text);
  else speech.parts.push({ text: str(block.text) });
}

function queued(params: any): Queued {
  return { key: str(params.key), by: params.by, prompt: Array.isArray(params.prompt) ? params.prompt : [] };
}

function toneOf(severity: unknown): Note["tone"] {
  return severity === "error" ? "bad" : severity === "warning" ? "warn" : "info";
}

function str(value: unknown): string {
  return typeof value === "string" ? value : "";
}
