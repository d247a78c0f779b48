/** Suggestions over a text field: commands behind a slash at the start, files behind an `@`. */

import type { App } from "../model/app";
import type { Conversation } from "../model/conversation";
import { button, el, shown } from "./dom";

let serial = 0;

interface Suggestion {
  insert: string;
  label: string;
  detail: string;
}

export class Completion {
  readonly element = el("div", "completion");
  private found: Suggestion[] = [];
  private chosen = 0;
  private from = 0;
  private asked = 0;
  private name = `completion-${(serial += 1)}`;

  constructor(
    private app: App,
    private target: () => Conversation | null,
    private field: HTMLTextAreaElement,
    private taken: (insert: string) => void,
  ) {
    this.element.id = this.name;
    this.element.setAttribute("role", "listbox");
    this.element.setAttribute("aria-label", "Suggestions");
    this.element.hidden = true;
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", this.name);
  }

  async look(): Promise<void> {
    const round = ++this.asked;
    const before = this.field.value.slice(0, this.field.selectionStart);
    const slash = /^\/(\S*)$/.exec(before);
    const at = /(?:^|\s)@([^\s@]*)$/.exec(before);
    if (slash) return this.offer(this.commands(slash[1]), 0);
    if (!at) return this.hide();
    const files = await this.files(at[1]);
    if (round === this.asked) this.offer(files, before.length - at[1].length - 1);
  }

  private commands(start: string): Suggestion[] {
    const commands = this.target()?.fold.commands ?? [];
    const wanted = start.toLowerCase();
    return commands
      .filter((command) => command.name.toLowerCase().includes(wanted))
      .sort((one, other) => Number(other.name.startsWith(start)) - Number(one.name.startsWith(start)))
      .map((command) => ({
        insert: `/${command.name} `,
        label: `/${command.name}`,
        detail: [command.description, command.input?.hint].filter(Boolean).join(" · "),
      }));
  }

  private async files(pattern: string): Promise<Suggestion[]> {
    const sessionId = this.target()?.id;
    if (!sessionId) return [];
    const params = { sessionId, pattern, limit: 20 };
    const answer = await this.app.rpc.call<{ files: string[] }>("_dragoman/hub/files", params).catch(() => ({ files: [] }));
    return (answer.files ?? []).map((path) => ({ insert: `@${path} `, label: path, detail: "" }));
  }

  private offer(found: Suggestion[], from: number): void {
    this.found = found.slice(0, 20);
    this.from = from;
    this.chosen = 0;
    this.element.hidden = !this.found.length;
    this.element.replaceChildren(...this.found.map((one, at) => this.option(one, at)));
    this.mark();
  }

  private option(one: Suggestion, at: number): HTMLElement {
    const made = button("", "option", () => this.take(at));
    made.id = `${this.name}-${at}`;
    made.tabIndex = -1;
    made.setAttribute("role", "option");
    made.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    made.append(el("span", "", shown(one.label, "exact line")), el("span", "faint", shown(one.detail, "line")));
    return made;
  }

  private mark(): void {
    [...this.element.children].forEach((child, at) => child.setAttribute("aria-selected", String(at === this.chosen)));
    const current = this.element.children[this.chosen];
    if (current && !this.element.hidden) {
      this.field.setAttribute("aria-activedescendant", current.id);
      current.scrollIntoView({ block: "nearest" });
    } else this.field.removeAttribute("aria-activedescendant");
  }

  /** True when the key was for the list. */
  key(event: KeyboardEvent): boolean {
    if (this.element.hidden) return false;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) this.chosen = (this.chosen + step + this.found.length) % this.found.length;
    else if (event.key === "Enter" && this.isWritten()) {
      this.hide(); // there is nothing to complete: the key is for sending
      return false;
    } else if (event.key === "Enter" || event.key === "Tab") this.take(this.chosen);
    else if (event.key === "Escape") this.hide();
    else return false;
    this.mark();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  private isWritten(): boolean {
    const written = this.field.value.slice(this.from, this.field.selectionStart);
    return written === this.found[this.chosen].insert.trim();
  }

  private take(at: number): void {
    const { insert } = this.found[at];
    const { field } = this;
    field.setRangeText(insert, this.from, field.selectionStart, "end");
    this.hide();
    this.taken(insert.trim());
    field.focus();
  }

  hide(): void {
    this.asked += 1;
    this.element.hidden = true;
    this.found = [];
    this.mark();
  }
}
