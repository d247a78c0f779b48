/** The inbox and the list of sessions. */

import { type TemplateResult, html, nothing } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import { nameOf } from "../model/app";
import { sessionTitle, underTitle } from "../model/beginning";
import { latestFirst, withoutChildren } from "../model/board";
import { type Hubs, identityOf } from "../model/hubs";
import type { SessionInfo } from "../model/types";
import { surroundings } from "../surroundings";
import { plain } from "../text/reveal";
import { ago } from "./dom";
import { icon } from "./icons";
import { remedyLine } from "./items";
import { questionCard } from "./question";

const WORDS: Record<string, string> = {
  running: "running",
  waiting: "waiting for you",
  idle: "idle",
  failed: "failed",
  closed: "closed",
  archived: "archived",
};
const GROUPS: [string, (session: SessionInfo) => boolean][] = [
  ["Waiting for you", (session) => session.state === "waiting"],
  ["Running", (session) => session.state === "running"],
  ["Recent", (session) => session.state === "idle" || session.state === "failed"],
  ["Closed", (session) => session.state === "closed"],
  ["Archived", (session) => session.state === "archived"],
];

export function inbox(hubs: Hubs, startNew: () => void): TemplateResult {
  const app = hubs.home;
  const waiting = [...hubs.inbox().values()];
  return html`<section class="inbox" aria-labelledby="inbox-title">
    <h2 id="inbox-title">${waiting.length ? `${waiting.length} ${waiting.length === 1 ? "question is" : "questions are"} waiting for you` : "Inbox"}</h2>
    ${hubNotices(hubs)}
    <div class="cards">${repeat(waiting, nameOf, (asked) => questionCard(hubs.get(asked.hub ?? "") ?? app, asked, false))}</div>
    ${app.offline.asOf ? html`<p class="faint none">Connect to the hub to see the questions waiting for you.</p>` : nothing}
    ${waiting.length || !app.loaded ? nothing : empty(hubs, startNew)}
    ${notAllowed(hubs)}
  </section>`;
}

/** What nobody answered in time, the latest first: a rule can allow it the next time. */
function notAllowed(hubs: Hubs): TemplateResult | typeof nothing {
  const denied = hubs.all().flatMap((app) => [...app.denied.values()].map((one) => ({ app, one }))).reverse();
  if (!denied.length) return nothing;
  const row = ({ app, one }: (typeof denied)[number]): TemplateResult => html`<li data-session=${identityOf(one)}>
    <p><code>${plain(one.what, "exact line")}</code></p>
    <p class="faint"><a class="origin" href=${app.hashOf(one.sessionId)}>${plain([app.hub?.name, one.title || "Session", one.agent].filter(Boolean).join(" · "), "exact line")}</a> · ${plain(one.why, "exact line")}</p>
    ${guard([one.remedy, one.once, app.mayRule], () => remedyLine(one.remedy, app.mayRule, one.once))}</li>`;
  return html`<section class="denied" aria-labelledby="denied-title"><h3 id="denied-title">Not allowed</h3><ul>${repeat(denied, ({ one }) => `${identityOf(one)} ${one.remedy}`, row)}</ul></section>`;
}

/** Other hubs that cannot be reached, each in a line of its own. */
export function hubNotices(hubs: Hubs): TemplateResult[] {
  return hubs.all().filter((hub) => hub.hub).map(hubNotice).filter((notice) => notice !== nothing);
}

/** Why another hub is not there; nothing if it is. */
export function hubNotice(app: App): TemplateResult | typeof nothing {
  const { hub, health } = app;
  if (!hub || health === "live" || (health === "connecting" && !app.why)) return nothing;
  const seconds = Math.max(0, Math.ceil((app.retryAt - Date.now()) / 1000));
  const next = health === "refused" ? "" : health === "offline" && seconds ? `Next try in ${seconds} s.` : "Trying again …";
  const again = (): void => (health === "refused" ? app.connection.start() : app.connection.hurry());
  return html`<div class="hub-notice" role="status" data-hub=${hub.key}><span class="dot failed"></span>
    <span><strong>${plain(hub.name)}</strong> is not connected: ${plain(app.why)}${/[.!?]$/.test(app.why) ? "" : "."} ${app.loaded ? "Its sessions may be out of date." : ""} ${next}</span>
    <button type="button" class="small" @click=${again}>Try now</button></div>`;
}

function empty(hubs: Hubs, startNew: () => void): TemplateResult {
  const app = hubs.home;
  const first = hubs.sessions().length === 0;
  return html`<div class="empty">
    <img src=${surroundings.icon} alt="" width="72" height="72" />
    <p class="empty-title">${first ? "Welcome" : "Nothing is waiting for you"}</p>
    <p class="faint">
      ${first
        ? "Start a session with one of your agents. It keeps running when you close this page."
        : "Questions from all your sessions appear here."}
    </p>
    ${app.may("prompt") ? html`<button type="button" class="choice allow_once" @click=${startNew}>New session</button>` : nothing}
  </div>`;
}

/** Rows that are drawn; more when somebody asks for older ones. */
let most = 100;

