/**
 * Differences of two texts by lines (the shortest edit, found greedily from both diagonals outward), the hunks that
 * people read, and unified diffs read back into the same rows. Bounded: texts that share too little are one removal
 * and one addition, which is what a person would call them too.
 */

export interface Row {
  kind: " " | "-" | "+";
  /** Line numbers from 1, in the old and the new text. */
  old: number;
  now: number;
  text: string;
}
export interface Hunk {
  rows: Row[];
  /** What a unified diff says behind its second `@@`. */
  heading: string;
}

const MOST_EDITS = 2000;

export function linesOf(text: string): string[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function diffLines(before: string, after: string): Row[] {
  const a = linesOf(before);
  const b = linesOf(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const middle = shortest(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const kinds = [...Array<Row["kind"]>(head).fill(" "), ...middle, ...Array<Row["kind"]>(tail).fill(" ")];
  return rowsOf(kinds, a, b);
}

function rowsOf(kinds: Row["kind"][], a: string[], b: string[]): Row[] {
  const rows: Row[] = [];
  let old = 0;
  let now = 0;
  for (const kind of kinds) {
    const text = kind === "+" ? b[now] : a[old];
    if (kind !== "+") old += 1;
    if (kind !== "-") now += 1;
    rows.push({ kind, old, now, text });
  }
  return rows;
}

function shortest(a: string[], b: string[]): Row["kind"][] {
  const replaced = [...Array<Row["kind"]>(a.length).fill("-"), ...Array<Row["kind"]>(b.length).fill("+")];
  if (!a.length || !b.length) return replaced;
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  const offset = most + 1;
  const history: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    history.push(furthest.slice(offset - edits - 1, offset + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && furthest[offset + k - 1] < furthest[offset + k + 1]);
      let x = down ? furthest[offset + k + 1] : furthest[offset + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return traced(history, a.length, b.length);
    }
  }
  return replaced;
}

/** Back from the end: at each number of edits, which way the path came. */
function traced(history: Int32Array[], length: number, other: number): Row["kind"][] {
  const kinds: Row["kind"][] = [];
  let x = length;
  let y = other;
  for (let edits = history.length - 1; edits >= 0; edits -= 1) {
    const at = (k: number): number => history[edits][k + edits + 1];
    const k = x - y;
    const down = k === -edits || (k !== edits && at(k - 1) < at(k + 1));
    const from = down ? k + 1 : k - 1;
    const startX = edits === 0 ? 0 : at(from);
    const startY = edits === 0 ? 0 : startX - from;
    const turnX = edits === 0 ? 0 : down ? startX : startX + 1;
    while (x > turnX && y > turnX - k) {
      kinds.push(" ");
      x -= 1;
      y -= 1;
    }
    if (edits > 0) kinds.push(down ? "+" : "-");
    x = startX;
    y = startY;
  }
  return kinds.reverse();
}

export function hunksOf(rows: Row[], context = 3): Hunk[] {
  const hunks: Hunk[] = [];
  let from = -1;
  let until = -1;
  rows.forEach((row, index) => {
    if (row.kind === " ") return;
    if (from >= 0 && index - context > until) {
      hunks.push({ rows: rows.slice(from, until), heading: "" });
      from = -1;
    }
    if (from < 0) from = Math.max(0, index - context);
    until = Math.min(rows.length, index + context + 1);
  });
  if (from >= 0) hunks.push({ rows: rows.slice(from, until), heading: "" });
  return hunks;
}

/** Hunks of a unified diff; headers of files are passed over, a file is the caller's to know. */
export function parseUnified(text: string): Hunk[] {
  const hunks: Hunk[] = [];
  let old = 0;
  let now = 0;
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(line);
    if (head) {
      // "-0,0" is an empty side; otherwise the number is that of the first line.
      old = Math.max(0, parseInt(head[1], 10) - (head[2] === "0" ? 0 : 1));
      now = Math.max(0, parseInt(head[3], 10) - (head[4] === "0" ? 0 : 1));
      hunks.push({ rows: [], heading: head[5] });
      continue;
    }
    const kind = line[0];
    const hunk = hunks.at(-1);
    if (!hunk || (kind !== " " && kind !== "-" && kind !== "+")) continue;
    if (kind !== "+") old += 1;
    if (kind !== "-") now += 1;
    hunk.rows.push({ kind, old, now, text: line.slice(1) });
  }
  return hunks;
}

export function counts(hunks: Hunk[]): { added: number; removed: number } {
  const rows = hunks.flatMap((hunk) => hunk.rows);
  return {
    added: rows.filter((row) => row.kind === "+").length,
    removed: rows.filter((row) => row.kind === "-").length,
  };
}

/** Removed and added lines beside each other: pairs of a run of removals and the run of additions behind it. */
export function sideBySide(rows: Row[]): [Row | null, Row | null][] {
  const out: [Row | null, Row | null][] = [];
  for (let at = 0; at < rows.length; ) {
    if (rows[at].kind === " ") {
      out.push([rows[at], rows[at]]);
      at += 1;
      continue;
    }
    const removed: Row[] = [];
    const added: Row[] = [];
    for (; at < rows.length && rows[at].kind === "-"; at += 1) removed.push(rows[at]);
    for (; at < rows.length && rows[at].kind === "+"; at += 1) added.push(rows[at]);
    for (let n = 0; n < Math.max(removed.length, added.length); n += 1) out.push([removed[n] ?? null, added[n] ?? null]);
  }
  return out;
}

/** What differs within two lines: where the common beginning ends and how long the common end is. */
export function changedPart(one: string, other: string): { from: number; one: number; other: number } | null {
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  // Marking nearly everything helps nobody.
  if (head + tail < most / 3) return null;
  return { from: head, one: one.length - tail, other: other.length - tail };
}
