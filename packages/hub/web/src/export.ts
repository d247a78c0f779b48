/**
 * A session as one HTML file: everything that was said, with its colours, without scripts and without us. Its
 * subagents stand under it, and theirs under them.
 */

import type { App } from "./model/app";
import { Conversation } from "./model/conversation";
import { plain } from "./text/reveal";
import { el, shown } from "./view/dom";
import { childrenOf, standing } from "./view/family";
import { type Reader, viewOf } from "./view/items";
import { finishDrawing } from "./view/later";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";

/** A subagent may have subagents; who is their own grandparent ends somewhere. */
const DEEPEST = 16;

/** Elements are made as on the page and written down by the browser, which escapes what has to be. */
export async function exported(app: App, open: Conversation): Promise<Blob> {
  const title = open.info?.title || open.fold.title || "A session";
  const under = `${open.info?.agent ?? ""} · ${open.info?.cwd ?? ""}`;
  const head = el("header", "", el("h1", "", shown(title, "line")), el("p", "faint", shown(under, "exact line")));
  const body = el("main", "exported", head, ...itemsOf(open, app.readerOf(open.id)), ...(await childrenIn(app, open.id, 0)));
  // Colours come a moment later.
  await import("./view/highlight");
  await new Promise((resolve) => window.setTimeout(resolve));
  for (const button of body.querySelectorAll("button.copy, button.turn-menu, button.blame-link")) button.remove();
  const named = el("title", "", plain(title)).outerHTML;
  const policy = `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`;
  const start = `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">${policy}${named}<style>${styles()}</style></head>`;
  return new Blob([start, "<body>", body.outerHTML, "</body></html>\n"], { type: "text/html" });
}

function itemsOf(open: Conversation, reader: Reader): HTMLElement[] {
  return open.fold.items.map((item) => {
    // What is folded is drawn when it is opened; in a file nobody could.
    const view = viewOf(item, new Map([[item.id, true]]), reader).element;
    if (item.kind === "thought") view.removeAttribute("open");
    finishDrawing(view);
    return el("div", `item drawn of-${item.kind}`, view);
  });
}

/** The subagents of a session, one after the other: what they said may be long. */
async function childrenIn(app: App, parent: string, level: number): Promise<HTMLElement[]> {
  const sections: HTMLElement[] = [];
  for (const child of level < DEEPEST ? childrenOf(app, parent) : []) {
    const conversation = new Conversation(child.sessionId, child, () => undefined);
    const name = shown(child.title || child.sessionId, "line");
    const section = el("details", "child", el("summary", "", "Subagent ", name, el("span", "faint", ` ${standing(child)}`)));
    section.open = true;
    try {
      await conversation.readAll(app.rpc);
      section.append(...itemsOf(conversation, app.readerOf(child.sessionId)));
    } catch (error) {
      section.append(el("p", "faint", shown(`This session could not be read: ${error instanceof Error ? error.message : String(error)}`, "line")));
    }
    section.append(...(await childrenIn(app, child.sessionId, level + 1)));
    sections.push(section);
  }
  return sections;
}

function styles(): string {
  return [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText).join("\n");
}

export function download(blob: Blob, name: string): void {
  const link = el("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
