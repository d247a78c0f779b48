/** What the browser keeps for us between visits: the token, drafts, what was read. Works without storage, for a while. */

import { surroundings } from "../surroundings";

const PREFIX = "dragoman.";
/** How the page looks is nobody's secret: signing out leaves it. */
const APPEARANCE = ["theme", "density"];
/** What the storage could not take. */
const held = new Map<string, string>();

function storage(): Pick<Storage, "getItem" | "setItem" | "removeItem"> | null {
  try {
    return surroundings.storage ?? window.localStorage;
  } catch {
    return null; // storage is switched off: this page then forgets on reload
  }
}

export function recall(name: string): string {
  const key = PREFIX + name;
  return held.get(key) ?? storage()?.getItem(key) ?? "";
}

/** False if it is gone after a reload, because the storage is full or switched off. */
export function remember(name: string, value: string): boolean {
  const key = PREFIX + name;
  const kept = storage();
  try {
    if (value) kept?.setItem(key, value);
    else kept?.removeItem(key);
  } catch {
    held.set(key, value);
    return false;
  }
  if (kept) held.delete(key);
  else held.set(key, value);
  return kept !== null;
}

/** Signing out: nothing of what was said, written or read stays. */
export function forgetAll(): void {
  held.clear();
  const names = surroundings.storage ? [] : Object.keys(storage() ?? {}).filter((key) => key.startsWith(PREFIX));
  for (const name of names.map((key) => key.slice(PREFIX.length))) if (!APPEARANCE.includes(name)) remember(name, "");
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
  // With dashes: so many digits in a row look like a secret, for which the hub would search each frame that has them.
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("-");
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
