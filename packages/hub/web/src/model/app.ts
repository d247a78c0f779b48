/**
 * Everything the page knows: how the connection is, the sessions, what waits for the person, and the session that is
 * open. Hears every message and gives it to whom it concerns. Drawing is somebody else's: `changed` tells when.
 */

import { surroundings } from "../surroundings";
import type { Health, Owner } from "../wire/connection";
import type { Rpc } from "../wire/rpc";
import { type Progress, ProgressFeed } from "./board";
import { Conversation } from "./conversation";
import { identityOf, sessionHash } from "./hubs";
import { forgetAll, recall, recallJson, remember, takeToken, uniqueName } from "./memory";
import { OfflineReading } from "./offline";
import { dropAll, outboxCounts } from "./outbox";
import { isPushOn, leavePush, subscribe } from "./push";
import { exchangeCode, takePairingCode } from "./pairing";
import type { AgentInfo, Asked, Denied, Message, OtherHub, SessionInfo } from "./types";

/** So many messages are not left for the next drawing, which would take too long for them. */
const MANY = 256;

export interface Found {
  /** The key of its hub; missing for the hub of the page. */
  hub?: string;
  sessionId: string;
  cursor: string;
  kind: string;
  excerpt: string;
  title?: string | null;
}

/** Who is at the other end: a hub, or a recording. */
export interface HubConnection {
  /** Whether it lets in only who has a token. */
  readonly needsToken: boolean;
  readonly rpc: Rpc;
  start(): void;
  stop(): void;
  hurry(): void;
}

export class App implements Owner {
  token: string;
  private pairingCode: string;
  health: Health = "connecting";
  why = "";
  retryAt = 0;
  agents: AgentInfo[] = [];
  defaultAgent = "";
  scopes = new Set<string>();
  /** The name under which this page answers, the folder that the hub was started in and its user's home; empty if not told. */
  by = "";
  folder = "";
  home = "";
  /** Other hubs that this page may talk to, as its own hub names them. */
  namedHubs: string[] = [];
  capabilities: Record<string, any> = {}; // of the hub, as its initialize answered
  sessions = new Map<string, SessionInfo>();
  nextCursor = "";
  withArchived = false;
  inbox = new Map<string, Asked>();
  /** The latest that was denied for want of a rule, by session and command line. */
  denied = new Map<string, Denied>();
  lastWords = new Map<string, string>();
  open: Conversation | null = null;
  /** The second session of a split view. */
  beside: Conversation | null = null;
  /** Sessions that are not shown and have something to send. */
  private couriers = new Map<string, Conversation>();
  readonly offline = new OfflineReading(this);
  readonly feed = new ProgressFeed(this, () => this.listChanged());
  /** Something in the lists has moved, which may be drawn a moment later: a hundred agents move all the time. */
  listChanged: () => void = () => this.changed();
  /** What a person is told once, and a screen reader with them. */
  said = "";
  loaded = false;
  private seen: Record<string, string>;
  private fresh: boolean;
  private clientId = uniqueName();
  private questions = new Map<string, unknown>();
  connection!: HubConnection; // set by `startPage`, before anything is asked
  onSignOut: () => void = () => {};

  constructor(
    public changed: () => void,
    public asked: (asked: Asked) => void,
    public ended: (session: SessionInfo) => void,
    public heardMany: () => void,
    /** The hub, if it is another one than that of the page. */
    readonly hub: OtherHub | null = null,
  ) {
    this.token = hub ? hub.token : takeToken();
    this.pairingCode = hub ? "" : takePairingCode();
    this.seen = recallJson<Record<string, string>>(this.seenName, {});
    this.fresh = recall(this.seenName) === "";
  }

  get key(): string {
    return this.hub?.key ?? "";
  }

  private get seenName(): string {
    return this.hub ? `seen.${this.key}` : "seen";
  }

  /** From where a session is read. */
  readerOf(sessionId: string): { cwd: string; home: string; by: string; mayRule: boolean } {
    return { cwd: this.sessions.get(sessionId)?.cwd ?? "", home: this.home, by: this.by, mayRule: this.mayRule };
  }

  hashOf(sessionId: string, part = ""): string {
    return sessionHash(this.key, sessionId, part);
  }

