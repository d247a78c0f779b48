/**
 * What a program wrote to a terminal, as lines of coloured spans. Understands colours, carriage returns, backspaces,
 * erasing and small moves of the cursor, which is what tools without a full screen use; everything else that begins
 * with an escape is dropped. Keeps a bounded number of lines and says how many went.
 */

export interface Style {
  fg?: string;
  bg?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}
export interface Span {
  text: string;
  style: Style;
}

export const MOST_LINES = 10_000;
const PLAIN: Style = {};
// CSI … final, OSC … BEL or ST, other two-character sequences; or a control character; or text.
const TOKEN =
  /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]*[0-Z\\^-~]|([\n\r\b])|([^\x1b\n\r\b]+)/g;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,4096}|[PX^_][^\x1b]{0,4096}|[ -/]*)?$/;

export class Screen {
  lines: Span[][] = [[]];
  dropped = 0;
  /** The first line that changed since somebody set this to `Infinity`. */
  dirty = 0;
  private row = 0;
  private column = 0;
  private style = PLAIN;
  private rest = "";

  push(chunk: string): void {
    let text = this.rest + chunk;
    const cut = UNFINISHED.exec(text);
    this.rest = cut ? cut[0] : "";
    if (cut) text = text.slice(0, cut.index);
    for (const [, params, final, control, words] of text.matchAll(TOKEN)) {
      if (words !== undefined) this.write(words);
      else if (control !== undefined) this.control(control);
      else if (final === "m") this.style = restyled(this.style, params);
      else if (final !== undefined) this.move(final, params);
    }
    this.bound();
  }

  private write(text: string): void {
    const line = this.lines[this.row];
    this.dirty = Math.min(this.dirty, this.row);
    const length = width(line);
    if (this.column > length) append(line, " ".repeat(this.column - length), PLAIN);
    if (this.column >= length) append(line, text, this.style);
    else {
      const after = sliced(line, this.column + text.length, length);
      const before = sliced(line, 0, this.column);
      append(before, text, this.style);
      this.lines[this.row] = [...before, ...after];
    }
    this.column += text.length;
  }

  private control(character: string): void {
    if (character === "\r") this.column = 0;
    else if (character === "\b") this.column = Math.max(0, this.column - 1);
    else {
      this.row += 1;
      this.column = 0;
      if (this.row === this.lines.length) this.lines.push([]);
      this.dirty = Math.min(this.dirty, this.row);
    }
  }

  private move(final: string, params: string): void {
    const n = Math.min(parseInt(params, 10) || 0, 1000);
    if (final === "K") this.erase(n);
    else if (final === "A") this.row = Math.max(0, this.row - Math.max(1, n));
    else if (final === "B") this.row = Math.min(this.lines.length - 1, this.row + Math.max(1, n));
    else if (final === "C") this.column += Math.max(1, n);
    else if (final === "D") this.column = Math.max(0, this.column - Math.max(1, n));
    else if (final === "G") this.column = Math.max(0, n - 1);
    else if (final === "J" && n === 0) this.eraseBelow();
  }

  private erase(n: number): void {
    const line = this.lines[this.row];
    this.dirty = Math.min(this.dirty, this.row);
    if (n === 0) this.lines[this.row] = sliced(line, 0, this.column);
    else if (n === 2) this.lines[this.row] = [];
    else if (n === 1) {
      const kept = sliced(line, this.column + 1, width(line));
      this.lines[this.row] = [{ text: " ".repeat(this.column + 1), style: PLAIN }, ...kept];
    }
  }

  private eraseBelow(): void {
    this.erase(0);
    this.lines.length = this.row + 1;
  }

  private bound(): void {
    const over = this.lines.length - MOST_LINES;
    if (over <= 0) return;
    this.lines.splice(0, over);
    this.row = Math.max(0, this.row - over);
    this.dropped += over;
    this.dirty = 0;
  }
}

function width(line: Span[]): number {
  let sum = 0;
  for (const span of line) sum += span.text.length;
  return sum;
}

function append(line: Span[], text: string, style: Style): void {
  const last = line.at(-1);
  if (last && last.style === style) last.text += text;
  else if (text) line.push({ text, style });
}

function sliced(line: Span[], from: number, to: number): Span[] {
  const out: Span[] = [];
  let at = 0;
  for (const span of line) {
    const text = span.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text) out.push({ text, style: span.style });
    at += span.text.length;
  }
  return out;
}

const FLAGS: Record<number, keyof Style> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const OFF: Record<number, (keyof Style)[]> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
  39: ["fg"],
  49: ["bg"],
};

/** A colour is the number of one of sixteen ("0" to "15"), which the page gives its own tone, or `#rrggbb`. */
export function restyled(before: Style, params: string): Style {
  const codes = params.split(/[;:]/).map((code) => parseInt(code, 10) || 0);
  let style: Style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 0) style = {};
    else if (FLAGS[code]) Object.assign(style, { [FLAGS[code]]: true });
    else if (OFF[code]) for (const name of OFF[code]) delete style[name];
    else if (code >= 30 && code <= 37) style.fg = String(code - 30);
    else if (code >= 90 && code <= 97) style.fg = String(code - 82);
    else if (code >= 40 && code <= 47) style.bg = String(code - 40);
    else if (code >= 100 && code <= 107) style.bg = String(code - 92);
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at + 1);
      if (colour) style[code === 38 ? "fg" : "bg"] = colour;
      at += used;
    }
  }
  return Object.keys(style).length ? style : PLAIN;
}

function extended(codes: number[], at: number): [string | null, number] {
  if (codes[at] === 5) return [indexed(codes[at + 1] ?? 0), 2];
  if (codes[at] === 2) return [hex(codes.slice(at + 1, at + 4)), 4];
  return [null, 0];
}

function indexed(n: number): string {
  if (n < 16) return String(n);
  if (n >= 232) return hex(Array<number>(3).fill(8 + 10 * (n - 232)));
  const level = (part: number): number => (part === 0 ? 0 : 55 + 40 * part);
  const cube = n - 16;
  return hex([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}

function hex(parts: number[]): string {
  return `#${[0, 1, 2].map((index) => Math.min(255, parts[index] ?? 0).toString(16).padStart(2, "0")).join("")}`;
}
