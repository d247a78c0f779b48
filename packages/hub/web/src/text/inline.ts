/**
 * The inside of a paragraph of markdown: emphasis, code, links. Raw HTML is text. The parser never looks twice for
 * a closing mark that it did not find, and nests no deeper than a few levels, so a hostile line costs linear time.
 */

import { cutAtPlaces } from "./places";

export type Inline =
  | { t: "text"; s: string }
  | { t: "code"; s: string }
  | { t: "strong" | "em" | "del"; c: Inline[] }
  | { t: "link"; href: string; c: Inline[] }
  | { t: "image"; href: string; alt: string }
  | { t: "br" };

const DEEPEST = 5;
const LONGEST_LABEL = 2000;
const MARKS: [string, "strong" | "em" | "del"][] = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "del"],
  ["*", "em"],
  ["_", "em"],
];
const SPECIAL = /[\\`![<*_~\n]|https?:\/\//g;
const BARE = /https?:\/\/[^\s<>"`]+/y;
const ANGLE = /<(https?:\/\/[^\s<>]+|mailto:[^\s<>]+)>/y;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}]/u;

/** Inside the label of a link there are no links: what is pressed leads where the outer one says. */
export function parseInline(text: string, depth = 0, label = false): Inline[] {
  return new Line(text, depth, label).parse();
}

class Line {
  private out: Inline[] = [];
  private held = "";
  private at = 0;
  private missing = new Set<string>();

  constructor(
    private text: string,
    private depth: number,
    private label: boolean,
  ) {}

  parse(): Inline[] {
    const { text } = this;
    while (this.at < text.length) {
      SPECIAL.lastIndex = this.at;
      const found = SPECIAL.exec(text);
      const next = found ? found.index : text.length;
      this.held += text.slice(this.at, next);
      this.at = next;
      if (found && !this.special(found[0])) {
        this.held += text[this.at];
        this.at += 1;
      }
    }
    this.flush();
    return this.out;
  }

  private special(found: string): boolean {
    switch (found) {
      case "\\":
        return this.escape();
      case "`":
        return this.code();
      case "\n":
        return this.lineEnd();
      case "<":
        return this.angle();
      case "!":
        return this.text[this.at + 1] === "[" && this.link(true);
      case "[":
        return this.link(false);
      case "*":
      case "_":
      case "~":
        return this.depth < DEEPEST && MARKS.some(([mark, t]) => this.emphasis(mark, t));
      default:
        return this.bare();
    }
  }

  private flush(): void {
    // Every second piece names a line of a file.
    (this.label ? [this.held] : cutAtPlaces(this.held)).forEach((s, at) => {
      if (s) this.out.push(at % 2 ? { t: "link", href: s, c: [{ t: "text", s }] } : { t: "text", s });
    });
    this.held = "";
  }

  private push(node: Inline, until: number): true {
    this.flush();
    this.out.push(node);
    this.at = until;
    return true;
  }

  private escape(): boolean {
    const next = this.text[this.at + 1];
    if (next === "\n") return this.push({ t: "br" }, this.at + 2);
    if (next === undefined || !PUNCTUATION.test(next)) return false;
    this.held += next;
    this.at += 2;
    return true;
  }

  /** Agents write lines on purpose: each stays one, as in a chat and unlike in a book. */
  private lineEnd(): boolean {
    this.held = this.held.trimEnd();
    return this.push({ t: "br" }, this.at + 1);
  }

  private code(): boolean {
    let ticks = 1;
    while (this.text[this.at + ticks] === "`") ticks += 1;
    const mark = "`".repeat(ticks);
    const from = this.at + ticks;
    const end = this.missing.has(mark) ? -1 : closingTicks(this.text, mark, from);
    if (end < 0) {
      this.missing.add(mark);
      this.held += mark;
      this.at = from;
      return true;
    }
    const inside = this.text.slice(from, end).replaceAll("\n", " ");
    const padded = inside.length > 2 && inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
    return this.push({ t: "code", s: padded ? inside.slice(1, -1) : inside }, end + ticks);
  }

