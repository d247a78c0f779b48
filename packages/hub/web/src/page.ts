/**
 * Puts the page together: draws once a frame at most, follows the address, listens to keys. Whom it talks to is for
 * `startPage` to be told: a hub, or a recording of one.
 */

import { html, nothing, render } from "lit";
import { repeat } from "lit/directives/repeat.js";
import "./style/index.css";
import { App, type Found, type HubConnection } from "./model/app";
import { applyAppearance } from "./model/appearance";
import { sessionTitle, successors, suggestionsFor } from "./model/beginning";
import type { Conversation } from "./model/conversation";
import { Hubs, identityOf, parseHubLink } from "./model/hubs";
import { listenToKeys } from "./keys";
import { canNotify, notifyEnd, notifyOf, notifying, switchNotifications } from "./notify";
import { takeToken } from "./model/memory";
import { takePairingCode } from "./model/pairing";
import { type Item, type Speech, entryOf, promptText } from "./model/items";
import { canTakeBack } from "./model/outbox";
import { type Sending, sendingLabel } from "./model/steering";
import { surroundings } from "./surroundings";
import { type FilePlace, shortPath } from "./text/places";
import { plain } from "./text/reveal";
import { Composer } from "./view/composer";
import { askText, confirm, leaving } from "./view/dialogs";
import { button, el, shown } from "./view/dom";
import { hubNotice, inbox, outboxLink, sessionList, sidebarHead, viewLinks } from "./view/home";
import { blockView } from "./view/blocks";
import { afterFrame } from "./view/later";
import type { PaletteEntry, PaletteOptions } from "./view/palette";
import { closeDecided, decide, forgetCards } from "./view/question";
import { sessionView } from "./view/session";
import { type ShownPart, Timeline } from "./view/timeline";
import { banner, menu, newSession, signIn } from "./view/windows";
import { Connection } from "./wire/connection";
import { OtherHubDoor } from "./wire/door";

const root = document.getElementById("page")!;
const home = new App(redraw, notifyOf, notifyEnd, redrawMessages);
const hubs = new Hubs(home, (hub) => {
  const other = new App(redraw, notifyOf, notifyEnd, redrawMessages, hub);
  other.listChanged = redrawLists;
  other.connection = new Connection(new OtherHubDoor(() => hub.address, () => hub.token), other);
  return other;
});
/** The hub whose session is on the screen; that of the page while none is. */
export let app = home;
/** One for each side of a split view. */
let composers = composersFor(home);
/** Something that is loaded when somebody wants it, and tried again a little later if it could not be. */
class Later<T> {
  value: T | null = null;
  private loading: Promise<void> | null = null;
  constructor(private load: () => Promise<T>) {}

  /** For what is drawn: nothing until it is there. */
  get(): T | null {
    if (!this.loading) this.use(redraw);
    return this.value;
  }

  /** At once if it is there: whoever opens a window goes on typing. */
  use(act: (value: T) => void): void {
    if (this.value) return act(this.value);
    void this.prepare(notLoaded).then(() => this.value && act(this.value));
  }

  prepare(fail = (): void => {}): Promise<void> {
    return (this.loading ??= this.load().then((value) => void (this.value = value), () => {
      window.setTimeout(() => (this.loading = null), RETRY_MS);
      fail();
    }));
  }
}
const RETRY_MS = 3000;
const settings = new Later(() => import("./view/settings"));
const agents = new Later(() => import("./view/agents").then(({ AgentsView }) => new AgentsView(home, (agent) => newSession(home, openSession, agent))));
const searching = new Later(() => import("./view/search"));
const shortcuts = new Later(() => import("./view/shortcuts"));
const help = (): void => shortcuts.use((loaded) => loaded.help());
const palettes = new Later(() => Promise.all([import("./view/palette"), import("./commands")]));
const board = new Later(() => import("./view/board").then(({ BoardView }) => new BoardView(hubs, start, decideOn)));
const timelines = new WeakMap<object, Timeline>();
let asked = false;
const LISTS_MS = 250;
let listTimer = 0;
/** The longest pause between two drawings of messages that pour in. */
const MESSAGES_MS = 100;
const FRAME_MS = 16;
let messageTimer = 0;
/** How long the last drawing took, with what the browser did for it, and when that was over. */
let drawing = { took: 0, endedAt: 0 };
let listScrolledAt = -LISTS_MS;
/** Nothing moves between the press and the release of a click: a row that another took the place of would not be clicked. */
const PRESS_MS = 3000;
/** The click comes after the release. */
const CLICK_MS = 50;
let pressTimer = 0;
/** A message to go to as soon as its session is here: what a search found, or what the address names (no query). */
let wanted: { found: Pick<Found, "hub" | "sessionId" | "cursor" | "excerpt">; query: string | null } | null = null;
let announced = "";
const VIEWS = ["board", "agents", "settings"] as const;
let view: "inbox" | (typeof VIEWS)[number] = "inbox";
/** The session that was open last: what is opened beside something from the board is opened beside it. */
let lastOpen = "";
/** The side of a split view that keys are about. */
let side = 0;

