/** Puts the page together: draws once a frame at most, follows the address, listens to keys. */

import { html, nothing, render } from "lit";
import "./style/index.css";
import { download, exported } from "./export";
import { App, type Found } from "./model/app";
import { listenToKeys } from "./keys";
import { canNotify, notifyEnd, notifyOf, notifying, switchNotifications } from "./notify";
import { takeToken } from "./model/memory";
import { plain } from "./text/reveal";
import { showChanges } from "./view/changes";
import { Composer } from "./view/composer";
import { askText, confirm, help, leaving } from "./view/dialogs";
import { el, shown } from "./view/dom";
import { inbox, sessionList, sidebarHead } from "./view/home";
import { blockView } from "./view/blocks";
import { forgetCards } from "./view/question";
import { searchAll } from "./view/search";
import { sessionView } from "./view/session";
import { Timeline } from "./view/timeline";
import { banner, menu, newSession, signIn } from "./view/windows";

const root = document.getElementById("page")!;
const app = new App(redraw, notifyOf, notifyEnd, redraw);
const composer = new Composer(app, () => timeline().toEnd());
const timelines = new WeakMap<object, Timeline>();
let asked = false;
let wanted: { found: Found; query: string } | null = null;
let announced = "";

/** At most one drawing a frame; a page that is not looked at gets no frames, but goes on folding. */
function redraw(): void {
  if (asked) return;
  asked = true;
  if (document.visibilityState === "visible") requestAnimationFrame(draw);
  else window.setTimeout(draw, 200);
}

function draw(): void {
  asked = false;
  const more = app.open?.work() ?? false;
  render(page(), root);
  after();
  if (more) redraw();
}

function page() {
  if (app.health === "refused") return signIn(app);
  const route = app.open ? "session" : "home";
  const acts = { search, start, menu: pageMenu };
  return html`<div class="app" data-route=${route} data-health=${app.health}>
    ${banner(app)}
    <div class="side">${sidebarHead(app, acts)}<div class="phone-inbox">${route === "home" ? inboxFor("phone") : nothing}</div>${sessionList(app)}</div>
    <main class="main" id="main">${app.open ? sessionView(app, app.open, timeline(), composer, { menu: sessionMenu, changes, rename }) : inboxFor("wide")}</main>
    <div class="toast" role="status" aria-live="polite">${app.said ? html`<span>${plain(app.said)}</span>` : nothing}</div>
    <div class="unseen" role="status" aria-live="polite">${announced}</div>
  </div>`;
}

const narrow = matchMedia("(max-width: 859px)");
narrow.addEventListener("change", redraw);

/** A card is one element, so it stands in one place: below the head on a phone, in the middle on a wide screen. */
function inboxFor(place: "phone" | "wide") {
  return narrow.matches === (place === "phone") ? inbox(app, start) : nothing;
}

function timeline(): Timeline {
  const open = app.open!;
  let made = timelines.get(open);
  if (!made) {
    made = new Timeline(() => void open.earlier(app.rpc));
    timelines.set(open, made);
  }
  return made;
}

function after(): void {
  forgetCards(app.inbox);
  const open = app.open;
  document.title = [app.inbox.size ? `(${app.inbox.size})` : "", open ? plain(open.fold.title || open.info?.title || "Session") : "", "Dragoman"]
    .filter(Boolean).join(" ");
  if (!open) return;
  composer.update();
  const list = timeline();
  list.update(open.fold.items, open.fold.takeChanged(), open.more);
  pendingPrompts(list.tail);
  announce();
  if (wanted && wanted.found.sessionId === open.id && open.state === "open") void seek();
}

function pendingPrompts(tail: HTMLElement): void {
  const open = app.open!;
  const key = open.sending.map((one) => one.key + (one.error ?? "")).join() + String(Boolean(open.fold.turn)) + open.state + open.info?.state + String(open.fold.items.length > 0);
  if (tail.dataset.shown === key) return;
  tail.dataset.shown = key;
  const nodes: HTMLElement[] = open.sending.filter((one) => !open.fold.taken.has(one.key)).map((one) => {
    const bubble = el("div", "bubble", ...one.prompt.map((block) => block.type === "text" ? el("div", "said", shown(block.text ?? "")) : blockView(block, true)));
    const made = el("div", `user sending ${one.error ? "bad" : ""}`, bubble, el("p", "faint", one.error ? `Not sent: ${plain(one.error)}` : "Sending …"));
    if (one.error) {
      const back = el("button", "small", "Take it back");
      back.addEventListener("click", () => {
        open.forget(one);
        composer.restore(one.prompt);
      });
      made.append(back);
    }
    return el("div", "item drawn", made);
  });
  if (open.fold.turn && open.info?.state !== "waiting") nodes.push(el("div", "working", el("i"), el("i"), el("i")));
  if (open.state === "open" && !open.fold.items.length && !nodes.length) nodes.push(beginning());
  if (open.state === "opening") nodes.push(el("div", "skeleton", el("i"), el("i"), el("i")));
  tail.replaceChildren(...nodes);
}

function beginning(): HTMLElement {
  const hint = (key: string, what: string): HTMLElement => el("p", "faint", el("kbd", "", key), ` ${what}`);
  const folder = plain(app.open!.info?.cwd ?? "", "exact line");
  return el("div", "empty", el("p", "empty-title", "What shall it do?"), el("p", "faint", folder), hint("/", "commands of the agent"), hint("@", "files of the folder"));
}

