/** The page of a hub: it talks to the hub that served it, and is kept by the browser for when that cannot be reached. */

import { startPage } from "./page";
import { Connection } from "./wire/connection";

startPage((app) => new Connection(() => app.token, app));

if ("serviceWorker" in navigator) {
  const policy = (window as any).trustedTypes?.createPolicy("dragoman", { createScriptURL: (url: string) => (url === "/sw.js" ? url : "") });
  void navigator.serviceWorker.register(policy ? policy.createScriptURL("/sw.js") : "/sw.js").catch(() => null);
}
