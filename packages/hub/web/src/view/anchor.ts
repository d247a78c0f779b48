/**
 * Keeps what a reader sees where it is while heights above it change. Remembers which elements stand at the upper edge
 * of a scroller; afterwards, moves the scroller by as much as they moved. Browsers have something like it, but not all
 * of them, not at the very top, and not as often as a conversation changes: it is switched off in the style sheet.
 */

/** Elements that scroll by themselves: what is inside them is not at a fixed place of the outer content. */
const SCROLLERS = "pre, .terminal, .table";
/** Elements that begin with what was never drawn and has no height: as that is drawn, they grow above what is seen of them. */
const BOXES = ".chapter, .items";
/** Few children are looked at one by one, because some stand outside of the flow; of many, half are left out each time. */
const FEW = 24;

interface EdgeElement {
  element: Element;
  top: number;
}

export class Anchor {
  /** From the innermost element outwards: what is drawn anew takes its inner elements with it. */
  private marks: EdgeElement[] = [];
  /** Scrollers move by whole pixels, and heights are no whole ones: what was left out is made up for the next time. */
  private rest = 0;

  constructor(
    private scroller: HTMLElement,
    private content: HTMLElement,
  ) {}

  remember(): void {
    const edge = this.scroller.getBoundingClientRect().top;
    this.marks = [];
    for (let at = childAt(this.content, edge); at; at = childAt(at, edge)) {
      this.marks.unshift({ element: at, top: this.topOf(at) });
      if (at.matches(SCROLLERS) || (at.getBoundingClientRect().top >= edge && !at.matches(BOXES))) break;
    }
  }

  restore(): void {
    const mark = this.marks.find(({ element }) => this.content.contains(element) && element.getClientRects().length > 0);
    const moved = (mark ? this.topOf(mark.element) - mark.top : 0) + this.rest;
    const { scrollTop } = this.scroller;
    if (Math.abs(moved) >= 0.5) this.scroller.scrollTop += moved;
    const rest = moved - (this.scroller.scrollTop - scrollTop);
    this.rest = Math.abs(rest) < 1 ? rest : 0; // at either end there is no more to move
    this.remember();
  }

  /** Where an element stands in the content, however far that is scrolled. */
  private topOf(element: Element): number {
    return element.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top + this.scroller.scrollTop;
  }
}

/** The first child that reaches below a line on the screen. */
function childAt(parent: Element, edge: number): Element | null {
  const { children } = parent;
  const reaches = (child: Element): boolean => {
    const { bottom, height } = child.getBoundingClientRect();
    return height > 0 && bottom > edge;
  };
  let low = 0;
  let high = children.length;
  while (high - low > FEW) {
    const middle = (low + high) >> 1;
    if (children[middle].getBoundingClientRect().bottom > edge) high = middle + 1;
    else low = middle + 1;
  }
  // What was never drawn has no height; many such boxes may stand right below the line, before the one that is seen.
  for (; low < children.length; low += 1) if (reaches(children[low])) return children[low];
  return null;
}