let hadTurn = "";
/** A screen reader hears that a turn began and ended, not every word of it. */
function announce(): void {
  const open = app.open!;
  const now = `${open.id} ${open.fold.turn ? "running" : ""}`;
  if (now === hadTurn) return;
  if (hadTurn === `${open.id} running`) announced = "The agent has finished.";
  else if (open.fold.turn) announced = "The agent is working.";
  else announced = "";
  hadTurn = now;
  redraw();
}

/** A search result may stand pages back: they are fetched until it is here. */
async function seek(): Promise<void> {
  const { found, query } = wanted!;
  wanted = null;
  const open = app.open!;
  for (let pages = 0; pages < 100; pages += 1) {
    const item = open.fold.find(found.cursor);
    if (item) {
      timeline().update(open.fold.items, open.fold.takeChanged(), open.more);
      return timeline().reveal(item, { query, excerpt: found.excerpt });
    }
    if (!(await open.earlier(app.rpc))) break;
  }
  app.say("That place is not in the history any more.");
}

function go(hash: string): void {
  location.hash = hash;
}

function openSession(id: string): void {
  go(`#/s/${encodeURIComponent(id)}`);
}

function follow(): void {
  // A link with a token that is opened in a tab that is here already.
  if (location.hash.startsWith("#token=")) return app.signIn(takeToken());
  const found = /^#\/s\/(.+)$/.exec(location.hash);
  app.show(found ? decodeURIComponent(found[1]) : null);
  if (found && !matchMedia("(pointer: coarse)").matches) requestAnimationFrame(() => composer.field.focus());
}

function search(): void {
  searchAll(app, (found, query) => {
    wanted = { found, query };
    if (app.open?.id === found.sessionId) void seek();
    else openSession(found.sessionId);
  });
}

function start(): void {
  if (app.may("prompt")) newSession(app, openSession);
}

function changes(): void {
  if (app.open?.changes?.length || app.open?.others.length) showChanges(app, app.open);
  else app.say("The last turn changed no files.");
}

function rename(): void {
  const open = app.open;
  if (!open) return;
  askText("Name of this session", open.fold.title ?? open.info?.title ?? "", "Rename", (title) => {
    app.rpc.call("_dragoman/hub/rename", { sessionId: open.id, title }).then(
      () => {
        open.fold.title = title;
        redraw();
      },
      (error: Error) => app.say(`It was not renamed: ${error.message}`),
    );
  });
}

function pageMenu(event: Event): void {
  menu(event, [
    canNotify() && [notifying() ? "Stop notifying me" : "Notify me when something waits", () => void switchNotifications().then((on) => app.say(on ? "You will be notified." : "You will not be notified."))],
    ["Keyboard", help],
    ["Sign out", () => app.signOut()],
  ]);
}

function sessionMenu(event: Event): void {
  const open = app.open;
  if (!open) return;
  const ends = (word: string, method: string) => (): void => confirm(`${word} this session?`, plain(open.info?.title || "Untitled session"), word, () => {
    app.rpc.call(method, { sessionId: open.id }).then(
      () => {
        go("#/");
        void app.refresh();
      },
      (error: Error) => app.say(error.message),
    );
  });
  menu(event, [
    ["What the last turn changed", changes],
    ["Rename", rename],
    ["Fork from here", () => fork()],
    ["Export as HTML", () => void save()],
    ["Close session", ends("Close", "session/close")],
    ["Delete session", ends("Delete", "session/delete")],
  ]);
}

/** A new session with this one's past: all of it, or what was before the message with a cursor. */
function fork(before = ""): void {
  const open = app.open!;
  const params = { sessionId: open.id, cwd: open.info?.cwd ?? "", mcpServers: [], ...(before ? { _meta: { dragoman: { before } } } : {}) };
  app.rpc.call<{ sessionId: string }>("session/fork", params).then(
    ({ sessionId }) => openSession(sessionId),
    (error: Error) => app.say(`It was not forked: ${error.message}`),
  );
}

async function save(): Promise<void> {
  const open = app.open!;
  while (await open.earlier(app.rpc));
  const name = (open.info?.title || "session").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60);
  download(await exported(open), `${name || "session"}.html`);
}

document.addEventListener("click", (event) => {
  const away = (event.target as HTMLElement).closest?.<HTMLElement>("[data-away]");
  if (away) leaving(away.dataset.away!);
});
document.addEventListener("fork", (event) => fork((event as CustomEvent<string>).detail));
document.addEventListener("visibilitychange", () => app.looked());
window.addEventListener("hashchange", follow);
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => {
  event.preventDefault();
  if (app.open && event.dataTransfer?.files.length) void composer.attach([...event.dataTransfer.files]);
});
// The seconds until the next try count down; "5 min" becomes "6 min".
window.setInterval(() => (app.health === "offline" ? redraw() : undefined), 1000);
window.setInterval(redraw, 30_000);
listenToKeys({ app, composer, search, start, changes, help, go, toEnd: () => app.open && timeline().toEnd(), toStart: () => app.open && timeline().toStart() });

if ("serviceWorker" in navigator) {
  const policy = (window as any).trustedTypes?.createPolicy("dragoman", { createScriptURL: (url: string) => (url === "/sw.js" ? url : "") });
  void navigator.serviceWorker.register(policy ? policy.createScriptURL("/sw.js") : "/sw.js").catch(() => null);
}
follow();
app.start();
redraw();
