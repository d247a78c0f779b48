/** A session as one HTML file: everything that was said, with its colours, without scripts and without us. */

import type { Conversation } from "./model/conversation";
import { el, shown } from "./view/dom";
import { viewOf } from "./view/items";

export async function exported(open: Conversation): Promise<Blob> {
  const title = open.fold.title ?? open.info?.title ?? "A session";
  const copy = document.implementation.createHTMLDocument(title);
  const policy = copy.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";
  const set = copy.createElement("meta");
  set.setAttribute("charset", "utf-8");
  const style = copy.createElement("style");
  style.textContent = await styles();
  copy.head.prepend(set, policy);
  copy.head.append(style);
  copy.body.className = "exported";
  const head = el("header", "", el("h1", "", shown(title)), el("p", "faint", shown(`${open.info?.agent ?? ""} · ${open.info?.cwd ?? ""}`, true)));
  copy.body.append(copy.importNode(head, true));
  for (const item of open.fold.items) {
    const opened = new Map(item.kind === "tool" ? [[item.id, true]] : []);
    const shell = el("div", `item drawn of-${item.kind}`, viewOf(item, opened).element);
    for (const button of shell.querySelectorAll("button.copy")) button.remove();
    copy.body.append(copy.importNode(shell, true));
  }
  return new Blob(["<!doctype html>\n", copy.documentElement.outerHTML], { type: "text/html" });
}

async function styles(): Promise<string> {
  const sheets = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  return sheets.map((rule) => rule.cssText).join("\n");
}

export function download(blob: Blob, name: string): void {
  const link = el("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
