/** The board: a column for each state, a tile for each session. Arrow keys and j, k, h, l move; the tile in focus is the chosen one. */

import { type TemplateResult, html, nothing } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import { sessionTitle } from "../model/beginning";
import { type Hubs, identityOf } from "../model/hubs";
import { type BoardFilter, type Column, type ColumnName, type Progress, columnsOf, duration, stepAcross, stepDown, totalCost, withoutChildren } from "../model/board";
import { titleOf } from "../model/asked";
import { recallJson, remember } from "../model/memory";
import { surroundings } from "../surroundings";
import { moment } from "../model/time";
import type { Asked, SessionInfo } from "../model/types";
import { plain } from "../text/reveal";
import { plainText } from "../text/search";
import { ago, lastPart, price } from "./dom";
import { hubNotices, moreSessions } from "./home";
import { icon } from "./icons";
import { worstRisk } from "./risks";

const EMPTY: Record<ColumnName, string> = {
  needs: "Nothing is waiting for you",
  running: "Nothing running",
  done: "Nothing finished yet",
  failed: "No failures",
};
const STEP = 50;
const LINE_ICONS: Record<string, string> = { tool: "execute", thought: "think", permission: "ask", error: "close", prompt: "move" };

export class BoardView {
  filter = recallJson<BoardFilter>("board", { agent: "", text: "" });
  private chosen = "";
  private columns: (Column & { count: number })[] = [];
  /** Tiles of a column that are drawn: of a thousand sessions, nobody looks at all at once. */
  private most = STEP;
  /** What is asked first, by session. */
  private asked = new Map<string, Asked>();
  /** Somebody who moves with keys keeps the place when a tile goes to another column. */
  private isByKeys = false;

  private app: App;

  constructor(private hubs: Hubs, private startNew: () => void, private approve: (identity: string) => void) {
    this.app = hubs.home;
    document.addEventListener("pointerdown", () => (this.isByKeys = false), true);
  }

  view(): TemplateResult {
    const { app, hubs } = this;
    const sessions = withoutChildren(hubs.sessions(), (session) => !!session.asking); // a question is answered on its tile
    this.columns = columnsOf(sessions, this.filter).map((column) => ({ ...column, sessions: column.sessions.slice(0, this.most), count: column.sessions.length }));
    const all = this.columns.flatMap((column) => column.sessions);
    if (!all.some((session) => identityOf(session) === this.chosen)) this.chosen = all.length ? identityOf(all[0]) : "";
    this.asked = new Map([...hubs.inbox().values()].reverse().map((asked) => [identityOf(asked), asked]));
    return html`<section class="board" aria-labelledby="board-title" @focusin=${this.onFocus}>
      ${this.head(sessions)}
      ${hubNotices(hubs)}
      ${app.loaded && !sessions.length ? this.welcome() : html`<div class="board-columns">${this.columns.map((column) => this.column(column))}</div>`}
    </section>`;
  }

  private head(sessions: SessionInfo[]): TemplateResult {
    const { app, filter, hubs } = this;
    const agents = [...new Set(sessions.map((session) => session.agent))].sort();
    const costs = [...totalCost(hubs.all().flatMap((hub) => [...hub.feed.progress.values()]))].map(([currency, amount]) => price({ amount, currency }));
    const set = (change: Partial<BoardFilter>): void => {
      this.filter = { ...filter, ...change };
      remember("board", JSON.stringify(this.filter));
      app.changed();
    };
    return html`<header class="board-head">
      <a class="round quiet back" href="#/" aria-label="Back to the inbox">${icon("back")}</a>
      <h2 id="board-title">Board</h2>
      ${costs.length ? html`<span class="faint board-cost" title="Total cost of the sessions below">${costs.join(" + ")}</span>` : nothing}
      <span class="board-tools">
        ${hubs.hasOthers || filter.hub ? html`<select aria-label="Hub" @change=${(event: Event) => set({ hub: (event.target as HTMLSelectElement).value })}>
          <option value="" ?selected=${!filter.hub}>All hubs</option>
          ${hubs.all().map((hub) => html`<option value=${hub.key || "home"} ?selected=${(hub.key || "home") === filter.hub}>${plain(hubs.nameOf(hub.key))}</option>`)}
        </select>` : nothing}
        ${agents.length > 1 || filter.agent ? html`<select aria-label="Agent" @change=${(event: Event) => set({ agent: (event.target as HTMLSelectElement).value })}>
          <option value="" ?selected=${!filter.agent}>All agents</option>
          ${agents.map((agent) => html`<option value=${agent} ?selected=${agent === filter.agent}>${plain(agent)}</option>`)}
        </select>` : nothing}
        <input type="search" class="board-filter" placeholder="Filter" aria-label="Filter sessions" .value=${filter.text}
          @input=${(event: Event) => set({ text: (event.target as HTMLInputElement).value })} />
      </span>
    </header>`;
  }

