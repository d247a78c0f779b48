/**
 * One session that is open on the screen: its fold, its cursor, its pages of history, and the prompts on their way.
 * Messages wait in a line and are folded a little at a time, so that a flood never freezes the page; how long the
 * line is, is said. Knows the hub's methods, not how anything looks.
 */

import { Gone, type Rpc, RpcError } from "../wire/rpc";
import { Fold } from "./fold";
import { uniqueName } from "./memory";
import { drop, store, waitingIn } from "./outbox";
import { History, type Stored } from "./history";
import { DOUBT, type Sending, type SteeringWay, baseOf, blocksOf, isAccepted, joinPrompts, steerCall } from "./steering";
import { Terminals } from "./terminals";
import type { ContentBlock, FileChange, Message, SessionInfo, Snapshot } from "./types";

/** A slice of a frame: the rest belongs to layout and to the person. */
const BUDGET_MS = 6;

export class Conversation {
  fold: Fold;
  state: "opening" | "open" | "failed" = "opening";
  why = "";
  cursor = "";
  readonly history: History;
  sending: Sending[] = [];
  changes: FileChange[] | null = null;
  /** What changed while the turn ran and is not known to be this session's. */
  others: FileChange[] = [];
  changeNotes: string[] = [];
  /** The cursor up to which a reconnected page still has to hear; empty when it is up to date. */
  behind = "";
  /** When the hub last told what is shown, if it cannot be asked now; 0 while it can. */
  asOf = 0;
  private kept = new Set<string>();
  private line: Message[] = [];
  private ready = false;
  private terminals: Terminals;
  private rpc: Rpc | null = null;
  /** Whom it was asked from last, answered or not. */
  private attachedTo: Rpc | null = null;

  constructor(
    readonly id: string,
    public info: SessionInfo | null,
    private changed: () => void,
    /** Hears of each page of the archive, and of what it was asked to be before. */
    onPage: (page: Stored[], before: string) => void = () => {},
    /** What its messages to be sent are stored under. */
    private outboxName = id,
  ) {
    this.fold = new Fold(id);
    this.history = new History(id, () => this.fold, changed, onPage);
    this.terminals = new Terminals(id, () => this.fold, changed);
    this.sending = waitingIn(this.outboxName);
  }

  get waiting(): number {
    return this.line.length;
  }

  follows(rpc: Rpc): boolean {
    return this.attachedTo === rpc;
  }

  /** Nobody looks at it any more: it is not asked for, should its history still be on its way. */
  leave(): void {
    this.attachedTo = null;
  }

  async attach(rpc: Rpc): Promise<void> {
    this.attachedTo = rpc;
    try {
      if (this.ready) await this.resume(rpc);
      else await this.open(rpc);
      this.rpc = rpc;
      this.asOf = 0;
      this.dropTaken();
      for (const sending of [...this.sending]) this.sendAgain(rpc, sending);
      this.terminals.follow(rpc);
    } catch (error) {
      if (error instanceof Gone) return; // the next connection tries again
      this.state = "failed";
      this.why = error instanceof Error ? error.message : String(error);
      for (const sending of this.sending) if (!sending.isTried) this.refuse(sending, this.why);
    }
    this.changed();
  }

  /** The last page first, then everything behind it: nothing is missing between the two, and nothing comes twice. */
  private async open(rpc: Rpc): Promise<void> {
    const messages = await this.history.open(rpc);
    if (!this.follows(rpc)) throw new Gone("left");
    this.fold = this.history.folded(messages);
    this.cursor = messages.at(-1)?.cursor ?? "";
    this.line = []; // said to who followed the session before; what the history does not have is told again
    const answer = await rpc.call<{ session: SessionInfo; snapshot?: Snapshot }>(
      "_dragoman/hub/attach", { sessionId: this.id, after: this.cursor },
    );
    this.info = answer.session ?? this.info;
    this.fold.begin(answer.snapshot ?? {});
    this.ready = true;
    this.state = "open";
    void this.review(rpc);
    void this.history.readOutline(rpc);
  }

  /** Everything that is stored of it, without following what comes. */
  async readAll(rpc: Rpc): Promise<void> {
    this.fold = this.history.folded(await this.history.open(rpc));
    await this.history.readAll(rpc);
  }

  /** What was read before, while the hub cannot be asked. The next connection reads everything anew. */
  restore(messages: Stored[], info: SessionInfo | null, asOf: number): void {
    if (this.ready || this.asOf) return;
    this.fold = this.history.folded(messages);
    this.fold.turn = null; // whether it still runs, nobody knows
    this.fold.open.clear();
    this.info ??= info;
    this.state = "open";
    this.asOf = asOf;
    this.changed();
  }

  /** The connection is gone: what is shown is of now, and gets older. */
  onOffline(): void {
    if (this.ready && !this.asOf) this.asOf = Date.now();
  }

