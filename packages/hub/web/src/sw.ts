/**
 * Keeps the shell of the page, so that it opens without a network and says so, and shows what the hub pushes while the
 * page is closed. Never touches what is said with the hub: only the files of the build are kept, by names that change
 * with their content. It has no token: to answer a question, the page is opened, or a button of the notification brings the
 * ticket that its message came with.
 */

declare const FILES: string[];
declare const VERSION: string;

const PATIENCE_MS = 5000;

const worker = self as unknown as ServiceWorkerGlobal;
interface ServiceWorkerGlobal {
  addEventListener(name: string, act: (event: any) => void): void; // the types of workers are not those of pages
  skipWaiting(): Promise<void>;
  registration: { showNotification(title: string, options: object): Promise<void> };
  clients: { claim(): Promise<void>; matchAll(options: object): Promise<any[]>; openWindow(url: string): Promise<unknown> };
}

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((kept) => kept.addAll(FILES)).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  const clean = caches.keys().then((names) => Promise.all(names.filter((name) => name !== VERSION).map((name) => caches.delete(name))));
  event.waitUntil(clean.then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  const request: Request = event.request;
  const address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin || !FILES.includes(address.pathname)) return;
  const fresh = address.pathname === "/";
  // The first page comes from the hub if it can, so that a new version is seen at once; its parts never change.
  event.respondWith(fresh ? fetchShell(request).catch(() => kept(request)) : kept(request));
});

/** A network that takes everything and gives nothing is as good as none. */
async function fetchShell(request: Request): Promise<Response> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error("the hub does not answer")), PATIENCE_MS));
  const answer = await Promise.race([fetch(request), late]);
  // A proxy or a tunnel whose hub is gone answers in its place.
  if (answer.status >= 502 && answer.status <= 530) throw new Error(`the hub cannot be reached: ${answer.status}`);
  return answer;
}

async function kept(request: Request): Promise<Response> {
  return (await caches.match(request, { ignoreSearch: true })) ?? fetch(request);
}

/** Safari takes the permission away from a page that shows nothing for a message; others let one that is looked at be. */
const mustShow = /Safari/.test(navigator.userAgent) && !/Chrom|Android/.test(navigator.userAgent);

worker.addEventListener("push", (event) => event.waitUntil(showPush(event.data)));

async function showPush(data: { json(): any } | null): Promise<void> { // of the hub, but it came through others
  let message: any = {};
  try {
    message = data?.json() ?? {};
  } catch {
    // a message without words is still a message
  }
  const pages = await worker.clients.matchAll({ type: "window" });
  if (!mustShow && pages.some((page) => page.visibilityState === "visible")) return;
  const session = typeof message.session === "string" ? message.session : "";
  const hash = session ? `#/s/${encodeURIComponent(session)}` : "";
  const { allow, reject } = message;
  const hasButtons = typeof allow === "string" && typeof reject === "string" && ((self as any).Notification?.maxActions ?? 0) > 1; // not all browsers have it
  await worker.registration.showNotification("Dragoman", {
    body: typeof message.text === "string" ? message.text.slice(0, 200) : "An agent is waiting for you.",
    tag: `${session}/${message.about ?? ""}`, // as the page has it: what both tell is shown once
    icon: "/icon-192.png",
    data: hasButtons ? { hash, allow, reject } : hash,
    ...(hasButtons ? { actions: [{ action: "allow", title: "Allow once" }, { action: "reject", title: "Reject" }] } : {}),
  });
}

/** Gives the hub the answer of a button. Who pressed it is told if it came to nothing. */
async function answer(ticket: string, hash: string): Promise<void> {
  const request = fetch("/push/answer", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ticket }), cache: "no-store",
  });
  const failure = await request.then(
    async (response) => (!response.ok ? "This notification cannot be answered any more." : (await response.json()).settled ? "" : "This question was already answered, or you must read it first."),
    () => "The answer did not reach the hub.",
  );
  if (failure) await worker.registration.showNotification("Dragoman", { body: `${failure} Open the page.`, tag: "answer", icon: "/icon-192.png", data: hash });
}

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const data = event.notification.data ?? "";
  const hash = typeof data === "string" ? data : data.hash;
  const ticket = event.action && typeof data !== "string" ? data[event.action] : "";
  if (ticket) return event.waitUntil(answer(ticket, hash));
  const target = `/${hash}`;
  const shown = worker.clients.matchAll({ type: "window" }).then(async (pages) => {
    const page = pages[0];
    if (!page) return worker.clients.openWindow(target);
    await page.focus();
    return page.navigate ? page.navigate(target) : undefined;
  });
  event.waitUntil(shown);
});

export {};
