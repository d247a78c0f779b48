/** Who works for whom in a session: its subagents as a tree, with their states and their last lines. */

import { type TemplateResult, html, nothing } from "lit";
import type { App } from "../model/app";
import { standingOf } from "../model/items";
import type { SessionInfo } from "../model/types";
import { plain } from "../text/reveal";

export function familyTree(app: App, sessionId: string): TemplateResult | typeof nothing {
  const children = childrenOf(app, sessionId);
  if (!children.length) return nothing;
  return html`<details class="family" open><summary>Subagents</summary>${branch(app, children, 0)}</details>`;
}

export function childrenOf(app: App, parent: string): SessionInfo[] {
  return [...app.sessions.values()].filter((session) => session.parent === parent);
}

function branch(app: App, sessions: SessionInfo[], level: number): TemplateResult | typeof nothing {
  if (!sessions.length || level > 16) return nothing;
  return html`<ul>${sessions.map((session) => html`<li>
    <a href=${app.hashOf(session.sessionId)}>${plain(session.title || session.sessionId)}</a>
    <span class="faint">${standing(session)}${lastLine(app, session)}</span>
    ${branch(app, childrenOf(app, session.sessionId), level + 1)}</li>`)}</ul>`;
}

export function standing(session: SessionInfo): string {
  const { state = "", stopReason = "" } = session.work ?? {};
  return plain(standingOf(session.asking ? "requires_action" : state, stopReason));
}

function lastLine(app: App, session: SessionInfo): string {
  const line = (app.lastWords.get(session.sessionId) ?? "").split("\n").map((one) => one.trim()).filter(Boolean).at(-1);
  return line ? ` — ${plain(line)}` : "";
}