  private async resume(rpc: Rpc): Promise<void> {
    const answer = await rpc.call<{ session: SessionInfo }>(
      "_dragoman/hub/attach", { sessionId: this.id, after: this.cursor },
    );
    this.info = answer.session ?? this.info;
    const end = this.info?.cursor ?? "";
    if (end !== this.cursor) this.behind = end;
    if (!this.history.outline.length) void this.history.readOutline(rpc); // it was lost with the connection before
    // Should the last message be none that is shown to clients, nothing else would end this.
    window.setTimeout(() => this.caughtUp(), 3000);
  }

  private caughtUp(): void {
    if (!this.behind) return;
    this.behind = "";
    this.changed();
  }

  hear(message: Message): void {
    const cursor = message.params?._meta?.dragoman?.cursor;
    if (typeof cursor === "string") {
      // Until it is attached, the hub may still tell what it told to who followed the session before.
      if (!this.ready && !isBehind(cursor, this.cursor)) return;
      this.cursor = cursor;
    }
    this.line.push(message);
  }

  /** Folds what waits, as long as the budget of a frame allows; true when something is left. */
  work(now: () => number = () => performance.now()): boolean {
    if (!this.ready || !this.line.length) return false;
    const until = now() + BUDGET_MS;
    let done = 0;
    while (done < this.line.length && (done % 16 !== 0 || now() < until)) {
      this.take(this.line[done]);
      done += 1;
    }
    this.line.splice(0, done);
    this.dropTaken();
    return this.line.length > 0;
  }

  private take(message: Message): void {
    const cursor = message.params?._meta?.dragoman?.cursor;
    const at = typeof cursor === "string" ? cursor : "";
    this.fold.apply(message, at, Date.now());
    if (at && at === this.behind) this.behind = "";
    if (this.sending.length) this.beginAgain();
  }

  prompt(rpc: Rpc, prompt: ContentBlock[]): void {
    this.changes = null;
    this.others = [];
    this.changeNotes = [];
    const sending = this.addSending({ key: uniqueName(), prompt });
    // Else what waits already would come behind it: the next connection sends all of it, in its order.
    if (this.rpc === rpc) void this.deliver(rpc, sending);
  }

  private addSending(sending: Sending): Sending {
    this.sending.push(sending);
    this.keepSending(sending);
    this.changed();
    return sending;
  }

  private keepSending(sending: Sending, formerKey = sending.key): void {
    sending.isFleeting = !store(this.outboxName, sending, formerKey) || undefined;
  }

  /** Another tab has changed the outbox. */
  readOutbox(): void {
    this.sending = waitingIn(this.outboxName).map((stored) => Object.assign(this.sending.find(({ key }) => key === stored.key) ?? stored, stored));
    this.changed();
  }

  /** Other words for a message that the hub does not have. One that was refused is sent once more, as a new one. */
  edit(sending: Sending, prompt: ContentBlock[]): void {
    const formerKey = sending.key;
    Object.assign(sending, { key: sending.isTried ? uniqueName() : formerKey, prompt, error: undefined, isTried: undefined });
    this.keepSending(sending, formerKey);
    if (this.rpc) void this.deliver(this.rpc, sending);
    this.changed();
  }

  private dropTaken(): void {
    const taken = this.sending.filter((sending) => this.fold.taken.has(sending.key));
    if (!taken.length) return;
    for (const { key } of taken) drop(this.outboxName, key);
    this.sending = this.sending.filter((sending) => !taken.includes(sending));
    this.changed();
  }

  /** How the agent is given a message while its turn runs. Of one that is not known to take any, the turn restarts. */
  get steeringWay(): SteeringWay {
    return this.info?.steering ?? "restart";
  }

  /** Whether there is a turn to say it into. The list of sessions may call one running a moment before its turn is heard of. */
  get canSteer(): boolean {
    return Boolean(this.fold.turn?.key);
  }

  /**
   * Says something while a turn runs; where none does, it is a prompt. Rejects with the reason why the agent has not
   * got it, or why nobody knows: the message is then no longer kept here.
   */
  async steer(rpc: Rpc, prompt: ContentBlock[]): Promise<void> {
    const turn = this.fold.turn?.key;
    // Whether that turn will still run when the network is back, nobody knows.
    if (!turn || rpc.isEnded) return this.prompt(rpc, prompt);
    const sending = this.addSending({ key: uniqueName(), prompt, way: this.steeringWay, turn });
    if (sending.way === "restart") this.stopTurn(rpc, turn);
    else await this.offer(rpc, sending);
  }

  private async offer(rpc: Rpc, sending: Sending): Promise<void> {
    try {
      const result = await rpc.call(...steerCall(this.id, sending));
      if (isAccepted(sending.way, result)) return this.forget(sending); // it is in the stream
      sending.way = undefined; // no turn took it: it is a prompt like any other, under the same key
      this.keepSending(sending);
      void this.deliver(rpc, sending);
    } catch (error) {
      if (!(error instanceof Gone)) {
        this.forget(sending);
        throw error;
      }
      sending.error = DOUBT; // should the agent have it, the stream will tell
      this.keepSending(sending);
    }
    this.changed();
  }

