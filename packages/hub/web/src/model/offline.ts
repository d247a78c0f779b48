/**
 * When the copy for reading without a network is written and read. What is read comes from the hub's archive, once more:
 * what was heard live may hold secrets that the archive covers. A failing copy is no reason to complain: it is missing.
 */

import { surroundings } from "../surroundings";
import type { Rpc } from "../wire/rpc";
import type { App } from "./app";
import type { Conversation } from "./conversation";
import type { Stored } from "./history";

/** A copy is made when nothing has come for so long, and at the latest after so long. */
const QUIET_MS = 1500;
const LONGEST_MS = 30_000;
/** A hub that does not answer for so long is not waited for. */
const PATIENCE_MS = 2000;
const PAGE = 500;
/** Pages that are fetched to close the gap between the last copy and the end. */
const MOST_PAGES = 6;

const reading = () => import("./reading");

interface Due {
  /** When it was last called for, and when it is done at the latest. */
  called: number;
  latest: number;
  timer: number;
}

export class OfflineReading {
  /** When the hub last told the list that is shown, if it is a copy; else 0. */
  asOf = 0;
  private due = new Map<string, Due>();
  /** The last entry of each session that is in its copy. */
  private last = new Map<string, number>();

  constructor(private app: App) {}

  private get isOn(): boolean {
    // Of other hubs nothing is kept: the copy is of the hub whose page this is.
    return !this.app.hub && Boolean(this.app.token) && this.app.connection.needsToken && !surroundings.isEmbedded && "indexedDB" in window;
  }

  private get isNeeded(): boolean {
    return this.isOn && this.app.health !== "live";
  }

  /** Acts when nothing has called for it for a moment. Messages call thousands of times a second, so a call moves no timer. */
  private later(name: string, act: () => Promise<void>): void {
    if (!this.isOn) return;
    const called = Date.now();
    const known = this.due.get(name);
    if (known) known.called = called;
    else this.wait(name, { called, latest: called + LONGEST_MS, timer: 0 }, act);
  }

  private wait(name: string, due: Due, act: () => Promise<void>): void {
    this.due.set(name, due);
    due.timer = window.setTimeout(() => {
      const now = Date.now();
      if (now < Math.min(due.called + QUIET_MS, due.latest)) return this.wait(name, due, act);
      this.due.delete(name);
      if (this.isOn && this.app.health === "live") act().catch(() => null);
    }, Math.max(0, Math.min(due.called + QUIET_MS, due.latest) - Date.now()));
  }

  onPage(id: string, page: Stored[], before: string): void {
    if (this.isOn) void this.keep(id, page, before).catch(() => null);
  }

  private async keep(id: string, page: Stored[], before: string): Promise<void> {
    const { keepPage } = await reading();
    if (!this.isOn || !page.length) return;
    if (!before) this.last.set(id, Number.parseInt(page.at(-1)!.cursor, 10));
    await keepPage(id, page, before);
  }

  onHeard(conversation: Conversation): void {
    this.later(conversation.id, () => this.copyEnd(conversation.id, this.app.rpc));
  }

  onListing(): void {
    this.asOf = 0;
    this.later("", async () => {
      const { keepListing } = await reading();
      if (this.isOn) await keepListing([...this.app.sessions.values()].slice(0, 200), [...this.app.scopes]);
    });
  }

  private async copyEnd(id: string, rpc: Rpc): Promise<void> {
    const lastEntry = this.last.get(id) ?? 0;
    let messages: Stored[] = [];
    for (let pages = 0, more = true; pages < MOST_PAGES && more; pages += 1) {
      const before = messages[0]?.cursor;
      const page = await rpc.call<{ messages: Stored[]; more?: boolean }>("_dragoman/hub/history", { sessionId: id, limit: PAGE, ...(before ? { before } : {}) });
      messages = [...page.messages, ...messages];
      more = Boolean(page.more) && page.messages.length > 0 && Number.parseInt(page.messages[0].cursor, 10) > lastEntry;
    }
    await this.keep(id, messages, "");
  }

  /** At the start: what is kept is shown if the hub takes long. */
  start(): void {
    window.setTimeout(() => void this.restore(), PATIENCE_MS);
  }

  /** Shows what is kept of the list and of the open sessions, as long as the hub has not told them. */
  async restore(): Promise<void> {
    if (!this.isNeeded) return;
    const { readListing, readSession } = await reading();
    const listing = this.app.loaded ? undefined : await readListing().catch(() => undefined);
    if (listing && !this.app.loaded && this.isOn) {
      this.asOf = listing.asOf;
      this.app.restore(listing.sessions, listing.scopes);
    }
    for (const shown of this.app.shown()) {
      const copy = await readSession(shown.id).catch(() => undefined);
      if (copy && this.isNeeded) shown.restore(copy.messages, this.app.sessions.get(shown.id) ?? null, copy.asOf);
    }
    this.app.changed();
  }

  /** The hub has forgotten the session: so does this browser. */
  async forget(id: string): Promise<void> {
    window.clearTimeout(this.due.get(id)?.timer);
    this.due.delete(id);
    this.last.delete(id);
    if (this.isOn) await (await reading()).forgetSession(id);
  }

  async wipe(): Promise<void> {
    for (const { timer } of this.due.values()) window.clearTimeout(timer);
    this.due.clear();
    this.last.clear();
    this.asOf = 0;
    if (!surroundings.isEmbedded && "indexedDB" in window) await (await reading()).wipe();
  }
}
