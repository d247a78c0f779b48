/**
 * Messages that the hub is not known to have, in the browser's storage: by session (`identityOf`), in the order in which they were
 * written. Several tabs share it, so everything is read anew before it is changed.
 */

import { recall, recallJson, remember } from "./memory";
import type { Sending } from "./steering";

/** How many such messages each session has: to count them, they need not be read. */
const INDEX = "outbox";

const nameOf = (sessionId: string): string => `outbox.${sessionId}`;

export function outboxCounts(): Record<string, number> {
  return recallJson<Record<string, number>>(INDEX, {});
}

export function waitingIn(sessionId: string): Sending[] {
  return recall(nameOf(sessionId)) ? recallJson<Sending[]>(nameOf(sessionId), []) : [];
}

/** Adds a message, or stores how it is now in the place that it had. False if it is too large to be kept over a reload. */
export function store(sessionId: string, sending: Sending, formerKey = sending.key): boolean {
  const all = waitingIn(sessionId);
  const at = all.findIndex(({ key }) => key === formerKey);
  if (at < 0) all.push(sending);
  else all[at] = sending;
  return write(sessionId, all);
}

export function drop(sessionId: string, key: string): void {
  const all = waitingIn(sessionId);
  if (all.some((sending) => sending.key === key)) write(sessionId, all.filter((sending) => sending.key !== key));
}

/** Everything that waits in a session. */
export function dropAll(sessionId: string): void {
  write(sessionId, []);
}

function write(sessionId: string, all: Sending[]): boolean {
  const isKept = remember(nameOf(sessionId), all.length ? JSON.stringify(all) : "");
  const { [sessionId]: _before, ...others } = outboxCounts();
  const counts = all.length ? { ...others, [sessionId]: all.length } : others;
  remember(INDEX, Object.keys(counts).length ? JSON.stringify(counts) : "");
  return isKept;
}

/** Whether it can be taken back: it has never left, or the hub has refused it. */
export function canTakeBack({ isTried, error }: Sending): boolean {
  return !isTried || error !== undefined;
}
