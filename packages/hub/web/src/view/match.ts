/**
 * A search result in a drawn item: finds its words in the text, unfolds what hides them, marks them, and brings the
 * right one to the middle of the screen.
 */

import { findExcerpt, findWords } from "../text/search";
import type { ItemView } from "./items";
import { finishDrawing } from "./later";

/** What was searched, and the surroundings of what was found. */
export interface SearchTarget {
  query: string;
  excerpt: string;
}

/** Text of ours or of a folded line: it is no part of what an agent said. */
const NOT_SEARCHED = ".gist, .number, .sign, .mark, .tool-state, .code-head, button:not(.link)";
/** Between these, words end. */
const BOUNDARIES = "p, li, td, th, h3, h4, h5, h6, pre, div, summary, .text, .chip, .path";

/** Finds the match, unfolding as much as is needed; null if the item does not show it. */
export function locate(view: ItemView, target: SearchTarget): Range | null {
  finishDrawing(view.element);
  let found = search(view.element, target);
  if (found && isShown(found)) return found;
  view.unfold?.();
  do {
    finishDrawing(view.element);
    found = search(view.element, target);
  } while (!(found && isShown(found)) && unfoldNext(view.element));
  return found;
}

/** Marks every match of an item. Nothing in the document changes, so that whatever is drawn there may go on. */
export function markMatches(root: HTMLElement, target: SearchTarget, current: Range): void {
  if (typeof Highlight === "undefined") {
    getSelection()?.setBaseAndExtent(current.startContainer, current.startOffset, current.endContainer, current.endOffset);
    return;
  }
  const text = new DrawnText(root);
  const all = findWords(text.content, target.query).map((span) => text.range(span.from, span.to));
  CSS.highlights.set("match", new Highlight(...all));
  CSS.highlights.set("match-current", new Highlight(current));
}

/** Scrolls everything between a range and the outermost scroller so that the range stands in the middle. */
export function scrollToRange(range: Range, outermost: HTMLElement): void {
  for (let at = range.startContainer.parentElement; at; at = at.parentElement) {
    if (at === outermost || at.scrollHeight > at.clientHeight || at.scrollWidth > at.clientWidth) centre(range, at);
    if (at === outermost) return;
  }
}

function centre(range: Range, scroller: HTMLElement): void {
  const box = range.getBoundingClientRect();
  const { top, left, right } = scroller.getBoundingClientRect();
  scroller.scrollTop += box.top - top - (scroller.clientHeight - box.height) / 2;
  if (box.left < left || box.right > right) scroller.scrollLeft += box.left - left - scroller.clientWidth / 2;
}

function search(root: HTMLElement, { query, excerpt }: SearchTarget): Range | null {
  const text = new DrawnText(root);
  const span = findExcerpt(text.content, query, excerpt);
  return span && text.range(span.from, span.to);
}

function isShown(range: Range): boolean {
  return range.getClientRects().length > 0;
}

/** Opens the next thing that is folded; false when everything is open. */
function unfoldNext(root: HTMLElement): boolean {
  const folded = root.querySelector<HTMLDetailsElement>("details:not([open])");
  if (folded) {
    folded.open = true;
    folded.dispatchEvent(new Event("toggle")); // the browser's own comes too late
    return true;
  }
  const more = root.querySelector<HTMLButtonElement>("button.more");
  more?.click();
  return more !== null;
}

/** The text of a tree in one piece, and the way back from there to its nodes. */
class DrawnText {
  readonly content: string;
  private nodes: Text[] = [];
  private starts: number[] = [];

  constructor(root: HTMLElement) {
    let content = "";
    let last: Element | null = null;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode as Text;
      const parent = node.parentElement!;
      if (parent.closest(NOT_SEARCHED)) continue;
      const boundary = parent.closest(BOUNDARIES);
      if (boundary !== last) content += "\n";
      last = boundary;
      this.nodes.push(node);
      this.starts.push(content.length);
      content += node.data;
    }
    this.content = content;
  }

  range(from: number, to: number): Range {
    const range = document.createRange();
    const first = this.nodeAt(from);
    const last = this.nodeAt(to - 1);
    range.setStart(this.nodes[first], from - this.starts[first]);
    range.setEnd(this.nodes[last], to - this.starts[last]);
    return range;
  }

  private nodeAt(offset: number): number {
    let low = 0;
    let high = this.starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle;
    }
    return low;
  }
}
