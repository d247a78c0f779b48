/** What the browser keeps for us between visits: the token, drafts, what was read. Works without storage, for a while. */

import { surroundings } from "../surroundings";

const held = new Map<string, string>();

function storage(): Pick<Storage, "getItem" | "setItem" | "removeItem"> | null {
  try {
    return surroundings.storage ?? window.localStorage;
  } catch {
    return null; // storage is switched off: this page then forgets on reload
  }
}

export function recall(name: string): string {
  const key = `dragoman.${name}`;
  return storage()?.getItem(key) ?? held.get(key) ?? "";
}

export function remember(name: string, value: string): void {
  const key = `dragoman.${name}`;
  held.set(key, value);
  try {
    if (value) storage()?.setItem(key, value);
    else storage()?.removeItem(key);
  } catch {
    // full: what is held in memory has to do
  }
}

export function recallJson<T>(name: string, otherwise: T): T {
  try {
    return (JSON.parse(recall(name)) as T) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** A name that nobody else has. `randomUUID` is there for pages on loopback and over TLS only. */
export function uniqueName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The token comes once, behind the `#`, which no server ever sees; it leaves the address bar before anything else. */
export function takeToken(): string {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found) {
    remember("token", decodeURIComponent(found[1]));
    history.replaceState(null, "", location.pathname + location.search);
  }
  return recall("token");
}