  /** That turn and no other, which may have begun meanwhile. */
  private stopTurn(rpc: Rpc, turn: string): void {
    rpc.notify("session/cancel", { sessionId: this.id, _meta: { dragoman: { prompts: [turn] } } });
  }

  /** What is still to be said to a turn that has ended: once more with its prompt if it was stopped, else alone. */
  private beginAgain(): void {
    const ended = this.sending.filter(({ way, turn }) => way === "restart" && turn !== this.fold.turn?.key);
    const [first, ...others] = ended.filter(({ turn }) => turn === ended[0].turn);
    if (!first || !this.rpc) return;
    const turn = first.turn ?? "";
    const item = this.fold.items.findLast((other) => other.kind === "user" && other.key === turn);
    if (this.fold.stops.get(turn) === "cancelled" && item && "parts" in item) first.base = baseOf(blocksOf(item.parts));
    first.prompt = joinPrompts(first.prompt, ...others.map(({ prompt }) => prompt));
    first.way = undefined;
    this.sending = this.sending.filter((sending) => !others.includes(sending));
    for (const { key } of others) drop(this.outboxName, key);
    this.keepSending(first);
    void this.deliver(this.rpc, first);
  }

  /** After a new connection: prompts have keys and never run twice, a message into a turn might. */
  private sendAgain(rpc: Rpc, sending: Sending): void {
    if (!sending.way && sending.error) return; // the hub has refused it: a person decides
    if (!sending.way) void this.deliver(rpc, sending);
    else if (sending.way !== "restart") sending.error = DOUBT;
    else if (this.fold.turn?.key === sending.turn) this.stopTurn(rpc, sending.turn ?? "");
    else this.beginAgain();
  }

  private async deliver(rpc: Rpc, sending: Sending): Promise<void> {
    if (rpc.isEnded) return;
    if (!waitingIn(this.outboxName).some(({ key }) => key === sending.key)) return this.forget(sending); // taken back in another tab
    sending.error = undefined;
    sending.isTried = true;
    this.keepSending(sending);
    const meta = { dragoman: { key: sending.key } };
    const prompt = sending.base ? joinPrompts(sending.base, sending.prompt) : sending.prompt;
    try {
      await rpc.call("session/prompt", { sessionId: this.id, prompt, _meta: meta });
      this.forget(sending);
    } catch (error) {
      if (error instanceof Gone) return; // it is sent again with the same key, and never run twice
      if (error instanceof RpcError && this.fold.taken.has(sending.key)) this.forget(sending);
      else this.refuse(sending, error instanceof Error ? error.message : String(error));
    }
    this.changed();
  }

  private refuse(sending: Sending, reason: string): void {
    sending.error = reason;
    this.keepSending(sending);
  }

  /** Whether something is still to be sent. What was refused waits for a person. */
  get hasToSend(): boolean {
    return this.sending.some(({ error }) => error === undefined);
  }

  forget(sending: Sending): void {
    this.sending = this.sending.filter((other) => other !== sending);
    drop(this.outboxName, sending.key);
    this.changed();
  }

  /** A person has looked at it and lets it be: a file, or one hunk of it. */
  keep(file: FileChange, hunk?: { text: string }): void {
    const hunks = hunk ? [hunk] : (file.hunks ?? []);
    this.kept.add(hunk ? `${file.path}\0${hunk.text}` : `${file.path}\0${file.diff}`);
    file.hunks = (file.hunks ?? []).filter((one) => !hunks.includes(one));
    if (!file.hunks.length) this.changes = (this.changes ?? []).filter((other) => other !== file);
  }

  private unkept(file: FileChange): boolean {
    if (this.kept.has(`${file.path}\0${file.diff}`)) return false;
    if (!file.hunks?.length) return true;
    file.hunks = file.hunks.filter((hunk) => !this.kept.has(`${file.path}\0${hunk.text}`));
    return file.hunks.length > 0;
  }

  /** What the last turn changed on disk; a hub that cannot tell is not asked again until the next turn. */
  async review(rpc: Rpc): Promise<void> {
    try {
      const answer = await rpc.call<{ files: FileChange[]; others?: FileChange[]; notes?: string[] }>("_dragoman/hub/changes", { sessionId: this.id });
      this.changes = (answer.files ?? []).filter((file) => this.unkept(file));
      this.others = answer.others ?? [];
      this.changeNotes = answer.notes ?? [];
    } catch {
      this.changes = null;
      this.others = [];
      this.changeNotes = [];
    }
    this.changed();
  }
}

/** Of an entry in parts, 17.1 stands before 17.2, and 17 is the last. */
function isBehind(cursor: string, other: string): boolean {
  const [entry, part = Infinity] = cursor.split(".").map(Number);
  const [otherEntry, otherPart = Infinity] = other.split(".").map(Number);
  return entry > otherEntry || (entry === otherEntry && part > otherPart);
}
