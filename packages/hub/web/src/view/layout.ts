/** How diffs are laid out: as the person chose, and one under the other where there is no room or only one side. */

import { recall, remember } from "../model/memory";
import type { Hunk } from "../text/diff";
import type { Layout } from "./diff";

export function chosenLayout(): Layout {
  const kept = recall("layout");
  if (kept === "split" || kept === "unified") return kept;
  return "unified";
}

export function chooseLayout(layout: Layout): void {
  remember("layout", layout);
}

export function layoutFor(hunk: Hunk): Layout {
  const oneSided = !hunk.rows.some((row) => row.kind === "-") || !hunk.rows.some((row) => row.kind === "+");
  return window.innerWidth < 700 || oneSided ? "unified" : chosenLayout();
}
