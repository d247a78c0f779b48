/**
 * Characters that change what a person sees without being seen: control characters, bidirectional overrides,
 * zero-width ones. Text from an agent is cut into plain pieces and marks, so that whoever draws it can show each
 * mark as what it is. The table and the rules are those of terminals, `dragoman.text.sanitize`; a test compares
 * both. Knows nothing of a document.
 */

import table from "./characters.json";

export interface Mark {
  code: number;
  label: string;
  name: string;
}
export type Piece = string | Mark;

/**
 * `exact` is for what a person approves: commands, paths, diffs, values. There a no-break space is no space, and a
 * carriage return no part of a line end. In a `line`, which is a title, a name or a path, a line end is a mark.
 */
export type Mode = "text" | "exact" | "line" | "exact line";

const C0 = (
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI " +
  "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
).split(" ");

const NAMES: Record<number, string> = {
  0xa0: "no-break space",
  0xad: "soft hyphen",
  0x34f: "combining grapheme joiner",
  0x61c: "Arabic letter mark",
  0x200b: "zero width space",
  0x200c: "zero width non-joiner",
  0x200d: "zero width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0xfeff: "byte order mark",
};

/** What needs no second look, which is nearly everything that is written. */
const PLAIN = new RegExp(`^[${table.plain}\\n\\t]*$`, "u");
/** `needed` are the invisible characters that stand where they must. */
const ODD = new RegExp(`(?<needed>${table.needed})|[^${table.plain}\\n\\t]`, "gu");
const ODD_IN_LINE = new RegExp(`(?<needed>${table.needed})|[^${table.plain}]`, "gu");
const HIDDEN = new RegExp(`(?![${table.visible}${table.blanks}])[\\p{C}\\p{Z}${table.invisible}]`, "u");
const HIDDEN_EXACTLY = new RegExp(`[\\p{C}\\p{Z}${table.invisible}${table.blanks}]`, "u");
/** Only what stands beside them says whether they are needed. */
const HELD = new RegExp(`[${table.held}\\r]`, "u");

const LONGEST_SEQUENCE = 40;

export function markOf(code: number): Mark {
  if (code < 0x20) return { code, label: C0[code], name: `control character ${C0[code]}` };
  const label = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const isSelector = (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef);
  return { code, label, name: NAMES[code] ?? (isSelector ? "variation selector" : "invisible character") };
}

export function reveal(text: string, mode: Mode = "text"): Piece[] {
  const isExact = mode.startsWith("exact");
  const isLine = mode.endsWith("line");
  let seen = isExact || !text.includes("\r") ? text : text.replaceAll("\r\n", "\n");
  if (isLine && !isExact) seen = seen.replaceAll("\t", " ");
  if (PLAIN.test(seen) && !(isLine && /[\n\t]/.test(seen))) return seen ? [seen] : [];
  const hidden = isExact ? HIDDEN_EXACTLY : HIDDEN;
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, index, groups } of seen.matchAll(isLine ? ODD_IN_LINE : ODD)) {
    if (groups?.needed || !hidden.test(found)) continue;
    if (index > from) pieces.push(seen.slice(from, index));
    pieces.push(markOf(found.codePointAt(0)!));
    from = index + found.length;
  }
  if (from < seen.length) pieces.push(seen.slice(from));
  return pieces;
}

/** One line without elements, for titles of windows, notifications and choices: as a terminal shows it. */
export function plain(text: string, mode: "line" | "exact line" = "line"): string {
  return reveal(text, mode).map((piece) => (typeof piece === "string" ? piece : escaped(piece.code))).join("");
}

function escaped(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}

/** The last place up to `at` where a text can be cut, so that its parts are shown as the whole would be. */
export function placeToCut(text: string, at: number): number {
  if (at >= text.length) return text.length;
  for (let place = at; place > Math.max(0, at - LONGEST_SEQUENCE); place -= 1) if (isBetween(text, place)) return place;
  return isHalf(text, at) ? at - 1 : at;
}

/** Whether what stands before and behind a place can be shown without knowing the other. */
export function isBetween(text: string, place: number): boolean {
  if (isHalf(text, place)) return false;
  const last = isHalf(text, place - 1) ? text.slice(place - 2, place) : text.slice(place - 1, place);
  const next = String.fromCodePoint(text.codePointAt(place) ?? 0x20);
  return !HELD.test(last) && !HELD.test(next);
}

/** Whether a place is in the middle of one character. */
function isHalf(text: string, place: number): boolean {
  return /[\udc00-\udfff]/.test(text[place] ?? "") && /[\ud800-\udbff]/.test(text[place - 1] ?? "");
}
