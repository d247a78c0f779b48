/** The page of a hub: it talks to the hub that served it, and is kept by the browser for when that cannot be reached. */

import { startPage } from "./page";
import { surroundings } from "./surroundings";
import { Connection } from "./wire/connection";
import { TicketDoor } from "./wire/door";

startPage((app) => new Connection(surroundings.door ?? new TicketDoor(() => location.href, () => app.token), app));

if ("serviceWorker" in navigator && !surroundings.isEmbedded) {
  const policy = (window as any).trustedTypes?.createPolicy("dragoman", { createScriptURL: (url: string) => (url === "/sw.js" ? url : "") });
  void navigator.serviceWorker.register(policy ? policy.createScriptURL("/sw.js") : "/sw.js").catch(() => null);
}
