/**
 * The way back to before a turn: what would change, what a person wrote since and therefore stays, and the way forth
 * again. The hub does what was shown, or nothing.
 */

import type { App } from "../model/app";
import type { Conversation } from "../model/conversation";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { button, el, fileLink, shown } from "./dom";
import { iconNode } from "./icons";

interface RewoundFile {
  path: string;
  act: "restore" | "remove" | "change";
  isPersons: boolean;
  hadCommand: boolean;
  added: number;
  removed: number;
}

interface RewindPreview {
  isBusy: boolean;
  files: RewoundFile[];
  left: string[];
  identity: string;
}

interface RewindResult {
  paths: string[];
  failures: { path: string; why: string }[];
}

const ACTS = { restore: ["new", "comes back"], remove: ["delete", "goes away"], change: ["edit", "changes"] } as const;

export function showRewind(app: App, open: Conversation, key: string): void {
  const body = el("div", "rewind");
  body.dataset.session = open.id;
  const opened = dialog("Put files back to before this message", body);
  opened.classList.add("commit");
  const named = { sessionId: open.id, key };

  const fail = (error: unknown): void => {
    const fault = el("div", "fault", shown(error instanceof Error ? error.message : String(error)));
    fault.setAttribute("role", "alert");
    body.querySelector(".fault")?.remove();
    body.prepend(fault);
  };
  const look = (): Promise<void> => app.rpc.call<RewindPreview>("_dragoman/hub/rewind/preview", named).then(draw);
  /** Whatever goes wrong may have changed what there is to show. */
  const act = (method: string, params: object, done: (result: RewindResult) => void): Promise<void> =>
    app.rpc.call<RewindResult>(method, params).then(
      (result) => {
        done(result);
        void open.review(app.rpc);
      },
      (error) => look().catch(() => null).then(() => fail(error)),
    );

  function draw(preview: RewindPreview): void {
    const own = preview.files.filter((file) => !file.isPersons);
    const persons = preview.files.filter((file) => file.isPersons);
    const also = (): string[] => boxes.filter((box) => box.checked).map((box) => box.value);
    const go = button("", "choice allow_once", () => {
      go.disabled = true;
      void act("_dragoman/hub/rewind", { ...named, identity: preview.identity, also: also() }, drawDone);
    });
    const settle = (): void => {
      const count = own.length + also().length;
      go.textContent = `Put back ${count} ${count === 1 ? "file" : "files"}`;
      go.disabled = !count || preview.isBusy;
    };
    const boxes = persons.map((file) => {
      const box = el("input", "");
      box.type = "checkbox";
      box.value = file.path;
      box.setAttribute("aria-label", `Put back ${plain(file.path, "exact line")}, too`);
      box.addEventListener("change", settle);
      return box;
    });
    const all = button("Tick all", "small", () => boxes.filter((box) => !box.checked).forEach((box) => box.click()));
    const rows = (files: RewoundFile[], marks: HTMLElement[] = []): HTMLElement =>
      el("ul", "rewound", ...files.map((file, at) => el("li", "", marks[at] ?? iconNode(ACTS[file.act][0]), ...line(open, file))));
    const parts: HTMLElement[] = [];
    if (preview.isBusy) parts.push(el("p", "fault", "A turn is running in this folder. Let it end first."));
    if (!preview.files.length) parts.push(el("p", "faint", "Nothing to put back: the files are as they were before this message."));
    if (own.length) parts.push(rows(own));
    if (persons.length) parts.push(el("h3", "faint", "No turn announced these changes: they may be yours. They stay, unless you tick them."), ...(boxes.length > 1 ? [all] : []), rows(persons, boxes));
    if (preview.left.length) parts.push(el("p", "faint", "These differ, too, and stay as they are, because Dragoman does not keep their content: ", shown(preview.left.map((path) => within(open, path)).join(", "), "exact")));
    const acts = el("div", "card-actions", go);
    if (preview.isBusy) acts.append(button("Refresh", "small", () => void look().catch(fail)));
    if (preview.files.length) parts.push(el("p", "faint", "The conversation stays. The agent is told with your next message. You can undo this."), acts);
    settle();
    body.replaceChildren(...parts);
    if (preview.files.length && !go.disabled) go.focus();
  }

  function drawDone({ paths, failures }: RewindResult): void {
    const undo = button("Undo", "choice", () => {
      undo.disabled = true;
      void app.rpc.call<RewindResult>("_dragoman/hub/rewind/undo", { sessionId: open.id }).then(drawUndone, (error) => {
        undo.disabled = false;
        fail(error);
      });
    });
    body.replaceChildren(told(`${count(paths)} put back.`), ...kept(failures), el("div", "card-actions", undo, button("Done", "choice allow_once", () => opened.close())));
    undo.focus();
  }

  function drawUndone({ paths, failures }: RewindResult): void {
    body.replaceChildren(told(`Undone: ${count(paths)} as before.`), ...kept(failures), el("div", "card-actions", button("Done", "choice allow_once", () => opened.close())));
  }

  const kept = (failures: RewindResult["failures"]): HTMLElement[] =>
    failures.map(({ path, why }) => el("p", "fault", shown(`Not put back: ${path}: ${why}`, "exact line")));

  body.append(el("p", "faint", "Reading the files …"));
  look().catch((error) => {
    body.replaceChildren();
    fail(error);
  });
}

function told(words: string): HTMLElement {
  const made = el("p", "", words);
  made.setAttribute("role", "status");
  return made;
}

function count(paths: string[]): string {
  return `${paths.length} ${paths.length === 1 ? "file is" : "files are"}`;
}

function line(open: Conversation, { path, act, isPersons, hadCommand, added, removed }: RewoundFile): HTMLElement[] {
  const tally = el("span", "tally", el("span", "plus", `+${added}`), " ", el("span", "minus", `−${removed}`));
  tally.setAttribute("role", "img");
  tally.setAttribute("aria-label", `${added} lines added, ${removed} removed`);
  const label = shown(within(open, path), "exact line");
  const words = ACTS[act][1] + (hadCommand && !isPersons ? "; what you typed in it while a command ran goes, too" : "");
  return [act === "restore" ? el("span", "path", label) : fileLink(path, 0, "path", label), el("span", "faint", words), tally];
}

/** A path as it is seen from the session's folder. */
function within(open: Conversation, path: string): string {
  const start = `${(open.info?.cwd ?? "").replace(/\/+$/, "")}/`;
  return path.startsWith(start) ? path.slice(start.length) : path;
}
