/** Elements made by hand. Text of others becomes text nodes and visible marks, never markup. */

import { moment } from "../model/time";
import { type Mode, type Piece, placeToCut, plain, reveal } from "../text/reveal";
import { iconNode } from "./icons";
import { drawLater, finishDrawing } from "./later";

type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, className = "", ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const child of children) if (child) made.append(child);
  return made;
}

/** A title as agents write it: what stands between backticks is code. */
export function titled(text: string): Node {
  const whole = document.createDocumentFragment();
  text.split(/`([^`]+)`/).forEach((part, at) => {
    if (part) whole.append(at % 2 ? el("code", "", shown(part, "exact line")) : shown(part, "exact line"));
  });
  return whole;
}

export function button(label: string, className: string, act: () => void, title = ""): HTMLButtonElement {
  const made = el("button", className, label);
  made.type = "button";
  if (title) made.title = title;
  made.addEventListener("click", act);
  return made;
}

/** A text that is set anew is laid out anew, also if it is the same. */
export function setText(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

/** Nothing is cut, but what is longer than this is drawn in pieces, the first at once. */
const PIECE = 20_000;

export function shown(text: string, mode: Mode = "text"): Node {
  if (text.length <= PIECE) return drawn(reveal(text, mode));
  const whole = document.createDocumentFragment();
  for (let at = 0; at < text.length; ) {
    const until = placeToCut(text, at + PIECE);
    const piece = el("span", "piece");
    const part = text.slice(at, until);
    const fill = (): void => piece.append(drawn(reveal(part, mode)));
    if (at === 0) fill();
    else drawLater(piece, fill);
    whole.append(piece);
    at = until;
  }
  return whole;
}

/** Adds to a text that has become long: only its last piece is laid out again, however long the whole is. */
export function grow(target: HTMLElement, text: string): void {
  finishDrawing(target);
  let last = target.lastElementChild;
  if (!last?.classList.contains("piece")) {
    last = el("span", "piece", ...target.childNodes);
    target.append(last);
  }
  const room = PIECE - (last.textContent?.length ?? 0);
  const end = text.indexOf("\n", Math.max(0, room));
  // A piece ends with a line if it can, because it is a block of its own.
  const until = text.length < room ? text.length : end >= 0 ? end + 1 : room > -PIECE ? text.length : 0;
  last.append(drawn(reveal(text.slice(0, until))));
  if (until >= text.length) return;
  target.append(el("span", "piece"));
  grow(target, text.slice(until));
}

function drawn(pieces: Piece[]): Node {
  if (pieces.length === 1 && typeof pieces[0] === "string") return document.createTextNode(pieces[0]);
  const all = document.createDocumentFragment();
  for (const piece of pieces) {
    if (typeof piece === "string") all.append(piece);
    else {
      const mark = el("span", "mark", piece.label);
      mark.title = piece.name;
      all.append(mark);
    }
  }
  return all;
}

/** A long text that a person may want none of: the beginning, and the rest when asked for, a good deal at a time. */
export function unfolding(target: HTMLElement, text: string, mode: Mode, first = 40_000): void {
  const until = placeToCut(text, first);
  target.append(shown(text.slice(0, until), mode));
  if (text.length <= until) return;
  const rest = button(`Show ${sizeOf(text.length - until)} more`, "more", () => {
    rest.remove();
    unfolding(target, text.slice(until), mode, 400_000);
  });
  target.append(rest);
}

export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Copies a text and says whether it did: in words, or as an icon where words would stand over what is beside it. */
export function copyButton(text: () => string, label = "Copy", title = "", icon = ""): HTMLButtonElement {
  const made = button("", icon ? "copy as-icon" : "copy", () => {
    const told = (word: string): void => {
      draw(word);
      window.setTimeout(draw, 1500);
    };
    // Browsers give the clipboard to pages on loopback and over TLS only, and may refuse.
    const copying = navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error("no clipboard"));
    copying.then(() => told("Copied"), () => told("Not copied"));
  }, title);
  const draw = (word = ""): void => {
    if (!icon) return setText(made, word || label);
    made.setAttribute("aria-label", word || title);
    made.replaceChildren(iconNode(word === "Copied" ? "check" : word ? "close" : icon));
  };
  draw();
  return made;
}

/** A way to a line of a file of the session around it, see `view/file.ts`. */
export function fileLink(path: string, line: number, className: string, ...label: Child[]): HTMLButtonElement {
  const made = el("button", className, ...label);
  made.type = "button";
  made.dataset.file = path;
  if (line) made.dataset.line = String(line);
  made.title = plain(path, "exact line") + (line ? `:${line}` : "");
  return made;
}

/** To who wrote the lines of a file, see `view/blame.ts`; it is seen where the hub remembers files. */
export function blameLink(path: string): HTMLButtonElement {
  const made = el("button", "small blame-link", "Blame");
  made.type = "button";
  made.dataset.blame = path;
  made.title = "Who wrote each line, after which message";
  made.setAttribute("aria-label", `Blame ${plain(lastPart(path), "exact line")}`);
  return made;
}

export function ago(time: string | number | undefined, now = Date.now()): string {
  const then = moment(time);
  if (then === undefined) return "";
  const seconds = (now - then) / 1000;
  if (seconds < 45) return "now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** What `ago` gives, within a sentence. */
export function agoWords(since: string): string {
  return since === "now" ? "just now" : `${since} ago`;
}

/** Since when a question stands, and when the hub refuses it, if its owner wants that. */
export function standing(asked: { askedAt?: string | number; expiresAt?: string | number | null }, now = Date.now()): string {
  const since = ago(asked.askedAt, now);
  const end = moment(asked.expiresAt);
  const words = since && `Asked ${agoWords(since)}`;
  return [words, end && `refused in ${ago(now / 1000, end)}`].filter(Boolean).join(" · ");
}

export function lastPart(path: string): string {
  return path.replace(/[\\/]+$/, "").split(/[\\/]/).pop() || path;
}

/** "14:03". A browser's own formats are made with the first use, and that takes longer than a frame. */
export function hours(at: Date): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A count as it is read: "12,345". */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** What something cost. Cents of a cent matter where turns are cheap: what is not nothing never looks like it. */
export function price({ amount, currency }: { amount: number; currency: string }): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.0995 ? 3 : 2;
  const number = amount > 0 && amount < 0.001 ? "< 0.001" : amount.toFixed(digits).replace(/(\.\d\d)0$/, "$1");
  return `${number} ${plain(currency)}`.trim();
}

/** A moment as a person of today would say it: "14:03", and with the day if that is another one. */
export function clock(time: number): string {
  const at = new Date(time);
  return at.toDateString() === new Date().toDateString() ? hours(at) : `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${hours(at)}`;
}
