/** Draws hunks, one under the other or side by side. Long ones come piece by piece, see `later.ts`. */

import { type Hunk, type Row, changedPart, counts, sideBySide } from "../text/diff";
import { isBetween, plain } from "../text/reveal";
import { el, shown } from "./dom";
import { drawLater } from "./later";

const ROWS_IN_PIECE = 100;

export type Layout = "unified" | "split";

export function diffTable(hunk: Hunk, layout: Layout): HTMLElement {
  const frame = el("div", `diff ${layout}`);
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", hunk.heading ? `Change in ${plain(hunk.heading, "exact line")}` : "Change");
  const pairs = sideBySide(hunk.rows);
  const partner = new Map<Row, Row>();
  for (const [one, other] of pairs) {
    if (one && other && one !== other) {
      partner.set(one, other);
      partner.set(other, one);
    }
  }
  const lines = layout === "split" ? pairs : hunk.rows.map((row): [Row | null, Row | null] => [row, null]);
  const draw = ([one, other]: [Row | null, Row | null]): HTMLElement =>
    layout === "split" ? splitRow(one, other, partner) : unifiedRow(one!, partner);
  for (let at = 0; at < lines.length; at += ROWS_IN_PIECE) {
    const piece = el("div", "rows");
    const fill = (): void => piece.append(...lines.slice(at, at + ROWS_IN_PIECE).map(draw));
    if (at === 0) fill();
    else drawLater(piece, fill);
    frame.append(piece);
  }
  return frame;
}

export function tally(hunks: Hunk[]): HTMLElement {
  const { added, removed } = counts(hunks);
  const made = el("span", "tally", el("span", "plus", `+${added}`), " ", el("span", "minus", `−${removed}`));
  made.setAttribute("aria-label", `${added} lines added, ${removed} removed`);
  made.setAttribute("role", "img");
  return made;
}

function unifiedRow(row: Row, partner: Map<Row, Row>): HTMLElement {
  const old = number(row.kind === "+" ? 0 : row.old);
  const now = number(row.kind === "-" ? 0 : row.now);
  return el("div", `row ${classOf(row)}`, old, now, sign(row), body(row, partner));
}

function splitRow(one: Row | null, other: Row | null, partner: Map<Row, Row>): HTMLElement {
  const half = (row: Row | null, line: number): HTMLElement =>
    row ? el("div", `half ${classOf(row)}`, number(line), sign(row), body(row, partner)) : el("div", "half none");
  return el("div", "row", half(one, one?.old ?? 0), half(other, other?.now ?? 0));
}

function classOf(row: Row): string {
  return row.kind === "+" ? "added" : row.kind === "-" ? "removed" : "same";
}

function number(line: number): HTMLElement {
  const made = el("span", "number", line ? String(line) : "");
  made.setAttribute("aria-hidden", "true");
  return made;
}

function sign(row: Row): HTMLElement {
  return el("span", "sign", row.kind);
}

function body(row: Row, partner: Map<Row, Row>): HTMLElement {
  const other = partner.get(row);
  const part = other && row.text.length < 2000 ? changedPart(row.text, other.text) : null;
  // An emoji that differs in its middle is shown whole.
  if (!part || !isBetween(row.text, part.from) || !isBetween(row.text, part.one)) return el("span", "text", shown(row.text, "exact"));
  return el(
    "span", "text",
    shown(row.text.slice(0, part.from), "exact"),
    el("span", "changed", shown(row.text.slice(part.from, part.one), "exact")),
    shown(row.text.slice(part.one), "exact"),
  );
}
