/**
 * One search at all hubs. Each answers for itself: what it found is its own word, under its own name, and one that is away or
 * slow hides nothing of the others. Their ranks cannot be compared, so the first of each come before the second of each.
 */

import type { App, Found } from "./app";
import type { Hubs } from "./hubs";

const MOST = 30;
const LEAST = 10;
/** Results that are here are held back for so long, so that those of all hubs stand in one order. Later ones come below. */
const PATIENCE_MS = 500;

export interface HubSearch {
  found: Found[];
  /** What went wrong, hub by hub. */
  troubles: string[];
  /** Names of the hubs that have not answered. */
  missing: string[];
}

export function interleave<T>(lists: T[][]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => lists.filter((list) => at < list.length).map((list) => list[at])).flat();
}

/** Tells what there is: when all have answered, or after a short while, and then with each further answer. */
export function searchHubs(hubs: Hubs, text: string, tell: (search: HubSearch) => void): void {
  const asked = new Map(hubs.all().map((hub) => [hub, hubs.nameOf(hub.key)]));
  const search: HubSearch = { found: [], troubles: [], missing: [] };
  let waiting: Found[][] = [];
  let isPatient = true;
  const show = (): void => {
    isPatient = false;
    search.found.push(...interleave(waiting));
    waiting = [];
    search.missing = [...asked.values()];
    tell(search);
  };
  const limit = Math.max(LEAST, Math.ceil(MOST / asked.size));
  const timer = setTimeout(show, PATIENCE_MS);
  for (const [hub, name] of [...asked]) {
    void searchHub(hub, text, limit).catch((error: Error) => error).then((answer) => {
      asked.delete(hub);
      if (answer instanceof Error) search.troubles.push(name ? `No results from ${name}: ${answer.message}.` : answer.message);
      else waiting.push(answer);
      if (isPatient && asked.size) return;
      clearTimeout(timer);
      show();
    });
  }
}

async function searchHub(hub: App, text: string, limit: number): Promise<Found[]> {
  if (hub.hub && hub.health !== "live") throw new Error("it is not connected");
  const { found } = await hub.rpc.call<{ found: Found[] }>("_dragoman/hub/search", { text, limit });
  return found.map((each) => ({ ...each, hub: hub.key || undefined }));
}
