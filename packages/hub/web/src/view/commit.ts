/** A commit of what was changed: which files, which message, and what git and the repository's hooks say to it. */

import type { App } from "../model/app";
import type { Conversation } from "../model/conversation";
import { parseUnified } from "../text/diff";
import { plain } from "../text/reveal";
import { RpcError } from "../wire/rpc";
import { dialog } from "./dialogs";
import { diffTable } from "./diff";
import { button, el, shown } from "./dom";

interface CommitFile {
  path: string;
  kind: string;
  isChosen: boolean;
  isOwn: boolean;
  added: number | null;
  removed: number | null;
}

interface CommitPreview {
  branch: string;
  author: string;
  identity: string;
  hooks: string[];
  files: CommitFile[];
  diff: string;
  isDiffCut: boolean;
  message: string;
  warnings: string[];
}

/** A person ticks several boxes one after the other; the hub looks when they pause. */
const PAUSE_MS = 250;

export function showCommit(app: App, open: Conversation, done: () => void): void {
  new CommitWindow(app, open, done);
}

class CommitWindow {
  private preview: CommitPreview | null = null;
  private chosen = new Set<string>();
  private isOwnMessage = false;
  private timer = 0;
  private number = 0;
  private readonly window: HTMLDialogElement;
  private readonly about = el("div", "commit-about");
  private readonly list = el("fieldset", "field commit-files");
  private readonly difference = el("details", "commit-diff");
  private readonly message = el("textarea", "ask-text");
  private readonly fault = el("div", "fault");
  private readonly again = button("Refresh", "small", () => void this.look(null));
  private readonly go = el("button", "choice allow_once", "Commit");

