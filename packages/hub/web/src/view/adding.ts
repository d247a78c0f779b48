/**
 * Agents that are not here yet: those of the hub's own list can be added, by whoever may administer the hub, and removed again. What will run
 * is shown first, word by word; the page names an agent and the plan that was shown, never a command.
 */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { App } from "../model/app";
import { plain } from "../text/reveal";
import { confirm, dialog } from "./dialogs";
import { button, copyButton, el, lastPart, shown } from "./dom";

interface ListedAgent {
  name: string;
  title: string;
  description: string;
  license: string;
  homepage: string;
  version: string;
  kind?: string;
  source?: string;
  steps?: string[];
  variables?: string[];
  plan?: string;
  refusal?: string;
}

interface InstallJob {
  agent: string;
  title: string;
  version: string;
  began: number;
  state: "running" | "installed" | "failed" | "cancelled";
  lines: string[];
  failure: string;
}

interface Registry {
  made: string;
  origin: string;
  refusal: string;
  agents: ListedAgent[];
  installed: { name: string; version: string }[];
  job: InstallJob | null;
}

/** An agent of another maker that is known by name, and that the list does not have. */
export interface Missing {
  name: string;
  title: string;
  install: string;
}

const METHOD = "_dragoman/hub/agents/";
const JOB_MS = 700;
const MANY = 8;
const ADD_COMMAND = "dragoman agents add NAME -- COMMAND …";

export class Adding {
  private registry: Registry | null = null;
  private why = "";
  private pattern = "";
  private timer = 0;
  private readonly copy = copyButton(() => ADD_COMMAND);

  /** `again` asks the hub for its agents anew: one has come, or is gone. */
  constructor(private readonly app: App, private readonly again: () => void) {}

  async look(): Promise<void> {
    try {
      this.take(await this.app.rpc.call<Registry>(`${METHOD}registry`, {}));
      this.why = "";
    } catch (error) {
      this.why = error instanceof Error ? error.message : String(error);
    }
  }

  private take(registry: Registry): void {
    const before = this.registry?.job;
    this.registry = registry;
    const job = registry.job;
    if (before?.state === "running" && job && job.began === before.began && job.state !== "running") this.ended(job);
    window.clearTimeout(this.timer);
    if (job?.state === "running") this.timer = window.setTimeout(() => void this.follow(), JOB_MS);
  }

  private ended(job: InstallJob): void {
    if (job.state === "installed") this.app.say(`Added ${job.title} ${job.version}.`);
    if (job.state === "installed") this.again();
    else void this.look().then(() => this.app.changed());
  }

  private async follow(): Promise<void> {
    const answer = await this.app.rpc.call<{ job: InstallJob | null }>(`${METHOD}install/status`, {}).catch(() => null);
    if (answer && this.registry) this.take({ ...this.registry, job: answer.job });
    this.app.changed();
  }

  /** Asks for something, and says what is wrong with it. */
  private async act(method: string, params: object, failed: string): Promise<void> {
    try {
      const answer = await this.app.rpc.call<{ job?: InstallJob | null }>(METHOD + method, params);
      if (answer.job !== undefined && this.registry) this.take({ ...this.registry, job: answer.job });
    } catch (error) {
      this.app.say(`${failed}: ${error instanceof Error ? error.message : error}`);
      await this.look();
    }
    this.app.changed();
  }

  /** Buttons beside an agent that was installed so. */
  acts(name: string): TemplateResult | typeof nothing {
    const own = this.registry?.installed.find((agent) => agent.name === name);
    if (!own || this.registry?.refusal) return nothing;
    const entry = this.registry!.agents.find((agent) => agent.name === name);
    const isNewer = entry?.plan && entry.version !== own.version;
    return html`${isNewer ? html`<button type="button" class="small" ?disabled=${this.isBusy()} @click=${() => this.ask(entry, "Update")}>Update to ${plain(entry.version)}</button>` : nothing}
      <button type="button" class="small danger" ?disabled=${this.isBusy()} @click=${() => this.remove(name)}>Remove</button>`;
  }

  view(missing: Missing[]): TemplateResult {
    const { registry } = this;
    const others = missing.filter((entry) => !registry?.agents.some((agent) => agent.name === entry.name));
    return html`${this.job()}${this.why ? html`<p class="fault" role="alert">Could not load the list of agents that you can add: ${plain(this.why)}</p>` : nothing}
      ${registry ? this.addable(registry) : nothing}
      <section class="agent-add"><h3>Add another program</h3>
        <p class="faint">Run this on the hub's machine, then have the hub read its settings again. For your safety, this page can't add a command of its own.</p>
        <p class="address">${ADD_COMMAND} ${this.copy}</p>
        ${others.length ? html`<details class="agent-missing"><summary>Other known agents, not in the list: ${others.length}</summary>
          <ul>${others.map((entry) => html`<li><strong>${plain(entry.title || entry.name)}</strong><code>${plain(entry.install, "exact line")}</code></li>`)}</ul></details>` : nothing}</section>`;
  }

