/** What stands over or in the place of the page: the form for a token, the line about the connection, menus. */

import { type TemplateResult, html, nothing } from "lit";
import type { App } from "../model/app";
import { surroundings } from "../surroundings";
import { plain } from "../text/reveal";
import { button, clock, el } from "./dom";

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
      <p>${plain(app.why) || "Enter the token that your hub printed when it started."}</p>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false" />
      <button class="choice allow_once" type="submit">Sign in</button>
      <p class="faint">Lost the token? Run <code>dragoman hub token add NAME</code> for a new one, or <code>dragoman hub pair</code> for a code to scan.</p>
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

/** The window for a new session is loaded when somebody wants it. */
export function newSession(app: App, go: (id: string) => void, wantedAgent = ""): void {
  void import("./new_session").then(({ askForSession }) => askForSession(app, go, wantedAgent), () => app.say("The window could not be loaded. Check the connection to the hub, then try again."));
}

/** A menu beside what opened it. Arrow keys move, Escape closes. */
export function menu(beside: Event | HTMLElement, entries: ([string, () => void] | null | false)[]): void {
  const anchor = (beside instanceof Event ? (beside.currentTarget as HTMLElement) : beside).getBoundingClientRect();
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
