/** The inbox and the list of sessions. */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import { nameOf } from "../model/app";
import type { SessionInfo } from "../model/types";
import { surroundings } from "../surroundings";
import { plain } from "../text/reveal";
import { ago, lastPart } from "./dom";
import { icon } from "./icons";
import { questionCard } from "./question";

const WORDS: Record<string, string> = {
  running: "running",
  waiting: "waits for you",
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

export function inbox(app: App, startNew: () => void): TemplateResult {
  const waiting = [...app.inbox.values()];
  return html`<section class="inbox" aria-labelledby="inbox-title">
    <h2 id="inbox-title">${waiting.length ? `${waiting.length} ${waiting.length === 1 ? "thing waits" : "things wait"} for you` : "Inbox"}</h2>
    <div class="cards">${repeat(waiting, nameOf, (asked) => questionCard(app, asked, false))}</div>
    ${app.offline.asOf ? html`<p class="faint none">What waits for you is not known without the hub.</p>` : nothing}
    ${waiting.length || !app.loaded ? nothing : empty(app, startNew)}
  </section>`;
}

function empty(app: App, startNew: () => void): TemplateResult {
  const first = app.sessions.size === 0;
  return html`<div class="empty">
    <img src=${surroundings.icon} alt="" width="72" height="72" />
    <p class="empty-title">${first ? "Welcome" : "Nothing waits for you"}</p>
    <p class="faint">
      ${first
        ? "Start a session with one of your agents; it goes on when you close this page."
        : "Approvals and questions of all your sessions appear here."}
    </p>
    ${app.may("prompt") ? html`<button type="button" class="choice allow_once" @click=${startNew}>New session</button>` : nothing}
  </div>`;
}

export function sessionList(app: App): TemplateResult {
  const all = [...app.sessions.values()].sort((one, other) => (other.updatedAt ?? "").localeCompare(one.updatedAt ?? ""));
  const groups = GROUPS.map(([name, fits]) => [name, all.filter(fits)] as const).filter(([, found]) => found.length);
  return html`<nav class="sessions" aria-label="Sessions">
    ${groups.map(([name, found]) => html`<h3 class="group">${name}</h3>
      <ul>${repeat(found, (session) => session.sessionId, (session) => row(app, session))}</ul>`)}
    ${app.nextCursor ? html`<button type="button" class="quiet wide" @click=${() => void app.moreSessions()}>Older sessions</button>` : nothing}
    ${app.loaded && !all.length ? html`<p class="faint none">No sessions yet.</p>` : nothing}
    ${app.loaded ? html`<button type="button" class="quiet wide" aria-pressed=${app.withArchived ? "true" : "false"} @click=${() => void app.toggleArchived()}>${app.withArchived ? "Hide archived sessions" : "Archived sessions"}</button>` : nothing}
    ${app.loaded || app.offline.asOf ? nothing : html`<div class="skeleton" aria-hidden="true"><i></i><i></i><i></i></div>`}
  </nav>`;
}

function row(app: App, session: SessionInfo): TemplateResult {
  const open = app.shown().some((shown) => shown.id === session.sessionId);
  const unread = !open && app.unread(session);
  const title = plain(session.title || "Untitled session");
  return html`<li>
    <a class="session ${unread ? "unread" : ""}" href="#/s/${encodeURIComponent(session.sessionId)}" aria-current=${open ? "page" : nothing}>
      <span class="dot ${session.state}" role="img" aria-label=${WORDS[session.state] ?? session.state}></span>
      <span class="session-title">${title}</span>
      <span class="session-when">${ago(session.updatedAt)}</span>
      <span class="session-under">${plain(session.agent ?? "")} · ${plain(lastPart(session.cwd ?? ""), "exact line")}
        ${session.queue ? html` · ${session.queue} queued` : nothing}</span>
      ${session.asking ? html`<span class="badge">${session.asking}</span>` : unread ? html`<span class="new" role="img" aria-label="unread"></span>` : nothing}
    </a>
  </li>`;
}

/** How many messages wait to be sent, of all sessions; opens the list of them. */
export function outboxLink(app: App, open: () => void): TemplateResult | typeof nothing {
  const count = app.toSend;
  if (!count) return nothing;
  const words = app.health === "live" ? "Not sent yet" : "Waiting for the network";
  return html`<button type="button" class="view-link outbox-link" @click=${open}>${icon("send")}<span>${words}</span><span class="badge">${count}<span class="unseen"> ${count === 1 ? "message" : "messages"}</span></span></button>`;
}

/** The places of the page besides sessions. */
export function viewLinks(app: App, view: string): TemplateResult {
  const link = (name: string, address: string, label: string, key: string, count = 0): TemplateResult =>
    html`<a class="view-link" href=${address} title="${label} (${key})" aria-current=${view === name ? "page" : nothing}>${icon(name)}<span>${label}</span>${count ? html`<span class="badge">${count}<span class="unseen"> waiting</span></span>` : nothing}</a>`;
  return html`<nav class="views" aria-label="Views">${link("inbox", "#/", "Inbox", "i", app.inbox.size)}${link("board", "#/board", "Board", "b")}${link("agents", "#/agents", "Agents", "g")}${link("settings", "#/settings", "Settings", ",")}</nav>`;
}

export function sidebarHead(app: App, act: { search(): void; start(): void; menu(event: Event): void }): TemplateResult {
  return html`<header class="side-head">
    <a class="brand" href="#/" title="Inbox (i)"><img src=${surroundings.icon} alt="" width="28" height="28" /><h1>Dragoman</h1></a>
    <button type="button" class="round quiet" aria-label="Search" title="Search (/), everything (Ctrl K)" @click=${act.search}>${icon("search")}</button>
    <button type="button" class="round quiet" aria-label="New session" title="New session (n)" ?disabled=${!app.may("prompt")} @click=${act.start}>${icon("new")}</button>
    <button type="button" class="round quiet" aria-label="Menu" aria-haspopup="menu" @click=${act.menu}>${icon("menu")}</button>
  </header>`;
}
