/**
 * What was read last, for reading without a network: sessions as the hub's archive has them, with secrets covered, in
 * the browser's IndexedDB. Never what was said live, and never a token. Bounded: the sessions that were read longest ago
 * go first. Loaded when there is something to keep or to read.
 */

import type { Stored } from "./conversation";
import type { SessionInfo } from "./types";

const NAME = "dragoman-reading";
const LISTING = "listing";
export const MOST_SESSIONS = 20;
export const MOST_BYTES = 20_000_000;
/** Of one session: its last messages are kept, so that one long session does not push out all others. */
export const MOST_SESSION_BYTES = 2_000_000;

export interface SessionCopy {
  id: string;
  messages: Stored[];
  bytes: number;
  /** When the hub told the last of it. */
  asOf: number;
  usedAt: number;
}

export interface ListingCopy {
  id: typeof LISTING;
  sessions: SessionInfo[];
  scopes: string[];
  asOf: number;
}

/** The number of the entry that a message belongs to: entries are numbered, and one may be told in several messages. */
const entryOf = ({ cursor }: Stored): number => Number.parseInt(cursor, 10);

const encoder = new TextEncoder();

const sizeOf = (messages: Stored[]): number => messages.reduce((sum, message) => sum + encoder.encode(JSON.stringify(message)).length, 0);

/**
 * A page of the archive joined with what is kept; `before` is what it was asked to be before, empty for the end. Pages
 * that do not touch are not joined: the later one stays.
 */
export function joinPage(kept: Stored[], page: Stored[], before: string): Stored[] {
  if (!page.length) return kept;
  if (before) {
    const first = kept[0];
    return first && entryOf(first) === Number.parseInt(before, 10) ? [...page, ...kept] : kept;
  }
  const start = entryOf(page[0]);
  const touches = kept.length > 0 && entryOf(kept[kept.length - 1]) >= start;
  return touches ? [...kept.filter((message) => entryOf(message) < start), ...page] : page;
}

/** The last messages that are small enough together. An entry is kept whole or not at all. */
export function trim(messages: Stored[], most = MOST_SESSION_BYTES): { messages: Stored[]; bytes: number } {
  let bytes = 0;
  let from = messages.length;
  while (from > 0) {
    const size = sizeOf(messages.slice(from - 1, from));
    if (bytes + size > most) break;
    bytes += size;
    from -= 1;
  }
  if (from > 0) while (from < messages.length && entryOf(messages[from]) === entryOf(messages[from - 1])) bytes -= sizeOf(messages.slice(from, (from += 1)));
  return { messages: messages.slice(from), bytes };
}

/** The names of the copies that have to go: those that were used longest ago. */
export function surplus(copies: Pick<SessionCopy, "id" | "bytes" | "usedAt">[], most = { sessions: MOST_SESSIONS, bytes: MOST_BYTES }): string[] {
  const byUse = [...copies].sort((one, other) => other.usedAt - one.usedAt);
  let bytes = 0;
  return byUse.filter((copy, at) => (bytes += copy.bytes) > most.bytes || at >= most.sessions).map(({ id }) => id);
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

let databasePromise: Promise<IDBDatabase> | null = null;

function database(): Promise<IDBDatabase> {
  if (!databasePromise) {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("sessions", { keyPath: "id" });
      request.result.createObjectStore("lists", { keyPath: "id" });
    };
    databasePromise = resultOf(request).then((opened) => {
      // Another tab signs out: what is kept from then on is kept in a new one.
      opened.onversionchange = () => {
        opened.close();
        databasePromise = null;
      };
      return opened;
    });
    databasePromise.catch(() => (databasePromise = null));
  }
  return databasePromise;
}

async function objectStore(name: "sessions" | "lists", mode: IDBTransactionMode): Promise<IDBObjectStore> {
  return (await database()).transaction(name, mode).objectStore(name);
}

/** Sizes and times alone: the messages of twenty sessions need not be in memory at once. */
async function sizes(sessions: IDBObjectStore): Promise<Pick<SessionCopy, "id" | "bytes" | "usedAt">[]> {
  const found: Pick<SessionCopy, "id" | "bytes" | "usedAt">[] = [];
  return new Promise((resolve, reject) => {
    const request = sessions.openCursor();
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const at = request.result;
      if (!at) return resolve(found);
      const { id, bytes, usedAt } = at.value as SessionCopy;
      found.push({ id, bytes, usedAt });
      at.continue();
    };
  });
}

export async function keepPage(id: string, page: Stored[], before: string, now = Date.now()): Promise<void> {
  const sessions = await objectStore("sessions", "readwrite");
  const former: SessionCopy | undefined = await resultOf(sessions.get(id));
  const copy = trim(joinPage(former?.messages ?? [], page, before));
  await resultOf(sessions.put({ id, ...copy, asOf: before ? (former?.asOf ?? now) : now, usedAt: now } satisfies SessionCopy));
  for (const name of surplus(await sizes(sessions))) await resultOf(sessions.delete(name));
}

export async function keepListing(sessions: SessionInfo[], scopes: string[], asOf = Date.now()): Promise<void> {
  await resultOf((await objectStore("lists", "readwrite")).put({ id: LISTING, sessions, scopes, asOf } satisfies ListingCopy));
}

export async function readSession(id: string): Promise<SessionCopy | undefined> {
  const sessions = await objectStore("sessions", "readwrite");
  const copy: SessionCopy | undefined = await resultOf(sessions.get(id));
  if (copy) await resultOf(sessions.put({ ...copy, usedAt: Date.now() }));
  return copy;
}

export async function readListing(): Promise<ListingCopy | undefined> {
  return resultOf<ListingCopy | undefined>((await objectStore("lists", "readonly")).get(LISTING));
}

/** Everything goes, also from tabs that have it open. */
export async function wipe(): Promise<void> {
  if (databasePromise) (await databasePromise.catch(() => null))?.close();
  databasePromise = null;
  await resultOf(indexedDB.deleteDatabase(NAME));
}