  private welcome(): TemplateResult {
    return html`<div class="empty"><img src=${surroundings.icon} alt="" width="72" height="72" /><p class="empty-title">No sessions yet</p>
      <p class="faint">Sessions of all your agents appear here, sorted by state: waiting for you, running, done, failed.</p>
      ${this.app.may("prompt") ? html`<button type="button" class="choice allow_once" @click=${this.startNew}>New session</button>` : nothing}</div>`;
  }

  private more = (): void => {
    const hasHidden = this.columns.some((column) => column.count > this.most);
    this.most += STEP;
    if (!hasHidden) moreSessions(this.hubs);
    this.app.changed();
  };

  private column(column: Column & { count: number }): TemplateResult {
    const { app } = this;
    const { count } = column;
    const hasMore = count > this.most || (column.name === "done" && this.hubs.all().some((hub) => hub.nextCursor));
    return html`<section class="board-column of-${column.name}" aria-label="${column.title}, ${count}">
      <h3 class="board-column-head"><span class="dot ${STATE_OF[column.name]}"></span>${column.title}<span class="board-count">${count}</span></h3>
      <ul class="board-list">
        ${repeat(column.sessions, identityOf, (session) => this.tile(session, column.name))}
      </ul>
      ${count || !app.loaded ? nothing : html`<p class="faint board-none">${EMPTY[column.name]}</p>`}
      ${app.loaded ? nothing : html`<div class="skeleton" aria-hidden="true"><i></i><i></i><i></i></div>`}
      ${hasMore ? html`<button type="button" class="quiet" @click=${this.more}>${column.name === "needs" ? "More questions" : "Older sessions"}</button>` : nothing}
    </section>`;
  }

  /** A tile is drawn again when something in it has changed: there may be a thousand. */
  private tile(session: SessionInfo, column: ColumnName): unknown {
    const app = this.hubs.get(session.hub ?? "") ?? this.app;
    const identity = identityOf(session);
    const hubName = this.hubs.nameOf(session.hub);
    const progress = app.feed.progress.get(session.sessionId);
    const asked = this.asked.get(identity);
    const isUnread = app.unread(session);
    const isAway = app.hub !== null && app.health !== "live";
    const isChosen = identity === this.chosen;
    const time = timeOf(session, column, progress, asked);
    const draw = (): TemplateResult => html`<li>
      <a class="tile of-${column} ${isUnread ? "unread" : ""} ${isAway ? "away" : ""}" href=${app.hashOf(session.sessionId)} data-session=${identity}
        tabindex=${isChosen ? 0 : -1}>
        <span class="tile-head"><span class="tile-title">${session.parent ? html`<span class="faint" title="Started by another session">↳ </span>` : nothing}${plain(sessionTitle(session))}</span>
          ${isUnread ? html`<span class="new" role="img" aria-label="unread"></span>` : nothing}
          <span class="tile-time">${time}</span></span>
        ${asked && column === "needs" ? question(asked) : lineOf(progress, column)}
        <span class="tile-foot">${hubName ? html`<span class="hub-name">${plain(hubName)}</span>` : nothing}<span class="tile-agent">${plain(session.agent)}</span><span class="tile-folder" title=${plain(session.cwd, "exact line")}>${plain(lastPart(session.cwd), "exact line")}</span>
          ${session.queue ? html`<span>${session.queue} queued</span>` : nothing}${measures(progress)}</span>
      </a>
      ${asked && !isAway && app.may("approve") ? html`<button type="button" class="small tile-approve" @click=${() => this.approve(identity)}>Decide<kbd>⇧A</kbd></button>` : nothing}
    </li>`;
    const { title, agent, cwd, queue, parent } = session;
    return guard([title, agent, cwd, queue, parent, column, progress, asked, isUnread, isAway, isChosen, time, hubName, app.may("approve")], draw);
  }

