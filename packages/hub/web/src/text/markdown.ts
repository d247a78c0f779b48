/**
 * Markdown as agents write it, parsed into blocks: headings, fences, lists, quotes, tables, paragraphs. A stream is
 * parsed as it grows: only what stands behind the last settled block is looked at again. No document, no HTML.
 */

import { type Inline, parseInline } from "./inline";

export type Block =
  | { t: "p"; c: Inline[] }
  | { t: "h"; n: number; c: Inline[] }
  | { t: "code"; lang: string; s: string; open: boolean }
  | { t: "quote"; c: Block[] }
  | { t: "list"; ordered: boolean; start: number; tight: boolean; items: ListItem[] }
  | { t: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { t: "hr" };
export interface ListItem {
  task: boolean | null;
  c: Block[];
}
export type Align = "left" | "right" | "center" | "";

const DEEPEST = 8;
/** A paragraph beyond this is shown as it is: nobody wrote it for emphasis. */
export const LONGEST_PARAGRAPH = 20_000;

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*)|$)/;
const UNDERLINE = /^ {0,3}(={2,}|-{2,})[ \t]*$/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const BLANK = /^[ \t]*$/;

interface Placed {
  line: number;
  block: Block;
}

export function parseMarkdown(text: string): Block[] {
  return new Lines(text.replaceAll("\r\n", "\n").split("\n"), 0).parse().map((placed) => placed.block);
}

class Lines {
  private at = 0;

  constructor(
    private lines: string[],
    private depth: number,
  ) {}

  parse(): Placed[] {
    const out: Placed[] = [];
    while (this.at < this.lines.length) {
      if (BLANK.test(this.lines[this.at])) {
        this.at += 1;
        continue;
      }
      const line = this.at;
      out.push({ line, block: this.block() });
    }
    return out;
  }

  private block(): Block {
    const line = this.lines[this.at];
    const fence = FENCE.exec(line);
    if (fence) return this.fence(fence);
    const heading = HEADING.exec(line);
    if (heading) {
      this.at += 1;
      return { t: "h", n: heading[1].length, c: parseInline(heading[2] ?? "") };
    }
    if (RULE.test(line)) {
      this.at += 1;
      return { t: "hr" };
    }
    if (this.depth < DEEPEST && QUOTE.test(line)) return this.quote();
    if (this.depth < DEEPEST && ITEM.test(line)) return this.list();
    return this.table() ?? this.paragraph();
  }

