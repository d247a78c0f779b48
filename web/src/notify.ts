/** Notifications, where the browser and the person allow them, for what waits while nobody looks. */

import { recall, remember } from "./model/memory";
import type { Asked } from "./model/types";
import { plain } from "./text/reveal";

export function canNotify(): boolean {
  return "Notification" in window;
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
  if (!notifying() || document.visibilityState === "visible") return;
  const title = plain(String(asked.params.toolCall?.title ?? asked.params.message ?? "An agent asks")).slice(0, 120);
  const options = {
    body: plain(asked.title || asked.agent || ""),
    tag: `${asked.sessionId}/${asked.request}`,
    icon: "/icon-192.png",
    data: `#/s/${encodeURIComponent(asked.sessionId)}`,
  };
  // Phones show notifications of service workers only.
  const shown = navigator.serviceWorker?.ready.then((worker) => worker.showNotification(title, options));
  shown?.catch(() => new Notification(title, options));
}
