/**
 * The list of items, append-only and virtual: every item has a place in the list, only those near the screen have
 * content. Keeps to the end while the person is there, and keeps the person's place while they read above it.
 */

import type { Item } from "../model/items";
import { button, el } from "./dom";
import { type ItemView, viewOf } from "./items";

const NEAR_END = 80;
const NEAR_START = 1500;
const LAST = 8;

interface Place {
  item: Item;
  shell: HTMLElement;
  view: ItemView | null;
  drawn: number;
}

export class Timeline {
  readonly element = el("div", "timeline");
  private list = el("div", "list");
  private end = el("div", "list-end");
  private jump = button("", "jump", () => this.toEnd());
  private places = new Map<number, Place>();
  private byShell = new WeakMap<Element, Place>();
  private order: Item[] = [];
  private opened = new Map<number, boolean>();
  private stuck = true;
  private lastTop = 0;
  private unseen = 0;
  private pages = 0;
  private watch: IntersectionObserver;

  constructor(private earlier: () => void) {
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "log");
    // Five hundred updates a second are no announcement; the page says in a line of its own when a turn ends.
    this.element.setAttribute("aria-live", "off");
    this.element.setAttribute("aria-label", "Conversation");
    this.element.append(this.list, this.end, this.jump);
    this.jump.hidden = true;
    this.watch = new IntersectionObserver((seen) => this.seen(seen), { root: this.element, rootMargin: "1200px 0px" });
    this.element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.keep()).observe(this.list);
    new ResizeObserver(() => this.keep()).observe(this.element);
  }

  /** What stands behind the last item: prompts that are on their way. */
  get tail(): HTMLElement {
    return this.end;
  }

  /** `pages` is how often something was put in front; the reader then stays where they are, seen from the end. */
  update(items: Item[], more: boolean, pages = 0): void {
    const { scrollHeight, scrollTop } = this.element;
    this.list.classList.toggle("more-above", more);
    if (items.length !== this.order.length || items[0] !== this.order[0] || items.at(-1) !== this.order.at(-1)) {
      this.arrange(items);
    }
    for (const item of items) {
      const place = this.places.get(item.id);
      if (place?.view && place.drawn !== item.revision) {
        place.view.update();
        place.drawn = item.revision;
      }
    }
    if (pages !== this.pages && !this.stuck) this.element.scrollTop = this.element.scrollHeight - (scrollHeight - scrollTop);
    this.pages = pages;
    this.keep();
    if (more && this.element.scrollTop < NEAR_START) this.earlier();
  }

  private arrange(items: Item[]): void {
    const inFront = this.order.length > 0 && items[0] !== this.order[0];
    const wanted = new Set(items.map((item) => item.id));
    for (const [id, place] of this.places) if (!wanted.has(id)) this.remove(id, place);
    let next: Element | null = null;
    for (let at = items.length - 1; at >= 0; at -= 1) {
      const place = this.places.get(items[at].id) ?? this.add(items[at]);
      if (place.shell.parentNode !== this.list || place.shell.nextElementSibling !== next) this.list.insertBefore(place.shell, next);
      next = place.shell;
    }
    if (!this.stuck && !inFront) this.unseen += Math.max(0, items.length - this.order.length);
    this.order = [...items];
    // Who is at the end shall see what comes at once, and not a place that is filled a moment later.
    if (this.stuck) for (const item of items.slice(-LAST)) this.fill(this.places.get(item.id)!);
  }

  private add(item: Item): Place {
    const place: Place = { item, shell: el("div", `item of-${item.kind}`), view: null, drawn: 0 };
    place.shell.dataset.cursor = item.cursor;
    this.places.set(item.id, place);
    this.byShell.set(place.shell, place);
    this.watch.observe(place.shell);
    return place;
  }

  private remove(id: number, place: Place): void {
    this.watch.unobserve(place.shell);
    place.shell.remove();
    this.places.delete(id);
  }

  private seen(entries: IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      const place = this.byShell.get(entry.target);
      if (!place) continue;
      if (entry.isIntersecting) this.fill(place);
      else this.empty(place);
    }
    this.keep();
  }

  private fill(place: Place): void {
    if (place.view) return;
    place.view = viewOf(place.item, this.opened);
    place.drawn = place.item.revision;
    place.shell.style.height = "";
    place.shell.classList.add("drawn");
    place.shell.append(place.view.element);
  }

  private empty(place: Place): void {
    const { shell, view } = place;
    // What a person is in the middle of stays: a selection, a focus, a sound.
    if (!view || shell.contains(document.activeElement) || shell.querySelector("audio")) return;
    shell.style.height = `${shell.offsetHeight}px`;
    shell.replaceChildren();
    place.view = null;
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const near = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (near) this.stuck = true;
    else if (scrollTop < this.lastTop - 2) this.stuck = false;
    this.lastTop = scrollTop;
    if (this.stuck) this.unseen = 0;
    this.button();
    if (scrollTop < NEAR_START && this.list.classList.contains("more-above")) this.earlier();
  }

  private keep(): void {
    if (this.stuck) {
      this.element.scrollTop = this.element.scrollHeight;
      this.lastTop = this.element.scrollTop;
    }
    this.button();
  }

  private button(): void {
    this.jump.hidden = this.stuck;
    if (!this.stuck) this.jump.textContent = this.unseen ? `${this.unseen} new below` : "To the end";
  }

  toEnd(): void {
    this.stuck = true;
    this.unseen = 0;
    this.keep();
  }

  /** Brings the item of a search result to the middle of the screen; false when it is not here. */
  reveal(cursor: string, item: Item | undefined): boolean {
    const place = item && this.places.get(item.id);
    if (!place) return false;
    this.stuck = false;
    this.fill(place);
    place.shell.scrollIntoView({ block: "center" });
    place.shell.classList.add("found");
    place.shell.dataset.found = cursor;
    window.setTimeout(() => place.shell.classList.remove("found"), 2500);
    return true;
  }
}