function composersFor(owner: App): Composer[] {
  return [
    new Composer(owner, () => owner.open, () => owner.open && timeline(owner.open).toEnd()),
    new Composer(owner, () => owner.beside, () => owner.beside && timeline(owner.beside).toEnd()),
  ];
}

/** From now on keys, dialogs and drawings are about sessions of this hub. */
function turnTo(next: App): void {
  if (next === app) return;
  app.show(null);
  app = next;
  composers = composersFor(next);
}

function decideOn(identity: string): void {
  const [owner, sessionId] = hubs.find(identity);
  decide(owner, sessionId);
}

function current(): Conversation | null {
  return side === 1 && app.beside ? app.beside : app.open;
}

/** At most one drawing a frame; a page that is not looked at gets no frames, but goes on folding. */
function redraw(): void {
  if (asked) return;
  asked = true;
  if (document.visibilityState === "visible") requestAnimationFrame(draw);
  else window.setTimeout(draw, 200);
}

/** For messages of agents: who writes faster than can be drawn gets a third of the time for it, and the person has the rest. */
function redrawMessages(): void {
  if (asked || messageTimer) return;
  const pause = Math.min(MESSAGES_MS, 2 * drawing.took) - (performance.now() - drawing.endedAt);
  if (pause < FRAME_MS) return redraw();
  messageTimer = window.setTimeout(() => {
    messageTimer = 0;
    redraw();
  }, pause);
}

/** For lists: a few times a second is enough for who reads them, and nothing moves under the finger of who scrolls them. */
function redrawLists(): void {
  listTimer ||= window.setTimeout(() => {
    listTimer = 0;
    if (performance.now() - listScrolledAt < LISTS_MS) redrawLists();
    else redraw();
  }, LISTS_MS);
}

function onScroll(event: Event): void {
  if (event.target instanceof Element && event.target.matches(".side, .board-column, .board-columns")) listScrolledAt = performance.now();
}

/** What is to be drawn waits this long at most, from now on. */
function hold(time: number): void {
  window.clearTimeout(pressTimer);
  pressTimer = window.setTimeout(() => {
    pressTimer = 0;
    redraw();
  }, time);
}

function draw(): void {
  asked = false;
  if (pressTimer) return;
  window.clearTimeout(messageTimer);
  messageTimer = 0;
  const began = performance.now();
  const more = hubs.all().flatMap((hub) => hub.conversations()).map((open) => open.work()).includes(true);
  render(page(), root);
  after();
  afterFrame(() => (drawing = { took: performance.now() - began, endedAt: performance.now() }));
  if (more) redrawMessages();
}

function page() {
  if (home.health === "refused") return (surroundings.signIn ?? signIn)(home);
  const route = app.open ? "session" : view === "inbox" ? "home" : view;
  const acts = { search, start, menu: pageMenu };
  const said = hubs.all().find((hub) => hub.said)?.said;
  return html`<div class="app" data-route=${route} data-health=${home.health}>
    ${banner(home)}
    <div class="side">${sidebarHead(home, acts)}${viewLinks(hubs.inbox().size, app.open ? "" : view)}${outboxLink(hubs, openOutbox)}<div class="phone-inbox">${route === "home" ? inboxFor("phone") : nothing}</div>${sessionList(hubs)}</div>
    <main class="main ${app.beside ? "split" : ""}" id="main">${app.open ? repeat(app.shown(), (open) => open.id, pane) : place()}</main>
    <div class="toast" role="status" aria-live="polite">${said ? html`<span>${plain(said)}</span>` : nothing}</div>
    <div class="unseen" role="status" aria-live="polite">${announced}</div>
  </div>`;
}