  private angle(): boolean {
    ANGLE.lastIndex = this.at;
    const found = ANGLE.exec(this.text);
    if (!found || this.label) return false;
    return this.push({ t: "link", href: found[1], c: [{ t: "text", s: found[1] }] }, ANGLE.lastIndex);
  }

  private bare(): boolean {
    if (this.label || (this.at > 0 && WORD.test(this.text[this.at - 1]))) return false;
    BARE.lastIndex = this.at;
    const found = BARE.exec(this.text);
    if (!found) return false;
    let href = found[0].replace(/[.,;:!?'*_~\]]+$/, "");
    // A bracket at the end belongs to the sentence unless it was opened inside the address.
    if (href.endsWith(")") && !href.includes("(")) href = href.slice(0, -1);
    return this.push({ t: "link", href, c: [{ t: "text", s: href }] }, this.at + href.length);
  }

  private link(image: boolean): boolean {
    if (this.label || this.depth >= DEEPEST || this.missing.has("](")) return false;
    const open = this.at + (image ? 1 : 0);
    const close = closingBracket(this.text, open);
    if (close < 0 || this.text[close + 1] !== "(") return false;
    const end = closingParenthesis(this.text, close + 1);
    if (end < 0) {
      this.missing.add("](");
      return false;
    }
    const target = this.text.slice(close + 2, end).trim();
    const href = target.replace(/\s+["'(].*$/s, "").replace(/^<(.*)>$/s, "$1");
    const label = this.text.slice(open + 1, close);
    if (image) return this.push({ t: "image", href, alt: label }, end + 1);
    return this.push({ t: "link", href, c: parseInline(label, this.depth + 1, true) }, end + 1);
  }

  private emphasis(mark: string, t: "strong" | "em" | "del"): boolean {
    const { text, at } = this;
    if (!text.startsWith(mark, at) || this.missing.has(mark)) return false;
    const from = at + mark.length;
    if (from >= text.length || /\s/.test(text[from])) return false;
    if (mark[0] === "_" && at > 0 && WORD.test(text[at - 1])) return false;
    const end = closingMark(text, mark, from);
    if (end < 0) {
      this.missing.add(mark);
      return false;
    }
    return this.push({ t, c: parseInline(text.slice(from, end), this.depth + 1, this.label) }, end + mark.length);
  }
}

function closingTicks(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at)) {
    let until = at;
    while (text[until] === "`") until += 1;
    if (until - at === mark.length) return at;
    at = until;
  }
  return -1;
}

function closingMark(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    const before = text[at - 1];
    const after = text[at + mark.length];
    if (at === from || /\s/.test(before) || before === "\\") continue;
    if (mark[0] === "_" && after !== undefined && WORD.test(after)) continue;
    // A single star must not close inside a double one.
    if (mark.length === 1 && (after === mark || before === mark)) {
      if (after === mark) at += 1;
      continue;
    }
    return at;
  }
  return -1;
}

function closingBracket(text: string, open: number): number {
  let depth = 0;
  const last = Math.min(text.length, open + LONGEST_LABEL);
  for (let at = open; at < last; at += 1) {
    const character = text[at];
    if (character === "\\") at += 1;
    else if (character === "[") depth += 1;
    else if (character === "]" && --depth === 0) return at;
  }
  return -1;
}

function closingParenthesis(text: string, open: number): number {
  let depth = 0;
  const last = Math.min(text.length, open + LONGEST_LABEL);
  for (let at = open; at < last; at += 1) {
    const character = text[at];
    if (character === "\n") return -1;
    if (character === "\\") at += 1;
    else if (character === "(") depth += 1;
    else if (character === ")" && --depth === 0) return at;
  }
  return -1;
}
