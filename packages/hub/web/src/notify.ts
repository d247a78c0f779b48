/** Notifications, where the browser and the person allow them, for what waits while nobody looks. */

import { headingOf, subjectOf } from "./model/asked";
import { sessionHash } from "./model/hubs";
import { recall, remember } from "./model/memory";
import type { Asked, SessionInfo } from "./model/types";
import { surroundings } from "./surroundings";
import { plain } from "./text/reveal";

export function canNotify(): boolean {
  return !surroundings.isEmbedded && "Notification" in window;
}

export function notifying(): boolean {
  return canNotify() && Notification.permission === "granted" && recall("notify") === "yes";
}

export async function switchNotifications(): Promise<boolean> {
  if (notifying()) {
    remember("notify", "");
    return false;
  }
  const allowed = (await Notification.requestPermission()) === "granted";
  remember("notify", allowed ? "yes" : "");
  return allowed;
}

export function notifyOf(asked: Asked): void {
  const title = plain(headingOf(asked), "exact line");
  notify(title.slice(0, 120), plain(subjectOf(asked) || asked.title || asked.agent || "", "exact line").slice(0, 240), asked, asked.request);
}

export function notifyEnd(session: SessionInfo): void {
  const title = session.state === "failed" ? "A turn has failed" : "The agent has finished";
  notify(title, plain(session.title || session.agent), session, "end");
}

function notify(title: string, body: string, { hub, sessionId }: Pick<SessionInfo, "hub" | "sessionId">, about: string): void {
  if (!notifying() || document.visibilityState === "visible") return;
  const data = sessionHash(hub ?? "", sessionId);
  const options = { body, tag: `${sessionId}/${about}`, icon: "/icon-192.png", data };
  // Phones show notifications of service workers only.
  const shown = navigator.serviceWorker?.ready.then((worker) => worker.showNotification(title, options));
  shown?.catch(() => new Notification(title, options));
}