  constructor(private readonly app: App, private readonly open: Conversation, private readonly done: () => void) {
    this.message.rows = 3;
    this.message.id = "commit-message";
    this.message.spellcheck = true;
    this.message.addEventListener("input", () => {
      this.isOwnMessage = this.message.value.trim() !== "";
      this.settle();
    });
    this.message.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.go.disabled) this.form.requestSubmit();
    });
    const label = el("label", "", "Message");
    label.htmlFor = this.message.id;
    this.fault.setAttribute("role", "alert");
    this.again.hidden = true;
    this.go.type = "submit";
    this.form.append(this.about, this.list, this.difference, el("div", "field", label, this.message), this.fault, el("div", "card-actions", this.go, this.again));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.commit();
    });
    this.window = dialog("Commit", this.form);
    this.window.classList.add("commit");
    this.about.append(el("p", "faint", "Reading the changes …"));
    this.settle();
    void this.look(null);
  }

  private readonly form = el("form", "form");

  /** Asks the hub; without paths it chooses what the last turn changed. */
  private async look(paths: string[] | null): Promise<void> {
    const number = ++this.number;
    this.say();
    try {
      const params = { sessionId: this.open.id, ...(paths ? { paths } : {}) };
      const preview = await this.app.rpc.call<CommitPreview>("_dragoman/hub/commit/preview", params);
      if (number !== this.number) return; // another choice was made meanwhile
      const isFirst = this.preview === null;
      this.preview = preview;
      this.chosen = new Set(preview.files.filter((file) => file.isChosen).map((file) => file.path));
      this.draw();
      this.settle(); // what is hidden takes no focus
      if (isFirst) this.message.focus();
    } catch (error) {
      if (number !== this.number) return;
      if (!this.preview) this.about.replaceChildren();
      this.fail(error);
      this.settle();
    }
  }

  private choose(paths: string[], isChosen: boolean): void {
    for (const path of paths) {
      if (isChosen) this.chosen.add(path);
      else this.chosen.delete(path);
    }
    this.number += 1; // what is on its way is about another choice
    if (this.preview) this.preview.identity = "";
    for (const box of this.list.querySelectorAll<HTMLInputElement>("input[data-path]")) box.checked = this.chosen.has(box.dataset.path!);
    this.settle();
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look([...this.chosen]), PAUSE_MS);
  }

  private draw(): void {
    const { branch, author, hooks, files, warnings, message } = this.preview!;
    const where = el("p", "faint", branch ? "On " : "Not on a branch", branch ? el("strong", "", shown(branch, "exact line")) : null, ", as ", shown(author, "exact line"), ".");
    if (hooks.length) where.append(` These git hooks will run: ${hooks.map((hook) => plain(hook, "exact line")).join(", ")}.`);
    this.about.replaceChildren(where, ...warnings.map((warning) => el("p", "warning", shown(warning, "exact line"))));
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.path;
    const own = files.filter((file) => file.isOwn);
    const rest = files.filter((file) => !file.isOwn);
    const rows: Node[] = [el("legend", "", "Files"), ...own.map((file) => this.row(file))];
    if (own.length && rest.length) rows.push(el("p", "faint", "Changed before the last turn, or by someone else"));
    rows.push(...rest.map((file) => this.row(file)));
    if (files.length > 1) rows.splice(1, 0, this.allRow(files));
    this.list.replaceChildren(...rows);
    if (focused !== undefined) [...this.list.querySelectorAll<HTMLElement>("input")].find((box) => box.dataset.path === focused)?.focus();
    this.drawDifference();
    if (!this.isOwnMessage) this.message.value = message;
  }

  private row(file: CommitFile): HTMLElement {
    const box = el("input");
    box.type = "checkbox";
    box.checked = file.isChosen;
    box.dataset.path = file.path;
    box.addEventListener("change", () => this.choose([file.path], box.checked));
    const made = el("label", "option", box, el("span", "path", shown(file.path, "exact line")), el("span", "faint", shown(file.kind)));
    if (file.added !== null) made.append(el("span", "tally", el("span", "plus", `+${file.added}`), " ", el("span", "minus", `−${file.removed}`)));
    return made;
  }

  private allRow(files: CommitFile[]): HTMLElement {
    const box = el("input");
    box.type = "checkbox";
    box.dataset.path = ""; // no file has this name
    box.checked = files.every((file) => file.isChosen);
    box.indeterminate = !box.checked && files.some((file) => file.isChosen);
    box.addEventListener("change", () => this.choose(files.map((file) => file.path), box.checked));
    return el("label", "option all", box, el("span", "", `All ${files.length} files`));
  }

  private drawDifference(): void {
    const { diff, isDiffCut } = this.preview!;
    const isOpen = this.difference.open;
    this.difference.replaceChildren(el("summary", "", "Changes since the last commit"));
    for (const part of diff.split(/^(?=diff --git )/m)) {
      const name = /^(?:\+\+\+ b|--- a)\/(.*)$/m.exec(part.replace("+++ /dev/null", ""))?.[1] ?? part.split("\n")[0];
      const file = el("section", "file", el("div", "file-head", el("span", "path", shown(name.replace(/\t$/, ""), "exact line"))));
      file.append(...parseUnified(part).map((hunk) => diffTable(hunk, "unified")));
      if (part) this.difference.append(file);
    }
    if (isDiffCut) this.difference.append(el("p", "faint", "The rest is too large to show."));
    this.difference.open = isOpen;
  }

  private async commit(): Promise<void> {
    if (!this.preview?.identity) return;
    const params = { sessionId: this.open.id, paths: [...this.chosen], message: this.message.value, identity: this.preview.identity };
    this.say();
    this.go.disabled = true;
    this.go.textContent = this.preview.hooks.length ? "Running hooks …" : "Committing …";
    try {
      const made = await this.app.rpc.call<{ short: string; subject: string }>("_dragoman/hub/commit", params);
      this.window.close();
      this.app.say(`Committed ${made.short}: ${plain(made.subject, "line")}`);
      await this.open.review(this.app.rpc);
      this.done();
    } catch (error) {
      this.fail(error);
      this.settle();
    }
  }

  private say(...nodes: Node[]): void {
    this.fault.replaceChildren(...nodes);
    this.again.hidden = nodes.length === 0;
  }

  private fail(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    const output: unknown = error instanceof RpcError ? error.data?.output : "";
    const nodes: Node[] = [el("p", "", shown(text.charAt(0).toUpperCase() + text.slice(1), "exact"))];
    if (typeof output === "string" && output) {
      const box = el("pre", "output", shown(output, "exact"));
      box.tabIndex = 0;
      box.setAttribute("aria-label", "Output of git and the hooks");
      nodes.push(box);
    }
    this.say(...nodes);
  }

  private settle(): void {
    const count = this.chosen.size;
    this.go.textContent = count ? `Commit ${count} ${count === 1 ? "file" : "files"}` : "Commit";
    this.go.disabled = !this.preview?.identity || !count || !this.message.value.trim();
    this.list.hidden = !this.preview;
    this.difference.hidden = !this.preview?.diff && !this.preview?.isDiffCut;
    this.message.parentElement!.hidden = this.go.hidden = !this.preview;
  }
}
