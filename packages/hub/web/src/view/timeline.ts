/**
 * The list of items as a person reads it. No height is guessed: an item that was never drawn has none, and is drawn in a
 * free moment, a few at a time. Keeps to the end while the person is there, and otherwise keeps what they see in its place,
 * whatever changes around it. What a change costs does not depend on how long the conversation is.
 */

import type { Item } from "../model/items";
import { type OutlineTurn, type TurnState, Turns } from "../model/turns";
import { Anchor } from "./anchor";
import { button, el } from "./dom";
import { Groups, type Place } from "./groups";
import type { Reader } from "./items";
import { isDrawing } from "./later";
import type { SearchTarget } from "./match";
import { TurnRail } from "./rail";
import { ToolRuns } from "./runs";

/** Whoever comes so close to the end stays there. */
const NEAR_END = 40;
/** Pages in front and behind are fetched when the beginning or the end is so close. */
const NEAR_PAGE = 1500;
/** Groups are drawn so far from the screen, and given up so much further away that a small step back redraws nothing. */
const MARGIN = 1500;
const FAR_MARGIN = 4000;
/** Items that are drawn between two looks at the layout, which make the browser lay out everything that is new. */
const STEP = 8;
/** Items that fill a screen, until it is known; and at most, because some are folded and have no height. */
const SCREENFUL = 24;
const MOST_IN_SCREENFUL = 64;
/** A slice of a frame: the rest belongs to layout and to the person. */
const BUDGET_MS = 5;
/** As long as somebody scrolls or messages pour in, what is far away is left alone. */
const QUIET_MS = 150;
/** Items that are drawn before one that is gone to. */
const DRAWN_BEFORE = 16;
/** What stands so far below the upper edge counts as what is read. */
const EDGE = 40;
/** Frames in which what a search found is brought back to the screen, should something push it away. */
const REVEALS = 10;

/** What is read, and what it is a part of. */
export interface ShownPart {
  /** A fold appends to one array, and makes a new one for a page in front. */
  items: Item[];
  changed: Iterable<Item>;
  /** Whether something stands before the items, and behind them. */
  hasEarlier: boolean;
  hasLater: boolean;
  /** The items at the end of the session, and how the last turn is doing there. */
  end: Item[];
  now: TurnState;
  outline: OutlineTurn[];
}

/** Who fetches what is not here. */
export interface PartSource {
  earlier(): void;
  later(): void;
  toStart(): void;
  toEnd(): void;
  /** To a message by its cursor, and the page's address of it. */
  goTo(cursor: string): void;
  address(cursor: string): string;
  reader(): Reader;
}

export class Timeline {
  readonly element = el("div", "timeline");
  private groups: Groups;
  private runs: ToolRuns;
  private end = el("div", "list-end");
  private jump = button("", "jump", () => this.toEnd());
  private anchor: Anchor;
  private turns = new Turns();
  /** The message that the page's address names. */
  private linked: Place | null = null;
  /** Where the person wants to stay, whatever comes: at the end, at the start, or with what they see. */
  private position: "end" | "start" | "here" = "end";
  private last = { top: 0, height: 0, screen: 0 };
  private busyAt = 0;
  /** When more came at once than the screen holds. */
  private floodAt = -QUIET_MS;
  /** Items at the end that fill the screen. */
  private screenful = SCREENFUL;
  private width = 0;
  /** What came behind this item, nobody has seen. */
  private lastSeen: Item | undefined;
  private shown: ShownPart = { items: [], changed: [], hasEarlier: false, hasLater: false, end: [], now: "done", outline: [] };
  private frame = 0;
  private timer = 0;
  /** Stands beside the scroller. */
  readonly rail = new TurnRail((turn) => this.source.goTo(turn.cursor));

