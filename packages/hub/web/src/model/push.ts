/**
 * Messages of the hub while the page is closed, for this browser. Whether they can come is a matter of the address, the
 * browser and the hub; each says why not. The subscription is the browser's; the hub gets it anew with each connection,
 * because keys and tokens change.
 */

import { surroundings } from "../surroundings";
import type { Rpc } from "../wire/rpc";
import { recall, remember } from "./memory";

/** Why nothing can come to this browser at this address; empty if it can. */
export function obstacle(): string {
  if (surroundings.isEmbedded) return "Not available in this view.";
  if (!window.isSecureContext) return "This needs HTTPS. Run “dragoman hub reach” to see how to open this page over HTTPS.";
  if (!("serviceWorker" in navigator)) return "This browser does not allow service workers here. Private windows often don't.";
  if (!("PushManager" in window)) return "This browser has no push messages. On an iPhone or iPad, add the page to the Home Screen and open it from there.";
  if (!("Notification" in window)) return "This browser does not support notifications.";
  if (Notification.permission === "denied") return "Notifications are blocked. Allow them in your browser's settings.";
  return "";
}

export function isPushOn(): boolean {
  return recall("push") === "yes" && !obstacle() && Notification.permission === "granted";
}

/** Why a notification can have no buttons here; empty if it can. */
export function buttonObstacle(): string {
  return ((Notification as any).maxActions ?? 0) > 1 ? "" : "This browser does not show buttons in notifications."; // of Chromium alone, so far
}

export function hasButtons(): boolean {
  return recall("push.answers") === "yes";
}

/** Permissions with buttons, or without: the hub has to know. */
export async function switchButtons(rpc: Rpc, on: boolean): Promise<void> {
  remember("push.answers", on ? "yes" : "");
  await subscribe(rpc);
}

/** Rejects with the reason for which nothing will come. */
export async function switchPush(rpc: Rpc, on: boolean): Promise<void> {
  if (on) {
    if ((await Notification.requestPermission()) !== "granted") throw new Error("notifications are not allowed in this browser");
    await subscribe(rpc);
    remember("push", "yes");
    return;
  }
  remember("push", "");
  const endpoint = await leavePush();
  if (endpoint) await rpc.call("_dragoman/hub/push/unsubscribe", { endpoint });
}

/** Tells the hub the subscription of this browser, a new one if the hub's key is another. */
export async function subscribe(rpc: Rpc): Promise<void> {
  const { key, reason } = await rpc.call<{ key?: string; reason?: string }>("_dragoman/hub/push", {});
  if (!key) throw new Error(reason ?? "push messages are off on this hub");
  const { pushManager } = await navigator.serviceWorker.ready;
  const wanted = bytesOf(key);
  const before = await pushManager.getSubscription();
  const isSame = before && sameBytes(before.options.applicationServerKey, wanted);
  if (before && !isSame) await before.unsubscribe();
  const now = isSame ? before : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: wanted });
  const { endpoint, keys } = now.toJSON();
  await rpc.call("_dragoman/hub/push/subscribe", { endpoint, keys, answers: hasButtons() });
}

/** Ends the subscription of this browser. The hub hears of it from the push service, if it cannot be told. */
export async function leavePush(): Promise<string> {
  const worker = "serviceWorker" in navigator ? await navigator.serviceWorker.getRegistration() : undefined;
  const subscription = await worker?.pushManager?.getSubscription();
  await subscription?.unsubscribe();
  return subscription?.endpoint ?? "";
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function sameBytes(one: ArrayBuffer | null, other: Uint8Array): boolean {
  const bytes = new Uint8Array(one ?? new ArrayBuffer(0));
  return bytes.length === other.length && bytes.every((byte, at) => byte === other[at]);
}
