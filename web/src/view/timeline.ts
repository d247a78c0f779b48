/**
 * The list of items. Items stand in groups, and a group far from the screen is an empty box of the height that it had.
 * No height is guessed: an item that was never drawn has none, and is drawn in a free moment, a few at a time. Keeps to
 * the end while the person is there, and otherwise keeps what they see in its place, whatever changes around it.
 * What a change costs does not depend on how long the conversation is.
 */

import type { Item, Tool } from "../model/items";
import { type TurnState, Turns } from "../model/turns";
import { Anchor } from "./anchor";
import { button, el } from "./dom";
import { type ItemView, itemTools, viewOf } from "./items";
import { isDrawing } from "./later";
import { type SearchTarget, forgetMatches, locate, markMatches, scrollToRange } from "./match";
import { TurnRail } from "./rail";
import { LEAST_IN_RUN, ToolRun } from "./runs";

const ITEMS_IN_GROUP = 32;
/** Groups stand in chapters: a browser lays out the children of what changed, and of a list of 100,000 that would be thousands. */
const GROUPS_IN_CHAPTER = 32;
/** Whoever comes so close to the end stays there. */
const NEAR_END = 40;
/** Earlier pages are fetched when the beginning is so close. */
const NEAR_START = 1500;
/** Groups are drawn so far from the screen, and given up so much further away that a small step back redraws nothing. */
const MARGIN = 1500;
const FAR_MARGIN = 4000;
/** Items that are drawn between two looks at the layout. */
const STEP = 8;
/** Items that a page in front may replace; for more, everything is arranged anew. */
const MOST_GONE = 64;
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

interface Place {
  item: Item;
  group: Group;
  shell: HTMLElement;
  view: ItemView | null;
  /** The revision of the item that is drawn. */
  revision: number;
  height: number;
  /** Of a tool call: the row that it stands in, if that is long enough to be folded. */
  run: ToolRun | null;
}

interface Group {
  element: HTMLElement;
  places: Place[];
  isOpen: boolean;
  /** Whether the height of each of its places is known at this width. */
  isMeasured: boolean;
  undrawn: number;
}

export class Timeline {
  readonly element = el("div", "timeline");
  private list = el("div", "list");
  private end = el("div", "list-end");
  private jump = button("", "jump", () => this.toEnd());
  private anchor = new Anchor(this.element, this.list);
  private items: Item[] = [];
  private count = 0;
  private places = new Map<Item, Place>();
  private groups: Group[] = [];
  /** Groups with something to draw, and groups with nothing left to draw. Closed groups are in neither. */
  private undrawnGroups = new Set<Group>();
  private drawnGroups = new Set<Group>();
  /** Places whose former height holds until all of their content is there. */
  private unfinished = new Set<Place>();
  private opened = new Map<number, boolean>();
  private turns = new Turns();
  /** The message that the page's address names. */
  private linked: Place | null = null;
  /** Where the person wants to stay, whatever comes: at the end, at the start, or with what they see. */
  private position: "end" | "start" | "here" = "end";
  private last = { top: 0, height: 0, screen: 0 };
  private busyAt = 0;
  private width = 0;
  private unseen = 0;
  private more = false;
  private frame = 0;
  /** Stands beside the scroller. */
  readonly rail = new TurnRail((turn) => this.goTo(turn.first));