  constructor(private source: PartSource) {
    this.groups = new Groups(source.address, source.reader);
    this.anchor = new Anchor(this.element, this.groups.element);
    this.runs = new ToolRuns(this.groups, () => {
      this.position = "here"; // the line stays under the pointer
      this.settle();
    });
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "log");
    // Five hundred updates a second are no announcement; the page says in a line of its own when a turn ends.
    this.element.setAttribute("aria-live", "off");
    this.element.setAttribute("aria-label", "Conversation");
    this.element.append(this.groups.element, this.end, this.jump);
    this.jump.hidden = true;
    this.element.addEventListener("scroll", () => this.onScroll(), { passive: true });
    const resized = new ResizeObserver(() => this.onResize());
    for (const watched of [this.element, this.groups.element, this.end]) resized.observe(watched);
  }

  /** What stands behind the last item: prompts that are on their way. */
  get tail(): HTMLElement {
    return this.end;
  }

  update(shown: ShownPart): void {
    const added = this.take(shown);
    const isFlood = added > this.screenful;
    if (isFlood) this.floodAt = Infinity;
    this.settle();
    if (added) this.busyAt = performance.now();
    if (isFlood) this.floodAt = this.busyAt;
  }

  /** The same for who goes somewhere right after it: nothing is drawn until then. How many items came at the end. */
  take(shown: ShownPart): number {
    this.noticeScroll(); // before anything changes: then the layout is known, and nothing but the person has moved it
    const { items } = shown;
    const hasFocus = this.groups.element.contains(document.activeElement);
    const { from, until, added } = this.groups.update(items, this.screenful);
    // Keys go on scrolling where the part that had the focus was left.
    if (hasFocus && !this.groups.element.contains(document.activeElement)) this.element.focus({ preventScroll: true });
    if (until > from) this.runs.gather(items, from, until);
    this.shown = shown;
    this.end.hidden = shown.hasLater;
    for (const item of shown.changed) this.refresh(item);
    this.turns.update(shown.end, shown.now, shown.outline);
    return added;
  }

  toEnd(): void {
    this.position = "end";
    this.source.toEnd(); // also of who is there: a place that is on its way is not wanted any more
    if (!this.shown.hasLater) this.settle();
  }

  /** To the very beginning, also of what is not here: until that comes, what is seen stays. */
  toStart(): void {
    this.position = "start";
    this.source.toStart();
    if (!this.shown.hasEarlier) this.settle();
  }

  private refresh(item: Item): void {
    const place = this.groups.placeOf(item);
    if (!place) return;
    if (place.run) this.runs.show(place.run);
    this.groups.refresh(place);
  }

  // What is drawn

  /** Draws what a person sees now; what is near or was never drawn follows in `work`. */
  private settle(): void {
    if (!this.element.isConnected) return;
    this.width ||= this.groups.element.clientWidth;
    if (this.position === "end") this.fillFromEnd();
    else this.fillFromTop();
    this.groups.finish();
    this.keep();
    this.plan();
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const first = this.groups.all[0];
    const last = this.groups.all.at(-1);
    const { hasEarlier, hasLater } = this.shown;
    const isEarlierWanted = hasEarlier && scrollTop < NEAR_PAGE && !(first && this.groups.undrawn.has(first));
    const isLaterWanted = hasLater && scrollHeight - scrollTop - clientHeight < NEAR_PAGE && !(last && this.groups.undrawn.has(last));
    this.groups.closeOutside(scrollTop - FAR_MARGIN, scrollTop + clientHeight + FAR_MARGIN);
    if (isEarlierWanted) this.source.earlier();
    else if (isLaterWanted) this.source.later();
  }

  /** What is left to draw is drawn in the next frame, or when it is quiet. */
  private plan(): void {
    if (this.frame) return;
    const next = this.todo().next();
    if (next.done) return;
    const isLater = next.value === null && !this.groups.unfinished.size && !isDrawing();
    if (isLater) this.timer ||= window.setTimeout(() => this.work(), QUIET_MS);
    else this.frame = requestAnimationFrame(() => this.work());
  }

  /** As many as filled the screen the last time are drawn before the first look at the layout. */
  private fillFromEnd(): void {
    const { groups } = this;
    let count = 0;
    let next = this.screenful;
    for (const place of groups.from(groups.all.length - 1, -1)) {
      groups.fill(place);
      count += 1;
      if (count < next) continue;
      const height = groups.element.getBoundingClientRect().bottom - place.shell.getBoundingClientRect().top;
      const { clientHeight } = this.element;
      if (height > clientHeight) {
        this.screenful = Math.min(MOST_IN_SCREENFUL, Math.max(STEP, Math.ceil((1.1 * count * clientHeight) / height)));
        return;
      }
      next = count + STEP;
    }
  }

  private fillFromTop(): void {
    if (this.position === "start") this.element.scrollTop = 0;
    else this.anchor.restore();
    const { top, bottom } = this.element.getBoundingClientRect();
    let unmeasured = 0;
    const start = this.position === "start" ? 0 : this.groups.at(this.element.scrollTop);
    for (const place of this.groups.from(start, 1)) {
      const box = unmeasured === 0 ? place.shell.getBoundingClientRect() : null;
      if (box && box.top > bottom) return;
      if (place.view || (box && box.bottom <= top)) continue;
      this.groups.fill(place);
      unmeasured = (unmeasured + 1) % STEP;
    }
  }

  /** A slice of what is not on the screen: what is near, then what was never drawn at this width. */
  private work(): void {
    window.clearTimeout(this.timer);
    this.frame = this.timer = 0;
    this.noticeScroll();
    const until = performance.now() + BUDGET_MS;
    for (const place of this.todo()) {
      if (place) this.groups.fill(place);
      if (!place || performance.now() > until) break;
    }
    this.settle();
  }

  /**
   * Places to draw, the nearest first; null for what has to wait for a quiet moment. What is above the screen is drawn
   * from its end on: a gap between two drawn parts would push away what was read when somebody scrolls to it.
   */
  private *todo(): Generator<Place | null> {
    const { groups } = this;
    if (!groups.all.length) return;
    // Before what is near would be drawn, it is gone.
    if (this.position === "end" && groups.undrawn.size && performance.now() - this.floodAt < QUIET_MS) return yield null;
    const { scrollTop, clientHeight } = this.element;
    const middle = groups.at(scrollTop);
    for (let at = middle; at < groups.all.length && groups.all[at].element.offsetTop < scrollTop + clientHeight + MARGIN; at += 1) {
      yield* this.undrawn(at, middle);
    }
    for (let at = middle - 1; at >= 0 && bottomOf(groups.all[at].element) > this.element.scrollTop - MARGIN; at -= 1) yield* this.undrawn(at, middle);
    if (groups.unfinished.size) yield null;
    while (groups.undrawn.size) {
      if (isDrawing() || performance.now() - this.busyAt < QUIET_MS) return yield null;
      const next = groups.nearestUndrawn(middle);
      if (next < 0) return;
      yield* this.undrawn(next, middle);
    }
  }

  private undrawn(at: number, middle: number): Place[] {
    const group = this.groups.all[at];
    this.groups.open(group);
    const places = group.places.filter((place) => !place.view);
    return at > middle ? places : places.reverse();
  }

  // Where the person is

  private onScroll(): void {
    // Who is at the end was taken there by `keep`, and everything there is drawn.
    if (this.noticeScroll() || this.position !== "end") this.settle();
  }

  /** Where the person wants to be, by how they scrolled since `keep`. The browser tells of a scroll later than it happens. */
  private noticeScroll(): boolean {
    if (!this.last.screen || !this.element.isConnected) return false;
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const { top, height, screen } = this.last;
    const isUp = scrollTop < top - 0.5;
    const isDown = scrollTop > top + 0.5;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END;
    // A list that became shorter moves up as well, and nobody meant to leave the end.
    const isSame = scrollHeight === height && clientHeight === screen;
    if (isUp && (isSame || !isNear)) this.position = this.position === "start" ? "start" : "here";
    if (isDown && this.position !== "end") this.position = isNear && this.isDrawnBelow(scrollTop) ? "end" : "here";
    if (isUp || isDown) this.busyAt = performance.now();
    if ((isUp || isDown) && this.position === "here") this.bridge(top, scrollTop);
    this.last.top = scrollTop;
    return isUp || isDown;
  }

  /**
   * What is drawn has a gap where somebody went to the end of what they read. Who scrolls over it comes to what belongs
   * there, which is drawn from their side on. Who goes further in one step does not look at what lies between.
   */
  private bridge(from: number, to: number): void {
    const { groups } = this;
    const distance = Math.abs(to - from);
    if (distance > MARGIN) return;
    const by = to < from ? -1 : 1;
    const last = groups.at(to);
    let at = groups.at(from);
    while (at !== last && !groups.undrawn.has(groups.all[at])) at += by;
    if (at === last) return;
    const height = groups.element.offsetHeight;
    let count = 0;
    for (const place of groups.from(at, by)) {
      if (place.group === groups.all[last]) return;
      if (place.view) continue;
      groups.fill(place);
      count += 1;
      if (count % STEP === 0 && groups.element.offsetHeight - height > distance) return;
    }
  }

  /** What is not drawn yet has no height: who is near the end of what is drawn may be far from the end. */
  private isDrawnBelow(top: number): boolean {
    const { groups } = this;
    return !this.shown.hasLater && !groups.all.slice(groups.at(top)).some((group) => groups.undrawn.has(group));
  }

  private onResize(): void {
    if (!this.element.isConnected) return;
    const { clientWidth } = this.groups.element;
    if (clientWidth !== this.width) {
      this.width = clientWidth;
      this.groups.forgetHeights();
      this.frame ||= requestAnimationFrame(() => this.work());
    }
    this.keep();
  }

  private keep(): void {
    const { element } = this;
    if (this.position === "end") element.scrollTop = element.scrollHeight;
    else if (this.position === "start") element.scrollTop = 0;
    else this.anchor.restore();
    this.anchor.remember();
    this.last = { top: element.scrollTop, height: element.scrollHeight, screen: element.clientHeight };
    this.jump.hidden = this.position === "end";
    const { end, items } = this.shown;
    const seen = this.position === "end" || !this.lastSeen ? -1 : end.lastIndexOf(this.lastSeen);
    if (seen < 0) this.lastSeen = end.at(-1);
    const unseen = seen < 0 ? 0 : end.length - 1 - seen;
    if (!this.jump.hidden) this.jump.textContent = unseen ? `${unseen} new below` : "Jump to the end";
    const { marks } = this.turns;
    this.rail.update(marks, marks.length > 1 ? this.turns.turnOf(this.itemAtTop() ?? items[0]) : undefined);
  }

  private itemAtTop(): Item | undefined {
    const edge = this.element.getBoundingClientRect().top + EDGE;
    const group = this.groups.all[this.groups.at(this.element.scrollTop + EDGE)];
    if (!group?.isOpen) return group?.places[0].item;
    return (group.places.find(({ shell }) => shell.getBoundingClientRect().bottom > edge) ?? group.places.at(-1))?.item;
  }

  /** Brings a message to the upper edge and puts the focus there; `isLinked` marks it as what the address names. */
  goTo(item: Item, isLinked = false): void {
    const place = this.groups.placeOf(item);
    if (!place) return;
    forgetMatches();
    this.position = "here";
    this.runs.unfold(place);
    this.bring(place, null, "start");
    place.shell.tabIndex = -1;
    place.shell.focus({ preventScroll: true });
    if (!isLinked) return;
    this.linked?.shell.classList.remove("linked");
    this.linked?.shell.removeAttribute("aria-current");
    this.linked = place;
    place.shell.classList.add("linked");
    place.shell.setAttribute("aria-current", "true");
  }

  /** Brings what a search found to the middle of the screen and marks it, or else the item that it is in. */
  async reveal(item: Item, target: SearchTarget, isWanted: () => boolean): Promise<void> {
    const place = this.groups.placeOf(item);
    if (!place) return;
    forgetMatches();
    this.position = "here";
    this.runs.unfold(place);
    this.bring(place);
    matching = await import("./match").catch(() => null);
    // Colours replace the text of code blocks, and with it what would be marked.
    if (place.shell.querySelector(".code")) await import("./highlight");
    // What is drawn or said meanwhile may replace the text or move it away: then once more.
    for (let tries = 0; tries < REVEALS && isWanted(); tries += 1) {
      const match = this.bringMatch(place, target);
      await nextFrame();
      if (!match || this.isInView(match)) break;
    }
    place.shell.classList.add("found");
    window.setTimeout(() => place.shell.classList.remove("found"), 2500);
  }

  private bringMatch(place: Place, target: SearchTarget): Range | null {
    this.position = "here";
    this.groups.open(place.group);
    this.groups.fill(place);
    const match = matching?.locate(place.view!, target) ?? null;
    this.bring(place, match);
    if (match) matching?.markMatches(place.view!.element, target, match);
    return match;
  }

  private isInView(match: Range): boolean {
    const box = match.getBoundingClientRect();
    const { top, bottom } = this.element.getBoundingClientRect();
    return match.toString() !== "" && box.height > 0 && box.top >= top && box.bottom <= bottom;
  }

  /** What is drawn around it pushes it away again, until everything on the screen is drawn. */
  private bring(place: Place, match: Range | null = null, block: "center" | "start" = "center"): void {
    this.fillAround(place);
    for (let tries = 0; tries < 3; tries += 1) {
      const { scrollTop } = this.element;
      this.groups.open(place.group);
      this.groups.fill(place);
      if (match) matching?.scrollToRange(match, this.element);
      else place.shell.scrollIntoView({ block });
      if (tries && this.element.scrollTop === scrollTop) return;
      this.anchor.remember();
      this.noticeScroll();
      this.settle();
    }
  }

  /** What stands right before a place and is not drawn would push it away as soon as it is; so would what is missing below. */
  private fillAround(place: Place): void {
    const start = this.groups.all.indexOf(place.group);
    for (const [by, count] of [[-1, DRAWN_BEFORE], [1, this.screenful]] as const) {
      let left = -1;
      for (const near of this.groups.from(start, by)) {
        if (left >= 0) this.groups.fill(near);
        if (near === place) left = count + 1;
        if (left >= 0) left -= 1;
        if (left === 0) break;
      }
    }
  }
}

function nextFrame(): Promise<number> {
  return new Promise(requestAnimationFrame);
}

function bottomOf(element: HTMLElement): number {
  return element.offsetTop + element.offsetHeight;
}

/** Loaded for the first result of a search that somebody goes to. */
let matching: typeof import("./match") | null = null;

function forgetMatches(): void {
  if (typeof Highlight !== "undefined") CSS.highlights.clear();
}
