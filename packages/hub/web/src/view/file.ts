/**
 * A file of a session, to be read: numbered lines in colour, at the line that was asked for. Loaded when the first file is opened.
 * The text is the hub's answer and stays text: colours are scopes, and characters that hide are shown by name.
 */

import type { App } from "../model/app";
import { identityOf } from "../model/hubs";
import type { FilePlace } from "../text/places";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { blameLink, copyButton, el, grouped, shown, sizeOf } from "./dom";
import { colouredLines, languageOf } from "./highlight";
import { drawLater } from "./later";

interface FileAnswer {
  path: string;
  text: string;
  first: number;
  size: number;
  isWhole: boolean;
  isCovered: boolean;
}

export const LINES_IN_PIECE = 200;
/** Above it, colours would cost a visible pause. */
const LONGEST_COLOURED = 300_000;

export async function showFile(app: App, sessionId: string, place: FilePlace): Promise<void> {
  const body = el("div", "file-view", el("div", "skeleton", el("i"), el("i"), el("i")));
  const opened = dialog(lastName(place.path), body);
  opened.dataset.session = identityOf({ hub: app.key, sessionId });
  opened.classList.toggle("remembers", app.shown().some(({ id, fold }) => id === sessionId && fold.remembersFiles));
  opened.classList.add("wide", "tall");
  const params = { sessionId, path: place.path, ...(place.line ? { line: place.line } : {}) };
  try {
    const answer = await app.rpc.call<FileAnswer>("_dragoman/hub/file", params);
    if (opened.open) draw(body, answer, place.line);
  } catch (error) {
    body.replaceChildren(fileFault(place.path, error));
  }
}

export function fileFault(path: string, error: unknown): HTMLElement {
  const why = error instanceof Error ? error.message : String(error);
  const box = el("div", "empty", el("p", "empty-title", "This file cannot be shown"), el("p", "address", shown(path, "exact line")), el("p", "fault", shown(why, "line")));
  box.setAttribute("role", "alert");
  return box;
}

function draw(body: HTMLElement, answer: FileAnswer, line: number): void {
  const texts = answer.text.replace(/\n$/, "").split(/\r?\n/);
  const path = el("span", "path", shown(answer.path, "exact line"));
  const about = el("span", "faint", `${grouped(texts.length)} ${texts.length === 1 ? "line" : "lines"} · ${sizeOf(answer.size)}`);
  const head = el("div", "file-head", path, about, blameLink(answer.path), copyButton(() => answer.path));
  const notes: HTMLElement[] = [];
  if (!answer.isWhole) notes.push(el("p", "faint file-note", `Large file: showing lines ${answer.first} to ${answer.first + texts.length - 1}.`));
  if (answer.isCovered) notes.push(el("p", "faint file-note", "Possible secrets are hidden."));
  const lines = el("div", "file-lines");
  lines.tabIndex = 0;
  lines.setAttribute("role", "region");
  lines.setAttribute("aria-label", `Text of ${plain(lastName(answer.path), "exact line")}`);
  body.replaceChildren(head, ...notes, lines);
  if (!answer.text) lines.append(el("p", "faint file-note", "The file is empty."));
  else fill(lines, texts, answer, line);
  lines.focus();
}

function fill(lines: HTMLElement, texts: string[], answer: FileAnswer, wanted: number): void {
  const coloured = coloursOf(answer.path, texts);
  lines.style.setProperty("--digits", String(String(answer.first + texts.length).length));
  const target = Math.min(wanted, answer.first + texts.length - 1) - answer.first;
  for (let at = 0; at < texts.length; at += LINES_IN_PIECE) {
    const piece = el("div", "file-piece");
    const size = Math.min(LINES_IN_PIECE, texts.length - at);
    piece.style.setProperty("--lines", String(size));
    const isNear = at === 0 || Math.abs(at + LINES_IN_PIECE / 2 - target) <= LINES_IN_PIECE;
    const make = (): void => piece.append(...Array.from({ length: size }, (_, row) => lineView(answer.first + at + row, coloured[at + row], wanted)));
    if (isNear) make();
    else drawLater(piece, make);
    lines.append(piece);
  }
  lines.querySelector(".file-line.wanted")?.scrollIntoView({ block: "center" });
}

export function coloursOf(path: string, texts: string[]): Node[] {
  const text = texts.join("\n");
  return colouredLines(text, text.length > LONGEST_COLOURED ? "" : languageOf(path));
}

export function lineView(number: number, text: Node, wanted: number): HTMLElement {
  const made = el("div", number === wanted ? "file-line wanted" : "file-line", el("span", "number", String(number)), el("code", "", text));
  if (number === wanted) made.setAttribute("aria-current", "true");
  return made;
}

export function lastName(path: string): string {
  return path.split("/").pop() || path;
}