function place() {
  switch (view) {
    case "board":
      return board.get()?.view() ?? nothing;
    case "agents":
      return agents.get()?.view() ?? nothing;
    case "settings":
      return settings.get()?.settingsView(hubs) ?? nothing;
    case "inbox":
      return inboxFor("wide");
  }
}

/** A session, alone or on one side of a split view. */
function pane(open: Conversation, at: number) {
  const acts = { menu: (event: Event) => sessionMenu(event, open), changes: () => changes(open), rename: () => rename(open), handOver: handOverMenu(open), close: app.beside ? () => leaveSide(open) : undefined };
  const enter = (): void => {
    if (side === at) return;
    side = at;
    redraw();
  };
  const isActive = current() === open;
  return html`<section class="pane ${isActive ? "active" : ""} ${app.may("prompt") ? "" : "watches"} ${open.fold.remembersFiles ? "remembers" : ""}" data-session=${identityOf({ hub: app.key, sessionId: open.id })} aria-label=${app.beside ? `Session, ${at ? "right" : "left"} side` : nothing} @focusin=${enter} @pointerdown=${enter}>
    ${hubNotice(app)}${sessionView(app, open, timeline(open), composers[at], acts)}</section>`;
}

function leaveSide(open: Conversation): void {
  const left = app.shown().find((other) => other !== open);
  if (left) openSession(left.id);
}

const narrow = matchMedia("(max-width: 859px)");
narrow.addEventListener("change", redraw);

/** A card is one element, so it stands in one place: below the head on a phone, in the middle on a wide screen. */
function inboxFor(place: "phone" | "wide") {
  return narrow.matches === (place === "phone") ? inbox(hubs, start) : nothing;
}

function timeline(open: Conversation): Timeline {
  let made = timelines.get(open);
  if (!made) {
    const owner = app;
    made = new Timeline({
      earlier: () => void open.history.earlier(owner.rpc),
      later: () => void open.history.later(owner.rpc),
      toStart: () => void open.history.goTo(owner.rpc, 1).then((isThere) => isThere || redraw()),
      toEnd: () => open.history.toEnd(),
      goTo: (cursor) => void seek(open, cursor, (list, item) => list.goTo(item)),
      reader: () => ({ ...owner.readerOf(open.id), cwd: open.info?.cwd ?? "" }),
      address: (cursor) => `${location.origin}${location.pathname}${owner.hashOf(open.id, cursor)}`,
    });
    timelines.set(open, made);
  }
  return made;
}

function after(): void {
  const waiting = hubs.inbox();
  forgetCards(waiting);
  closeDecided(waiting);
  const isBoard = !app.open && view === "board" && home.health !== "refused";
  for (const hub of hubs.all()) hub.feed.show(isBoard);
  agents.value?.show(!app.open && view === "agents" && home.health === "live");
  if (isBoard) board.value?.after();
  const open = current();
  document.title = [waiting.size ? `(${waiting.size})` : "", open ? plain(open.info?.title || open.fold.title || "Session") : "", "Dragoman"]
    .filter(Boolean).join(" ");
  for (const composer of composers) composer.update();
  app.shown().forEach((shown, at) => {
    const list = timeline(shown);
    list.update(shownPart(shown));
    pendingPrompts(shown, list.tail, composers[at]);
    if (wanted && (wanted.found.hub ?? "") === app.key && wanted.found.sessionId === shown.id && shown.state === "open") void seekWanted(shown);
  });
  if (open) announce(open);
}

function shownPart(open: Conversation): ShownPart {
  const now = !open.fold.turn ? "done" : open.fold.open.size ? "waiting" : "running";
  const { fold, hasEarlier, hasLater, outline } = open.history;
  return { items: fold.items, changed: fold.takeChanged(), hasEarlier, hasLater, end: open.fold.items, now, outline };
}