  private fence([, indent, mark, info]: RegExpExecArray): Block {
    const body: string[] = [];
    let open = true;
    for (this.at += 1; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at];
      const end = line.trim();
      if (end.length >= mark.length && end === mark[0].repeat(end.length)) {
        this.at += 1;
        open = false;
        break;
      }
      body.push(indent && line.startsWith(indent) ? line.slice(indent.length) : line);
    }
    return { t: "code", lang: info.trim().split(/\s+/)[0].toLowerCase(), s: body.join("\n"), open };
  }

  private quote(): Block {
    const inner: string[] = [];
    while (this.at < this.lines.length) {
      const line = this.lines[this.at];
      if (!QUOTE.test(line) && (BLANK.test(line) || this.begins(line))) break;
      inner.push(line.replace(QUOTE, ""));
      this.at += 1;
    }
    return { t: "quote", c: new Lines(inner, this.depth + 1).parse().map((placed) => placed.block) };
  }

  private list(): Block {
    const first = ITEM.exec(this.lines[this.at])!;
    const ordered = /\d/.test(first[2]);
    const kind = first[2].slice(-1);
    const items: ListItem[] = [];
    let tight = true;
    for (;;) {
      const found = ITEM.exec(this.lines[this.at] ?? "");
      if (!found || found[2].slice(-1) !== kind || RULE.test(this.lines[this.at])) break;
      const [inner, loose] = this.item(found);
      if (loose) tight = false;
      const task = /^\[([ xX])\][ \t]+/.exec(inner[0]);
      if (task) inner[0] = inner[0].slice(task[0].length);
      const c = new Lines(inner, this.depth + 1).parse().map((placed) => placed.block);
      items.push({ task: task ? task[1] !== " " : null, c });
    }
    return { t: "list", ordered, start: ordered ? parseInt(first[2], 10) : 1, tight, items };
  }

  /** The lines of one item without its indent, and whether a blank line stood among or behind them. */
  private item(found: RegExpExecArray): [string[], boolean] {
    const gap = found[3] ?? " ";
    const indent = found[1].length + found[2].length + (gap.length > 4 ? 1 : gap.length);
    const inner = [(gap.length > 4 ? gap.slice(1) : "") + (found[4] ?? "")];
    let blank = false;
    let loose = false;
    for (this.at += 1; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at];
      if (BLANK.test(line)) {
        blank = true;
        inner.push("");
        continue;
      }
      const lead = line.length - line.trimStart().length;
      const belongs = lead >= Math.min(indent, found[1].length + 2);
      if (!belongs && (blank || this.begins(line) || ITEM.test(line))) break;
      if (blank) loose = true;
      blank = false;
      inner.push(belongs ? line.slice(Math.min(indent, lead)) : line.trimStart());
    }
    const next = this.lines[this.at];
    return [inner, loose || (blank && next !== undefined && ITEM.test(next))];
  }

  private table(): Block | null {
    const head = this.lines[this.at];
    const below = this.lines[this.at + 1];
    if (below === undefined || !head.includes("|") || !DELIMITERS.test(below)) return null;
    const align = cells(below).map(alignment);
    const titles = cells(head);
    if (titles.length !== align.length) return null;
    const rows: Inline[][][] = [];
    for (this.at += 2; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at];
      if (BLANK.test(line) || !line.includes("|")) break;
      const row = cells(line);
      rows.push(align.map((_, index) => parseInline(row[index] ?? "")));
    }
    return { t: "table", align, head: titles.map((title) => parseInline(title)), rows };
  }

  private paragraph(): Block {
    const taken = [this.lines[this.at].trim()];
    let size = taken[0].length;
    for (this.at += 1; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at];
      const under = UNDERLINE.exec(line);
      if (under && taken[0]) {
        this.at += 1;
        return { t: "h", n: under[1][0] === "=" ? 1 : 2, c: parseInline(taken.join("\n")) };
      }
      if (BLANK.test(line) || this.begins(line)) break;
      taken.push(line.trimStart());
      size += line.length;
    }
    const text = taken.join("\n");
    return { t: "p", c: size > LONGEST_PARAGRAPH ? [{ t: "text", s: text }] : parseInline(text) };
  }

  /** Whether a line ends the paragraph before it. An ordered list does so only with 1, as dates begin lines too. */
  private begins(line: string): boolean {
    if (FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
    const item = ITEM.exec(line);
    return item !== null && item[4] !== undefined && item[4] !== "" && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1);
  }
}

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function alignment(cell: string): Align {
  const left = cell.startsWith(":");
  const right = cell.endsWith(":");
  return left && right ? "center" : right ? "right" : left ? "left" : "";
}

/** A text that grows. `blocks` is all of it; `settled` says how many of them will never change again. */
export class MarkdownStream {
  blocks: Block[] = [];
  settled = 0;
  private tail = "";

  push(text: string): void {
    // A carriage return at the very end may be half of a line end: it is looked at again with what follows.
    this.tail = (this.tail + text).replaceAll("\r\n", "\n");
    const lines = this.tail.split("\n");
    const placed = new Lines(lines, 0).parse();
    this.blocks.length = this.settled;
    for (const one of placed) this.blocks.push(one.block);
    const last = placed.at(-1);
    // What begins in an unfinished line may yet turn out to belong to the block before it.
    if (last && placed.length > 1 && last.line < lines.length - 1) {
      this.tail = lines.slice(last.line).join("\n");
      this.settled = this.blocks.length - 1;
    }
  }
}
