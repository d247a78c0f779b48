/** The agents of the hub: what runs, what failed and why, how to sign in, and what an examination finds. */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import type { AgentInfo } from "../model/types";
import { plain } from "../text/reveal";
import type { Adding, Missing } from "./adding";
import { ago, agoWords } from "./dom";
import { icon } from "./icons";

interface Examination {
  outcome: string;
  steps: { name: string; verdict: string; summary: string; meaning: string; advice: string }[];
  stderr: string;
}

const EVERY_MS = 3000;
const STATES: Record<string, [string, string]> = {
  up: ["running", "running"],
  starting: ["running", "starting"],
  stopped: ["idle", "not running"],
  ended: ["failed", "ended"],
  failed: ["failed", "failed"],
};

export class AgentsView {
  private agents: AgentInfo[] | null = null;
  private missing: Missing[] = [];
  private why = "";
  private timer = 0;
  private isShown = false;
  /** What could be added; loaded for those who may. */
  private adding: Adding | null = null;
  private examinations = new Map<string, Examination | "running" | Error>();

  constructor(private app: App, private startWith: (agent: string) => void) {}

  /** Whether somebody looks: only then is the hub asked. */
  show(isShown: boolean): void {
    if (isShown === this.isShown) return;
    this.isShown = isShown;
    window.clearTimeout(this.timer);
    if (isShown) void this.look();
  }

  private async look(): Promise<void> {
    try {
      const answer = await this.app.rpc.call<{ agents: AgentInfo[]; missing?: Missing[] }>("_dragoman/hub/agents", {});
      this.agents = answer.agents;
      this.missing = answer.missing ?? [];
      this.app.agents = answer.agents;
      this.why = "";
      if (this.app.may("admin")) await this.lookForMore();
    } catch (error) {
      this.why = error instanceof Error ? error.message : String(error);
    }
    this.app.changed();
    window.clearTimeout(this.timer);
    if (this.isShown) this.timer = window.setTimeout(() => void this.look(), EVERY_MS);
  }

  private async lookForMore(): Promise<void> {
    if (!this.adding) {
      const loaded = await import("./adding").catch(() => null);
      this.adding = loaded && new loaded.Adding(this.app, () => void this.look());
    }
    await this.adding?.look();
  }

  view(): TemplateResult {
    const order = ["failed", "ended", "up", "starting", "stopped"];
    const agents = [...(this.agents ?? [])].sort((one, other) => rank(order, one) - rank(order, other) || one.name.localeCompare(other.name));
    return html`<section class="sheet" aria-labelledby="agents-title">
      <header class="board-head"><a class="round quiet back" href="#/" aria-label="Back to the inbox">${icon("back")}</a><h2 id="agents-title">Agents</h2>
        <span class="faint">${this.agents ? `${agents.length} known, ${agents.filter((agent) => agent.state === "up").length} running` : ""}</span></header>
      <div class="sheet-body">
        ${this.why && !this.agents ? html`<p class="fault" role="alert">Could not load the agents: ${plain(this.why)}</p>` : nothing}
        ${this.agents ? html`<ul class="agent-list">${repeat(agents, (agent) => agent.name, (agent) => this.row(agent))}</ul>` : html`<div class="skeleton" aria-hidden="true"><i></i><i></i><i></i></div>`}
        ${this.adding?.view(this.missing) ?? nothing}
      </div></section>`;
  }

  private row(agent: AgentInfo): TemplateResult {
    const { app } = this;
    const [tone, word] = STATES[standing(agent)] ?? ["idle", standing(agent)];
    const facts = [agent.place ? `on ${agent.place}` : "", agent.sessions ? `${agent.sessions} ${agent.sessions === 1 ? "session" : "sessions"}` : "", agent.version ? `version ${agent.version}` : "",
      agent.pid ? `process ${agent.pid}` : "", agent.started ? `started ${agoWords(ago(agent.started))}` : "", agent.restarts ? `restarted ${agent.restarts} ${agent.restarts === 1 ? "time" : "times"}` : "",
      agent.invalidFrames ? `${agent.invalidFrames} invalid messages` : ""].filter(Boolean);
    return html`<li class="agent-row" data-agent=${agent.name}>
      <div class="agent-row-head"><span class="dot ${tone}"></span><strong>${plain(agent.title || agent.name)}</strong>
        ${agent.title && agent.title !== agent.name ? html`<span class="chip">${plain(agent.name)}</span>` : nothing}
        <span class="pill ${tone}">${plain(word)}</span>
        <span class="agent-row-acts">
          ${app.may("prompt") ? html`<button type="button" class="small" @click=${() => this.startWith(agent.name)}>New session</button>` : nothing}
          ${app.may("admin") ? html`<button type="button" class="small" ?disabled=${this.examinations.get(agent.name) === "running"} @click=${() => void this.examine(agent.name)}>Test</button>` : nothing}${this.adding?.acts(agent.name) ?? nothing}
        </span></div>
      ${agent.description ? html`<p class="faint">${plain(agent.description)}</p>` : nothing}
      ${facts.length ? html`<p class="faint agent-facts">${plain(facts.join(" · "))}</p>` : nothing}
      ${this.failure(agent)} ${this.logins(agent)} ${this.findings(agent.name)}
    </li>`;
  }