function pendingPrompts(open: Conversation, tail: HTMLElement, composer: Composer): void {
  const isConnected = app.health === "live";
  const key = open.sending.map((sending) => JSON.stringify([sending.key, sendingLabel(sending, isConnected), sending.prompt.map(({ text }) => text)])).join() + app.health + String(Boolean(open.fold.turn)) + open.state + open.info?.state + String(open.fold.items.length > 0);
  if (tail.dataset.shown === key) return;
  tail.dataset.shown = key;
  const nodes: HTMLElement[] = open.sending.filter((sending) => !open.fold.taken.has(sending.key)).map((sending) => pendingPrompt(open, sending, composer));
  if (open.fold.turn && open.info?.state !== "waiting") nodes.push(el("div", "working", el("i"), el("i"), el("i")));
  if (open.state === "open" && !open.fold.items.length && !nodes.length) nodes.push(beginning(open, composer));
  if (open.state === "opening") {
    const isMissing = app.health === "offline";
    nodes.unshift(isMissing ? el("p", "empty faint", "This session is not saved on this device. It opens when the network is back.") : el("div", "skeleton", el("i"), el("i"), el("i")));
  }
  tail.replaceChildren(...nodes);
}

/** A message that is on its way, or waits for one. */
function pendingPrompt(open: Conversation, sending: Sending, composer: Composer): HTMLElement {
  const isConnected = app.health === "live";
  const bubble = el("div", "bubble", ...sending.prompt.map((block) => block.type === "text" ? el("div", "said", shown(block.text ?? "")) : blockView(block, true)));
  const made = el("div", `user sending ${sending.error ? "bad" : ""}`, bubble, el("p", "faint", plain(sendingLabel(sending, isConnected))));
  if (canTakeBack(sending) && (sending.error || !isConnected)) {
    const back = button("Withdraw", "small", () => {
      open.forget(sending);
      composer.restore(sending.prompt);
    });
    const edit = button("Edit", "small", () => editSending(open, sending));
    made.append(el("div", "sending-acts", ...(sending.way ? [back] : [edit, back])));
  }
  return el("div", "item drawn", made);
}

function editSending(open: Conversation, sending: Sending): void {
  askText("Edit message", promptText(sending.prompt), "Save", (text) => {
    const rest = sending.prompt.filter((block) => block.type !== "text");
    if (open.sending.includes(sending) && canTakeBack(sending)) open.edit(sending, [{ type: "text", text }, ...rest]);
    else app.say("Your message was already sent, without the change.");
  });
}

/** The list of what waits is loaded when somebody asks for it. */
function openOutbox(): void {
  void import("./view/outbox").then(({ showOutbox }) => showOutbox(hubs, openIdentity), () => app.say("The list could not be loaded. Check the connection to the hub, then try again."));
}

function beginning(open: Conversation, composer: Composer): HTMLElement {
  const hint = (key: string, what: string): HTMLElement => el("span", "", el("kbd", "", key), ` ${what}`);
  const { cwd, agent } = open.info ?? { cwd: "", agent: "" };
  const folder = el("p", "faint", shown(shortPath(cwd, { cwd: "", home: app.home }), "exact line"));
  folder.title = plain(cwd, "exact line");
  const made = el("div", "empty", el("p", "empty-title", "What should the agent do?"), folder);
  if (app.may("prompt")) {
    const offered = suggestionsFor(agent);
    const suggest = (text: string): HTMLElement => button(text, "suggestion", () => {
      if (offered.includes(composer.field.value)) composer.field.value = ""; // another one instead
      composer.restore([{ type: "text", text }]);
    });
    made.append(el("div", "suggestions", ...offered.map(suggest)));
  }
  made.append(el("p", "faint hints", hint("/", "commands"), hint("@", "files")));
  return made;
}

let hadTurn = "";
/** A screen reader hears that a turn began and ended, not every word of it. */
function announce(open: Conversation): void {
  const now = `${open.id} ${open.fold.turn ? "running" : ""}`;
  if (now === hadTurn) return;
  if (hadTurn === `${open.id} running`) announced = "The agent has finished.";
  else if (open.fold.turn) announced = "The agent is working.";
  else announced = "";
  hadTurn = now;
  redraw();
}

