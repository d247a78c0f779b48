/**
 * Which part of a session is read: its end, which grows as messages come, or a window far from it. Pages come in front of
 * either, and behind a window, until that touches the end and is joined with it. To go somewhere costs one request: what
 * lies between is not fetched.
 */

import type { Rpc } from "../wire/rpc";
import { Fold } from "./fold";
import { entryOf } from "./items";
import { prepend } from "./joining";
import { moment } from "./time";
import type { OutlineTurn } from "./turns";
import type { Message } from "./types";

/** A message of the archive, where secrets are covered. */
export interface Stored {
  cursor: string;
  time?: string | number;
  message: Message;
}

interface HistoryPage {
  messages: Stored[];
  more?: boolean;
  /** Of a page behind a place: where the next one begins. */
  cursor?: string;
}

/** Entries of the hub's journal in a page, and those that a window has in front of the place it was made for. */
const PAGE = 500;
const CONTEXT = 250;

interface HistoryWindow {
  fold: Fold;
  /** The first and the last entry. */
  first: number;
  last: number;
}

export class History {
  /** Where turns begin, of the whole session. */
  outline: OutlineTurn[] = [];
  private window: HistoryWindow | null = null;
  /** The end begins with this entry. */
  private tail = { first: 1 };
  /** Counts where somebody wanted to go: what comes for a former wish is not shown. */
  private goal = 0;
  private fetching: Promise<boolean> | null = null;

  constructor(
    private id: string,
    private end: () => Fold,
    private changed: () => void,
    /** Hears of each page in front, and of what it was asked to be before. */
    private onPage: (page: Stored[], before: string) => void,
  ) {}

  /** What is read now. */
  get fold(): Fold {
    return this.window?.fold ?? this.end();
  }

  private get part(): { first: number } {
    return this.window ?? this.tail;
  }

  get hasEarlier(): boolean {
    return this.part.first > 1;
  }

  get hasLater(): boolean {
    return this.window !== null;
  }

  folded(messages: Stored[]): Fold {
    const fold = new Fold(this.id);
    for (const { message, cursor, time } of messages) fold.apply(message, cursor, moment(time));
    return fold;
  }

  /** The last page of the session. */
  async open(rpc: Rpc): Promise<Stored[]> {
    this.window = null;
    const { messages, first } = await this.pageBefore(rpc, "");
    this.tail.first = first;
    return messages;
  }

  /** Where its turns are, if not all of them are here. */
  async readOutline(rpc: Rpc): Promise<void> {
    if (!this.hasEarlier) return;
    const answer = await rpc.call<{ turns: OutlineTurn[] }>("_dragoman/hub/turns", { sessionId: this.id }).catch(() => null);
    this.outline = answer?.turns ?? [];
    this.changed();
  }

  /** One more page of what was before; false when there is none. Whoever asks while one is coming waits for that. */
  earlier(rpc: Rpc): Promise<boolean> {
    return this.hasEarlier ? this.fetch(() => this.fetchEarlier(rpc)) : Promise.resolve(false);
  }

  /** One more page behind a window. */
  later(rpc: Rpc): Promise<boolean> {
    return this.hasLater ? this.fetch(() => this.fetchLater(rpc)) : Promise.resolve(false);
  }

  /** Somebody wants to be somewhere. Whether that is still their last wish, is for the function to say. */
  aim(): () => boolean {
    const goal = (this.goal += 1);
    return () => goal === this.goal;
  }

  /** Reads on at an entry; false if it cannot be had. */
  async goTo(rpc: Rpc, entry: number, isWanted = this.aim()): Promise<boolean> {
    while (this.fetching) await this.fetching;
    if (!isWanted()) return false;
    if (entry >= this.tail.first - PAGE) {
      this.leaveWindow();
      if (entry < this.tail.first) await this.earlier(rpc);
    }
    return this.has(entry) || this.fetch(() => this.openWindow(rpc, entry, isWanted));
  }

  /** Everything up to the end. */
  async readAll(rpc: Rpc): Promise<void> {
    this.toEnd();
    while (await this.earlier(rpc));
  }

  toEnd(): void {
    this.aim();
    this.leaveWindow();
  }

  private leaveWindow(): void {
    if (!this.window) return;
    this.window = null;
    this.changed();
  }

  private has(entry: number): boolean {
    return entry >= this.part.first && entry <= (this.window?.last ?? Infinity);
  }

  /** A page that does not come changes nothing, and is asked for again by the next scroll. */
  private fetch(act: () => Promise<void>): Promise<boolean> {
    this.fetching ??= act().finally(() => (this.fetching = null)).then(() => {
      this.changed();
      return true;
    }, () => false);
    return this.fetching;
  }

  private async page(rpc: Rpc, where: object): Promise<HistoryPage> {
    return rpc.call<HistoryPage>("_dragoman/hub/history", { sessionId: this.id, limit: PAGE, ...where });
  }

  private async pageBefore(rpc: Rpc, before: string): Promise<{ messages: Stored[]; first: number }> {
    const { messages, more } = await this.page(rpc, before ? { before } : {});
    this.onPage(messages, before);
    return { messages, first: more && messages.length ? entryOf(messages[0].cursor) : 1 };
  }

  private async fetchEarlier(rpc: Rpc): Promise<void> {
    const { window } = this;
    const { messages, first } = await this.pageBefore(rpc, String((window ?? this.tail).first));
    if (this.window !== window) return;
    prepend(this.fold, this.folded(messages));
    (window ?? this.tail).first = first;
  }

  private async fetchLater(rpc: Rpc): Promise<void> {
    const window = this.window!;
    const { fold, last } = await this.readBehind(rpc, window.last, PAGE);
    prepend(fold, window.fold);
    if (this.window === window) this.show({ fold, first: window.first, last });
  }

  private async openWindow(rpc: Rpc, entry: number, isWanted: () => boolean): Promise<void> {
    const before = Math.max(0, entry - 1 - CONTEXT);
    const { fold, last } = await this.readBehind(rpc, before, PAGE + CONTEXT);
    if (isWanted()) this.show({ fold, first: before + 1, last });
  }

  private async readBehind(rpc: Rpc, entry: number, most: number): Promise<{ fold: Fold; last: number }> {
    const page = await this.page(rpc, { after: String(entry), limit: Math.min(most, this.tail.first - 1 - entry) });
    if (!page.cursor) throw new Error("this hub can load history only from its end");
    return { fold: this.folded(page.messages), last: entryOf(page.cursor) };
  }

  private show(window: HistoryWindow): void {
    this.window = window;
    if (window.last < this.tail.first - 1) return window.fold.pause();
    prepend(this.end(), window.fold);
    this.tail.first = window.first;
    this.window = null;
  }
}
