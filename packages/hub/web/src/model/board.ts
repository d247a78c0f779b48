/**
 * The board: all sessions in columns by what they need, and how each gets on. Moving in it is a matter of values alone;
 * what the hub knows of each session's progress is asked for in one call, again while turns run, and only while somebody looks.
 */

import type { Rpc } from "../wire/rpc";
import { identityOf } from "./hubs";
import type { SessionInfo, Usage } from "./types";

export interface Progress {
  sessionId: string;
  cursor?: string;
  line?: { kind: string; text: string; time?: number };
  usage?: Usage | null;
  /** Seconds since 1970, while a turn runs. */
  turnStarted?: number;
  changes?: { files: number; added: number; removed: number };
}

export type ColumnName = "needs" | "running" | "done" | "failed";

export interface Column {
  name: ColumnName;
  title: string;
  sessions: SessionInfo[];
}

export interface BoardFilter {
  agent: string;
  text: string;
  /** The key of a hub, or `home`; missing or empty for all. */
  hub?: string;
}

const TITLES: [ColumnName, string][] = [["needs", "Needs you"], ["running", "Running"], ["done", "Done"], ["failed", "Failed"]];
const COLUMN_OF: Record<string, ColumnName> = { waiting: "needs", running: "running", failed: "failed" };

/** By the time at which they moved last: a session that works stays where it is with each of its words. Times of the hub are ASCII: no need for the rules of a language, which are slow. */
export function latestFirst(one: SessionInfo, other: SessionInfo): number {
  const first = one.movedAt ?? one.updatedAt ?? "";
  const second = other.movedAt ?? other.updatedAt ?? "";
  return first < second ? 1 : first > second ? -1 : 0;
}

/** Sessions without those of subagents, which are found in the session that they work for; one whose parent is not listed stays. */
export function withoutChildren(sessions: SessionInfo[], keeps: (session: SessionInfo) => boolean = () => false): SessionInfo[] {
  const listed = new Set(sessions.map(identityOf));
  const isBelow = (session: SessionInfo): boolean => !!session.parent && listed.has(identityOf({ hub: session.hub, sessionId: session.parent }));
  return sessions.filter((session) => keeps(session) || !isBelow(session));
}

export function columnsOf(sessions: Iterable<SessionInfo>, filter: BoardFilter): Column[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (session: SessionInfo): boolean => {
    const isWanted = (!filter.hub || (session.hub || "home") === filter.hub) && (!filter.agent || session.agent === filter.agent);
    if (!isWanted || !words.length) return isWanted;
    const text = `${session.title ?? ""} ${session.agent} ${session.cwd}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const columns = TITLES.map(([name, title]): Column => ({ name, title, sessions: [] }));
  for (const session of sessions) {
    const name = COLUMN_OF[session.state] ?? "done";
    if (fits(session)) columns.find((column) => column.name === name)!.sessions.push(session);
  }
  for (const column of columns) {
    // What waits longest is first; of everything else what moved last is.
    column.sessions.sort(latestFirst);
    if (column.name === "needs") column.sessions.reverse();
  }
  return columns;
}

/** The next session below or above; the columns follow each other. */
export function stepDown(columns: Column[], id: string, by: number): string {
  const all = columns.flatMap((column) => column.sessions);
  const at = all.findIndex((session) => identityOf(session) === id);
  const next = at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by));
  return all[next] ? identityOf(all[next]) : "";
}

/** The session beside it, in the next column that has any, at the same height if that is filled. */
export function stepAcross(columns: Column[], id: string, by: number): string {
  const filled = columns.filter((column) => column.sessions.length);
  const at = filled.findIndex((column) => column.sessions.some((session) => identityOf(session) === id));
  if (at < 0) return filled.length ? identityOf(filled[0].sessions[0]) : "";
  const row = filled[at].sessions.findIndex((session) => identityOf(session) === id);
  const { sessions } = filled[Math.max(0, Math.min(filled.length - 1, at + by))];
  return identityOf(sessions[Math.min(row, sessions.length - 1)]);
}

/** What the sessions cost together, in each currency. */
export function totalCost(progress: Iterable<Progress>): Map<string, number> {
  const total = new Map<string, number>();
  for (const { usage } of progress) {
    const { amount, currency } = usage?.cost ?? {};
    if (typeof amount === "number" && currency) total.set(currency, (total.get(currency) ?? 0) + amount);
  }
  return total;
}

/** How long, as it is read at a glance: `8 s`, `4:05 min`, `2 h 07 min`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (number: number): string => String(number).padStart(2, "0");
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

const EVERY_MS = 1500;
const MOST = 100;

interface Source {
  sessions: Map<string, SessionInfo>;
  rpc: Rpc;
}

export class ProgressFeed {
  readonly progress = new Map<string, Progress>();
  private timer = 0;
  private isAsking = false;
  private isShown = false;

  constructor(private source: Source, private changed: () => void) {}

  /** Whether somebody looks at the board. */
  show(isShown: boolean): void {
    if (isShown === this.isShown) return;
    this.isShown = isShown;
    window.clearTimeout(this.timer);
    if (isShown) void this.look();
  }

  /** A session has moved: what is known of it is asked for soon, if it is looked at. */
  hurry(): void {
    if (!this.isShown || this.isAsking) return;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(), 150);
  }

  /** Sessions that have moved since they were asked about, and those that may be moving. */
  stale(): string[] {
    const moved = [...this.source.sessions.values()].filter((session) => {
      const known = this.progress.get(session.sessionId);
      return !known || session.state === "running" || known.turnStarted !== undefined || known.cursor !== session.cursor;
    });
    return moved.slice(0, MOST).map((session) => session.sessionId);
  }

  async look(): Promise<void> {
    const sessionIds = this.stale();
    this.isAsking = true;
    try {
      if (sessionIds.length) {
        const answer = await this.source.rpc.call<{ progress: Progress[] }>("_dragoman/hub/progress", { sessionIds });
        for (const progress of answer.progress) this.progress.set(progress.sessionId, progress);
        this.changed();
      }
    } catch {
      // the connection is gone, or the hub is older than this page: the board shows what it has
    }
    this.isAsking = false;
    window.clearTimeout(this.timer);
    if (this.isShown) this.timer = window.setTimeout(() => void this.look(), document.visibilityState === "visible" ? EVERY_MS : 4 * EVERY_MS);
  }
}