  get rpc(): Rpc {
    return this.connection.rpc;
  }

  start(): void {
    if (this.hub) return this.connection.start();
    window.addEventListener("storage", (event) => this.onStorage(event.key));
    this.offline.start();
    if (this.pairingCode) void this.pair(this.pairingCode);
    else if (this.token || !this.connection.needsToken) this.connection.start();
    else this.refuse("");
  }

  /** Get a token of our own for a code. If the hub refuses, a token that we have already stays in use. */
  async pair(code: string): Promise<void> {
    this.pairingCode = "";
    this.connection.stop();
    this.health = "connecting";
    this.changed();
    const result = await exchangeCode(code);
    if ("token" in result) return this.signIn(result.token);
    if (!this.token) return this.refuse(result.reason);
    this.connection.start();
    this.say(result.reason);
  }

  signIn(token: string): void {
    if (token.trim() !== this.token) void this.offline.wipe().catch(() => null); // what it may read may differ
    this.token = token.trim();
    remember("token", this.token);
    this.connection.stop();
    this.connection.start();
  }

  /** Forgets the token and everything that was read or written with it. */
  signOut(): void {
    forgetAll();
    this.token = "";
    this.connection.stop();
    void this.offline.wipe().catch(() => null);
    void leavePush().catch(() => null);
    this.couriers.clear();
    this.seen = {};
    this.fresh = true;
    this.loaded = false;
    this.sessions.clear();
    this.inbox.clear();
    this.open = null;
    this.beside = null;
    this.feed.progress.clear();
    this.onSignOut();
    this.refuse("");
  }

  /** The person takes this hub out of the page: nothing of it stays. */
  forget(): void {
    remember(this.seenName, "");
    for (const name of this.outboxNames()) dropAll(name);
  }

  private refuse(why: string): void {
    this.health = "refused";
    this.why = why;
    this.changed();
  }

  /** Another tab has written something. */
  private onStorage(key: string | null): void {
    if (this.token && !recall("token") && this.connection.needsToken) return this.signOut();
    if (key?.startsWith("dragoman.outbox")) for (const conversation of this.conversations()) conversation.readOutbox();
  }

