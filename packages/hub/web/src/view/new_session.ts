/**
 * The window in which a session is begun: the agent, and a folder on the hub's machine. Of folders, recent ones are offered
 * first, then what is typed may become; git's are marked.
 */

import type { App } from "../model/app";
import { recallJson, remember } from "../model/memory";
import type { AgentInfo, SessionInfo } from "../model/types";
import { dialog } from "./dialogs";
import { el, shown } from "./dom";
import { iconNode } from "./icons";

/** For trying the page and the hub, not for work. */
const TEST_AGENT = "echo";

/** What its name does not say. */
export function aboutAgent({ name, title, description, place }: AgentInfo): string {
  const other = title?.toLowerCase() === name.toLowerCase() ? "" : title;
  return [...new Set([other, description, place])].filter(Boolean).join(" · ");
}

/** The default first, as the hub says; the one for testing last. */
export function orderedAgents(agents: AgentInfo[], defaultAgent: string): AgentInfo[] {
  const place = ({ name }: AgentInfo): number => (name === defaultAgent ? 0 : name === TEST_AGENT ? 2 : 1);
  return [...agents].sort((one, other) => place(one) - place(other));
}

/** Folders to begin in, the best first: those that were used last, then where the hub was started, then the user's own. */
export function offeredFolders(remembered: string[], sessions: Iterable<SessionInfo>, hub: { folder: string; home: string }): string[] {
  return [...new Set([...remembered, ...[...sessions].map(({ cwd }) => cwd), hub.folder, hub.home])].filter(Boolean);
}

interface Folders {
  path: string;
  exists: boolean;
  folders: string[];
  repositories?: string[];
}

const PAUSE_MS = 120;
const MOST = 30;

class FolderPicker {
  readonly field = el("input");
  readonly list = el("div", "recent");
  private timer = 0;
  private chosen = -1;

  constructor(private app: App, private recent: string[], private used: string[]) {
    const { field, list } = this;
    field.name = "cwd";
    field.id = "new-cwd";
    field.required = true;
    field.placeholder = "/home/you/project";
    field.spellcheck = false;
    field.autocomplete = "off";
    field.value = recent[0] ?? "";
    const attributes = { role: "combobox", "aria-controls": "folders", "aria-expanded": "true", "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    list.id = "folders";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Folders");
    field.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.look(), PAUSE_MS);
    });
    field.addEventListener("keydown", (event) => this.onKey(event));
    this.offer(recent, new Set());
    void this.look();
  }

  lookUp(path: string): Promise<Folders | null> {
    return this.app.rpc.call<Folders>("_dragoman/hub/folders", { path }).catch(() => null);
  }

  /** Recent folders that fit, the repository around what was typed, and the folders that it may become. */
  private async look(): Promise<void> {
    const path = this.field.value.trim();
    const found = path ? await this.lookUp(path) : null;
    if (this.field.value.trim() !== path) return;
    const repositories = new Set(found?.repositories ?? []);
    const fitting = this.recent.filter((folder) => folder.startsWith(path) || this.recent[0] === path);
    this.offer([...new Set([...fitting, ...repositories, ...(found?.folders ?? [])])], repositories);
  }

  private offer(paths: string[], repositories: Set<string>): void {
    this.chosen = -1;
    this.list.replaceChildren(...paths.slice(0, MOST).map((path, at) => this.option(path, at, repositories.has(path))));
    this.field.setAttribute("aria-expanded", String(paths.length > 0));
    this.field.removeAttribute("aria-activedescendant");
  }

  private option(path: string, at: number, isRepository: boolean): HTMLElement {
    const made = el("div", "folder", iconNode(isRepository ? "fork" : "folder"), el("span", "", shown(path, "exact line")));
    const about = [isRepository ? "git" : "", this.used.includes(path) ? "recent" : ""].filter(Boolean).join(" · ");
    if (about) made.append(el("span", "faint", about));
    made.id = `folder-${at}`;
    made.dataset.path = path;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", "false");
    made.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      this.take(path);
    });
    return made;
  }

  private take(path: string): void {
    this.field.value = path;
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  private onKey(event: KeyboardEvent): void {
    const options = [...this.list.children] as HTMLElement[];
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && options.length) {
      this.chosen = (this.chosen + step + options.length) % options.length;
      options.forEach((option, at) => option.setAttribute("aria-selected", String(at === this.chosen)));
      options[this.chosen].scrollIntoView({ block: "nearest" });
      this.field.setAttribute("aria-activedescendant", options[this.chosen].id);
    } else if (event.key === "Enter" && this.chosen >= 0) this.take(options[this.chosen].dataset.path!);
    else return;
    event.preventDefault();
  }
}

