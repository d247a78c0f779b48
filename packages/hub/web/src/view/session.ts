/** One session: its head, the conversation, and the dock below with what waits, the queue and the composer. */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import { nameOf } from "../model/app";
import { sessionTitle, underTitle } from "../model/beginning";
import type { Conversation } from "../model/conversation";
import { promptText } from "../model/items";
import { OUTCOMES } from "../model/steering";
import { troubleOf } from "../model/trouble";
import type { ConfigOption, Queued } from "../model/types";
import { plain } from "../text/reveal";
import { parseUnified, counts } from "../text/diff";
import type { Composer } from "./composer";
import { askText } from "./dialogs";
import { clock, grouped, price } from "./dom";
import { familyTree } from "./family";
import { icon } from "./icons";
import { questionCard } from "./question";
import type { Timeline } from "./timeline";

export interface Acts {
  menu(event: Event): void;
  changes(): void;
  rename(): void;
  /** Offers the agents that could go on; absent if there is none. */
  handOver?(event: Event): void;
  /** Leaves this session of a split view; absent if it is alone. */
  close?(): void;
}

export function sessionView(app: App, open: Conversation, timeline: Timeline, composer: Composer, acts: Acts): TemplateResult {
  const title = plain(sessionTitle(open.info ?? { agent: "", cwd: "", title: open.fold.title ?? "" }));
  return html`<header class="session-head">
      ${back(app, open)}
      <div class="session-name">
        <h2 class="session-h" title=${title}><button type="button" class="plain" @click=${acts.rename} title="Rename">${title}</button></h2>
        <p class="faint one-line">${app.hub ? html`<span class="hub-name">${plain(app.hub.name)}</span> · ` : nothing}<span title=${plain(open.info?.cwd ?? "", "exact line")}>${plain(open.info ? underTitle(open.info, app.home) : "", "exact line")}</span></p>
      </div>
      ${usage(open)}${state(open)}
      <button type="button" class="round quiet" aria-label="Session menu" aria-haspopup="menu" @click=${acts.menu}>${icon("menu")}</button>
      ${acts.close ? html`<button type="button" class="round quiet" aria-label="Close this side" title="Close this side" @click=${acts.close}>${icon("close")}</button>` : nothing}
    </header>
    ${open.state === "failed" ? failed(app, open) : html`<div class="reading">${timeline.element}${timeline.rail.element}</div>`}
    <div class="dock">
      ${lagging(open)} ${familyTree(app, open.id)} ${waiting(app, open)} ${trouble(app, open, acts)} ${changed(open, acts)} ${queue(app, open)}
      ${app.may("prompt") ? html`${composer.element} ${settings(app, open)}` : html`<p class="watching faint">You can watch this session. Your token can't send messages.</p>`}
    </div>`;
}

/** On a phone the list is not beside it: what waits elsewhere is told on the way there. */
function back(app: App, open: Conversation): TemplateResult {
  const others = [...app.inbox.values()].filter((one) => one.sessionId !== open.id).length;
  const label = others ? `Back to the inbox, ${others} waiting` : "Back to the inbox";
  return html`<a class="round quiet back" href="#/" aria-label=${label}>${icon("back")}${others ? html`<span class="badge">${others}</span>` : nothing}</a>`;
}

function failed(app: App, open: Conversation): TemplateResult {
  return html`<div class="empty"><p class="empty-title">This session cannot be shown</p><p class="faint">${plain(open.why)}</p>
    <button type="button" class="choice" @click=${() => void open.attach(app.rpc)}>Try again</button></div>`;
}

function state(open: Conversation): TemplateResult {
  const { fold, info } = open;
  const word = fold.gone ? "agent stopped" : fold.turn ? (info?.state === "waiting" ? "waiting for you" : "running") : (info?.state ?? "");
  const tone = fold.gone ? "failed" : fold.turn ? (info?.state === "waiting" ? "waiting" : "running") : (info?.state ?? "");
  return html`<span class="pill ${tone}"><span class="dot ${tone}"></span>${open.state === "opening" ? "opening" : word}</span>`;
}

function usage(open: Conversation): TemplateResult | typeof nothing {
  const usage = open.fold.usage;
  if (!usage) return nothing;
  const share = usage.size && usage.used !== undefined ? Math.min(100, (100 * usage.used) / usage.size) : null;
  const cost = usage.cost ? price(usage.cost) : "";
  const words = share === null ? `${usage.used ?? 0} tokens` : `${grouped(usage.used ?? 0)} of ${grouped(usage.size ?? 0)} tokens`;
  return html`<span class="usage" title="${words}${cost ? `, ${cost}` : ""}">
    ${share === null ? nothing : html`<meter min="0" max="100" .value=${share} aria-label="Context used: ${words}"></meter><span>${Math.round(share)} %</span>`}
    ${cost ? html`<span>${cost}</span>` : nothing}</span>`;
}

function lagging(open: Conversation): TemplateResult | typeof nothing {
  if (open.asOf) return html`<p class="lag" role="status">Offline, as of ${clock(open.asOf)}</p>`;
  if (open.waiting > 1500) return html`<p class="lag" role="status">${grouped(open.waiting)} updates behind, catching up</p>`;
  return open.behind ? html`<p class="lag" role="status">Loading missed updates</p>` : nothing;
}

function waiting(app: App, open: Conversation): TemplateResult | typeof nothing {
  const asked = [...app.inbox.values()].filter((one) => one.sessionId === open.id || app.rootOf(one.sessionId) === open.id);
  if (!asked.length) return nothing;
  return html`<div class="asks" role="region" aria-label="Waiting for you">${repeat(asked, nameOf, (one) => questionCard(app, one, true))}</div>`;
}

/** What can be done about an agent that is out of quota, logged out or dead; the reason stands at the end of the turn. */
function trouble(app: App, open: Conversation, acts: Acts): TemplateResult | typeof nothing {
  const found = open.fold.turn || !app.may("prompt") ? null : troubleOf(open.fold.items.at(-1), Boolean(open.fold.gone));
  if (!found || (!acts.handOver && !found.isLogin)) return nothing;
  return html`<div class="trouble-bar" role="group" aria-label="Next steps"><span>${found.words}</span>
    ${found.isLogin ? html`<a class="small" href="#/agents">Sign in …</a>` : nothing}
    ${acts.handOver ? html`<button type="button" class="small" aria-haspopup="menu" @click=${acts.handOver}>Hand over …</button>` : nothing}</div>`;
}

function changed(open: Conversation, acts: Acts): TemplateResult | typeof nothing {
  const files = open.changes ?? [];
  const others = open.others.length;
  if ((!files.length && !others) || open.fold.turn) return nothing;
  const sum = files.map((file) => counts(parseUnified(file.diff ?? "")));
  const added = sum.reduce((total, one) => total + one.added, 0);
  const removed = sum.reduce((total, one) => total + one.removed, 0);
  return html`<button type="button" class="changed-bar" @click=${acts.changes}>
    <span>${files.length} ${files.length === 1 ? "file" : "files"} changed</span>
    ${others ? html`<span class="faint">${others} more, not by this session</span>` : nothing}
    <span class="tally"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span><span class="go">Review</span></button>`;
}

function queue(app: App, open: Conversation): TemplateResult | typeof nothing {
  if (!open.fold.queue.length) return nothing;
  return html`<ol class="queue" aria-label="Queue">${repeat(open.fold.queue, (one) => one.key, (one) => queued(app, open, one))}</ol>`;
}

function queued(app: App, open: Conversation, one: Queued): TemplateResult {
  const withdraw = (): void => {
    const params = { sessionId: open.id, key: one.key };
    app.rpc.call("_dragoman/hub/queue/withdraw", params).catch((error: Error) => app.say(`The message was not withdrawn: ${error.message}`));
  };
  const edit = (): void => askText("Edit queued message", promptText(one.prompt), "Save", (text) => {
    const rest = one.prompt.filter((block) => block.type !== "text");
    const params = { sessionId: open.id, key: one.key, prompt: [{ type: "text", text }, ...rest] };
    app.rpc.call("_dragoman/hub/queue/edit", params).catch((error: Error) => app.say(`The message was not changed: ${error.message}`));
  });
  return html`<li><span class="queued-text">${plain(promptText(one.prompt)) || "attachment"}</span><span class="outcome faint" title=${OUTCOMES.queued}>queued</span>
    ${app.may("prompt") ? html`<button type="button" class="small" @click=${edit}>Edit</button>
    <button type="button" class="small" @click=${withdraw}>Withdraw</button>` : nothing}</li>`;
}

function settings(app: App, open: Conversation): TemplateResult | typeof nothing {
  const { modes, options } = open.fold;
  // Agents that offer their modes as an option too would show them twice.
  const own = options.filter((option) => !(modes && option.id === "mode"));
  if (!modes && !own.length) return nothing;
  const setMode = (event: Event): void => {
    const modeId = (event.target as HTMLSelectElement).value;
    void app.rpc.call("session/set_mode", { sessionId: open.id, modeId }).then(
      () => {
        if (open.fold.modes) open.fold.modes = { ...open.fold.modes, currentModeId: modeId };
        app.changed();
      },
      (error: Error) => app.say(`The mode was not changed: ${error.message}`),
    );
  };
  return html`<div class="settings">
    ${modes ? html`<label><span>Mode</span><select .value=${modes.currentModeId} @change=${setMode}>
      ${modes.availableModes.map((mode) => html`<option value=${mode.id} ?selected=${mode.id === modes.currentModeId} title=${plain(mode.description ?? "")}>${plain(mode.name)}</option>`)}
    </select></label>` : nothing}
    ${own.map((option) => optionView(app, open, option))}
  </div>`;
}

function optionView(app: App, open: Conversation, option: ConfigOption): TemplateResult {
  const set = (value: string | boolean): void => {
    const typed = typeof value === "boolean" ? { type: "boolean", value } : { value };
    void app.rpc.call("session/set_config_option", { sessionId: open.id, configId: option.id, ...typed }).then(
      (answer) => {
        if (Array.isArray(answer?.configOptions)) open.fold.options = answer.configOptions;
        app.changed();
      },
      (error: Error) => app.say(`${option.name} was not changed: ${error.message}`),
    );
  };
  if (option.type === "boolean") {
    return html`<label title=${plain(option.description ?? "")}><input type="checkbox" class="switch" .checked=${option.currentValue === true}
      @change=${(event: Event) => set((event.target as HTMLInputElement).checked)} /><span>${plain(option.name)}</span></label>`;
  }
  const choices = (option.options ?? []).flatMap((one) => ("group" in one ? one.options : [one]));
  return html`<label title=${plain(option.description ?? "")}><span>${plain(option.name)}</span><select @change=${(event: Event) => set((event.target as HTMLSelectElement).value)}>
    ${choices.map((choice) => html`<option value=${choice.value} ?selected=${choice.value === option.currentValue}>${plain(choice.name)}</option>`)}
  </select></label>`;
}
