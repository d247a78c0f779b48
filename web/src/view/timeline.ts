/**
 * The list of items. Items stand in groups, and a group far from the screen is an empty box of the height that it had.
 * No height is guessed: an item that was never drawn has none, and is drawn in a free moment, a few at a time. Keeps to
 * the end while the person is there, and otherwise keeps what they see in its place, whatever changes around it.
 * What a change costs does not depend on how long the conversation is.
 */

import type { Item } from "../model/items";
import { Anchor } from "./anchor";
import { button, el } from "./dom";
import { type ItemView, viewOf } from "./items";
import { isDrawing } from "./later";
import { type SearchTarget, forgetMatches, locate, markMatches, scrollToRange } from "./match";

const ITEMS_IN_GROUP = 32;
/** Whoever comes so close to the end stays there. */
const NEAR_END = 40;
/** Earlier pages are fetched when the beginning is so close. */
const NEAR_START = 1500;
/** Groups are drawn so far from the screen, and given up so much further away that a small step back redraws nothing. */
const MARGIN = 1500;
const FAR_MARGIN = 4000;
/** Items that are drawn between two looks at the layout. */
const STEP = 8;
/** A slice of a frame: the rest belongs to layout and to the person. */
const BUDGET_MS = 5;
/** As long as somebody scrolls or messages pour in, what is far away is left alone. */
const QUIET_MS = 150;
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
}

interface Group {
  element: HTMLElement;
  places: Place[];
  isOpen: boolean;
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
  /** Where the person wants to stay, whatever comes: at the end, at the start, or with what they see. */
  private position: "end" | "start" | "here" = "end";
  private last = { top: 0, height: 0, screen: 0 };
  private busyAt = 0;
  private width = 0;
  private unseen = 0;
  private more = false;
  private frame = 0;

