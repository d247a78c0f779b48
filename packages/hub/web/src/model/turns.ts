/**
 * The turns of a conversation, for the rail beside it: where each begins, what it was about and how it went. Follows
 * a list of items that grows by its end; a page in front makes a new list, which is read anew. Of turns that stand
 * before the list, the hub tells.
 */

import { type Item, entryOf, textOf } from "./items";

export type TurnState = "running" | "waiting" | "done" | "stopped" | "failed";

/** A turn as the hub tells of it: the cursor of its prompt. */
export interface OutlineTurn {
  cursor: string;
  title: string;
  state: TurnState;
}

export interface TurnMark extends OutlineTurn {
  /** Whether its prompt is in the list; else it began before. */
  isWhole: boolean;
}

const TITLE = 80;
/** The worst state of several turns is the one that their common mark shows. */
const WEIGHTS: Record<TurnState, number> = { done: 0, stopped: 1, running: 2, waiting: 3, failed: 4 };

export class Turns {
  /** Those of the whole session. */
  marks: TurnMark[] = [];
  private list: TurnMark[] = [];
  private outline: OutlineTurn[] = [];
  private items: Item[] = [];
  private count = 0;

  /** `now` is how the last turn is doing, should it not have ended. */
  update(items: Item[], now: TurnState, outline: OutlineTurn[] = []): void {
    const former = `${this.list.length} ${this.list[0]?.cursor}`;
    if (items !== this.items) this.begin(items);
    for (; this.count < items.length; this.count += 1) this.add(items[this.count]);
    const last = this.list.at(-1);
    const end = items.at(-1);
    if (last && end?.kind !== "end") last.state = now;
    const isSame = outline === this.outline && former === `${this.list.length} ${this.list[0]?.cursor}`;
    this.outline = outline;
    if (!isSame) this.marks = this.joinOutline();
  }

  /** What the list tells of a turn is newer than what the hub told. */
  private joinOutline(): TurnMark[] {
    const [first] = this.list;
    if (!first) return [];
    const until = entryOf(first.cursor) - (first.isWhole ? 1 : 0);
    const before = this.outline.filter(({ cursor }) => entryOf(cursor) <= until).map((turn) => ({ ...turn, isWhole: true }));
    const open = first.isWhole ? undefined : before.pop();
    if (open) [first.cursor, first.title] = [open.cursor, open.title];
    return [...before, ...this.list];
  }

  /** A list with a page in front of the one that was here costs as much as the page; any other one is read anew. */
  private begin(items: Item[]): void {
    const before = this.items;
    for (; this.count < before.length; this.count += 1) this.add(before[this.count]);
    const front = before.length ? items.indexOf(before[0]) : -1;
    const later = this.list;
    this.items = items;
    this.list = [];
    this.count = 0;
    if (front < 0 || items[front + before.length - 1] !== before.at(-1)) return;
    for (; this.count < front; this.count += 1) this.add(items[this.count]);
    // The first turn that was known may have begun in the page in front.
    const open = later[0]?.isWhole === false ? this.list.pop() : undefined;
    if (open) Object.assign(later[0], { ...open, state: later[0].state });
    this.list.push(...later);
    this.count = front + before.length;
  }

  /** The turn that an item belongs to. */
  turnOf({ cursor }: Item): TurnMark | undefined {
    const entry = entryOf(cursor);
    let low = 0;
    let high = this.marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (entryOf(this.marks[middle].cursor) > entry) high = middle;
      else low = middle + 1;
    }
    return this.marks[Math.max(0, low - 1)];
  }

  private add(item: Item): void {
    let turn = this.list.at(-1);
    if (!turn || isBeginning(item)) {
      turn = { cursor: item.cursor, title: titleOf(item), state: "done", isWhole: isBeginning(item) };
      this.list.push(turn);
    }
    if (item.kind === "end") turn.state = item.error ? "failed" : item.stopReason === "end_turn" || !item.stopReason ? "done" : "stopped";
  }
}

/** What is said into a running turn begins none. */
function isBeginning(item: Item): boolean {
  return item.kind === "user" && item.outcome === undefined;
}

function titleOf(item: Item): string {
  if (item.kind !== "user") return "";
  return textOf(item.parts).slice(0, TITLE * 2).replace(/\s+/g, " ").trim().slice(0, TITLE);
}

/** Neighbours that share a mark where there are more turns than room. */
export interface TurnBucket {
  /** The number of the first of them, from 1. */
  from: number;
  turns: TurnMark[];
  state: TurnState;
}

export function bucketsOf(turns: TurnMark[], most: number): TurnBucket[] {
  const count = Math.min(turns.length, Math.max(1, most));
  return Array.from({ length: count }, (_, at) => {
    const from = Math.floor((at * turns.length) / count);
    const members = turns.slice(from, Math.floor(((at + 1) * turns.length) / count));
    const state = members.reduce((worst, { state }) => (WEIGHTS[state] > WEIGHTS[worst] ? state : worst), members[0].state);
    return { from: from + 1, turns: members, state };
  });
}
