/**
 * The items of a conversation as boxes: items stand in groups, and groups in chapters. A group far from the screen is an
 * empty box of the height that it had; one that was never drawn is empty, has no height, and is drawn when it is opened.
 * Knows which groups have something left to draw, not what a person looks at.
 */

import type { Item } from "../model/items";
import { el } from "./dom";
import { type ItemView, type Reader, itemTools, viewOf } from "./items";
import type { ToolRun } from "./runs";

const ITEMS_IN_GROUP = 32;
/** A browser lays out the children of what changed, and of a list of 100,000 that would be thousands of groups. */
const GROUPS_IN_CHAPTER = 32;
/** Items that a page in front may replace; for more, everything is arranged anew. */
const MOST_GONE = 64;

/** Where an item stands. What nobody has looked at yet has no element: of 100,000, that would be most. */
export class Place {
  view: ItemView | null = null;
  /** The revision of the item that is drawn. */
  revision = 0;
  height = 0;
  /** Of a tool call: the row that it stands in, if that is long enough to be folded. */
  run: ToolRun | null = null;
  isFolded = false;
  private isFirst = false;
  private element: HTMLElement | null = null;

  constructor(readonly item: Item, readonly group: Group) {}

  get shell(): HTMLElement {
    if (!this.element) {
      this.element = el("div", `item of-${this.item.kind}`);
      this.element.dataset.cursor = this.item.cursor;
      this.markRun();
    }
    return this.element;
  }

  /** Whether it is hidden behind the line of its row, and whether that line stands in it. */
  setRun(isFolded: boolean, isFirst: boolean): void {
    this.isFolded = isFolded;
    this.isFirst = isFirst;
    if (this.element) this.markRun();
  }

  private markRun(): void {
    this.element!.classList.toggle("folded", this.isFolded);
    this.element!.classList.toggle("run-first", this.isFirst);
  }
}

export interface Group {
  element: HTMLElement;
  places: Place[];
  isOpen: boolean;
  /** Whether the height of each of its places is known at this width. */
  isMeasured: boolean;
  undrawn: number;
}

/** What a new list was to the one before: which part of it is new or stands beside something new, and how much came at its end. */
export interface ListChange {
  from: number;
  until: number;
  added: number;
}

export class Groups {
  readonly element = el("div", "list");
  all: Group[] = [];
  /** Groups with something to draw, and groups with nothing left to draw. Closed groups that are measured are in neither. */
  readonly undrawn = new Set<Group>();
  readonly drawn = new Set<Group>();
  /** Places whose former height holds until all of their content is there. */
  readonly unfinished = new Set<Place>();
  private items: Item[] = [];
  private count = 0;
  private places = new Map<Item, Place>();
  private opened = new Map<number, boolean>();

  /** `address` is the page's address of a message by its cursor, `reader` who looks at it. */
  constructor(private address: (cursor: string) => string, private reader: () => Reader) {}

  placeOf(item: Item): Place | undefined {
    return this.places.get(item);
  }

  /** Takes a list that grew by its end, or a new one for a page in front. `screenful` items at the end fill the screen. */
  update(items: Item[], screenful: number): ListChange {
    const { count } = this;
    const change = items === this.items ? { from: count, until: items.length, added: items.length - count } : this.arrange(items, screenful);
    if (items === this.items) this.append(items.slice(count), screenful);
    this.items = items;
    this.count = items.length;
    return change;
  }