  private onFocus = (event: FocusEvent): void => {
    const id = (event.target as HTMLElement).closest<HTMLElement>("[data-session]")?.dataset.session;
    if (id === undefined || id === this.chosen) return;
    this.chosen = id;
    this.app.changed();
  };

  /** The session that keys are about. */
  get current(): string {
    return this.chosen;
  }

  move(down: number, across: number): void {
    const isInside = document.activeElement?.closest(".board-columns");
    this.isByKeys = true;
    // The first key enters the board; from then on keys move in it.
    if (isInside) this.chosen = down ? stepDown(this.columns, this.chosen, down) : stepAcross(this.columns, this.chosen, across);
    this.focus();
    this.app.changed();
  }

  private focus(): void {
    const tile = document.querySelector<HTMLElement>(`.tile[data-session="${CSS.escape(this.chosen)}"]`);
    tile?.focus();
    tile?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** After a drawing: a tile that went to another column was made anew, and takes the focus with it. */
  after(): void {
    if (this.isByKeys && document.activeElement === document.body) this.focus();
  }
}

const STATE_OF: Record<ColumnName, string> = { needs: "waiting", running: "running", done: "idle", failed: "failed" };

function timeOf(session: SessionInfo, column: ColumnName, progress: Progress | undefined, asked: Asked | undefined): string {
  if (column === "running" && progress?.turnStarted) return duration(Date.now() - progress.turnStarted * 1000);
  const since = column === "needs" ? moment(asked?.askedAt) : undefined;
  return since === undefined ? ago(session.updatedAt) : duration(Date.now() - since);
}

function question(asked: Asked): TemplateResult {
  const risk = worstRisk(asked);
  const words = titleOf(asked);
  return html`<span class="tile-line asks">${icon("ask")}<span>${plain(words, "exact line")}${risk ? html` <span class="tile-risk ${risk}">${risk}</span>` : nothing}</span></span>`;
}

function lineOf(progress: Progress | undefined, column: ColumnName): TemplateResult | typeof nothing {
  const line = progress?.line;
  if (!line) return nothing;
  const text = line.kind === "message" || line.kind === "thought" ? plainText(line.text).replace(/^[\s>|#*-]+/, "") : line.text;
  const name = LINE_ICONS[line.kind];
  return html`<span class="tile-line ${line.kind} ${column === "running" ? "live" : ""}">${name ? icon(name) : nothing}<span>${plain(text, "line")}</span></span>`;
}

function measures(progress: Progress | undefined): TemplateResult {
  const cost = progress?.usage?.cost;
  const { changes } = progress ?? {};
  return html`<span class="tile-measures">
    ${changes?.files ? html`<span class="tally" title="${changes.files} ${changes.files === 1 ? "file" : "files"} changed by the last turn"><span class="plus">+${changes.added}</span> <span class="minus">−${changes.removed}</span></span>` : nothing}
    ${typeof cost?.amount === "number" ? html`<span title="Cost of this session, as reported by the agent">${price({ amount: cost.amount, currency: String(cost.currency ?? "") })}</span>` : nothing}</span>`;
}
