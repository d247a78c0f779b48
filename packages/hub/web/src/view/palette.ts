/** The palette: everything that can be done, and every session, by a few letters of its name. */

import { fuzzySearch } from "../text/fuzzy";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { el, shown } from "./dom";
import { iconNode } from "./icons";

export interface PaletteEntry {
  label: string;
  /** What it is found by besides its label. */
  detail?: string;
  icon: string;
  keys?: string;
  run(): void;
}

const MOST = 60;

export interface PaletteOptions {
  title: string;
  placeholder: string;
  entries: PaletteEntry[];
  /** What is offered for any text below all that fits. */
  otherwise?(text: string): PaletteEntry[];
  /** What has to be looked up first, such as files. */
  lookUp?(text: string): Promise<PaletteEntry[]>;
}

export function openPalette(options: PaletteOptions): void {
  document.querySelector<HTMLDialogElement>("dialog.palette")?.close();
  new Palette(options);
}

class Palette {
  private field = el("input", "search-field");
  private list = el("ul", "palette-list");
  private status = el("p", "unseen");
  private window: HTMLDialogElement;
  private found: PaletteEntry[] = [];
  private chosen = 0;
  private round = 0;

  constructor(private options: PaletteOptions) {
    this.field.type = "search";
    this.field.placeholder = options.placeholder;
    const attributes = { role: "combobox", "aria-label": options.placeholder, "aria-controls": "palette-list", "aria-expanded": "true", "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(attributes)) this.field.setAttribute(name, value);
    this.list.id = "palette-list";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", options.title);
    this.status.setAttribute("role", "status");
    this.field.addEventListener("input", () => this.look());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.window = dialog(options.title, this.field, this.status, this.list);
    this.window.classList.add("palette");
    this.look();
    this.field.focus();
  }

  private look(): void {
    const text = this.field.value.trim();
    const mine = ++this.round;
    const fitting = fuzzySearch(text, this.options.entries, (entry) => `${entry.label} ${entry.detail ?? ""}`, MOST);
    this.offer(fitting, text);
    if (!text && this.options.entries.length) return;
    void this.options.lookUp?.(text).then((more) => {
      if (mine === this.round && this.window.open && more.length) this.offer([...fitting, ...more], text, this.chosen);
    });
  }

  private offer(entries: PaletteEntry[], text: string, chosen = 0): void {
    this.found = [...entries, ...(text ? (this.options.otherwise?.(text) ?? []) : [])];
    this.list.replaceChildren(...this.found.map((entry, at) => this.row(entry, at)));
    this.status.textContent = this.found.length ? `${this.found.length} found` : "No results.";
    if (!this.found.length) this.list.append(el("li", "faint palette-none", "No results."));
    this.choose(chosen);
  }

  private row(entry: PaletteEntry, at: number): HTMLElement {
    const made = el("li", "palette-entry", el("span", "tool-icon", iconNode(entry.icon)), el("span", "palette-label", shown(entry.label, "exact line")));
    if (entry.detail) made.append(el("span", "faint palette-detail", shown(entry.detail, "exact line")));
    if (entry.keys) made.append(el("kbd", "", entry.keys));
    made.id = `palette-${at}`;
    made.setAttribute("role", "option");
    made.title = plain(entry.label, "exact line");
    made.addEventListener("click", () => this.run(entry));
    return made;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const step = event.key === "ArrowDown" || (event.ctrlKey && event.key === "n") ? 1 : event.key === "ArrowUp" || (event.ctrlKey && event.key === "p") ? -1 : 0;
    if (step) this.choose((this.chosen + step + this.found.length) % Math.max(1, this.found.length));
    else if (event.key === "Enter") this.run(this.found[this.chosen]);
    else return;
    event.preventDefault();
  }

  private choose(at: number): void {
    this.chosen = Math.max(0, Math.min(this.found.length - 1, at));
    const rows = [...this.list.querySelectorAll("[role=option]")];
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === this.chosen)));
    rows[this.chosen]?.scrollIntoView({ block: "nearest" });
    if (rows.length) this.field.setAttribute("aria-activedescendant", `palette-${this.chosen}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  private run(entry: PaletteEntry | undefined): void {
    if (!entry) return;
    this.window.close();
    entry.run();
  }
}