  private failure(agent: AgentInfo): TemplateResult | typeof nothing {
    if (!agent.lastError) return nothing;
    const words = agent.lastEnd?.stderr ?? "";
    return html`<div class="note bad" role="status"><p>${plain(agent.lastError, "exact line")}</p>
      ${words ? html`<details><summary>Last output</summary><pre class="last-words" tabindex="0">${eachLine(words)}</pre></details>` : nothing}</div>`;
  }

  private logins(agent: AgentInfo): TemplateResult | typeof nothing {
    const methods = (agent.authMethods ?? []).filter((method) => typeof method?.id === "string");
    if (!methods.length || !this.app.may("prompt")) return nothing;
    return html`<div class="agent-logins"><span class="faint">Sign in:</span>${methods.map((method) => html`<button type="button" class="small" title=${plain(method.description ?? "")}
      @click=${() => void this.signIn(agent.name, method.id)}>${plain(method.name || method.id)}</button>`)}</div>`;
  }

  private async signIn(agent: string, methodId: string): Promise<void> {
    this.app.say("Signing in …");
    try {
      await this.app.rpc.call("authenticate", { methodId, _meta: { dragoman: { agent } } });
      this.app.say(`Signed in to ${agent}.`);
    } catch (error) {
      this.app.say(`Could not sign in to ${agent}: ${error instanceof Error ? error.message : error}`);
    }
    void this.look();
  }

  private async examine(agent: string): Promise<void> {
    this.examinations.set(agent, "running");
    this.app.changed();
    const params = { _meta: { dragoman: { agent } } };
    const found = await this.app.rpc.call<Examination>("_dragoman/hub/agents/check", params).catch((error: Error) => error);
    this.examinations.set(agent, found);
    this.app.changed();
  }

  private findings(agent: string): TemplateResult | typeof nothing {
    const found = this.examinations.get(agent);
    if (!found) return nothing;
    if (found === "running") return html`<p class="faint" role="status">Testing the agent in a separate process …</p>`;
    if (found instanceof Error) return html`<p class="fault" role="alert">The test could not run: ${plain(found.message)}</p>`;
    return html`<div class="findings" role="status"><p><strong>${found.outcome === "ok" ? "The agent works." : "The agent does not work."}</strong></p>
      <ol>${found.steps.map((step) => html`<li data-verdict=${step.verdict}><span class="verdict-word">${plain(step.verdict)}</span><span><strong>${plain(step.name)}</strong> ${plain(step.summary, "exact line")}
        ${step.meaning ? html`<span class="faint"> ${plain(step.meaning, "exact line")}</span>` : nothing}
        ${step.advice ? html`<span class="advice">What to do: ${plain(step.advice, "exact line")}</span>` : nothing}</span></li>`)}</ol>
      ${found.stderr.trim() && found.outcome !== "ok" ? html`<details><summary>Error output of the agent</summary><pre class="last-words" tabindex="0">${eachLine(found.stderr)}</pre></details>` : nothing}</div>`;
  }
}

/** Its state; one that rests because it ended badly is told apart from one that nobody has needed yet. */
function standing(agent: AgentInfo): string {
  return agent.state === "stopped" && agent.lastError ? "ended" : (agent.state ?? "");
}

/** Several lines of somebody else's text, each with its hidden characters by name. */
function eachLine(text: string): string {
  return text.split("\n").map((line) => plain(line, "exact line")).join("\n");
}

function rank(order: string[], agent: AgentInfo): number {
  return (order.indexOf(standing(agent)) + 1) || order.length + 1;
}