function seekWanted(open: Conversation): Promise<void> {
  const { found, query } = wanted!;
  wanted = null;
  return seek(open, found.cursor, (list, item, isWanted) => {
    if (query === null) list.goTo(item, true);
    else void list.reveal(item, { query, excerpt: found.excerpt }, isWanted);
  });
}

/** A place may stand far from what is read: then that part is fetched. */
async function seek(open: Conversation, cursor: string, show: (list: Timeline, item: Item, isWanted: () => boolean) => void): Promise<void> {
  const { history } = open;
  const isWanted = history.aim();
  const isHere = history.fold.find(cursor) || (await history.goTo(app.rpc, entryOf(cursor), isWanted));
  if (!isWanted()) return; // somebody has gone elsewhere meanwhile
  const item = history.fold.find(cursor);
  if (!item) return app.say(isHere ? "That message is no longer in the history." : "That part of the history could not be loaded.");
  timeline(open).take(shownPart(open));
  show(timeline(open), item, isWanted);
}

function go(hash: string): void {
  surroundings.route.go(hash);
}

function openSession(id: string, owner = app): void {
  go(owner.hashOf(id));
}

function openIdentity(identity: string): void {
  const [owner, id] = hubs.find(identity);
  openSession(id, owner);
}

/** Two sessions beside each other are of one hub. */
function openBeside(identity: string): void {
  const [owner, id] = hubs.find(identity);
  const [firstOwner, first] = hubs.find(app.open ? identityOf({ hub: app.key, sessionId: app.open.id }) : lastOpen);
  if (!first || first === id || firstOwner !== owner) return openSession(id, owner);
  go(owner.hashOf(first, id));
}

/** The session that is to stand beside the open one is chosen by its name. */
function split(): void {
  const open = app.open;
  if (!open) return app.say("Open a session first. Then you can open a second session beside it.");
  const others = [...app.sessions.values()].filter((session) => session.sessionId !== open.id);
  const entries = others.map((session) => ({ label: sessionTitle(session), detail: `${session.agent} ${session.cwd}`, icon: "split", run: () => openBeside(identityOf(session)) }));
  openPalette({ title: "Open another session beside this one", placeholder: "Find a session", entries });
}

/** The view of files is loaded with the first of them. */
function openFile(identity: string, place: FilePlace): void {
  const [owner, sessionId] = hubs.find(identity);
  const show = (): void => void import("./view/file").then(({ showFile }) => showFile(owner, sessionId, place), () => app.say("The file view could not be loaded. Check the connection to the hub, then try again."));
  if (surroundings.openFile) surroundings.openFile(sessionId, place, show);
  else show();
}

/** The view of authors is loaded with the first of them; whoever goes to a turn leaves all windows. */
function openBlame(identity: string, path: string): void {
  const [owner, sessionId] = hubs.find(identity);
  const goTo = (id: string, cursor: string): void => {
    for (const opened of document.querySelectorAll<HTMLDialogElement>("dialog[open]")) opened.close();
    const open = owner === app && app.shown().find((other) => other.id === id);
    if (open) void seek(open, cursor, (list, item) => list.goTo(item, true));
    else go(owner.hashOf(id, cursor));
  };
  void import("./view/blame").then(({ showBlame }) => showBlame(owner, sessionId, path, goTo), notLoaded);
}

/** Files of a session by a few letters of their path. */
async function findFiles(open: Conversation, pattern: string): Promise<PaletteEntry[]> {
  const identity = identityOf({ hub: app.key, sessionId: open.id });
  const answer = await app.rpc.call<{ files: string[] }>("_dragoman/hub/files", { sessionId: open.id, pattern, limit: 30 }).catch(() => ({ files: [] }));
  return answer.files.map((path) => ({ label: path, icon: "file", run: () => openFile(identity, { path, line: 0 }) }));
}

function chooseFile(): void {
  const open = current();
  if (!open) return app.say("Open a session first to see the files in its folder.");
  openPalette({ title: "Open a file", placeholder: "Find a file of this session", entries: [], lookUp: (text) => findFiles(open, text) });
}

