/**
 * A hub that happened: what a real one told a client, with times. Knows at any moment of the recording what the hub
 * would have answered, and says what it said as time goes on; going back is starting anew. It is the other end of a
 * `Rpc`, without a network. Whatever would change something is refused in words.
 */

import type { Asked, FileChange, Message, SessionInfo, Snapshot, Usage } from "../src/model/types";

export interface Step {
  /** Seconds since the beginning. */
  at: number;
  message: Message;
}

export interface Recording {
  recording: 1;
  /** Seconds since 1970. */
  start: number;
  seconds: number;
  hub: object;
  agents: object[];
  steps: Step[];
}

interface Said {
  at: number;
  cursor: string;
  message: Message;
}

/** What the hub knew of one session. */
class PastSession {
  info!: SessionInfo;
  messages: Said[] = [];
  snapshot: Snapshot = {};
  changes: { files: FileChange[] } = { files: [] };
  turn: { key?: string; by?: string; at: number } | null = null;
  usage: Usage | null = null;
  line: { kind: string; text: string; at: number } | null = null;
}

export class Refusal extends Error {
  constructor(message: string, readonly code = -32003) {
    super(message);
  }
}

export class RecordedHub {
  position = 0;
  private next = 0;
  private sessions = new Map<string, PastSession>();
  private inbox = new Map<string, Asked>();
  private attached = new Set<string>();
  view = "#/";

  /** `say` gets what the hub said, as a text; `seek` is asked to go to the moment of an answer. */
  constructor(
    readonly recording: Recording,
    private say: (text: string) => void,
    private seek: (position: number) => void,
    private now: () => number = Date.now,
  ) {}

  /** Takes a message of the page; a request is answered at once. */
  receive(text: string): void {
    const { id, method, params } = JSON.parse(text) as Message;
    if (id === undefined || method === undefined) return;
    let after = (): void => {};
    try {
      const [result, then] = this.answer(method, params ?? {});
      after = then ?? after;
      this.tell({ id, result });
    } catch (error) {
      const { message, code } = error instanceof Refusal ? error : new Refusal(String(error));
      this.tell({ id, error: { code, message } });
    }
    after();
  }

  /** Time goes on to a position: everything up to there is said. */
  advance(position: number): void {
    const { steps } = this.recording;
    while (this.next < steps.length && steps[this.next].at <= position) {
      const step = steps[this.next++];
      this.position = step.at;
      this.take(step);
    }
    this.position = Math.max(this.position, Math.min(position, this.recording.seconds));
  }

  /** Everything is as it was before the first step; nobody is told. */
  rewind(): void {
    this.position = this.next = 0;
    this.view = "#/";
    this.sessions.clear();
    this.inbox.clear();
    this.attached.clear();
  }

  has(sessionId: string): boolean {
    return this.sessions.has(sessionId);
  }

  private tell(message: Message): void {
    this.say(JSON.stringify({ jsonrpc: "2.0", ...message }, (name, value) => this.shifted(name, value)));
  }

  /** Times are told as if the recording ran now: "a minute ago" then is a minute ago today. */
  private shifted(name: string, value: unknown): unknown {
    const shift = this.now() / 1000 - (this.recording.start + this.position);
    if ((name === "updatedAt" || name === "createdAt" || name === "askedAt") && typeof value === "string") {
      const moment = Date.parse(value);
      return Number.isNaN(moment) ? value : new Date(moment + shift * 1000).toISOString();
    }
    const isMoment = name === "askedAt" || name === "expiresAt" || name === "turnStarted" || name === "time" || name === "started";
    return isMoment && typeof value === "number" ? value + shift : value;
  }

  private take({ at, message }: Step): void {
    const params = message.params ?? {};
    switch (message.method) {
      case "_demo/view":
        this.view = params.hash;
        return;
      case "_demo/snapshot":
        this.session(params.sessionId).snapshot = params.result.snapshot ?? {};
        return;
      case "_demo/changes":
        this.session(params.sessionId).changes = params.result;
        return;
      case "_dragoman/hub/session":
        this.session(params.session.sessionId).info = params.session;
        return this.tell(message);
      case "_dragoman/hub/asked":
        this.inbox.set(nameOf(params.request), params.request);
        return this.tell(message);
      case "_dragoman/hub/judged":
        this.judge(params);
        return this.tell(message);
      case "_dragoman/hub/settled":
        this.inbox.delete(nameOf(params));
        return this.tell(message);
      case "$/cancel_request":
        return this.tell(message);
    }
    if (typeof params.sessionId === "string") this.hear(at, message);
  }

  private judge(params: Asked): void {
    const asked = this.inbox.get(nameOf(params));
    if (asked) this.inbox.set(nameOf(params), { ...asked, risks: params.risks, risksNote: params.risksNote });
  }

  private hear(at: number, message: Message): void {
    const { params } = message;
    const session = this.session(params.sessionId);
    session.messages.push({ at, cursor: params._meta?.dragoman?.cursor ?? "", message });
    if (params.event === "turn_started") session.turn = { key: params.key, by: params.by, at };
    if (params.event === "turn_ended") session.turn = null;
    const { update } = params;
    if (update?.sessionUpdate === "usage_update") session.usage = { used: update.used, size: update.size, cost: update.cost };
    const text = lineOf(update);
    if (text) session.line = { kind: "agent", text, at };
    if (this.attached.has(params.sessionId)) this.tell(message);
  }

