/**
 * Tool calls in a row. When the row is over, it is one line ("7 tool calls, 1 failed") that opens; while a call of it
 * runs or waits for a person, everything is shown. What a person opened stays open.
 */

import type { Item, Tool } from "../model/items";
import { button } from "./dom";
import type { Groups, Place } from "./groups";

/** So many fit on a screen as they are. */
const LEAST_IN_RUN = 4;
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

/** The rows of a list of items: finds them, and hides what they fold. */
export class ToolRuns {
  /** `onToggle` hears that a person has opened or closed a row. */
  constructor(private groups: Groups, private onToggle: () => void) {}

  /** Finds the rows that begin in a part of the list, and the one that this part continues. */
  gather(items: Item[], from: number, until: number): void {
    let at = from;
    while (at > 0 && items[at - 1].kind === "tool") at -= 1;
    while (at < Math.min(until, items.length)) {
      let end = at;
      while (end < items.length && items[end].kind === "tool") end += 1;
      if (end > at) this.join(items.slice(at, end) as Tool[], end < items.length);
      at = end + 1;
    }
  }

  private join(calls: Tool[], isOver: boolean): void {
    const places = calls.map((call) => this.groups.placeOf(call)!);
    const known = places.find((place) => place.run)?.run;
    if (calls.length < LEAST_IN_RUN && !known) return;
    const run = known ?? new ToolRun((toggled) => {
      this.show(toggled);
      this.onToggle();
    });
    for (const place of places) place.run = run;
    run.calls = calls;
    run.isOver = isOver && calls.length >= LEAST_IN_RUN;
    this.show(run);
  }

  show(run: ToolRun): void {
    run.draw();
    run.calls.forEach((call, at) => {
      const place = this.groups.placeOf(call);
      if (!place) return;
      const isFirst = at === 0;
      if (isFirst && place.view && run.head.parentElement !== place.shell) place.shell.prepend(run.head);
      const isChanged = place.isFolded !== run.isFolded;
      place.setRun(run.isFolded, isFirst && run.canFold);
      if (!isChanged) return;
      if (place.group.isMeasured) this.groups.open(place.group); // a closed group would keep the height that it had
      place.group.isMeasured = false;
      place.height = 0;
      if (place.group.isOpen) place.shell.style.minHeight = "";
    });
  }

  unfold({ run }: Place): void {
    if (!run?.isFolded) return;
    run.isOpen = true;
    this.show(run);
  }
}

function isFinished({ call }: Tool): boolean {
  return call.status === "completed" || call.status === "failed";
}
