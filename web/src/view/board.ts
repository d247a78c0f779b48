/** The board: a column for each state, a tile for each session. Arrow keys and j, k, h, l move; the tile in focus is the chosen one. */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import { type BoardFilter, type Column, type ColumnName, type Progress, columnsOf, duration, stepAcross, stepDown, totalCost } from "../model/board";
import { recallJson, remember } from "../model/memory";
import { surroundings } from "../surroundings";
import { moment } from "../model/time";
import type { Asked, SessionInfo } from "../model/types";
import { plain } from "../text/reveal";
import { plainText } from "../text/search";
import { ago, lastPart } from "./dom";
import { icon } from "./icons";
import { worstRisk } from "./risks";

const EMPTY: Record<ColumnName, string> = {
  needs: "Nothing waits for you.",
  running: "No turn runs.",
  done: "No session has ended a turn.",
  failed: "None has failed.",
};
const LINE_ICONS: Record<string, string> = { tool: "execute", thought: "think", permission: "ask", error: "close", prompt: "move" };

export class BoardView {
  filter = recallJson<BoardFilter>("board", { agent: "", text: "" });
  private chosen = "";
  private columns: Column[] = [];
  /** Somebody who moves with keys keeps the place when a tile goes to another column. */
  private isByKeys = false;

  constructor(private app: App, private startNew: () => void, private approve: (sessionId: string) => void) {
    document.addEventListener("pointerdown", () => (this.isByKeys = false), true);
  }

  view(): TemplateResult {
    const { app } = this;
    this.columns = columnsOf(app.sessions.values(), this.filter);
    const first = this.columns.flatMap((column) => column.sessions)[0]?.sessionId ?? "";
    if (!this.columns.some((column) => column.sessions.some((session) => session.sessionId === this.chosen))) this.chosen = first;
    return html`<section class="board" aria-labelledby="board-title" @focusin=${this.onFocus}>
      ${this.head()}
      ${app.loaded && !app.sessions.size ? this.welcome() : html`<div class="board-columns">${this.columns.map((column) => this.column(column))}</div>`}
    </section>`;
  }

  private head(): TemplateResult {
    const { app, filter } = this;
    const agents = [...new Set([...app.sessions.values()].map((session) => session.agent))].sort();
    const costs = [...totalCost(app.feed.progress.values())].map(([currency, amount]) => `${amount.toFixed(2)} ${plain(currency)}`);
    const set = (change: Partial<BoardFilter>): void => {
      this.filter = { ...filter, ...change };
      remember("board", JSON.stringify(this.filter));
      app.changed();
    };
    return html`<header class="board-head">
      <a class="round quiet back" href="#/" aria-label="Back to the inbox">${icon("back")}</a>
      <h2 id="board-title">Board</h2>
      ${costs.length ? html`<span class="faint board-cost" title="What the sessions below cost together">${costs.join(" + ")}</span>` : nothing}
      <span class="board-tools">
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
    return html`<div class="empty"><img src=${surroundings.icon} alt="" width="72" height="72" /><p class="empty-title">No session yet</p>
      <p class="faint">Sessions of all your agents stand here, by what they need: you, time, or nothing any more.</p>
      ${this.app.may("prompt") ? html`<button type="button" class="choice allow_once" @click=${this.startNew}>New session</button>` : nothing}</div>`;
  }

  private column(column: Column): TemplateResult {
    const { app } = this;
    const count = column.sessions.length;
    return html`<section class="board-column of-${column.name}" aria-label="${column.title}, ${count}">
      <h3 class="board-column-head"><span class="dot ${STATE_OF[column.name]}"></span>${column.title}<span class="board-count">${count}</span></h3>
      <ul class="board-list">
        ${repeat(column.sessions, (session) => session.sessionId, (session) => this.tile(session, column.name))}
      </ul>
      ${count || !app.loaded ? nothing : html`<p class="faint board-none">${EMPTY[column.name]}</p>`}
      ${app.loaded ? nothing : html`<div class="skeleton" aria-hidden="true"><i></i><i></i><i></i></div>`}
      ${column.name === "done" && app.nextCursor ? html`<button type="button" class="quiet" @click=${() => void app.moreSessions()}>Older sessions</button>` : nothing}
    </section>`;
  }

  private tile(session: SessionInfo, column: ColumnName): TemplateResult {
    const { app } = this;
    const progress = app.feed.progress.get(session.sessionId);
    const asked = [...app.inbox.values()].find((one) => one.sessionId === session.sessionId);
    const isUnread = app.unread(session);
    return html`<li>
      <a class="tile of-${column} ${isUnread ? "unread" : ""}" href="#/s/${encodeURIComponent(session.sessionId)}" data-session=${session.sessionId}
        tabindex=${session.sessionId === this.chosen ? 0 : -1}>
        <span class="tile-head"><span class="tile-title">${session.parent ? html`<span class="faint" title="Begun by another session">↳ </span>` : nothing}${plain(session.title || "Untitled session")}</span>
          ${isUnread ? html`<span class="new" role="img" aria-label="unread"></span>` : nothing}
          <span class="tile-time">${timeOf(session, column, progress, asked)}</span></span>
        ${asked && column === "needs" ? question(asked) : lineOf(progress, column)}
        <span class="tile-foot"><span class="tile-agent">${plain(session.agent)}</span><span class="tile-folder" title=${plain(session.cwd, "exact line")}>${plain(lastPart(session.cwd), "exact line")}</span>
          ${session.queue ? html`<span>${session.queue} queued</span>` : nothing}${measures(progress)}</span>
      </a>
      ${asked && app.may("approve") ? html`<button type="button" class="small tile-approve" @click=${() => this.approve(session.sessionId)}>Decide<kbd>⇧A</kbd></button>` : nothing}
    </li>`;
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
  const words = String(asked.params.toolCall?.title ?? asked.params.message ?? "The agent asks for permission");
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
    ${typeof cost?.amount === "number" ? html`<span title="What the agent says that the session has cost">${cost.amount.toFixed(2)} ${plain(String(cost.currency ?? ""))}</span>` : nothing}</span>`;
}
