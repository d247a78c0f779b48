/** Draws what a program wrote, with its colours. Only lines that changed are drawn again. */

import { Screen, type Span } from "../text/ansi";
import { el, shown } from "./dom";

/** More lines than this are higher than a terminal may be, however wide it is. */
const LONG = 100;

export class TerminalView {
  readonly element = el("pre", "terminal");
  private screen = new Screen();
  private text = "";
  private head = el("div", "dropped");

  constructor() {
    this.element.tabIndex = 0;
    this.element.setAttribute("aria-label", "Terminal output");
  }

  /** The whole output so far; what is new is found out here. */
  set(text: string): void {
    if (text === this.text) return;
    if (!text.startsWith(this.text)) {
      this.screen = new Screen();
      this.element.replaceChildren();
      this.text = "";
    }
    this.screen.push(text.slice(this.text.length));
    this.text = text;
    this.draw();
  }

  private draw(): void {
    const { screen, element } = this;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
    if (screen.dropped) {
      this.head.textContent = `${screen.dropped} earlier lines are not shown`;
      if (this.head.parentNode !== element) element.prepend(this.head);
    }
    const from = screen.dropped ? 1 : 0;
    while (element.childNodes.length > from + Math.min(screen.dirty, screen.lines.length)) element.lastChild!.remove();
    const fresh = document.createDocumentFragment();
    for (let at = element.childNodes.length - from; at < screen.lines.length; at += 1) fresh.append(drawLine(screen.lines[at]));
    element.append(fresh);
    element.classList.toggle("long", screen.lines.length > LONG);
    screen.dirty = Infinity;
    if (atEnd) element.scrollTop = element.scrollHeight;
  }
}

function drawLine(line: Span[]): HTMLElement {
  const made = el("div", "line");
  for (const span of line) made.append(drawSpan(span));
  if (!line.length) made.append("\n");
  return made;
}

function drawSpan({ text, style }: Span): Node {
  if (!Object.keys(style).length) return shown(text);
  const made = el("span", "", shown(text));
  let { fg, bg } = style;
  if (style.inverse) [fg, bg] = [bg ?? "page", fg ?? "ink"];
  if (fg) paint(made, "fg", "color", fg);
  if (bg) paint(made, "bg", "background-color", bg);
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) if (style[name]) made.classList.add(`t-${name}`);
  return made;
}

function paint(target: HTMLElement, prefix: string, property: string, colour: string): void {
  if (colour.startsWith("#")) target.style.setProperty(property, colour);
  else target.classList.add(`${prefix}-${colour}`);
}
