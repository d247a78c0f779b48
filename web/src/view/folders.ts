/** Choosing a folder on the hub's machine: recent ones first, then what is typed may become. Git's folders are marked. */

import type { App } from "../model/app";
import { el, shown } from "./dom";
import { iconNode } from "./icons";

export interface Folders {
  path: string;
  exists: boolean;
  folders: string[];
  repositories?: string[];
}

const PAUSE_MS = 120;
const MOST = 30;

export class FolderPicker {
  readonly field = el("input");
  readonly list = el("div", "recent");
  private timer = 0;
  private chosen = -1;

  constructor(private app: App, private recent: string[]) {
    const { field, list } = this;
    field.name = "cwd";
    field.id = "new-cwd";
    field.required = true;
    field.placeholder = "/home/you/project";
    field.spellcheck = false;
    field.autocomplete = "off";
    field.value = recent[0] ?? "";
    const attributes = { role: "combobox", "aria-controls": "folders", "aria-expanded": "true", "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    list.id = "folders";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Folders");
    field.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.look(), PAUSE_MS);
    });
    field.addEventListener("keydown", (event) => this.onKey(event));
    this.offer(recent, new Set());
    void this.look();
  }

  lookUp(path: string): Promise<Folders | null> {
    return this.app.rpc.call<Folders>("_dragoman/hub/folders", { path }).catch(() => null);
  }

  /** Recent folders that fit, the repository around what was typed, and the folders that it may become. */
  private async look(): Promise<void> {
    const path = this.field.value.trim();
    const found = path ? await this.lookUp(path) : null;
    if (this.field.value.trim() !== path) return;
    const repositories = new Set(found?.repositories ?? []);
    const fitting = this.recent.filter((folder) => folder.startsWith(path) || this.recent[0] === path);
    this.offer([...new Set([...fitting, ...repositories, ...(found?.folders ?? [])])], repositories);
  }

  private offer(paths: string[], repositories: Set<string>): void {
    this.chosen = -1;
    this.list.replaceChildren(...paths.slice(0, MOST).map((path, at) => this.option(path, at, repositories.has(path))));
    this.field.setAttribute("aria-expanded", String(paths.length > 0));
    this.field.removeAttribute("aria-activedescendant");
  }

  private option(path: string, at: number, isRepository: boolean): HTMLElement {
    const made = el("div", "folder", iconNode(isRepository ? "fork" : "read"), el("span", "", shown(path, "exact line")));
    const about = [isRepository ? "git" : "", this.recent.includes(path) ? "recent" : ""].filter(Boolean).join(" · ");
    if (about) made.append(el("span", "faint", about));
    made.id = `folder-${at}`;
    made.dataset.path = path;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", "false");
    made.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      this.take(path);
    });
    return made;
  }

  private take(path: string): void {
    this.field.value = path;
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  private onKey(event: KeyboardEvent): void {
    const options = [...this.list.children] as HTMLElement[];
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && options.length) {
      this.chosen = (this.chosen + step + options.length) % options.length;
      options.forEach((option, at) => option.setAttribute("aria-selected", String(at === this.chosen)));
      options[this.chosen].scrollIntoView({ block: "nearest" });
      this.field.setAttribute("aria-activedescendant", options[this.chosen].id);
    } else if (event.key === "Enter" && this.chosen >= 0) this.take(options[this.chosen].dataset.path!);
    else return;
    event.preventDefault();
  }
}