  /** `earlier` fetches what was before; `address` is the page's address of a message by its cursor. */
  constructor(private earlier: () => void, private address: (cursor: string) => string) {
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "log");
    // Five hundred updates a second are no announcement; the page says in a line of its own when a turn ends.
    this.element.setAttribute("aria-live", "off");
    this.element.setAttribute("aria-label", "Conversation");
    this.element.append(this.list, this.end, this.jump);
    this.jump.hidden = true;
    this.element.addEventListener("scroll", () => this.onScroll(), { passive: true });
    const resized = new ResizeObserver(() => this.onResize());
    for (const watched of [this.element, this.list, this.end]) resized.observe(watched);
  }

  /** What stands behind the last item: prompts that are on their way. */
  get tail(): HTMLElement {
    return this.end;
  }

  /** Takes the items of a fold, which appends to one array and makes a new one for a page in front, and what changed. */
  update(items: Item[], changed: Iterable<Item>, more: boolean, now: TurnState = "done"): void {
    this.more = more;
    if (items !== this.items) this.gatherRuns(items, 0, this.arrange(items));
    else if (items.length > this.count) {
      this.append(items.slice(this.count));
      this.gatherRuns(items, this.count, items.length);
    }
    this.items = items;
    this.count = items.length;
    for (const item of changed) this.refresh(item);
    this.turns.update(items, now);
    this.settle();
  }

  toEnd(): void {
    this.position = "end";
    this.unseen = 0;
    this.settle();
  }

  /** To the very beginning, also of what has to be fetched first. */
  toStart(): void {
    this.position = "start";
    this.settle();
  }

  private refresh(item: Item): void {
    const place = this.places.get(item);
    if (place?.run) this.showRun(place.run);
    if (!place?.view || place.revision === item.revision) return;
    place.view.update();
    place.revision = item.revision;
    this.unfinished.add(place);
  }

  // Which items there are

  /** Takes a new list, and returns up to where it is not the one that was. A page of 100,000 must not cost a frame. */
  private arrange(items: Item[]): number {
    const known = this.groups.flatMap((group) => group.places);
    const goneInFront = known.findIndex(({ item }, at) => at >= MOST_GONE || items.includes(item));
    const front = known.length ? items.indexOf(known[Math.max(0, goneInFront)].item) : 0;
    const gone: Place[] = [];
    let at = Math.max(0, front);
    let last = front;
    for (const place of known) {
      if (place.item === items[at]) at += 1;
      else {
        gone.push(place);
        last = at;
      }
      if (gone.length > MOST_GONE) break;
    }
    if (front < 0 || gone.length > MOST_GONE) {
      this.begin(items);
      return items.length;
    }
    for (const place of gone) this.remove(place);
    this.prepend(items.slice(0, front));
    this.append(items.slice(at));
    return at < items.length ? items.length : Math.max(front, last) + 1;
  }

  private begin(items: Item[]): void {
    this.list.replaceChildren();
    this.groups = [];
    this.undrawnGroups.clear();
    this.drawnGroups.clear();
    this.unfinished.clear();
    this.places.clear();
    this.append(items);
  }

  private append(items: Item[]): void {
    if (!items.length) return;
    for (const item of items) {
      let group = this.groups.at(-1);
      if (!group || group.places.length >= ITEMS_IN_GROUP) {
        group = this.group();
        this.groups.push(group);
        this.chapter("last").append(group.element);
      }
      this.place(item, group);
    }
    this.busyAt = performance.now();
    if (this.position !== "end" && this.count) this.unseen += items.length;
  }

  /** What comes in front is in the document when it is drawn: empty boxes for all of it would be laid out each time. */
  private prepend(items: Item[]): void {
    for (let end = items.length; end > 0; end -= ITEMS_IN_GROUP) {
      const group = { ...this.group(), isOpen: false };
      group.places = items.slice(Math.max(0, end - ITEMS_IN_GROUP), end).map((item) => this.newPlace(item, group));
      this.undrawnGroups.add(group);
      this.groups.unshift(group);
      this.chapter("first").prepend(group.element);
    }
  }

  private group(): Group {
    return { element: el("div", "items"), places: [], isOpen: true, isMeasured: false, undrawn: 0 };
  }

  /** The chapter at an end of the list, with room for one more group. */
  private chapter(which: "first" | "last"): Element {
    const chapter = which === "first" ? this.list.firstElementChild : this.list.lastElementChild;
    if (chapter && chapter.childElementCount < GROUPS_IN_CHAPTER) return chapter;
    const added = el("div", "chapter");
    if (which === "first") this.list.prepend(added);
    else this.list.append(added);
    return added;
  }

  private place(item: Item, group: Group): void {
    this.open(group);
    const place = this.newPlace(item, group);
    group.isMeasured = false;
    group.places.push(place);
    group.element.append(place.shell);
    this.countUndrawn(group, 1);
  }

  private newPlace(item: Item, group: Group): Place {
    const shell = el("div", `item of-${item.kind}`);
    shell.dataset.cursor = item.cursor;
    const place: Place = { item, group, shell, view: null, revision: 0, height: 0, run: null };
    this.places.set(item, place);
    return place;
  }

  private remove(place: Place): void {
    const { group } = place;
    this.open(group);
    if (!place.view) this.countUndrawn(group, -1);
    place.shell.remove();
    group.places.splice(group.places.indexOf(place), 1);
    this.places.delete(place.item);
    this.unfinished.delete(place);
    if (group.places.length) return;
    group.element.remove();
    this.drawnGroups.delete(group);
    this.groups.splice(this.groups.indexOf(group), 1);
  }

  // Tool calls in a row

  /** Finds the rows that begin in a part of the list, and the one that this part continues. */
  private gatherRuns(items: Item[], start: number, until: number): void {
    let at = start;
    while (at > 0 && items[at - 1].kind === "tool") at -= 1;
    while (at < Math.min(until, items.length)) {
      let end = at;
      while (end < items.length && items[end].kind === "tool") end += 1;
      if (end > at) this.gather(items.slice(at, end) as Tool[], end < items.length);
      at = end + 1;
    }
  }

  private gather(calls: Tool[], isOver: boolean): void {
    const places = calls.map((call) => this.places.get(call)!);
    const known = places.find((place) => place.run)?.run;
    if (calls.length < LEAST_IN_RUN && !known) return;
    const run = known ?? new ToolRun((toggled) => {
      this.position = "here"; // the line stays under the pointer
      this.showRun(toggled);
      this.settle();
    });
    for (const place of places) place.run = run;
    run.calls = calls;
    run.isOver = isOver && calls.length >= LEAST_IN_RUN;
    this.showRun(run);
  }

  private showRun(run: ToolRun): void {
    run.draw();
    run.calls.forEach((call, at) => {
      const place = this.places.get(call);
      if (!place) return;
      const isFirst = at === 0;
      if (isFirst && place.view && run.head.parentElement !== place.shell) place.shell.prepend(run.head);
      place.shell.classList.toggle("run-first", isFirst && run.canFold);
      if (place.shell.classList.contains("folded") === run.isFolded) return;
      this.open(place.group); // a closed group would keep the height that it had
      place.group.isMeasured = false;
      place.shell.style.minHeight = "";
      place.shell.classList.toggle("folded", run.isFolded);
    });
  }

  private unfoldRun({ run }: Place): void {
    if (!run?.isFolded) return;
    run.isOpen = true;
    this.showRun(run);
  }

  // What is drawn

  private open(group: Group): void {
    if (group.isOpen) return;
    group.isOpen = true;
    group.element.style.height = "";
    for (const { shell, height } of group.places) shell.style.minHeight = `${height}px`;
    group.element.append(...group.places.map((place) => place.shell));
    this.countUndrawn(group, group.places.length);
  }

  private countUndrawn(group: Group, by: number): void {
    group.undrawn += by;
    const [to, from] = group.undrawn ? [this.undrawnGroups, this.drawnGroups] : [this.drawnGroups, this.undrawnGroups];
    from.delete(group);
    to.add(group);
  }

  /** All heights are read before anything is changed: a look at the layout behind each change would lay out everything again. */
  private close(groups: Group[]): void {
    const heights = groups.map(({ element, places }) => {
      for (const place of places) place.height = place.shell.getBoundingClientRect().height;
      return element.getBoundingClientRect().height;
    });
    groups.forEach((group, at) => {
      group.element.style.height = `${heights[at]}px`;
      group.isOpen = false;
      group.isMeasured = true;
      group.undrawn = 0;
      group.element.replaceChildren();
      for (const place of group.places) {
        place.view = null;
        place.shell.classList.remove("drawn");
        place.shell.replaceChildren();
      }
      this.drawnGroups.delete(group);
      this.undrawnGroups.delete(group);
    });
  }

  private fill(place: Place): void {
    if (place.view) return;
    place.view = viewOf(place.item, this.opened);
    place.revision = place.item.revision;
    place.shell.classList.add("drawn");
    if (place.run?.calls[0] === place.item) place.shell.append(place.run.head);
    place.shell.append(place.view.element, itemTools(place.item, this.address));
    this.unfinished.add(place);
    this.countUndrawn(place.group, -1);
  }

  /** Draws what a person sees now; what is near or was never drawn follows in `work`. */
  private settle(): void {
    if (!this.element.isConnected) return;
    if (this.last.screen) this.noticeScroll(); // the browser tells of a scroll later than it happens
    this.width ||= this.list.clientWidth;
    if (this.position === "end") this.fillFromEnd();
    else this.fillFromTop();
    this.finish();
    this.keep();
    this.closeFar();
    if (this.frame === 0 && !this.todo().next().done) this.frame = requestAnimationFrame(() => this.work());
    const first = this.groups[0];
    if (this.more && this.element.scrollTop < NEAR_START && !(first && this.undrawnGroups.has(first))) this.earlier();
  }

  private fillFromEnd(): void {
    let unmeasured = 0;
    for (const place of this.placesFrom(this.groups.length - 1, -1)) {
      if (unmeasured === 0 && this.list.getBoundingClientRect().bottom - place.shell.getBoundingClientRect().bottom > this.element.clientHeight) return;
      if (place.view) continue;
      this.fill(place);
      unmeasured = (unmeasured + 1) % STEP;
    }
  }

  private fillFromTop(): void {
    if (this.position === "start") this.element.scrollTop = 0;
    else this.anchor.restore();
    const { top, bottom } = this.element.getBoundingClientRect();
    let unmeasured = 0;
    for (const place of this.placesFrom(this.groupAt(this.element.scrollTop), 1)) {
      const box = unmeasured === 0 ? place.shell.getBoundingClientRect() : null;
      if (box && box.top > bottom) return;
      if (place.view || (box && box.bottom <= top)) continue;
      this.fill(place);
      unmeasured = (unmeasured + 1) % STEP;
    }
  }

  private *placesFrom(start: number, by: 1 | -1): Generator<Place> {
    for (let at = start; at >= 0 && at < this.groups.length; at += by) {
      const group = this.groups[at];
      this.open(group);
      yield* by > 0 ? group.places : [...group.places].reverse();
    }
  }

  /** The first group that reaches below a height of the content. */
  private groupAt(top: number): number {
    let low = 0;
    let high = this.groups.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offsetTop, offsetHeight } = this.groups[middle].element;
      if (offsetTop + offsetHeight > top) high = middle;
      else low = middle + 1;
    }
    return Math.min(low, this.groups.length - 1);
  }

  /** A slice of what is not on the screen: what is near, then what was never drawn at this width. */
  private work(): void {
    this.frame = 0;
    const until = performance.now() + BUDGET_MS;
    for (const place of this.todo()) {
      if (place) this.fill(place);
      if (!place || performance.now() > until) break;
    }
    this.settle();
  }

  /**
   * Places to draw, the nearest first; null for what has to wait for a quiet moment. What is above the screen is drawn
   * from its end on: a gap between two drawn parts would push away what was read when somebody scrolls to it.
   */
  private *todo(): Generator<Place | null> {
    if (!this.groups.length) return;
    const { scrollTop, clientHeight } = this.element;
    const middle = this.groupAt(scrollTop);
    for (let at = middle; at < this.groups.length && this.groups[at].element.offsetTop < scrollTop + clientHeight + MARGIN; at += 1) {
      yield* this.undrawn(at, middle);
    }
    for (let at = middle - 1; at >= 0 && bottomOf(this.groups[at].element) > this.element.scrollTop - MARGIN; at -= 1) yield* this.undrawn(at, middle);
    if (this.unfinished.size) yield null;
    while (this.undrawnGroups.size) {
      if (isDrawing() || performance.now() - this.busyAt < QUIET_MS) return yield null;
      const next = this.nearestUndrawn(middle);
      if (next < 0) return;
      yield* this.undrawn(next, middle);
    }
  }

  private undrawn(at: number, middle: number): Place[] {
    const group = this.groups[at];
    this.open(group);
    const places = group.places.filter((place) => !place.view);
    return at > middle ? places : places.reverse();
  }

  private nearestUndrawn(middle: number): number {
    const isUndrawn = (at: number): boolean => at >= 0 && at < this.groups.length && this.undrawnGroups.has(this.groups[at]);
    for (let away = 0; away < this.groups.length; away += 1) {
      if (isUndrawn(middle - away)) return middle - away;
      if (isUndrawn(middle + away)) return middle + away;
    }
    return -1;
  }

  private finish(): void {
    for (const place of this.unfinished) {
      if (place.shell.querySelector(".drawing")) continue;
      place.shell.style.minHeight = "";
      this.unfinished.delete(place);
    }
  }

  private closeFar(): void {
    const { scrollTop, clientHeight } = this.element;
    const isFar = ({ element }: Group): boolean =>
      element.offsetTop + element.offsetHeight < scrollTop - FAR_MARGIN || element.offsetTop > scrollTop + clientHeight + FAR_MARGIN;
    const isWhole = (group: Group): boolean => group.places.every((place) => !this.unfinished.has(place));
    // What was measured before need not be drawn to its end; the last group still grows.
    const halfDrawn = [...this.undrawnGroups].filter((group) => group.isOpen && group.isMeasured);
    const last = this.groups.at(-1);
    const isUnused = (group: Group): boolean => group !== last && isFar(group) && isWhole(group) && !isHeld(group.element);
    const unused = [...this.drawnGroups, ...halfDrawn].filter(isUnused);
    if (unused.length) this.close(unused);
  }

  // Where the person is

  private onScroll(): void {
    this.noticeScroll();
    this.settle();
  }

  /** Where the person wants to be, by how they scrolled since `keep`. */
  private noticeScroll(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const { top, height, screen } = this.last;
    const isUp = scrollTop < top - 0.5;
    const isDown = scrollTop > top + 0.5;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END;
    // A list that became shorter moves up as well, and nobody meant to leave the end.
    const isSame = scrollHeight === height && clientHeight === screen;
    if (isUp && (isSame || !isNear)) this.position = this.position === "start" ? "start" : "here";
    if (isDown) this.position = isNear ? "end" : this.position === "end" ? "end" : "here";
    if (this.position === "end") this.unseen = 0;
    if (isUp || isDown) this.busyAt = performance.now();
    this.last.top = scrollTop;
  }

  private onResize(): void {
    if (!this.element.isConnected) return;
    if (this.list.clientWidth !== this.width) {
      this.width = this.list.clientWidth;
      for (const group of this.groups) {
        group.isMeasured = false;
        if (!group.isOpen) this.undrawnGroups.add(group);
      }
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
    if (!this.jump.hidden) this.jump.textContent = this.unseen ? `${this.unseen} new below` : "To the end";
    this.rail.update(this.turns.list, this.turns.turnOf(this.itemAtTop() ?? this.items[0]));
  }

  private itemAtTop(): Item | undefined {
    const edge = this.element.getBoundingClientRect().top + EDGE;
    const group = this.groups[this.groupAt(this.element.scrollTop + EDGE)];
    if (!group?.isOpen) return group?.places[0].item;
    return (group.places.find(({ shell }) => shell.getBoundingClientRect().bottom > edge) ?? group.places.at(-1))?.item;
  }

  /** Brings a message to the upper edge and puts the focus there; `isLinked` marks it as what the address names. */
  goTo(item: Item, isLinked = false): void {
    const place = this.places.get(item);
    if (!place) return;
    forgetMatches();
    this.position = "here";
    this.unfoldRun(place);
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
  async reveal(item: Item, target: SearchTarget): Promise<void> {
    const place = this.places.get(item);
    if (!place) return;
    forgetMatches();
    this.position = "here";
    this.unfoldRun(place);
    this.bring(place);
    // Colours replace the text of code blocks, and with it what would be marked.
    if (place.shell.querySelector(".code")) await import("./highlight");
    // What is drawn or said meanwhile may replace the text or move it away: then once more.
    for (let tries = 0; tries < REVEALS; tries += 1) {
      const match = this.bringMatch(place, target);
      await nextFrame();
      if (!match || this.isInView(match)) break;
    }
    place.shell.classList.add("found");
    window.setTimeout(() => place.shell.classList.remove("found"), 2500);
  }

  private bringMatch(place: Place, target: SearchTarget): Range | null {
    this.position = "here";
    this.open(place.group);
    this.fill(place);
    const match = locate(place.view!, target);
    this.bring(place, match);
    if (match) markMatches(place.view!.element, target, match);
    return match;
  }

  private isInView(match: Range): boolean {
    const box = match.getBoundingClientRect();
    const { top, bottom } = this.element.getBoundingClientRect();
    return match.toString() !== "" && box.height > 0 && box.top >= top && box.bottom <= bottom;
  }

  /** What is drawn around it pushes it away again, until everything on the screen is drawn. */
  private bring(place: Place, match: Range | null = null, block: "center" | "start" = "center"): void {
    this.fillBefore(place);
    for (let tries = 0; tries < 3; tries += 1) {
      this.open(place.group);
      this.fill(place);
      if (match) scrollToRange(match, this.element);
      else place.shell.scrollIntoView({ block });
      this.anchor.remember();
      this.settle();
    }
  }

  /** What stands right before a place and is not drawn would push it away as soon as it is. */
  private fillBefore(place: Place): void {
    let left = DRAWN_BEFORE;
    const start = this.groups.indexOf(place.group);
    let isBefore = false;
    for (const before of this.placesFrom(start, -1)) {
      if (isBefore) this.fill(before);
      isBefore ||= before === place;
      if (isBefore) left -= 1;
      if (left < 0) return;
    }
  }
}

function nextFrame(): Promise<number> {
  return new Promise(requestAnimationFrame);
}

function bottomOf(element: HTMLElement): number {
  return element.offsetTop + element.offsetHeight;
}

/** What a person is in the middle of stays: a focus, a selection, a sound. */
function isHeld(element: HTMLElement): boolean {
  if (element.contains(document.activeElement) || element.querySelector("audio")) return true;
  const selection = getSelection();
  if (!selection || selection.isCollapsed) return false;
  return element.contains(selection.anchorNode) || element.contains(selection.focusNode);
}