/** The palette, the search and the export are loaded with their first use. */
function openPalette(options: PaletteOptions): void {
  palettes.use(([loaded]) => loaded.openPalette(options));
}

function palette(): void {
  palettes.use(([loaded, { commands }]) => loaded.openPalette(commands({ app, hubs, current, go, openIdentity, openSession, search, start, split, chooseFile, changes, commit, rename, help, save, fork, handOver, decide: decideOn })));
}

/** Where a message stands, as the hub numbers them; the name of a session looks different. */
const CURSOR = /^\d{1,15}(\.\d{1,9})?$/;

function follow(): void {
  // A link with a token or a pairing code that is opened in a tab that is here already.
  if (location.hash.startsWith("#token=")) return home.signIn(takeToken());
  if (location.hash.startsWith("#pair=")) return void home.pair(takePairingCode());
  if (location.hash.startsWith("#hub=")) return addHub(takeHubLink());
  const hash = surroundings.route.hash();
  const [, key, ...names] = /^#(?:\/h\/([^/]+))?\/s\/([^/]+)(?:\/([^/]+))?$/.exec(hash) ?? [];
  const owner = hubs.get(key ?? "");
  const found = owner && names.length;
  turnTo((found && owner) || home);
  const before = app.beside;
  view = VIEWS.find((name) => hash === `#/${name}`) ?? "inbox";
  const [id, second] = (found ? names : []).map((part) => (part ? decodeURIComponent(part) : null));
  const cursor = second && CURSOR.test(second) ? second : null;
  app.show(id ?? null, cursor ? null : (second ?? null));
  if (id && cursor) wanted = { found: { hub: app.key, sessionId: id, cursor, excerpt: "" }, query: null };
  side = app.beside && app.beside !== before ? 1 : 0;
  lastOpen = app.open ? identityOf({ hub: app.key, sessionId: app.open.id }) : lastOpen;
  if (cursor) redraw();
  else if (found && !matchMedia("(pointer: coarse)").matches) requestAnimationFrame(() => composers[side].field.focus());
}

function search(text = ""): void {
  const show = (found: Found, query: string): void => {
    wanted = { found, query };
    const owner = hubs.get(found.hub ?? "") ?? home;
    const open = owner === app && app.shown().find((shown) => shown.id === found.sessionId);
    if (open) void seekWanted(open);
    else openSession(found.sessionId, owner);
  };
  searching.use(({ searchAll }) => searchAll(hubs, show, text));
}

/** With several hubs, the hub is chosen first. */
function start(): void {
  const able = hubs.all().filter((hub) => hub.health === "live" && hub.may("prompt"));
  if (!hubs.hasOthers) return home.may("prompt") ? newSession(home, openSession) : undefined;
  const entries = able.map((hub) => ({ label: hubs.nameOf(hub.key), detail: hub.hub?.address ?? "the hub of this page", icon: "new", run: () => newSession(hub, (id) => openSession(id, hub)) }));
  openPalette({ title: "Which hub runs the new session?", placeholder: "Find a hub", entries });
}

/** The form for another hub is loaded when somebody asks for it. */
function addHub(link = ""): void {
  void import("./view/hubs").then(({ showAddHub }) => showAddHub(hubs, link), () => home.say("The form could not be loaded. Check the connection to the hub, then try again."));
}

/** A link of another hub comes behind the `#`, as a token does. */
function takeHubLink(): string {
  const link = decodeURIComponent(location.hash.slice("#hub=".length));
  history.replaceState(null, "", location.pathname + location.search);
  return parseHubLink(link) ? link : "";
}

function changes(open = current()): void {
  const owner = app;
  if (open?.changes?.length || open?.others.length) void import("./view/changes").then(({ showChanges }) => showChanges(owner, open), notLoaded);
  else app.say("The last turn changed no files.");
}

function rename(open = current()): void {
  if (!open) return;
  askText("Rename session", open.info?.title ?? open.fold.title ?? "", "Rename", (title) => {
    app.rpc.call("session/set_title", { sessionId: open.id, title }).then(
      () => {
        open.fold.title = title;
        redraw();
      },
      (error: Error) => app.say(`Renaming failed: ${error.message}`),
    );
  });
}