  constructor(private earlier: () => void) {
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
  update(items: Item[], changed: Iterable<Item>, more: boolean): void {
    this.more = more;
    if (items === this.items) this.append(items.slice(this.count));
    else this.arrange(items);
    this.items = items;
    this.count = items.length;
    for (const item of changed) this.refresh(item);
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
    if (!place?.view || place.revision === item.revision) return;
    place.view.update();
    place.revision = item.revision;
    this.unfinished.add(place);
  }

  // Which items there are

  private arrange(items: Item[]): void {
    const wanted = new Set(items);
    for (const [item, place] of this.places) if (!wanted.has(item)) this.remove(place);
    const known = this.groups.flatMap((group) => group.places);
    const front = known.length ? items.indexOf(known[0].item) : 0;
    if (known.every((place, at) => place.item === items[front + at])) {
      this.prepend(items.slice(0, front));
      this.append(items.slice(front + known.length));
      return;
    }
    for (const group of this.groups) group.element.remove();
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
        this.list.append(group.element);
      }
      this.place(item, group);
    }
    this.busyAt = performance.now();
    if (this.position !== "end" && this.count) this.unseen += items.length;
  }

  private prepend(items: Item[]): void {
    for (let end = items.length; end > 0; end -= ITEMS_IN_GROUP) {
      const group = this.group();
      for (const item of items.slice(Math.max(0, end - ITEMS_IN_GROUP), end)) this.place(item, group);
      this.groups.unshift(group);
      this.list.prepend(group.element);
    }
  }

  private group(): Group {
    return { element: el("div", "items"), places: [], isOpen: true, undrawn: 0 };
  }

  private place(item: Item, group: Group): void {
    const shell = el("div", `item of-${item.kind}`);
    shell.dataset.cursor = item.cursor;
    const place: Place = { item, group, shell, view: null, revision: 0, height: 0 };
    this.places.set(item, place);
    this.open(group);
    group.places.push(place);
    group.element.append(shell);
    this.countUndrawn(group, 1);
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

  private close(group: Group): void {
    for (const place of group.places) place.height = place.shell.getBoundingClientRect().height;
    group.element.style.height = `${group.element.getBoundingClientRect().height}px`;
    group.isOpen = false;
    group.element.replaceChildren();
    for (const place of group.places) {
      place.view = null;
      place.shell.classList.remove("drawn");
      place.shell.replaceChildren();
    }
    this.drawnGroups.delete(group);
  }

  private fill(place: Place): void {
    if (place.view) return;
    place.view = viewOf(place.item, this.opened);
    place.revision = place.item.revision;
    place.shell.classList.add("drawn");
    place.shell.append(place.view.element);
    this.unfinished.add(place);
    this.countUndrawn(place.group, -1);
  }

  /** Draws what a person sees now; what is near or was never drawn follows in `work`. */
  private settle(): void {
    if (!this.element.isConnected) return;
    this.width ||= this.list.clientWidth;
    if (this.position === "end") this.fillFromEnd();
    else this.fillFromTop();
    this.finish();
    this.keep();
    this.closeFar();
    if (this.frame === 0 && !this.todo().next().done) this.frame = requestAnimationFrame(() => this.work());
    const first = this.groups[0];
    if (this.more && this.element.scrollTop < NEAR_START && !(first?.isOpen && first.undrawn)) this.earlier();
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

  /** Places to draw, the nearest first; null for what has to wait for a quiet moment. */
  private *todo(): Generator<Place | null> {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, this.groupAt(scrollTop - MARGIN));
    let at = first;
    for (; at < this.groups.length && this.groups[at].element.offsetTop < scrollTop + clientHeight + MARGIN; at += 1) {
      this.open(this.groups[at]);
      yield* undrawn(this.groups[at]);
    }
    if (this.unfinished.size) yield null;
    while (this.undrawnGroups.size) {
      if (isDrawing() || performance.now() - this.busyAt < QUIET_MS) return yield null;
      const next = this.nearest(this.undrawnGroups);
      this.open(next);
      yield* undrawn(next);
    }
  }

  private nearest(groups: Set<Group>): Group {
    const { scrollTop } = this.element;
    const distance = ({ element }: Group): number => Math.abs(element.offsetTop - scrollTop);
    return [...groups].reduce((best, group) => (distance(group) < distance(best) ? group : best));
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
    // The last group still grows.
    for (const group of this.drawnGroups) {
      if (group !== this.groups.at(-1) && isFar(group) && isWhole(group) && !isHeld(group.element)) this.close(group);
    }
  }

  // Where the person is

  private onScroll(): void {
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
    this.settle();
  }

  private onResize(): void {
    if (!this.element.isConnected) return;
    if (this.list.clientWidth !== this.width) {
      this.width = this.list.clientWidth;
      for (const group of this.groups) if (!group.isOpen) this.undrawnGroups.add(group);
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
  }

  /** Brings what a search found to the middle of the screen and marks it, or else the item that it is in. */
  async reveal(item: Item, target: SearchTarget): Promise<void> {
    const place = this.places.get(item);
    if (!place) return;
    forgetMatches();
    this.position = "here";
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
  private bring(place: Place, match: Range | null = null): void {
    for (let tries = 0; tries < 3; tries += 1) {
      this.open(place.group);
      this.fill(place);
      if (match) scrollToRange(match, this.element);
      else place.shell.scrollIntoView({ block: "center" });
      this.anchor.remember();
      this.settle();
    }
  }
}

function nextFrame(): Promise<number> {
  return new Promise(requestAnimationFrame);
}

function undrawn(group: Group): Place[] {
  return group.places.filter((place) => !place.view);
}

/** What a person is in the middle of stays: a focus, a selection, a sound. */
function isHeld(element: HTMLElement): boolean {
  if (element.contains(document.activeElement) || element.querySelector("audio")) return true;
  const selection = getSelection();
  if (!selection || selection.isCollapsed) return false;
  return element.contains(selection.anchorNode) || element.contains(selection.focusNode);
}
