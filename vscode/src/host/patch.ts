/** The text before a change, from the text after it and the difference. Knows nothing of files. */

import type { Hunk, Row } from "../../../packages/hub/web/src/text/diff";

/** Null when the text is not the one that the difference was made of: somebody has changed it since. */
export function textBefore(after: string, hunks: Hunk[]): string | null {
  const lines = after.split("\n");
  const ending = lines[0]?.endsWith("\r") ? "\r" : "";
  const before: string[] = [];
  let at = 0;
  for (const { rows } of hunks) {
    if (!rows.length) continue;
    const start = rows[0].kind === "-" ? rows[0].now : rows[0].now - 1;
    if (start < at || start > lines.length) return null;
    before.push(...lines.slice(at, start));
    at = start;
    for (const row of rows) {
      if (row.kind === "-") before.push(row.text + ending);
      else if (lines[at]?.replace(/\r$/, "") !== row.text) return null;
      else if (row.kind === " ") before.push(lines[at++]);
      else at += 1;
    }
  }
  return [...before, ...lines.slice(at)].join("\n");
}

/** One side of a difference alone, where there is no text that it fits to: its hunks, with what is between them left out. */
export function sideOf(hunks: Hunk[], side: "before" | "after"): string {
  const other: Row["kind"] = side === "before" ? "+" : "-";
  return hunks.map(({ rows }) => rows.filter((row) => row.kind !== other).map((row) => `${row.text}\n`).join("")).join("⋯\n");
}
