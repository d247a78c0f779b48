/**
 * What was read last, for reading without a network: sessions as the hub's archive has them, with secrets covered, in
 * the browser's IndexedDB. Never what was said live, and never a token. Bounded: the sessions that were read longest ago
 * go first. A session is kept in pieces, because a browser copies what it stores, and stops for as long as that takes.
 * Loaded when there is something to keep or to read.
 */

import type { Stored } from "./history";
import type { SessionInfo } from "./types";

const NAME = "dragoman-reading";
const LISTING = "listing";
export const MOST_SESSIONS = 20;
export const MOST_BYTES = 20_000_000;
/** Of one session: its last messages are kept, so that one long session does not push out all others. */
export const MOST_SESSION_BYTES = 2_000_000;
/** A piece ends with the first entry behind so many. */
const PIECE_BYTES = 60_000;

/** What is known of a piece without reading it: its number, its first and last entry, its size. */
export interface PieceMark {
  number: number;
  first: number;
  last: number;
  bytes: number;
}

export interface SessionCopy {
  id: string;
  pieces: PieceMark[];
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

const sizeOf = (message: Stored): number => encoder.encode(JSON.stringify(message)).length;

/** Messages in pieces. An entry is in one piece, so that it is kept whole or not at all. */
export function* piecesOf(messages: Stored[], most = PIECE_BYTES): Generator<{ messages: Stored[]; bytes: number }> {
  let from = 0;
  let bytes = 0;
  for (let at = 0; at < messages.length; at += 1) {
    bytes += sizeOf(messages[at]);
    const isLast = at + 1 === messages.length;
    if (!isLast && (bytes < most || entryOf(messages[at]) === entryOf(messages[at + 1]))) continue;
    yield { messages: messages.slice(from, at + 1), bytes };
    from = at + 1;
    bytes = 0;
  }
}

/**
 * What a page of the archive adds to what is kept, and whether that goes; `before` is what the page was asked to be
 * before, empty for the end. Pages that do not touch are not joined: the later one stays.
 */
export function joinPage(kept: PieceMark[], page: Stored[], before: string): { added: Stored[]; isReplaced: boolean } {
  if (!page.length) return { added: [], isReplaced: false };
  if (before) return { added: kept[0]?.first === Number.parseInt(before, 10) ? page : [], isReplaced: false };
  const last = kept.at(-1)?.last ?? -1;
  const touches = last >= entryOf(page[0]);
  return { added: touches ? page.filter((message) => entryOf(message) > last) : page, isReplaced: !touches };
}

/** The first pieces, which have to go for the others to be small enough together. */
export function tooMany(pieces: PieceMark[], most = MOST_SESSION_BYTES): PieceMark[] {
  let bytes = 0;
  const small = pieces.findLastIndex((piece) => (bytes += piece.bytes) > most);
  return pieces.slice(0, small + 1);
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
    const request = indexedDB.open(NAME, 2);
    request.onupgradeneeded = () => {
      // What an older page kept in another form is kept anew when it is read again.
      for (const name of [...request.result.objectStoreNames]) request.result.deleteObjectStore(name);
      request.result.createObjectStore("sessions", { keyPath: "id" });
      request.result.createObjectStore("pieces", { keyPath: ["session", "number"] });
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

async function objectStores(mode: IDBTransactionMode, ...names: ("sessions" | "pieces" | "lists")[]): Promise<IDBObjectStore[]> {
  const transaction = (await database()).transaction(names, mode);
  return names.map((name) => transaction.objectStore(name));
}

/** All pieces of a session. */
const piecesWith = (id: string): IDBKeyRange => IDBKeyRange.bound([id], [id, []]);

export async function keepPage(id: string, page: Stored[], before: string, now = Date.now()): Promise<void> {
  const [sessions, pieces] = await objectStores("readwrite", "sessions", "pieces");
  const former: SessionCopy | undefined = await resultOf(sessions.get(id));
  const { added, isReplaced } = joinPage(former?.pieces ?? [], page, before);
  if (before && !added.length) return;
  if (isReplaced) await resultOf(pieces.delete(piecesWith(id)));
  const marks = isReplaced ? [] : (former?.pieces ?? []);
  for (const { messages, bytes } of before ? [...piecesOf(added)].reverse() : piecesOf(added)) {
    const number = before ? marks[0].number - 1 : (marks.at(-1)?.number ?? 0) + 1;
    const mark = { number, first: entryOf(messages[0]), last: entryOf(messages.at(-1)!), bytes };
    if (before && tooMany([mark, ...marks]).length) break;
    if (before) marks.unshift(mark);
    else marks.push(mark);
    await resultOf(pieces.put({ session: id, number, messages }));
  }
  for (const { number } of tooMany(marks)) await resultOf(pieces.delete([id, number]));
  const left = marks.slice(tooMany(marks).length);
  const bytes = left.reduce((sum, mark) => sum + mark.bytes, 0);
  await resultOf(sessions.put({ id, pieces: left, bytes, asOf: before ? (former?.asOf ?? now) : now, usedAt: now } satisfies SessionCopy));
  for (const name of surplus(await resultOf<SessionCopy[]>(sessions.getAll()))) await forget(name, sessions, pieces);
}

async function forget(id: string, sessions: IDBObjectStore, pieces: IDBObjectStore): Promise<void> {
  await resultOf(sessions.delete(id));
  await resultOf(pieces.delete(piecesWith(id)));
}

/** A session that was forgotten leaves nothing here. */
export async function forgetSession(id: string): Promise<void> {
  const [sessions, pieces] = await objectStores("readwrite", "sessions", "pieces");
  await forget(id, sessions, pieces);
}

export async function keepListing(sessions: SessionInfo[], scopes: string[], asOf = Date.now()): Promise<void> {
  const [lists] = await objectStores("readwrite", "lists");
  await resultOf(lists.put({ id: LISTING, sessions, scopes, asOf } satisfies ListingCopy));
}

export async function readSession(id: string): Promise<{ messages: Stored[]; asOf: number } | undefined> {
  const [sessions, pieces] = await objectStores("readwrite", "sessions", "pieces");
  const copy: SessionCopy | undefined = await resultOf(sessions.get(id));
  if (!copy) return undefined;
  await resultOf(sessions.put({ ...copy, usedAt: Date.now() }));
  const kept = await resultOf<{ messages: Stored[] }[]>(pieces.getAll(piecesWith(id)));
  return { messages: kept.flatMap(({ messages }) => messages), asOf: copy.asOf };
}

export async function readListing(): Promise<ListingCopy | undefined> {
  const [lists] = await objectStores("readonly", "lists");
  return resultOf<ListingCopy | undefined>(lists.get(LISTING));
}

/** Everything goes, also from tabs that have it open. */
export async function wipe(): Promise<void> {
  if (databasePromise) (await databasePromise.catch(() => null))?.close();
  databasePromise = null;
  await resultOf(indexedDB.deleteDatabase(NAME));
}
