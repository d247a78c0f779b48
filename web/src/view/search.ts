/** The search in all sessions. Arrow keys choose, Enter opens what is chosen, and the first result is chosen by itself. */

import type { App, Found } from "../model/app";
import { findWords, plainText } from "../text/search";
import { dialog } from "./dialogs";
import { ago, el, shown } from "./dom";

const PAUSE_MS = 150;
/** Kinds of passages that are written in markdown. */
const MARKDOWN = new Set(["message", "thought"]);

export function searchAll(app: App, go: (found: Found, query: string) => void, text = ""): void {
  const search = new SearchWindow(app, go);
  search.open(text);
}

class SearchWindow {
  private field = el("input", "search-field");
  private list = el("ul", "found-list");
  private status = el("p", "faint");
  private dialog: HTMLDialogElement | null = null;
  private timer = 0;
  private round = 0;
  private query = "";
  private found: Found[] = [];
  private chosen = 0;
  /** Enter was pressed before the results were here. */
  private isHurried = false;

  constructor(
    private app: App,
    private go: (found: Found, query: string) => void,
  ) {
    this.field.type = "search";
    this.field.placeholder = "Search in all sessions";
    const attributes = { role: "combobox", "aria-label": "Search in all sessions", "aria-controls": "found", "aria-expanded": "false", "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(attributes)) this.field.setAttribute(name, value);
    this.list.id = "found";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Results");
    this.status.setAttribute("role", "status");
    this.field.addEventListener("input", () => this.onInput());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
  }

  open(text: string): void {
    this.dialog = dialog("Search", this.field, this.status, this.list);
    this.field.focus();
    this.field.value = text;
    if (text) void this.look();
  }

  private onInput(): void {
    this.isHurried = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(), PAUSE_MS);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") this.choose(this.chosen + 1);
    else if (event.key === "ArrowUp") this.choose(this.chosen - 1);
    else if (event.key === "Enter") this.enter();
    else return;
    event.preventDefault();
  }

  private enter(): void {
    if (this.field.value.trim() === this.query) return this.show(this.found[this.chosen]);
    this.isHurried = true;
    window.clearTimeout(this.timer);
    void this.look();
  }

  private async look(): Promise<void> {
    const mine = ++this.round;
    const text = this.field.value.trim();
    const answer = text
      ? await this.app.rpc.call<{ found: Found[] }>("_dragoman/hub/search", { text, limit: 30 }).catch((error: Error) => error)
      : { found: [] };
    if (mine !== this.round || !this.dialog?.open) return;
    const failed = answer instanceof Error;
    this.query = text;
    this.found = failed ? [] : answer.found;
    this.status.replaceChildren(shown(failed ? answer.message : text && !this.found.length ? "Nothing was found." : ""));
    this.list.replaceChildren(...this.found.map((found, at) => this.row(found, at)));
    this.field.setAttribute("aria-expanded", String(this.found.length > 0));
    this.choose(0);
    if (this.isHurried) this.show(this.found[0]);
  }

  private row(found: Found, at: number): HTMLElement {
    const session = this.app.sessions.get(found.sessionId);
    const title = el("strong", "", shown(found.title || session?.title || "Untitled session", "line"));
    const about = el("span", "faint", `${found.kind.replaceAll("_", " ")} ${ago(session?.updatedAt)}`);
    const row = el("li", "found-one", el("span", "found-head", title, about), excerptView(found, this.query));
    row.id = `found-${at}`;
    row.setAttribute("role", "option");
    row.addEventListener("click", () => this.show(found));
    return row;
  }

  private choose(at: number): void {
    const rows = [...this.list.children];
    this.chosen = Math.max(0, Math.min(rows.length - 1, at));
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === this.chosen)));
    rows[this.chosen]?.scrollIntoView({ block: "nearest" });
    if (rows.length) this.field.setAttribute("aria-activedescendant", `found-${this.chosen}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  private show(found: Found | undefined): void {
    if (!found) return;
    this.dialog?.close();
    this.go(found, this.query);
  }
}

/** The excerpt as it reads when it is drawn, with the words that were searched for. */
function excerptView({ excerpt, kind }: Found, query: string): HTMLElement {
  const readable = MARKDOWN.has(kind) ? plainText(excerpt) : excerpt;
  // A match that only the markup has, as in the address of a link, is shown there.
  const text = findWords(readable, query).length ? readable : excerpt;
  const view = el("span", "excerpt");
  let at = 0;
  for (const { from, to } of findWords(text, query)) {
    view.append(shown(text.slice(at, from)), el("mark", "", shown(text.slice(from, to))));
    at = to;
  }
  view.append(shown(text.slice(at)));
  return view;
}
