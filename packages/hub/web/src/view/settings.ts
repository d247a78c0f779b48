/** What somebody may choose for this browser: theme, density, notifications; and the list of keys. */

import { type TemplateResult, html, nothing } from "lit";
import type { App } from "../model/app";
import type { Hubs } from "../model/hubs";
import { DENSITIES, THEMES, chooseDensity, chooseTheme, chosenDensity, chosenTheme } from "../model/appearance";
import { buttonObstacle, hasButtons, isPushOn, obstacle, switchButtons, switchPush } from "../model/push";
import { canNotify, notifying, switchNotifications } from "../notify";
import { surroundings } from "../surroundings";
import { plain } from "../text/reveal";
import { KEYS } from "./shortcuts";
import { icon } from "./icons";

export function settingsView(hubs: Hubs): TemplateResult {
  const app = hubs.home;
  return html`<section class="sheet" aria-labelledby="settings-title">
    <header class="board-head"><a class="round quiet back" href="#/" aria-label="Back to the inbox">${icon("back")}</a><h2 id="settings-title">Settings</h2><span class="faint">for this browser</span></header>
    <div class="sheet-body">
      ${surroundings.isEmbedded ? nothing : choice(app, "Theme", "Follow your system, or choose one.", THEMES, chosenTheme(), chooseTheme)}
      ${choice(app, "Density", "How much space there is between lines and boxes.", DENSITIES, chosenDensity(), chooseDensity)}
      ${surroundings.isEmbedded ? nothing : html`${notifications(app)}${push(app)}${otherHubs(hubs)}`}
      <section class="setting tall-setting"><div><h3>Keyboard shortcuts</h3><p class="faint">Single-key shortcuts are off while you type.</p></div>
        <dl class="keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl></section>
      ${surroundings.isEmbedded ? nothing : html`<section class="setting"><div><h3>This browser</h3><p class="faint">Your token allows: ${[...app.scopes].join(", ") || "everything"}.</p></div>
        <button type="button" class="small danger" @click=${() => app.signOut()}>Sign out</button></section>`}
    </div></section>`;
}

function choice<T extends string>(app: App, title: string, about: string, values: readonly T[], chosen: T, choose: (value: T) => void): TemplateResult {
  return html`<section class="setting"><div><h3>${title}</h3><p class="faint">${about}</p></div>
    <div class="segments" role="group" aria-label=${title}>${values.map((value) => html`<button type="button" class="segment" aria-pressed=${String(value === chosen)}
      @click=${() => {
        choose(value);
        app.changed();
      }}>${value[0].toUpperCase() + value.slice(1)}</button>`)}</div></section>`;
}

function notifications(app: App): TemplateResult | typeof nothing {
  const isRefused = canNotify() && Notification.permission === "denied";
  const about = !canNotify() ? "This browser does not support notifications." : isRefused ? "Notifications are blocked. Allow them in your browser's settings." : "Get notified of questions and finished turns while this page is in the background.";
  return html`<section class="setting"><div><h3>Notifications</h3><p class="faint">${about}</p></div>
    <button type="button" class="small" ?disabled=${!canNotify() || isRefused} aria-pressed=${String(notifying())}
      @click=${() => void switchNotifications().then(() => app.changed())}>${notifying() ? "Switch off" : "Switch on"}</button></section>`;
}

/** Why the last try did not work, for as long as the page is open. */
let pushFault = "";

function push(app: App): TemplateResult {
  const reason = obstacle() || (app.health === "live" ? "" : "The hub is not connected.");
  const about = reason || pushFault || "Get notified of questions, and of finished turns in sessions that are not open on any device. Notifications contain no file names and no text from the session.";
  const isOn = isPushOn();
  const change = (): void => void switchPush(app.rpc, !isOn).then(() => (pushFault = ""), (error: Error) => (pushFault = `That failed: ${plain(error.message)}.`)).then(() => app.changed());
  return html`<section class="setting"><div><h3>Notifications when this page is closed</h3><p class="faint" role="status">${about}</p></div>
    <button type="button" class="small" ?disabled=${Boolean(reason)} aria-pressed=${String(isOn)} @click=${change}>${isOn ? "Switch off" : "Switch on"}</button></section>
    ${isOn && app.may("approve") ? buttons(app) : nothing}`;
}

function buttons(app: App): TemplateResult {
  const isOn = hasButtons();
  const reason = buttonObstacle();
  const about = reason || "Show Allow once and Reject, unless the rules found a serious risk. Anyone holding this device can use these buttons, even on a locked screen.";
  const change = (): void => void switchButtons(app.rpc, !isOn).catch((error: Error) => app.say(`That failed: ${plain(error.message)}.`)).then(() => app.changed());
  return html`<section class="setting"><div><h3>Buttons in notifications</h3><p class="faint">${about}</p></div>
    <button type="button" class="small" ?disabled=${Boolean(reason) || app.health !== "live"} aria-pressed=${String(isOn)} @click=${change}>${isOn ? "Switch off" : "Switch on"}</button></section>`;
}

const HEALTH: Record<string, string> = { live: "connected", connecting: "connecting", offline: "not connected", refused: "refused" };

function otherHubs(hubs: Hubs): TemplateResult {
  const row = (app: App): TemplateResult => html`<li><span class="dot ${app.health === "live" ? "idle" : "failed"}"></span>
    <span><strong>${plain(app.hub!.name)}</strong> <span class="faint">${plain(app.hub!.address)} · ${HEALTH[app.health]}</span></span>
    <button type="button" class="small danger" @click=${() => hubs.remove(app.key)}>Remove</button></li>`;
  const others = hubs.all().filter((app) => app.hub);
  return html`<section class="setting ${others.length ? "tall-setting" : ""}"><div><h3>Other hubs</h3><p class="faint">See sessions and questions of other hubs on this page. Their tokens stay in this browser until you sign out.</p></div>
    <div class="other-hubs">${others.length ? html`<ul>${others.map(row)}</ul>` : nothing}
      <button type="button" class="small" @click=${() => document.dispatchEvent(new CustomEvent("add-hub"))}>Add a hub</button></div></section>`;
}
