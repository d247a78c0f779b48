/**
 * Draws markdown as it streams: settled blocks are never touched again, the last one is drawn anew, and an open code
 * block only grows. Links and images are buttons that say where they lead before anything is opened.
 */

import type { Inline } from "../text/inline";
import { type Align, type Block, LONGEST_PARAGRAPH, type ListItem, MarkdownStream } from "../text/markdown";
import { placeInCode, placeOfLink, ruleOfLink } from "../text/places";
import { isBetween } from "../text/reveal";
import { copyButton, el, fileLink, grow, shown } from "./dom";

const LONGEST_COLOURED = 60_000;

export class MarkdownView {
  readonly element = el("div", "prose");
  private stream = new MarkdownStream();
  private nodes: HTMLElement[] = [];
  private blocks: Block[] = [];
  private fixed = 0;

  push(text: string): void {
    this.stream.push(text);
    const { blocks, settled } = this.stream;
    for (let at = this.fixed; at < blocks.length; at += 1) this.draw(at, blocks[at]);
    while (this.nodes.length > blocks.length) this.nodes.pop()!.remove();
    this.fixed = settled;
  }

  /** Nothing more comes: an unfinished last block is as final as it gets. */
  finish(): void {
    const last = this.stream.blocks.at(-1);
    const node = this.nodes.at(-1);
    if (last?.t === "code" && last.open && node) colourLater(node, last.s, last.lang);
  }

  private draw(at: number, block: Block): void {
    const old = this.nodes[at];
    const before = this.blocks[at];
    this.blocks[at] = block;
    if (old && (grown(old, block) || extended(old, before, block))) return;
    const node = drawBlock(block);
    if (old) old.replaceWith(node);
    else this.element.append(node);
    this.nodes[at] = node;
  }
}

export function markdown(text: string): HTMLElement {
  const view = new MarkdownView();
  view.push(text);
  view.finish();
  return view.element;
}

const sources = new WeakMap<HTMLElement, { s: string; lang: string }>();

/** Code that is still open, and paragraphs beyond all measure, only get longer. */
function grown(node: HTMLElement, block: Block): boolean {
  const before = sources.get(node);
  const [lang, s] = block.t === "code" ? [block.lang, block.s] : ["", enormous(block)];
  if (!before || before.lang !== lang || s === null || !s.startsWith(before.s)) return false;
  if (block.t === "code" && !block.open) return false;
  if (!isBetween(s, before.s.length)) return false;
  const more = s.slice(before.s.length);
  if (more) grow(block.t === "code" ? node.querySelector("code")! : node, more);
  before.s = s;
  return true;
}

/** A list or a table gets longer by its end: only its last entry may have changed. */
function extended(node: HTMLElement, before: Block, now: Block): boolean {
  if (before.t === "list" && now.t === "list") {
    if (before.ordered !== now.ordered || before.tight !== now.tight || before.items.length > now.items.length) return false;
    node.lastElementChild?.remove();
    node.append(...now.items.slice(before.items.length - 1).map((item) => listItem(item, now.tight)));
    return true;
  }
  if (before.t !== "table" || now.t !== "table" || !before.rows.length || before.rows.length > now.rows.length) return false;
  const body = node.querySelector("tbody")!;
  body.lastElementChild?.remove();
  body.append(...now.rows.slice(before.rows.length - 1).map((cells) => tableRow(cells, "td", now.align)));
  return true;
}

function enormous(block: Block): string | null {
  const only = block.t === "p" && block.c.length === 1 ? block.c[0] : null;
  return only?.t === "text" && only.s.length > LONGEST_PARAGRAPH ? only.s : null;
}

/** Each block has the direction of its first letter, with its bullets and its bars; code always runs from the left. */
function drawBlock(block: Block): HTMLElement {
  const made = blockElement(block);
  made.dir = block.t === "code" ? "ltr" : "auto";
  return made;
}

