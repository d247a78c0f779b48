/**
 * The turns of a conversation, for the rail beside it: where each begins, what it was about and how it went. Follows
 * a list of items that grows by its end; a page in front makes a new list, which is read anew.
 */

import { type Item, textOf } from "./items";

export type TurnState = "running" | "waiting" | "done" | "stopped" | "failed";

export interface TurnMark {
  first: Item;
  title: string;
  state: TurnState;
}

const TITLE = 80;
/** The worst state of several turns is the one that their common mark shows. */
const WEIGHTS: Record<TurnState, number> = { done: 0, stopped: 1, running: 2, waiting: 3, failed: 4 };

export class Turns {
  list: TurnMark[] = [];
  private items: Item[] = [];
  private count = 0;
  private turnOfItem = new WeakMap<Item, TurnMark>();

  /** `now` is how the last turn is doing, should it not have ended. */
  update(items: Item[], now: TurnState): void {
    if (items !== this.items) this.begin(items);
    for (; this.count < items.length; this.count += 1) this.add(items[this.count]);
    const last = this.list.at(-1);
    const end = items.at(-1);
    if (last && end?.kind !== "end") last.state = now;
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
    this.join(items, later);
    this.count = front + before.length;
  }

  /** The first turn that was known may have begun in the page in front. */
  private join(items: Item[], later: TurnMark[]): void {
    const first = later[0];
    const open = first && !isBeginning(first.first) ? this.list.pop() : undefined;
    if (open) {
      for (let at = this.count - 1; at >= 0 && this.turnOfItem.get(items[at]) === open; at -= 1) this.turnOfItem.set(items[at], first);
      first.first = open.first;
      first.title = open.title;
    }
    this.list.push(...later);
  }

  turnOf(item: Item): TurnMark | undefined {
    return this.turnOfItem.get(item);
  }

  private add(item: Item): void {
    let turn = this.list.at(-1);
    if (!turn || isBeginning(item)) {
      turn = { first: item, title: titleOf(item), state: "done" };
      this.list.push(turn);
    }
    this.turnOfItem.set(item, turn);
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
