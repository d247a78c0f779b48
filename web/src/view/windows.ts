/** The windows that start something: sign in, a new session, menus. */

import { type TemplateResult, html, nothing } from "lit";
import type { App } from "../model/app";
import { offeredFolders, orderedAgents } from "../model/beginning";
import { recallJson, remember } from "../model/memory";
import { surroundings } from "../surroundings";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { button, clock, el, shown } from "./dom";
import { FolderPicker } from "./folders";

export function signIn(app: App): TemplateResult {
  const submit = (event: Event): void => {
    event.preventDefault();
    const token = String(new FormData(event.target as HTMLFormElement).get("token") ?? "").trim();
    if (token) app.signIn(token);
  };
  return html`<main class="sign-in">
    <form @submit=${submit}>
      <img src=${surroundings.icon} alt="" width="64" height="64" />
      <h1>Dragoman</h1>
      <p>${plain(app.why) || "This page talks to your hub. It needs the token that the hub printed when it started."}</p>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false" />
      <button class="choice allow_once" type="submit">Sign in</button>
      <p class="faint">Lost it? <code>dragoman hub token add NAME</code> makes another one, and <code>dragoman hub pair</code> shows a code to scan.</p>
    </form>
  </main>`;
}

export function banner(app: App): TemplateResult | typeof nothing {
  if (app.health === "live" || app.health === "refused") return nothing;
  const seconds = Math.max(0, Math.ceil((app.retryAt - Date.now()) / 1000));
  const words = app.health === "connecting" ? (app.loaded ? "Connecting again …" : "Connecting …")
    : `Not connected: ${plain(app.why)}. ${app.offline.asOf ? `Offline, as of ${clock(app.offline.asOf)}.` : "What you see may be out of date."} ${seconds ? `Next try in ${seconds} s.` : ""}`;
  return html`<div class="banner ${app.health}" role="status"><span>${words}</span>
    ${app.health === "offline" ? html`<button type="button" class="small" @click=${app.connection.hurry}>Try now</button>` : nothing}</div>`;
}

export function newSession(app: App, go: (id: string) => void, wantedAgent = ""): void {
  const folders = offeredFolders(recallJson<string[]>("folders", []), app.sessions.values(), app);
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
    const about = [...new Set([agent.title, agent.description, agent.place])].filter(Boolean).join(" · ");
    const words = el("span", "", el("strong", "", shown(agent.name, "line")), el("span", "faint", shown(about, "line")));
    list.append(el("label", "agent-choice", radio, words));
  }
  const picker = new FolderPicker(app, folders);
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
  form.append(el("div", "label", "Agent"), list, el("div", "field", label, folder, picker.list), fault, el("div", "card-actions", start));
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
      fault.replaceChildren(shown(`There is no folder ${cwd} on the hub's machine that you may use. Type another path, or choose one below.`, "exact line"));
      return folder.focus();
    }
    app.rpc.call<{ sessionId: string }>("session/new", { cwd, mcpServers: [], _meta: { dragoman: { agent } } }).then(
      ({ sessionId }) => {
        remember("folders", JSON.stringify([cwd, ...folders.filter((path) => path !== cwd)].slice(0, 20)));
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

/** A menu beside what opened it. Arrow keys move, Escape closes. */
export function menu(event: Event, entries: ([string, () => void] | null | false)[]): void {
  const anchor = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const made = el("div", "menu");
  made.setAttribute("role", "menu");
  const opener = document.activeElement as HTMLElement | null;
  const close = (): void => {
    made.remove();
    document.removeEventListener("pointerdown", outside, true);
    opener?.focus();
  };
  const outside = (pressed: Event): void => {
    if (!made.contains(pressed.target as Node)) close();
  };
  for (const entry of entries) {
    if (!entry) continue;
    const item = button(entry[0], "menu-item", () => {
      close();
      entry[1]();
    });
    item.setAttribute("role", "menuitem");
    made.append(item);
  }
  made.addEventListener("keydown", (pressed) => {
    const items = [...made.children] as HTMLElement[];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (pressed.key === "Escape" || pressed.key === "Tab") close();
    else if (pressed.key === "ArrowDown") items[(at + 1) % items.length].focus();
    else if (pressed.key === "ArrowUp") items[(at - 1 + items.length) % items.length].focus();
    else return;
    pressed.preventDefault();
    pressed.stopPropagation();
  });
  document.body.append(made);
  made.style.top = `${Math.max(8, Math.min(anchor.bottom + 6, window.innerHeight - made.offsetHeight - 8))}px`;
  made.style.left = `${Math.max(8, Math.min(anchor.right - made.offsetWidth, window.innerWidth - made.offsetWidth - 8))}px`;
  document.addEventListener("pointerdown", outside, true);
  (made.firstElementChild as HTMLElement | null)?.focus();
}
