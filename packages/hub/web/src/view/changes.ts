/** What the last turn changed on disk, file by file and hunk by hunk; each can be kept or put back. */

import type { App } from "../model/app";
import type { Conversation } from "../model/conversation";
import type { FileChange } from "../model/types";
import { type Hunk, parseUnified } from "../text/diff";
import { plain } from "../text/reveal";
import { showCommit } from "./commit";
import { type Layout, diffTable, tally } from "./diff";
import { dialog } from "./dialogs";
import { blameLink, button, el, fileLink, shown } from "./dom";
import { iconNode } from "./icons";
import { chooseLayout, chosenLayout } from "./layout";

export function showChanges(app: App, open: Conversation): void {
  const body = el("div", open.fold.remembersFiles ? "changes remembers" : "changes");
  body.dataset.session = open.id;
  const draw = (): void => {
    const files = open.changes ?? [];
    const nodes: Node[] = files.map((file) => fileView(app, open, file, draw));
    if (!files.length && !open.others.length) nodes.push(el("p", "faint", "Nothing left to review: you kept or reverted every change."));
    if (open.others.length) {
      nodes.push(el("h3", "faint", "Changed during this turn, but not by this session"));
      nodes.push(...open.others.map((file) => foreignView(open, file)));
    }
    nodes.push(...open.changeNotes.map((note) => el("p", "faint", shown(note))));
    body.replaceChildren(el("div", "changes-head", layoutSwitch(draw), commitButton(app, open, draw)), ...nodes);
  };
  draw();
  const made = dialog("Changes of the last turn", body);
  made.classList.add("wide");
}

function commitButton(app: App, open: Conversation, draw: () => void): HTMLButtonElement {
  const made = button("Commit …", "small", () => showCommit(app, open, draw));
  made.disabled = !app.may("approve");
  return made;
}

function layoutSwitch(draw: () => void): HTMLElement {
  const row = el("div", "segments");
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Layout");
  for (const [layout, word] of [["unified", "Unified"], ["split", "Side by side"]] as [Layout, string][]) {
    const made = button(word, "segment", () => {
      chooseLayout(layout);
      draw();
    });
    made.setAttribute("aria-pressed", String(chosenLayout() === layout));
    row.append(made);
  }
  return row;
}

function fileView(app: App, open: Conversation, file: FileChange, draw: () => void): HTMLElement {
  const whole = parseUnified(file.diff ?? "");
  const head = el("div", "file-head", iconNode(file.kind === "added" ? "new" : file.kind === "removed" ? "delete" : "edit"));
  const label = shown(within(file.path, open.info?.cwd ?? ""), "exact line");
  const name = file.kind === "removed" ? el("span", "path", label) : fileLink(file.path, 0, "path", label);
  head.append(name, el("span", "faint", shown(file.kind)), tally(whole));
  const keep = button("Keep", "small", () => {
    open.keep(file);
    draw();
  });
  if (file.kind !== "removed") head.append(blameLink(file.path));
  head.append(keep, revertButton(app, () => revert(app, open, file, undefined, draw), "Revert file"));
  const made = el("section", "file", head);
  made.setAttribute("aria-label", plain(file.path, "exact line"));
  const hunks = file.hunks?.length ? file.hunks : [];
  if (!hunks.length) for (const hunk of whole) made.append(table(hunk));
  for (const hunk of hunks) made.append(hunkView(app, open, file, hunk, draw));
  if (!whole.length && !hunks.length) made.append(el("p", "faint", "Not shown: binary, or too large."));
  return made;
}

/** A change that is not this session's to keep or to put back. */
function foreignView(open: Conversation, file: FileChange): HTMLElement {
  const whole = parseUnified(file.diff ?? "");
  const name = el("span", "path", shown(within(file.path, open.info?.cwd ?? ""), "exact line"));
  name.title = plain(file.path, "exact line");
  const who = file.by === "others" ? "by another session" : "by an unknown program or person";
  const made = el("section", "file foreign", el("div", "file-head", name, el("span", "faint", `${file.kind} ${who}`), tally(whole)));
  made.setAttribute("aria-label", plain(file.path, "exact line"));
  made.append(...whole.map(table));
  return made;
}

/** A path as it is seen from the session's folder. */
function within(path: string, folder: string): string {
  const start = `${folder.replace(/\/+$/, "")}/`;
  return path.startsWith(start) ? path.slice(start.length) : path;
}

function hunkView(app: App, open: Conversation, file: FileChange, hunk: { id: string | number; text: string }, draw: () => void): HTMLElement {
  const keep = button("Keep", "small", () => {
    open.keep(file, hunk);
    draw();
  });
  const parsed = parseUnified(hunk.text);
  const actions = el("div", "hunk-head", el("span", "faint", shown(hunk.text.split("\n")[0], "exact line")), keep);
  if ((file.hunks?.length ?? 0) > 1) actions.append(revertButton(app, () => revert(app, open, file, [hunk.id], draw), "Revert"));
  return el("div", "hunk", actions, ...parsed.map(table));
}

function table(hunk: Hunk): HTMLElement {
  return diffTable(hunk, window.innerWidth < 700 ? "unified" : chosenLayout());
}

function revertButton(app: App, act: () => void, word: string): HTMLButtonElement {
  const made = button(word, "small danger", act);
  made.disabled = !app.may("approve");
  return made;
}

async function revert(app: App, open: Conversation, file: FileChange, hunks: (string | number)[] | undefined, draw: () => void): Promise<void> {
  try {
    await app.rpc.call("_dragoman/hub/revert", { sessionId: open.id, path: file.path, ...(hunks ? { hunks } : {}) });
    app.say(hunks ? `Reverted a change in ${file.path}.` : `Reverted ${file.path}.`);
    // Numbers of hunks are those of the present difference: what is left has new ones.
    await open.review(app.rpc);
  } catch (error) {
    app.say(`Could not revert ${file.path}: ${error instanceof Error ? error.message : error}`);
  }
  draw();
}