export function askForSession(app: App, go: (id: string) => void, wantedAgent: string): void {
  const used = offeredFolders(recallJson<string[]>("folders", []), app.sessions.values(), { folder: "", home: "" });
  const folders = offeredFolders(used, [], app);
  const form = el("form", "form");
  const list = el("div", "agents");
  list.setAttribute("role", "radiogroup");
  list.setAttribute("aria-label", "Agent");
  const chosen = wantedAgent || recallJson("agent", app.defaultAgent);
  for (const agent of orderedAgents(app.agents, app.defaultAgent)) {
    const radio = el("input");
    radio.type = "radio";
    radio.name = "agent";
    radio.value = agent.name;
    radio.checked = agent.name === chosen;
    const words = el("span", "", el("strong", "", shown(agent.name, "line")), el("span", "faint", shown(aboutAgent(agent), "line")));
    list.append(el("label", "agent-choice", radio, words));
  }
  const picker = new FolderPicker(app, folders, used);
  const folder = picker.field;
  const label = el("label");
  label.htmlFor = "new-cwd";
  /** Folders of an agent that lives elsewhere are there: the hub cannot look at them. */
  const placeOf = (name: string): string => app.agents.find((agent) => agent.name === name)?.place ?? "";
  const say = (): void => {
    const place = placeOf(String(new FormData(form).get("agent") ?? ""));
    label.replaceChildren(shown(place ? `Folder, on ${place}` : "Folder, on the hub's machine", "line"));
    picker.list.hidden = place !== "";
  };
  list.addEventListener("change", say);
  // What was wrong is not said of what is chosen instead.
  form.addEventListener("input", () => fault.replaceChildren());
  const start = el("button", "choice allow_once", "Start");
  start.type = "submit";
  const fault = el("p", "fault");
  fault.setAttribute("role", "alert");
  form.append(el("div", "heading", "Agent"), list, el("div", "field", label, folder, picker.list), fault, el("div", "card-actions", start));
  say();
  const shownDialog = dialog("New session", form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const data = new FormData(form);
    let cwd = String(data.get("cwd")).trim();
    const agent = String(data.get("agent") ?? app.defaultAgent);
    start.disabled = true;
    fault.textContent = "";
    const looked = placeOf(agent) ? null : await picker.lookUp(cwd);
    cwd = looked?.path ?? cwd;
    if (looked?.exists === false) {
      start.disabled = false;
      fault.replaceChildren(shown(`${cwd} is not a folder on the hub's machine that you may use. Type another path, or choose one below.`, "exact line"));
      return folder.focus();
    }
    app.rpc.call<{ sessionId: string }>("session/new", { cwd, mcpServers: [], _meta: { dragoman: { agent } } }).then(
      ({ sessionId }) => {
        remember("folders", JSON.stringify([cwd, ...used.filter((path) => path !== cwd)].slice(0, 20)));
        remember("agent", JSON.stringify(agent));
        shownDialog.close();
        go(sessionId);
      },
      (error: Error) => {
        start.disabled = false;
        fault.replaceChildren(shown(error.message));
      },
    );
  });
}