  /** A page in front of 100,000 must not cost a frame: what is known already is not looked at. */
  private arrange(items: Item[], screenful: number): ListChange {
    const known = this.all.flatMap((group) => group.places);
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
      this.clear();
      this.append(items, screenful);
      return { from: 0, until: items.length, added: items.length };
    }
    for (const place of gone) this.remove(place);
    this.prepend(items.slice(0, front));
    this.append(items.slice(at), screenful);
    return { from: 0, until: at < items.length ? items.length : Math.max(front, last) + 1, added: items.length - at };
  }

  private clear(): void {
    this.element.replaceChildren();
    this.all = [];
    for (const known of [this.undrawn, this.drawn, this.unfinished, this.places]) known.clear();
  }

  /** Of more than the screen holds, what nobody sees is not in the document until it is drawn, as what comes in front. */
  private append(items: Item[], screenful: number): void {
    const unseen = Math.max(0, items.length - screenful);
    for (let at = 0; at < unseen; at += ITEMS_IN_GROUP) {
      const group = this.closedGroup(items.slice(at, Math.min(unseen, at + ITEMS_IN_GROUP)));
      this.all.push(group);
      this.chapter("last").append(group.element);
    }
    for (let at = unseen; at < items.length; at += 1) {
      let group = this.all.at(-1);
      // What fills the screen is a group of its own: it is drawn as a whole, and gives way as a whole.
      if (!group || group.places.length >= ITEMS_IN_GROUP || (unseen && at === unseen)) {
        group = newGroup();
        this.all.push(group);
        this.chapter("last").append(group.element);
      }
      this.addTo(group, items[at]);
    }
  }

  private prepend(items: Item[]): void {
    for (let end = items.length; end > 0; end -= ITEMS_IN_GROUP) {
      const group = this.closedGroup(items.slice(Math.max(0, end - ITEMS_IN_GROUP), end));
      this.all.unshift(group);
      this.chapter("first").prepend(group.element);
    }
  }

  /** Empty boxes for all of its places would be laid out each time. */
  private closedGroup(items: Item[]): Group {
    const group = { ...newGroup(), isOpen: false };
    group.places = items.map((item) => this.newPlace(item, group));
    this.undrawn.add(group);
    return group;
  }

  /** The chapter at an end of the list, with room for one more group. */
  private chapter(which: "first" | "last"): Element {
    const chapter = which === "first" ? this.element.firstElementChild : this.element.lastElementChild;
    if (chapter && chapter.childElementCount < GROUPS_IN_CHAPTER) return chapter;
    const added = el("div", "chapter");
    if (which === "first") this.element.prepend(added);
    else this.element.append(added);
    return added;
  }

  private addTo(group: Group, item: Item): void {
    this.open(group);
    const place = this.newPlace(item, group);
    group.isMeasured = false;
    group.places.push(place);
    group.element.append(place.shell);
    this.countUndrawn(group, 1);
  }

  private newPlace(item: Item, group: Group): Place {
    const place = new Place(item, group);
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
    this.drawn.delete(group);
    this.all.splice(this.all.indexOf(group), 1);
  }

  open(group: Group): void {
    if (group.isOpen) return;
    group.isOpen = true;
    group.element.style.height = "";
    for (const { shell, height } of group.places) shell.style.minHeight = `${height}px`;
    group.element.append(...group.places.map((place) => place.shell));
    this.countUndrawn(group, group.places.length);
  }

  private countUndrawn(group: Group, by: number): void {
    group.undrawn += by;
    const [to, from] = group.undrawn ? [this.undrawn, this.drawn] : [this.drawn, this.undrawn];
    from.delete(group);
    to.add(group);
  }

  /** All heights are read before anything is changed: a look at the layout behind each change would lay out everything again. */
  close(groups: Group[]): void {
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
      this.drawn.delete(group);
      this.undrawn.delete(group);
    });
  }

  fill(place: Place): void {
    if (place.view) return;
    place.view = viewOf(place.item, this.opened, this.reader());
    place.revision = place.item.revision;
    place.shell.classList.add("drawn");
    if (place.run?.calls[0] === place.item) place.shell.append(place.run.head);
    place.shell.append(place.view.element, itemTools(place.item, this.address));
    this.unfinished.add(place);
    this.countUndrawn(place.group, -1);
  }

  /** Draws what has changed of an item, if it is drawn. */
  refresh(place: Place): void {
    if (!place.view || place.revision === place.item.revision) return;
    place.view.update();
    place.revision = place.item.revision;
    this.unfinished.add(place);
  }

  finish(): void {
    for (const place of this.unfinished) {
      if (place.shell.querySelector(".drawing")) continue;
      place.shell.style.minHeight = "";
      this.unfinished.delete(place);
    }
  }

  /** At another width, no height holds any longer. */
  forgetHeights(): void {
    for (const group of this.all) {
      group.isMeasured = false;
      if (!group.isOpen) this.undrawn.add(group);
    }
  }

  /** Gives up what stands outside of a part of the content. The last group still grows. */
  closeOutside(top: number, bottom: number): void {
    const isOutside = ({ element }: Group): boolean => element.offsetTop + element.offsetHeight < top || element.offsetTop > bottom;
    const isWhole = (group: Group): boolean => group.places.every((place) => !this.unfinished.has(place));
    // What was measured before need not be drawn to its end.
    const halfDrawn = [...this.undrawn].filter((group) => group.isOpen && group.isMeasured);
    const last = this.all.at(-1);
    const far = [...this.drawn, ...halfDrawn].filter((group) => group !== last && isOutside(group) && isWhole(group));
    const held = far.length ? heldBy(this.element) : [];
    const unused = far.filter(({ element }) => !held.some((node) => element.contains(node)));
    if (unused.length) this.close(unused);
  }

  /** Every place from a group on, in either direction; groups are opened on the way. */
  *from(start: number, by: 1 | -1): Generator<Place> {
    for (let at = start; at >= 0 && at < this.all.length; at += by) {
      const group = this.all[at];
      this.open(group);
      yield* by > 0 ? group.places : [...group.places].reverse();
    }
  }

  /**
   * The first group that reaches below a height of the content. The list begins below its top: groups in front that were
   * never drawn stand there as well, and are not what a person sees who scrolled up to them.
   */
  at(top: number): number {
    const { offsetTop: start, offsetHeight: height } = this.element;
    const line = Math.max(top, start);
    let low = 0;
    let high = height ? this.all.length : 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offsetTop, offsetHeight } = this.all[middle].element;
      if (offsetTop + offsetHeight > line) high = middle;
      else low = middle + 1;
    }
    return Math.min(low, this.all.length - 1);
  }

  nearestUndrawn(middle: number): number {
    const isUndrawn = (at: number): boolean => at >= 0 && at < this.all.length && this.undrawn.has(this.all[at]);
    for (let away = 0; away < this.all.length; away += 1) {
      if (isUndrawn(middle - away)) return middle - away;
      if (isUndrawn(middle + away)) return middle + away;
    }
    return -1;
  }
}

function newGroup(): Group {
  return { element: el("div", "items"), places: [], isOpen: true, isMeasured: false, undrawn: 0 };
}

/** What a person is in the middle of, and what therefore stays: a focus, a selection, a sound. */
function heldBy(list: HTMLElement): Node[] {
  const selection = getSelection();
  const selected = selection && !selection.isCollapsed ? [selection.anchorNode, selection.focusNode] : [];
  return [document.activeElement, ...selected, ...list.querySelectorAll("audio")].filter((node) => node !== null);
}