export function sessionList(hubs: Hubs): TemplateResult {
  const app = hubs.home;
  const sorted = withoutChildren(hubs.sessions()).sort(latestFirst);
  const all = sorted.slice(0, most);
  const hasHidden = sorted.length > most;
  const more = (): void => {
    most += 100;
    if (!hasHidden) moreSessions(hubs);
    app.changed();
  };
  const groups = GROUPS.map(([name, fits]) => [name, all.filter(fits)] as const).filter(([, found]) => found.length);
  return html`<nav class="sessions" aria-label="Sessions">
    ${groups.map(([name, found]) => html`<h3 class="group">${name}</h3>
      <ul>${repeat(found, identityOf, (session) => row(hubs, session))}</ul>`)}
    ${hasHidden || hubs.all().some((hub) => hub.nextCursor) ? html`<button type="button" class="quiet wide" @click=${more}>Show older sessions</button>` : nothing}
    ${app.loaded && !all.length ? html`<p class="faint none">No sessions yet.</p>` : nothing}
    ${app.loaded ? html`<button type="button" class="quiet wide" aria-pressed=${app.withArchived ? "true" : "false"} @click=${() => hubs.all().forEach((hub) => void hub.toggleArchived().catch(() => null))}>${app.withArchived ? "Hide archived sessions" : "Show archived sessions"}</button>` : nothing}
    ${app.loaded || app.offline.asOf ? nothing : html`<div class="skeleton" aria-hidden="true"><i></i><i></i><i></i></div>`}
  </nav>`;
}

export function moreSessions(hubs: Hubs): void {
  for (const hub of hubs.all()) void hub.moreSessions().catch(() => null); // one that is away says so in its place
}

/** A row is drawn again when something in it has changed: there may be a thousand. */
function row(hubs: Hubs, session: SessionInfo): unknown {
  const app = hubs.get(session.hub ?? "") ?? hubs.home;
  const hubName = hubs.nameOf(session.hub);
  const open = app.shown().some((shown) => shown.id === session.sessionId);
  const unread = !open && app.unread(session);
  const when = ago(session.updatedAt);
  const { title, agent, cwd, state, queue, asking } = session;
  return guard([title, agent, cwd, state, queue, asking, hubName, open, unread, when], () => rowView(app, session, { hubName, open, unread, when }));
}

function rowView(app: App, session: SessionInfo, { hubName, open, unread, when }: { hubName: string; open: boolean; unread: boolean; when: string }): TemplateResult {
  const title = plain(sessionTitle(session));
  return html`<li>
    <a class="session ${unread ? "unread" : ""}" href=${app.hashOf(session.sessionId)} aria-current=${open ? "page" : nothing}>
      <span class="dot ${session.state}" role="img" aria-label=${WORDS[session.state] ?? session.state}></span>
      <span class="session-title">${title}</span>
      <span class="session-when">${when}</span>
      <span class="session-under">${hubName ? html`<span class="hub-name">${plain(hubName)}</span> · ` : nothing}${plain(underTitle(session, app.home), "exact line")}
        ${session.queue ? html` · ${session.queue} queued` : nothing}</span>
      ${session.asking ? html`<span class="badge">${session.asking}</span>` : unread ? html`<span class="new" role="img" aria-label="unread"></span>` : nothing}
    </a>
  </li>`;
}

/** How many messages wait to be sent, of all sessions; opens the list of them. */
export function outboxLink(hubs: Hubs, open: () => void): TemplateResult | typeof nothing {
  const count = hubs.all().reduce((sum, hub) => sum + hub.toSend, 0);
  if (!count) return nothing;
  const words = hubs.home.health === "live" ? "Not sent yet" : "Waiting for the network";
  return html`<button type="button" class="view-link outbox-link" @click=${open}>${icon("send")}<span>${words}</span><span class="badge">${count}<span class="unseen"> ${count === 1 ? "message" : "messages"}</span></span></button>`;
}

/** The places of the page besides sessions. */
export function viewLinks(waiting: number, view: string): TemplateResult {
  const link = (name: string, address: string, label: string, key: string, count = 0): TemplateResult =>
    html`<a class="view-link" href=${address} title="${label} (${key})" aria-current=${view === name ? "page" : nothing}>${icon(name)}<span>${label}</span>${count ? html`<span class="badge">${count}<span class="unseen"> waiting</span></span>` : nothing}</a>`;
  return html`<nav class="views" aria-label="Views">${link("inbox", "#/", "Inbox", "i", waiting)}${link("board", "#/board", "Board", "b")}${link("agents", "#/agents", "Agents", "g")}${link("settings", "#/settings", "Settings", ",")}</nav>`;
}

export function sidebarHead(app: App, act: { search(): void; start(): void; menu(event: Event): void }): TemplateResult {
  return html`<header class="side-head">
    <a class="brand" href="#/" title="Inbox (i)"><img src=${surroundings.icon} alt="" width="28" height="28" /><h1>Dragoman</h1></a>
    <button type="button" class="round quiet" aria-label="Search" title="Search (/), everything (Ctrl K)" @click=${act.search}>${icon("search")}</button>
    <button type="button" class="round quiet" aria-label="New session" title="New session (n)" ?disabled=${!app.may("prompt")} @click=${act.start}>${icon("new")}</button>
    <button type="button" class="round quiet" aria-label="Menu" aria-haspopup="menu" @click=${act.menu}>${icon("menu")}</button>
  </header>`;
}