function blockElement(block: Block): HTMLElement {
  switch (block.t) {
    case "p": {
      const made = filled(el("p"), block.c);
      const text = enormous(block);
      if (text !== null) sources.set(made, { s: text, lang: "" });
      return made;
    }
    case "h":
      // Headings of an agent stand below the page's own.
      return filled(el(`h${Math.min(6, block.n + 2)}` as "h3", `h${block.n}`), block.c);
    case "hr":
      return el("hr");
    case "quote":
      return el("blockquote", "", ...block.c.map(drawBlock));
    case "code":
      return codeBlock(block);
    case "list":
      return list(block);
    case "table":
      return table(block);
  }
}

function codeBlock(block: Block & { t: "code" }): HTMLElement {
  const source = { s: block.s, lang: block.lang };
  const code = el("code", "", shown(block.s));
  const pre = el("pre", "", code);
  pre.tabIndex = 0;
  const head = el("div", "code-head", el("span", "", shown(block.lang || "text", "line")), copyButton(() => source.s));
  const node = el("div", "code", head, pre);
  sources.set(node, source);
  if (!block.open) colourLater(node, block.s, block.lang);
  return node;
}

function colourLater(node: HTMLElement, text: string, language: string): void {
  if (!language || text.length > LONGEST_COLOURED) return;
  void import("./highlight").then(({ colour }) => colour(node.querySelector("code")!, text, language));
}

function list(block: Block & { t: "list" }): HTMLElement {
  const made = el(block.ordered ? "ol" : "ul", block.tight ? "tight" : "");
  if (block.ordered && block.start !== 1) made.setAttribute("start", String(block.start));
  made.append(...block.items.map((item) => listItem(item, block.tight)));
  return made;
}

function listItem(item: ListItem, tight: boolean): HTMLElement {
  const line = el("li", item.task === null ? "" : "task");
  if (item.task !== null) {
    const box = el("span", item.task ? "box done" : "box");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", item.task ? "done" : "not done");
    line.append(box);
  }
  for (const inner of item.c) {
    if (inner.t === "p" && tight) filled(line, inner.c);
    else line.append(drawBlock(inner));
  }
  return line;
}

function table(block: Block & { t: "table" }): HTMLElement {
  const body = el("tbody", "", ...block.rows.map((cells) => tableRow(cells, "td", block.align)));
  const head = el("thead", "", tableRow(block.head, "th", block.align));
  const frame = el("div", "table", el("table", "", head, body));
  frame.tabIndex = 0;
  return frame;
}

function tableRow(cells: Inline[][], tag: "th" | "td", align: Align[]): HTMLElement {
  return el("tr", "", ...cells.map((cell, at) => filled(el(tag, align[at] ? `to-${align[at]}` : ""), cell)));
}

function filled<T extends HTMLElement>(target: T, inlines: Inline[]): T {
  for (const inline of inlines) target.append(drawInline(inline));
  return target;
}

function drawInline(inline: Inline): Node {
  switch (inline.t) {
    case "text":
      return shown(inline.s);
    case "code": {
      const place = placeInCode(inline.s);
      const code = el("code", "", shown(inline.s));
      return place ? fileLink(place.path, place.line, "link", code) : code;
    }
    case "br":
      return el("br");
    case "link": {
      const rule = ruleOfLink(inline.href);
      if (rule) return filled(ownPage(rule), inline.c);
      const place = placeOfLink(inline.href);
      return filled(place ? fileLink(place.path, place.line, "link") : away(inline.href, "link"), inline.c);
    }
    case "image":
      return el("span", "", away(inline.href, "link picture", `Picture: ${inline.alt || inline.href}`));
    default:
      return filled(el(inline.t), inline.c);
  }
}

/** A page of the hub itself, beside this one. */
function ownPage(path: string): HTMLAnchorElement {
  const made = el("a", "link");
  made.href = path;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

/** A way out of the page, taken only after the person has seen where it leads. See `leave.ts`. */
export function away(href: string, className: string, label = ""): HTMLButtonElement {
  const made = el("button", className);
  made.type = "button";
  if (label) made.append(shown(label, "exact line"));
  made.dataset.away = href;
  return made;
}