  private session(sessionId: string): PastSession {
    const session = this.sessions.get(sessionId) ?? new PastSession();
    this.sessions.set(sessionId, session);
    return session;
  }

  private known(sessionId: string): PastSession {
    const session = this.sessions.get(sessionId);
    if (!session?.info) throw new Refusal("This session does not exist at this point of the recording.", -32002);
    return session;
  }

  /** The result of a request, and what is to be said behind it. */
  private answer(method: string, params: any): [object, (() => void)?] {
    switch (method) {
      case "initialize":
        return [this.recording.hub];
      case "_dragoman/hub/watch":
        return [{}];
      case "_dragoman/hub/sessions":
        return [{ sessions: this.listed() }];
      case "_dragoman/hub/inbox":
        return [{ requests: [...this.inbox.values()] }];
      case "_dragoman/hub/agents":
        return [{ agents: this.recording.agents }];
      case "_dragoman/hub/agents/registry":
        return [{ made: new Date(this.recording.start).toISOString().slice(0, 10), origin: "", refusal: "this is a recording. To add agents, start your own hub", agents: [], installed: [], job: null }];
      case "_dragoman/hub/history":
        return [{ messages: this.known(params.sessionId).messages.map(({ at, cursor, message }) => ({ cursor, time: this.recording.start + at, message })), more: false }];
      case "_dragoman/hub/attach":
        return this.attach(params.sessionId, params.after ?? "end");
      case "_dragoman/hub/detach":
        this.attached.delete(params.sessionId);
        return [{}];
      case "_dragoman/hub/changes":
        return [this.known(params.sessionId).changes];
      case "_dragoman/hub/progress":
        return [{ progress: params.sessionIds.filter((id: string) => this.has(id)).map((id: string) => this.progress(id)) }];
      case "_dragoman/hub/search":
        return [{ found: this.search(params.text) }];
      case "_dragoman/hub/files":
        return [{ files: [] }];
      case "_dragoman/hub/answer":
        return this.settle(params);
      case "_dragoman/hub/file":
        throw new Refusal("This recording has the conversation, but not the files.");
    }
    throw new Refusal("This is a recording, so no agent can answer. To talk to an agent, start your own hub.");
  }

  private listed(): SessionInfo[] {
    const infos = [...this.sessions.values()].map(({ info }) => info).filter(Boolean);
    return infos.sort((one, other) => (other.updatedAt ?? "").localeCompare(one.updatedAt ?? ""));
  }

  private attach(sessionId: string, after: string): [object, () => void] {
    const session = this.known(sessionId);
    const { messages, turn, usage } = session;
    const requests = [...this.inbox.values()].filter((asked) => asked.sessionId === sessionId);
    const snapshot = { ...session.snapshot, turn: turn && { key: turn.key, by: turn.by }, usage: usage ?? session.snapshot.usage, queue: [], requests };
    this.attached.add(sessionId);
    const seen = after === "end" ? messages.length - 1 : messages.findLastIndex((said) => said.cursor === after);
    const behind = messages.slice(seen + 1);
    return [{ session: session.info, snapshot, cursor: messages.at(-1)?.cursor ?? "" }, () => behind.forEach(({ message }) => this.tell(message))];
  }

  private progress(sessionId: string): object {
    const { info, line, turn, usage, changes } = this.known(sessionId);
    const { start } = this.recording;
    const lines = changes.files.flatMap((file) => (file.diff ?? "").split("\n"));
    const count = (sign: string): number => lines.filter((text) => text.startsWith(sign) && !text.startsWith(sign.repeat(3))).length;
    return {
      sessionId, cursor: info.cursor, usage,
      ...(line ? { line: { kind: line.kind, text: line.text, time: start + line.at } } : {}),
      ...(turn ? { turnStarted: start + turn.at } : {}),
      ...(changes.files.length ? { changes: { files: changes.files.length, added: count("+"), removed: count("-") } } : {}),
    };
  }

  private search(text: string): object[] {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found: object[] = [];
    for (const [sessionId, { info, messages }] of this.sessions) {
      for (const { cursor, message } of messages) {
        const said: unknown = message.params?.update?.content?.text;
        const at = typeof said === "string" ? said.toLowerCase().indexOf(wanted) : -1;
        if (at >= 0) found.push({ sessionId, cursor, kind: "agent", excerpt: (said as string).slice(Math.max(0, at - 40), at + 80), title: info?.title });
      }
    }
    return found.slice(0, 20);
  }

  /** A question has the answer that it had: whoever answers it comes to the moment when that was given. */
  private settle({ sessionId, request }: Asked): [object, () => void] {
    const step = this.recording.steps.find(({ at, message }) => at >= this.position && message.method === "_dragoman/hub/settled" && message.params.sessionId === sessionId && message.params.request === request);
    if (!step) throw new Refusal("This question was not answered in the recording.");
    return [{ settled: true }, () => this.seek(step.at)];
  }
}

function nameOf({ sessionId, request }: Asked): string {
  return `${sessionId}\0${request}`;
}

/** The last line of what an agent says, as a board shows it. */
function lineOf(update: any): string {
  const text = update?.sessionUpdate === "agent_message_chunk" ? update.content?.text : update?.sessionUpdate === "tool_call" ? update.title : "";
  return typeof text === "string" ? (text.trim().split("\n").at(-1) ?? "") : "";
}