function pageMenu(event: Event): void {
  menu(event, [
    canNotify() && [notifying() ? "Turn off notifications" : "Turn on notifications", () => void switchNotifications().then((on) => app.say(on ? "Notifications are on." : "Notifications are off."))],
    ["Command palette (Ctrl K)", palette],
    ["Keyboard shortcuts", help],
    !surroundings.isEmbedded && ["Add a hub …", () => addHub()],
    !surroundings.isEmbedded && ["Sign out", () => home.signOut()],
  ]);
}

function sessionMenu(event: Event, open: Conversation): void {
  const act = (method: string) => (): void => {
    app.rpc.call(method, { sessionId: open.id }).then(
      () => {
        if (method === "session/delete") app.offline.forget(open.id).catch(() => null);
        go("#/");
        void app.refresh();
      },
      (error: Error) => app.say(error.message),
    );
  };
  const ends = (word: string, method: string) => (): void => confirm(`${word} this session?`, plain(open.info ? sessionTitle(open.info) : ""), word, act(method));
  menu(event, [
    ["Review changes", () => changes(open)],
    app.may("approve") && ["Commit …", () => commit(open)],
    ...(surroundings.sessionActs?.(open.id) ?? []),
    ["Rename", () => rename(open)],
    ["Open another session beside this one", split],
    ["Fork from here", () => fork(open)],
    ...handOverEntries(open),
    ["Export as HTML", () => void save(open)],
    ["Close session", ends("Close", "session/close")],
    open.info?.state === "archived" ? ["Unarchive session", act("session/unarchive")] : ["Archive session", act("session/archive")],
    ["Forget session", ends("Forget", "session/delete")],
  ]);
}

function turnMenu(opener: HTMLElement, open: Conversation, speech: Speech): void {
  const { key, cursor } = speech;
  const owner = app;
  const back = (): void => void import("./view/rewind").then(({ showRewind }) => showRewind(owner, open, key!), notLoaded);
  const apart = (): void => void import("./view/fork").then(({ showFork }) => showFork(owner, open, speech, (id) => openSession(id, owner)), notLoaded);
  const remembers = key !== undefined && open.fold.remembersFiles;
  menu(opener, [
    remembers && ["Put files back to before this …", back],
    ["Fork from before this", () => fork(open, cursor)],
    remembers && ["Fork into a new folder …", apart],
  ]);
}

function handOverEntries(open: Conversation): [string, () => void][] {
  if (!app.may("prompt")) return [];
  return successors(app, open.info).map((agent) => [`Hand over to ${agent.title || agent.name}`, () => handOver(open, agent.name)]);
}

function handOverMenu(open: Conversation): ((event: Event) => void) | undefined {
  const entries = handOverEntries(open);
  return entries.length ? (event) => menu(event, entries) : undefined;
}

/** A new session with this one's past: all of it, or what was before the message with a cursor. */
function fork(open: Conversation, before = ""): void {
  const params = { sessionId: open.id, cwd: open.info?.cwd ?? "", mcpServers: [], ...(before ? { _meta: { dragoman: { before } } } : {}) };
  app.rpc.call<{ sessionId: string }>("session/fork", params).then(
    ({ sessionId }) => openSession(sessionId),
    (error: Error) => app.say(`Forking failed: ${error.message}`),
  );
}

/** Another agent goes on, with a brief of what was said: for one that is out of quota, logged out or dead. */
function handOver(open: Conversation, agent: string): void {
  app.rpc.call<{ sessionId: string; lost: string[] }>("_dragoman/hub/handover", { sessionId: open.id, agent }).then(
    ({ sessionId, lost }) => {
      openSession(sessionId);
      app.say(`${agent} takes over. It gets a summary with your next prompt. Not included: ${lost.map((loss) => plain(loss)).join("; ")}.`);
    },
    (error: Error) => app.say(`${agent} could not take over: ${error.message}`),
  );
}

async function save(open: Conversation): Promise<void> {
  const { download, exported } = await import("./export");
  await open.history.readAll(app.rpc);
  const name = (open.info?.title || "session").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60);
  (surroundings.saveFile ?? download)(await exported(app, open), `${name || "session"}.html`);
}

