/**
 * Tool calls in a row. When the row is over, it is one line ("7 tool calls, 1 failed") that opens; while a call of it
 * runs or waits for a person, everything is shown. What a person opened stays open.
 */

import type { Tool } from "../model/items";
import { button } from "./dom";

/** So many fit on a screen as they are. */
export const LEAST_IN_RUN = 4;
const CHANGES = new Set(["edit", "delete", "move"]);

export class ToolRun {
  readonly head = button("", "run-head", () => {
    this.isOpen = !this.isOpen;
    this.onToggle(this);
  });
  isOpen = false;
  isOver = false;
  calls: Tool[] = [];

  constructor(private onToggle: (run: ToolRun) => void) {}

  /** Whether its calls are hidden behind its line. */
  get isFolded(): boolean {
    return this.canFold && !this.isOpen;
  }

  get canFold(): boolean {
    return this.isOver && this.calls.every((tool) => !tool.asking && (tool.stopped || isFinished(tool)));
  }

  draw(): void {
    const { head, calls } = this;
    const failed = calls.filter(({ call }) => call.status === "failed").length;
    const edits = calls.filter(({ call }) => CHANGES.has(call.kind ?? "") || call.content?.some((part) => part.type === "diff")).length;
    const parts = [`${calls.length} tool calls`, edits ? `${edits} ${edits === 1 ? "edit" : "edits"}` : "", failed ? `${failed} failed` : ""];
    head.textContent = parts.filter(Boolean).join(", ");
    head.classList.toggle("bad", failed > 0);
    head.setAttribute("aria-expanded", String(!this.isFolded));
    head.hidden = !this.canFold;
  }
}

function isFinished({ call }: Tool): boolean {
  return call.status === "completed" || call.status === "failed";
}
