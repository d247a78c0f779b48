/**
 * A rail beside the conversation with a mark for each turn, in the colour of how it went. A mark leads to its turn; of
 * more turns than there is room for, neighbours share a mark. One mark can be reached with Tab, the others by arrow keys.
 */

import { type TurnBucket, type TurnMark, bucketsOf } from "../model/turns";
import { plain } from "../text/reveal";
import { button, el } from "./dom";

/** Pixels that a mark takes at least. */
const MARK = 9;
const STATES: Record<TurnMark["state"], string> = { running: "running", waiting: "waiting for you", done: "done", stopped: "stopped", failed: "failed" };

export class TurnRail {
  readonly element = el("nav", "turn-rail");
  private buckets: TurnBucket[] = [];
  private marks: HTMLButtonElement[] = [];
  private turns: TurnMark[] = [];
  private drawn: TurnMark[] = [];
  private current: TurnMark | undefined;
  private room = 0;
  private signature = "";

  constructor(private go: (turn: TurnMark) => void) {
    this.element.setAttribute("aria-label", "Turns");
    this.element.hidden = true;
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.onResize()).observe(this.element);
  }

  update(turns: TurnMark[], current: TurnMark | undefined): void {
    this.turns = turns;
    this.current = current;
    const isHidden = turns.length < 2;
    if (this.element.hidden !== isHidden) this.element.hidden = isHidden;
    if (!isHidden) this.draw();
  }

  private onResize(): void {
    const room = Math.floor(this.element.clientHeight / MARK);
    if (room === this.room) return;
    this.room = room;
    this.signature = "";
    if (!this.element.hidden) this.draw();
  }

  private draw(): void {
    // The last turn alone changes its state; any other change makes a new list.
    const { turns } = this;
    const signature = `${turns.at(-1)!.state} ${this.room}`;
    if (turns !== this.drawn || signature !== this.signature) {
      this.drawn = turns;
      this.signature = signature;
      this.buckets = bucketsOf(turns, this.room || 40);
      while (this.marks.length < this.buckets.length) this.marks.push(this.mark(this.marks.length));
      for (const mark of this.marks.splice(this.buckets.length)) mark.remove();
      this.buckets.forEach((bucket, at) => this.label(this.marks[at], bucket));
    }
    const at = this.buckets.findIndex((bucket) => this.current && bucket.turns.includes(this.current));
    this.marks.forEach((mark, index) => {
      const isCurrent = index === at;
      if (isCurrent !== mark.hasAttribute("aria-current")) mark.toggleAttribute("aria-current", isCurrent);
      if (isCurrent) mark.setAttribute("aria-current", "true");
    });
    if (!this.element.contains(document.activeElement)) this.reach(Math.max(0, at));
  }

  private mark(at: number): HTMLButtonElement {
    const mark = button("", "turn-mark", () => this.go(this.buckets[at].turns[0]));
    this.element.append(mark);
    return mark;
  }

  private label(mark: HTMLButtonElement, { from, turns, state }: TurnBucket): void {
    const until = from + turns.length - 1;
    const which = turns.length === 1 ? `Turn ${from}` : `Turns ${from} to ${until}`;
    const title = plain(turns[0].title);
    const label = `${which} of ${this.turns.length}, ${STATES[state]}${title ? `: ${title}` : ""}`;
    if (mark.title === label) return;
    mark.title = label;
    mark.setAttribute("aria-label", label);
    mark.dataset.state = state;
  }

  private reach(at: number): void {
    this.marks.forEach((mark, index) => {
      const wanted = index === at ? 0 : -1;
      if (mark.tabIndex !== wanted) mark.tabIndex = wanted;
    });
  }

  private onKey(event: KeyboardEvent): void {
    const at = this.marks.indexOf(document.activeElement as HTMLButtonElement);
    const last = this.marks.length - 1;
    const steps: Record<string, number> = { ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: last };
    if (at < 0 || steps[event.key] === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.min(last, Math.max(0, steps[event.key]));
    this.reach(next);
    this.marks[next].focus();
  }
}