/** Windows that few people open are loaded when somebody does. */
function notLoaded(): void {
  app.say("The window could not be loaded. Check the connection to the hub, then try again.");
}

/** The rule that would allow what was denied in a session, or its next try. */
function allowIn(identity: string, remedy: string, once: boolean): void {
  const [owner, sessionId] = hubs.find(identity);
  void import("./view/allow").then(({ showAllow }) => showAllow(owner, sessionId, remedy, once), notLoaded);
}

function commit(open: Conversation): void {
  const owner = app;
  void import("./view/commit").then(({ showCommit }) => showCommit(owner, open, redraw), notLoaded);
}

/** A program calls it once: from then on the document is the page's. */
export function startPage(connect: (app: App) => HubConnection): void {
  home.connection = connect(home);
  home.listChanged = redrawLists;
  document.addEventListener("add-hub", () => addHub());
  document.addEventListener("click", (event) => {
    const target = event.target as HTMLElement;
    const away = target.closest?.<HTMLElement>("[data-away]");
    if (away) leaving(away.dataset.away!);
    const sessionId = target.closest?.<HTMLElement>("[data-session]")?.dataset.session ?? identityOf({ hub: app.key, sessionId: current()?.id ?? "" });
    const allow = target.closest?.<HTMLElement>("[data-remedy]");
    if (allow && sessionId) allowIn(sessionId, allow.dataset.remedy!, Boolean(allow.dataset.once));
    const blamed = target.closest?.<HTMLElement>("[data-blame]");
    if (blamed && sessionId) openBlame(sessionId, blamed.dataset.blame!);
    const file = target.closest?.<HTMLElement>("[data-file]");
    if (!file) return;
    event.preventDefault(); // it may stand in the summary of a tool call, which is not to be folded by it
    if (sessionId) openFile(sessionId, { path: file.dataset.file!, line: Number(file.dataset.line ?? 0) });
  });
  document.addEventListener("turn-menu", (event) => {
    const open = current();
    const { item, button: opener } = (event as CustomEvent<{ item: Speech; button: HTMLElement }>).detail;
    if (open) turnMenu(opener, open, item);
  });
  document.addEventListener("scroll", onScroll, { capture: true, passive: true });
  const presses = { pointerdown: PRESS_MS, pointerup: CLICK_MS, pointercancel: CLICK_MS, click: 0 };
  for (const [event, time] of Object.entries(presses)) document.addEventListener(event, () => hold(time), { capture: true, passive: true });
  document.addEventListener("visibilitychange", () => hubs.all().forEach((hub) => hub.looked()));
  surroundings.route.onChange(follow);
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    if (app.open && event.dataTransfer?.files.length) void composers[side].attach([...event.dataTransfer.files]);
  });
  // The seconds until the next try count down; "5 min" becomes "6 min".
  window.setInterval(() => (hubs.all().some((hub) => hub.health === "offline") || (view === "board" && !app.open) ? redrawLists() : undefined), 1000);
  window.setInterval(redraw, 30_000);
  listenToKeys({
    inbox: () => hubs.inbox().values(), say: (text) => home.say(text), board: () => board.value, search, start, changes, help, go, palette, split, chooseFile, openBeside,
    composer: () => composers[current() === app.beside ? 1 : 0],
    decide: decideOn,
    current: () => (current() ? identityOf({ hub: app.key, sessionId: current()!.id }) : ""),
    toEnd: () => withTimeline((list) => list.toEnd()),
    toStart: () => withTimeline((list) => list.toStart()),
  });
  applyAppearance();
  // What keys open is there before somebody wants it, but not before the first load is over: then the browser has kept it.
  const prepare = (): void => [searching, palettes].forEach((part) => void part.prepare());
  const worker = surroundings.isEmbedded ? undefined : navigator.serviceWorker;
  if (!worker || worker.controller) window.setTimeout(prepare);
  else worker.addEventListener("controllerchange", prepare, { once: true });
  hubs.start();
  follow();
  home.start();
  redraw();
}

function withTimeline(act: (list: Timeline) => void): void {
  const open = current();
  if (open) act(timeline(open));
}