  async opened(rpc: Rpc): Promise<void> {
    const answer = await rpc.call("initialize", {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false, elicitation: { form: {}, url: {} } },
      clientInfo: surroundings.client,
      _meta: { dragoman: { cursors: true, events: true, lazy: true, client: this.clientId } },
    });
    const hub = answer?._meta?.dragoman ?? {};
    this.capabilities = answer?.agentCapabilities ?? {};
    this.agents = Array.isArray(hub.agents) ? hub.agents : [];
    this.defaultAgent = hub.agent ?? this.agents[0]?.name ?? "";
    this.scopes = new Set(hub.scopes ?? []);
    [this.by, this.folder, this.home] = [hub.by, hub.folder, hub.home].map((told) => String(told ?? ""));
    this.namedHubs = Array.isArray(hub.hubs) ? hub.hubs.map(String) : [];
    this.questions.clear();
    await rpc.call("_dragoman/hub/watch", { on: true });
    await this.refresh(rpc);
    // Looked up anew each time: who goes elsewhere meanwhile is not attached by `show`, because this is not live yet.
    for (let next; (next = this.shown().find((shown) => !shown.follows(rpc))); ) await next.attach(rpc);
    void this.sendWaiting(rpc);
    if (!this.hub && isPushOn()) void subscribe(rpc).catch(() => null); // settings say why, when somebody looks
  }

  /** What was written in sessions that are not shown is sent as well. */
  private async sendWaiting(rpc: Rpc): Promise<void> {
    const ids = this.outboxNames().map((name) => name.slice(this.key ? this.key.length + 1 : 0));
    for (const id of ids) {
      if (this.shown().some((shown) => shown.id === id)) continue; // now, or since a former one was attached
      const courier = this.couriers.get(id) ?? this.conversation(id)!;
      if (!courier.hasToSend) continue;
      this.couriers.set(id, courier);
      await courier.attach(rpc);
    }
  }

  /** Of sessions of this hub in which something waits to be sent. */
  private outboxNames(): string[] {
    return Object.keys(outboxCounts()).filter((name) => (this.hub ? name.startsWith(`${this.key}/`) : !name.includes("/")));
  }

  /** A session that is not shown is followed until the hub has what was written in it. */
  private dismissCouriers(): void {
    for (const [id, courier] of this.couriers) {
      if (courier.hasToSend) continue;
      this.couriers.delete(id);
      this.detach(id);
    }
  }

  private detach(sessionId: string): void {
    void this.rpc.call("_dragoman/hub/detach", { sessionId }).catch(() => null);
  }

  /** Messages that wait to be sent. Those that are on their way in a session that is shown are not counted. */
  get toSend(): number {
    const counts = outboxCounts();
    const counted = this.outboxNames().reduce((sum, name) => sum + counts[name], 0);
    const onTheirWay = this.health === "live" ? this.shown().flatMap(({ sending }) => sending.filter(({ error }) => !error)).length : 0;
    return Math.max(0, counted - onTheirWay);
  }

  /** The list as it was when the hub last told it. */
  restore(sessions: SessionInfo[], scopes: string[]): void {
    this.sessions = new Map(sessions.map((session) => [session.sessionId, session]));
    this.scopes = new Set(scopes);
  }

  /** Reads everything anew, what is shown included: the other end has gone back in time. */
  async reopen(): Promise<void> {
    [this.open, this.beside] = [this.open, this.beside].map((shown) => this.conversation(shown?.id ?? null));
    this.lastWords.clear();
    this.feed.progress.clear();
    await this.opened(this.rpc);
  }

  /** The sessions that are on the screen as conversations. */
  shown(): Conversation[] {
    return [this.open, this.beside].filter((conversation) => conversation !== null);
  }

  /** Those that are shown, and those that are followed because something is to be sent. */
  conversations(): Conversation[] {
    return [...this.shown(), ...this.couriers.values()];
  }

  async refresh(rpc = this.rpc): Promise<void> {
    const [listed, waiting] = await Promise.all([
      rpc.call<{ sessions: SessionInfo[]; nextCursor?: string }>("_dragoman/hub/sessions", this.listing()),
      rpc.call<{ requests: Asked[]; denials?: Denied[] }>("_dragoman/hub/inbox", {}),
    ]);
    this.sessions = new Map(listed.sessions.map((session) => [session.sessionId, this.own(session)]));
    this.nextCursor = listed.nextCursor ?? "";
    this.inbox = new Map(waiting.requests.map((asked) => [nameOf(this.own(asked)), asked]));
    this.denied.clear();
    for (const denied of waiting.denials ?? []) this.onDenied(denied);
    this.loaded = true;
    if (this.fresh) this.markSeen(...listed.sessions);
    this.fresh = false;
    this.offline.onListing();
    this.changed();
    void this.readLastLines(rpc, listed.sessions);
  }

  /** Marks what this hub has told as its own, whatever the hub says of that. */
  private own<T extends { hub?: string }>(told: T): T {
    if (this.hub || told.hub) told.hub = this.key;
    return told;
  }

  /** Of child sessions that spoke before this page listened. A hub that cannot tell them leaves the tree without. */
  private async readLastLines(rpc: Rpc, sessions: SessionInfo[]): Promise<void> {
    const sessionIds = sessions.filter((session) => session.parent).map((session) => session.sessionId);
    if (!sessionIds.length) return;
    const answer = await rpc.call<{ progress: Progress[] }>("_dragoman/hub/progress", { sessionIds }).catch(() => null);
    for (const { sessionId, line } of answer?.progress ?? []) {
      if (line && !this.lastWords.has(sessionId)) this.lastWords.set(sessionId, `${line.text}\n`);
    }
    this.changed();
  }

  private listing(): { limit: number; archived: string } {
    return { limit: 50, archived: this.withArchived ? "include" : "exclude" };
  }

  /** Archived sessions are listed when somebody asks for them. */
  async toggleArchived(): Promise<void> {
    this.withArchived = !this.withArchived;
    await this.refresh();
  }

  async moreSessions(): Promise<void> {
    if (!this.nextCursor) return;
    const listed = await this.rpc.call<{ sessions: SessionInfo[]; nextCursor?: string }>(
      "_dragoman/hub/sessions", { ...this.listing(), cursor: this.nextCursor },
    );
    for (const session of listed.sessions) this.sessions.set(session.sessionId, this.own(session));
    this.nextCursor = listed.nextCursor ?? "";
    this.changed();
    void this.readLastLines(this.rpc, listed.sessions);
  }

  fared(health: Health, detail: { why: string; retryAt: number }): void {
    this.health = health;
    if (health !== "connecting") this.why = detail.why;
    this.retryAt = detail.retryAt;
    if (health === "offline") {
      for (const shown of this.shown()) shown.onOffline();
      void this.offline.restore();
    }
    // A device whose token was taken from it keeps nothing to read; what was written on it waits for its next token.
    if (health === "refused" && !this.hub) void this.offline.wipe().catch(() => null);
    this.changed();
  }

  heard(message: Message): void {
    const params = message.params ?? {};
    switch (message.method) {
      case "_dragoman/hub/session":
        return this.sessionChanged(params.session);
      case "_dragoman/hub/asked":
        return this.waits(params.request);
      case "_dragoman/hub/judged":
        return this.judged(params);
      case "_dragoman/hub/denied":
        this.onDenied(params as Denied);
        return this.changed();
      case "_dragoman/hub/settled":
        return this.settled(params.sessionId, params.request);
      case "$/cancel_request":
        return this.takenBack(params.requestId);
    }
    if (message.id !== undefined) this.request(message);
    if (message.method === "session/update") this.keepWords(params.sessionId, params.update);
    for (const conversation of this.conversations()) {
      if (params.sessionId !== conversation.id) continue;
      conversation.hear(message);
      if (conversation.waiting >= MANY) conversation.work();
      this.offline.onHeard(conversation);
      this.heardMany();
    }
  }

  /** Questions of agents come to everybody who may answer; the answer goes by the question's name, see `answer`. */
  private request(message: Message): void {
    const known = message.method === "session/request_permission" || message.method === "elicitation/create";
    if (known) this.questions.set(String(message.id), message.id);
    else this.rpc.refuse(message.id, -32601, "this page does not offer that");
  }

  /** The last words of a child session, for the tree of its parent. */
  private keepWords(sessionId: string, update: any): void {
    if (update?.sessionUpdate !== "agent_message_chunk" || typeof update.content?.text !== "string") return;
    if (!this.sessions.get(sessionId)?.parent) return;
    this.lastWords.set(sessionId, ((this.lastWords.get(sessionId) ?? "") + update.content.text).slice(-400));
    this.changed();
  }

  /** The session of a client for which a session works; itself, unless it is a child. */
  rootOf(sessionId: string): string {
    let id = sessionId;
    for (let level = 0; level < 16; level += 1) {
      const parent = this.sessions.get(id)?.parent;
      if (!parent) break;
      id = parent;
    }
    return id;
  }

  private takenBack(id: unknown): void {
    if (this.questions.delete(String(id))) this.rpc.refuse(id, -32800, "answered elsewhere");
  }

  private sessionChanged(session: SessionInfo | undefined): void {
    if (!session?.sessionId) return;
    const before = this.sessions.get(session.sessionId);
    session.movedAt = before?.state === "running" && session.state === "running" ? (before.movedAt ?? before.updatedAt) : session.updatedAt;
    this.sessions.set(session.sessionId, this.own(session));
    const worked = before?.state === "running" || before?.state === "waiting";
    const ended = worked && (session.state === "idle" || session.state === "failed");
    if (ended) this.ended(session);
    for (const shown of this.shown()) {
      if (shown.id !== session.sessionId) continue;
      shown.info = session;
      if (ended) void shown.review(this.rpc);
      if (document.visibilityState === "visible") this.markSeen(session);
    }
    this.offline.onListing();
    this.feed.hurry();
    if (this.shown().some(({ id }) => id === session.sessionId)) this.changed();
    else this.listChanged();
  }

  private waits(asked: Asked | undefined): void {
    if (!asked?.request) return;
    const name = nameOf(this.own(asked));
    const known = this.inbox.has(name);
    this.inbox.set(name, asked);
    if (!known) this.asked(asked);
    this.changed();
  }

  /** The rules took longer than the question: it is the same one, known better. */
  private judged({ sessionId, request, risks, risksNote }: Asked): void {
    const name = nameOf({ hub: this.key, sessionId, request });
    const asked = this.inbox.get(name);
    if (!asked) return;
    this.inbox.set(name, { ...asked, risks, risksNote });
    this.changed();
  }

  private onDenied(denied: Denied): void {
    this.denied.set(`${denied.sessionId}\0${denied.remedy}`, this.own(denied));
    for (const name of [...this.denied.keys()].slice(0, -10)) this.denied.delete(name);
  }

  /** A rule allows it now. */
  onAllowed(sessionId: string, remedy: string): void {
    this.denied.delete(`${sessionId}\0${remedy}`);
    this.changed();
  }

  /** Who changes rules answers for others, too. */
  get mayRule(): boolean {
    return !this.scopes.size || (this.scopes.has("approve") && this.scopes.has("admin"));
  }

  private settled(sessionId: string, request: string): void {
    this.inbox.delete(nameOf({ hub: this.key, sessionId, request }));
    this.changed();
  }

  /** False when somebody else was faster. The card goes at once; should the answer fail, it comes back. */
  async answer(asked: Asked, result: object): Promise<boolean> {
    const name = nameOf(asked);
    this.inbox.delete(name);
    this.changed();
    try {
      const { sessionId, request, askedAt } = asked;
      const answer = await this.rpc.call<{ settled: boolean }>("_dragoman/hub/answer", { sessionId, request, askedAt, result });
      if (!answer.settled) this.say("Another person or device answered first.");
      return answer.settled;
    } catch (error) {
      this.inbox.set(name, asked);
      this.say(`Your answer was not accepted: ${error instanceof Error ? error.message : error}`);
      return false;
    }
  }

  /** Shows one session, or two beside each other; what is shown already stays as it is. */
  show(id: string | null, besideId: string | null = null): void {
    const before = this.shown();
    const kept = (wanted: string | null): Conversation | null => before.find((shown) => shown.id === wanted) ?? null;
    const wanted = [id, besideId === id ? null : besideId];
    if (this.open?.id === wanted[0] && (this.beside?.id ?? null) === wanted[1]) return;
    [this.open, this.beside] = wanted.map((one) => kept(one) ?? this.conversation(one));
    for (const left of before.filter((shown) => !this.shown().includes(shown))) {
      if (left.hasToSend) this.couriers.set(left.id, left);
      else {
        left.leave();
        this.detach(left.id);
      }
    }
    for (const opened of this.shown().filter((shown) => !before.includes(shown))) {
      this.couriers.delete(opened.id);
      if (this.health === "live" && !opened.follows(this.rpc)) void opened.attach(this.rpc);
    }
    if (this.health !== "live") void this.offline.restore();
    this.looked();
    this.changed();
  }

  private conversation(id: string | null): Conversation | null {
    if (id === null) return null;
    const onChange = (): void => {
      this.dismissCouriers();
      this.changed();
    };
    const courier = this.couriers.get(id);
    return courier ?? new Conversation(id, this.sessions.get(id) ?? null, onChange, (page, before) => this.offline.onPage(id, page, before), identityOf({ hub: this.key, sessionId: id }));
  }

  unread(session: SessionInfo): boolean {
    return session.cursor !== undefined && this.seen[session.sessionId] !== session.cursor;
  }

  /** Somebody looks at the page again: what is open counts as read. */
  looked(): void {
    if (document.visibilityState !== "visible") return;
    for (const { id } of this.shown()) {
      const session = this.sessions.get(id);
      if (session) this.markSeen(session);
    }
  }

  private markSeen(...sessions: SessionInfo[]): void {
    const moved = sessions.filter(({ sessionId, cursor }) => cursor !== undefined && this.seen[sessionId] !== cursor);
    if (!moved.length) return;
    for (const { sessionId, cursor } of moved) this.seen[sessionId] = cursor!;
    remember(this.seenName, JSON.stringify(this.seen));
  }

  say(text: string): void {
    this.said = text;
    this.changed();
    window.setTimeout(() => {
      if (this.said === text) this.say("");
    }, 4000);
  }

  may(scope: string): boolean {
    return !this.scopes.size || this.scopes.has(scope) || this.scopes.has("admin");
  }
}

export function nameOf(asked: Pick<Asked, "hub" | "sessionId" | "request">): string {
  return `${identityOf(asked)}\0${asked.request}`;
}
