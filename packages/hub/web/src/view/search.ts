/** The search in all sessions of all hubs. Arrow keys choose, Enter opens what is chosen, and the first result is chosen by itself. */

import type { Found } from "../model/app";
import { sessionTitle } from "../model/beginning";
import type { Hubs } from "../model/hubs";
import { type HubSearch, searchHubs } from "../model/search";
import { plain } from "../text/reveal";
import { findWords, plainText } from "../text/search";
import { dialog } from "./dialogs";
import { ago, el, shown } from "./dom";

const PAUSE_MS = 150;
/** Kinds of passages that are written in markdown. */
const MARKDOWN = new Set(["message", "thought"]);

export function searchAll(hubs: Hubs, go: (found: Found, query: string) => void, text = ""): void {
  const search = new SearchWindow(hubs, go);
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
    private hubs: Hubs,
    private go: (found: Found, query: string) => void,
  ) {
    this.field.type = "search";
    this.field.placeholder = "Search all sessions";
    const attributes = { role: "combobox", "aria-label": "Search all sessions", "aria-controls": "found", "aria-expanded": "false", "aria-autocomplete": "list" };
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
    if (text) this.look();
  }

  private onInput(): void {
    this.isHurried = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.look(), PAUSE_MS);
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
    this.look();
  }

  private look(): void {
    const mine = ++this.round;
    const text = this.field.value.trim();
    let isFirst = true;
    const show = (search: HubSearch): void => {
      if (mine !== this.round || !this.dialog?.open) return;
      this.query = text;
      this.draw(search, isFirst);
      isFirst = false;
    };
    if (text) searchHubs(this.hubs, text, show);
    else show({ found: [], troubles: [], missing: [] });
  }

  /** What came later stands below what is here, and moves nothing. */
  private draw({ found, troubles, missing }: HubSearch, isFirst: boolean): void {
    const words = [...troubles];
    if (missing.length) words.unshift(`Still searching: ${missing.join(", ")} …`);
    else if (this.query && !found.length && !troubles.length) words.push("No results.");
    else if (!found.length && troubles.length < this.hubs.all().length) words.unshift("No other results.");
    this.status.replaceChildren(shown(words.join(" ")));
    if (isFirst) this.list.replaceChildren();
    const known = this.list.childElementCount;
    this.found = [...found];
    this.list.append(...found.slice(known).map((each, at) => this.row(each, known + at)));
    this.field.setAttribute("aria-expanded", String(found.length > 0));
    this.choose(isFirst ? 0 : this.chosen);
    if (this.isHurried && found.length) this.show(found[0]);
  }

  private row(found: Found, at: number): HTMLElement {
    const session = this.hubs.get(found.hub ?? "")?.sessions.get(found.sessionId);
    const hubName = this.hubs.nameOf(found.hub);
    const title = el("strong", "", shown(found.title || sessionTitle(session ?? { agent: "", cwd: "" }), "line"));
    const about = el("span", "faint", `${found.kind.replaceAll("_", " ")} ${ago(session?.updatedAt)}`);
    if (hubName) about.prepend(el("span", "hub-name", plain(hubName)), " · ");
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