  private addable(registry: Registry): TemplateResult {
    const installed = new Set(registry.installed.map((agent) => agent.name));
    const all = registry.agents.filter((agent) => !installed.has(agent.name));
    const words = this.pattern.toLowerCase();
    const found = all.filter((agent) => `${agent.name} ${agent.title} ${agent.description}`.toLowerCase().includes(words));
    const origin = registry.origin ? `the list at ${registry.origin}` : "the hub's built-in list";
    return html`<details class="agent-add addable" ?open=${all.length <= MANY}><summary><h3>Agents you can add</h3><span class="faint">${all.length}</span></summary><div class="addable-body">
      <p class="faint">${plain(`From ${origin}, dated ${registry.made}.`, "line")} ${registry.refusal ? nothing : "You see each command before it runs."}</p>
      ${registry.refusal ? html`<p class="note warn">${plain(registry.refusal[0].toUpperCase() + registry.refusal.slice(1))}. On the hub's machine, run: <code>dragoman agents install NAME</code></p>` : nothing}
      ${all.length > MANY ? html`<input type="search" aria-label="Find an agent" placeholder="Find an agent" .value=${this.pattern} @input=${(event: Event) => {
        this.pattern = (event.target as HTMLInputElement).value;
        this.app.changed();
      }} />` : nothing}
      ${found.length ? html`<ul>${repeat(found, (agent) => agent.name, (agent) => this.row(agent, registry))}</ul>` : html`<p class="faint">${all.length ? "No agent matches." : registry.refusal ? "" : "All agents are installed."}</p>`}</div></details>`;
  }

  private row(agent: ListedAgent, registry: Registry): TemplateResult {
    const facts = [`version ${agent.version}`, agent.license ? `licence ${agent.license}` : "licence unknown", agent.kind === "binary" ? lastPart(agent.source!) : (agent.source ?? "")].filter(Boolean);
    return html`<li data-listed=${agent.name}>
      <div class="agent-row-head"><strong>${plain(agent.title, "line")}</strong>${agent.name === agent.title ? nothing : html`<span class="chip">${plain(agent.name)}</span>`}
        ${agent.homepage ? html`<button type="button" class="link" data-away=${agent.homepage}>${plain(new URL(agent.homepage).host)}</button>` : nothing}
        ${agent.plan && !registry.refusal ? html`<span class="agent-row-acts"><button type="button" class="small" aria-label=${`Add ${plain(agent.title, "line")}`} ?disabled=${this.isBusy()} @click=${() => this.ask(agent, "Add")}>Add …</button></span>` : nothing}</div>
      ${agent.description ? html`<p class="faint">${plain(agent.description, "line")}</p>` : nothing}
      <p class="faint agent-facts">${plain(facts.join(" · "), "exact line")}</p>
      ${agent.refusal ? html`<p class="faint">You can't add it here: ${plain(agent.refusal, "exact line")}</p>` : nothing}</li>`;
  }

  private job(): TemplateResult | typeof nothing {
    const job = this.registry?.job;
    if (!job || job.state === "installed" || job.state === "cancelled") return nothing;
    const name = plain(`${job.title} ${job.version}`, "line");
    if (job.state === "running") {
      const last = (job.lines[job.lines.length - 1] ?? "Starting").trim();
      return html`<section class="agent-row job" role="status"><div class="agent-row-head"><span class="dot running"></span><strong>Adding ${name}</strong>
        <span class="agent-row-acts"><button type="button" class="small danger" @click=${() => void this.act("install/cancel", {}, "Cancelling failed")}>Cancel</button></span></div>
        <p class="faint">${plain(last, "exact line")}</p></section>`;
    }
    const [first, ...more] = job.failure.split("\n");
    const again = this.registry!.agents.find((agent) => agent.name === job.agent && agent.plan);
    return html`<section class="agent-row job" role="status"><div class="agent-row-head"><span class="dot failed"></span><strong>${name} was not added</strong>
        ${again ? html`<span class="agent-row-acts"><button type="button" class="small" @click=${() => this.ask(again, "Add")}>Try again</button></span>` : nothing}</div>
      <div class="note bad"><p>${plain(first, "exact line")}</p>
        <details ?open=${more.length > 0}><summary>Last output</summary><pre class="last-words" tabindex="0">${job.lines.map((line) => plain(line, "exact line")).join("\n")}</pre></details></div>
      <p class="faint">Nothing was changed.</p></section>`;
  }

  private isBusy(): boolean {
    return this.registry?.job?.state === "running";
  }

  /** Says exactly what will run, and does it when it is confirmed. */
  private ask(agent: ListedAgent, word: string): void {
    const facts = el("dl", "keys plan-facts");
    const fact = (name: string, value: string): void => facts.append(el("dt", "", name), el("dd", "", shown(value, "exact line")));
    fact("Version", agent.version);
    fact("Licence", agent.license || "unknown");
    if (agent.homepage) fact("Homepage", agent.homepage);
    if (agent.variables?.length) fact("Variables", agent.variables.join(", "));
    const steps = el("ol", "address plan-steps", ...(agent.steps ?? []).map((step) => el("li", "", shown(step, "exact line"))));
    const go = button(`${word} ${plain(agent.title, "line")}`, "choice allow_once", () => {
      asked.close();
      void this.act("install", { agent: agent.name, plan: agent.plan }, `Could not add ${plain(agent.title, "line")}`);
    });
    const asked = dialog(`${word} ${agent.title}?`, el("p", "", "This will run on the hub's machine, with the rights of the hub's user:"), steps, facts,
      el("p", "faint", "Install scripts of packages do not run. The agent starts with its first session, also with the rights of the hub's user."), el("div", "card-actions", go));
  }

  private remove(name: string): void {
    confirm(`Remove ${name}?`, "This removes all versions of the agent from the hub's machine. You can still read its sessions, but you can't continue them.", "Remove", () => {
      void this.act("uninstall", { agent: name }, `Could not remove ${name}`).then(this.again);
    });
  }
}
