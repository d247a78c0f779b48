/** One view for each kind of item. A view draws its item once and then follows its changes. */

import type { End, Item, Note, Part, Plan, Question, Speech } from "../model/items";
import { textOf, textOfItem } from "../model/items";
import { answerWords } from "../model/asked";
import { OUTCOMES } from "../model/steering";
import { type Viewpoint, shortenPaths } from "../text/places";
import { plain } from "../text/reveal";
import { blockView } from "./blocks";
import { button, copyButton, el, grouped, hours, shown, titled, unfolding } from "./dom";
import { iconNode } from "./icons";
import { MarkdownView } from "./markdown";
import { ToolView } from "./tool";

export interface ItemView {
  element: HTMLElement;
  update(): void;
  /** Shows what is folded, because somebody looks for something in it. */
  unfold?(): void;
}

/** From where a conversation is read: its folder, the home folder, and the name under which this page answers. */
export interface Reader extends Viewpoint {
  by: string;
  mayRule?: boolean;
}

export function viewOf(item: Item, opened: Map<number, boolean>, reader: Reader): ItemView {
  switch (item.kind) {
    case "user":
      return new UserView(item);
    case "agent":
      return new AgentView(item);
    case "thought":
      return new ThoughtView(item, opened);
    case "tool":
      return new ToolView(item, opened, reader);
    case "plan":
      return still(el("section", "plan"), (target) => drawPlan(target, item));
    case "end":
      return still(el("div", "end"), (target) => drawEnd(target, item));
    case "note":
      return still(el("div", `note ${item.tone}`), (target) => drawNote(target, item, reader));
    case "question":
      return still(el("div", "settled"), (target) => drawQuestion(target, item, reader));
  }
}

/** Copies a message, or a link to it. Stands outside of the flow, so that it changes no height. */
export function itemTools(item: Item, address: (cursor: string) => string): HTMLElement {
  const tools = el("div", "item-tools");
  if (textOfItem(item)) tools.append(copyButton(() => textOfItem(item), "", "Copy this message", "copy"));
  if (item.cursor) tools.append(copyButton(() => address(item.cursor), "", "Copy a link to this message", "link"));
  return tools;
}

function still(element: HTMLElement, draw: (target: HTMLElement) => void): ItemView {
  const update = (): void => {
    element.replaceChildren();
    draw(element);
  };
  update();
  return { element, update };
}

class UserView implements ItemView {
  readonly element = el("div", "user");
  constructor(private item: Speech) {
    this.update();
  }

  update(): void {
    const bubble = el("div", "bubble");
    for (const part of this.item.parts) {
      if ("block" in part) bubble.append(blockView(part.block, true));
      else {
        const text = el("div", "said");
        text.dir = "auto";
        unfolding(text, part.text, "text", 3000);
        bubble.append(text);
      }
    }
    this.element.replaceChildren(bubble);
    const { outcome } = this.item;
    if (outcome) this.element.append(el("p", "outcome faint", OUTCOMES[outcome]));
    if (!this.item.cursor || outcome) return; // a fork begins between turns
    const menu = button("", "turn-menu quiet", () => this.element.dispatchEvent(new CustomEvent("turn-menu", { bubbles: true, detail: { item: this.item, button: menu } })), "Menu of this message");
    menu.setAttribute("aria-haspopup", "menu");
    menu.append(iconNode("menu"));
    this.element.append(menu);
  }
}

/** Text that grows by its end. Parts are recognised by identity: a page of history in front makes new ones. */
class Growing {
  private views: { part: Part; done: number; view: MarkdownView | null }[] = [];
  constructor(private target: HTMLElement) {}

  follow(parts: Part[]): void {
    if (this.views.some((view, at) => view.part !== parts[at])) {
      this.views = [];
      this.target.replaceChildren();
    }
    parts.forEach((part, at) => this.part(part, at));
  }

  private part(part: Part, at: number): void {
    let held = this.views[at];
    if (!held) {
      held = { part, done: 0, view: "text" in part ? new MarkdownView() : null };
      this.views[at] = held;
      this.target.append(held.view ? held.view.element : blockView((part as { block: any }).block));
    }
    if (!held.view || !("text" in part) || part.text.length <= held.done) return;
    held.view.push(part.text.slice(held.done));
    held.done = part.text.length;
  }
}

class AgentView implements ItemView {
  readonly element = el("div", "agent");
  private body = el("div", "agent-body");
  private growing = new Growing(this.body);
  constructor(private item: Speech) {
    this.element.append(this.body);
    this.update();
  }

  update(): void {
    this.growing.follow(this.item.parts);
  }
}

/** Characters of a thought that are read to fill its folded line. */
const GIST = 160;

class ThoughtView implements ItemView {
  readonly element = el("details", "thought");
  private body = el("div", "thought-body");
  private growing = new Growing(this.body);
  private gist = el("span", "gist");
  private gistLength = 0;
  private gistParts: Part[] = [];

  constructor(private item: Speech, private opened: Map<number, boolean>) {
    this.element.append(el("summary", "", el("span", "thought-word", "Thought"), this.gist), this.body);
    this.element.open = opened.get(item.id) ?? false;
    this.element.addEventListener("toggle", () => {
      opened.set(item.id, this.element.open);
      this.update();
    });
    this.update();
  }

  update(): void {
    // The beginning of a thought is all that the folded line shows; once it is full, a longer thought changes nothing.
    const { parts } = this.item;
    if (this.gistLength < GIST || this.gistParts !== parts) {
      const text = textOf(parts).slice(0, GIST);
      this.gistLength = text.length;
      this.gistParts = parts;
      this.gist.replaceChildren(shown(text.replace(/\s+/g, " ").replace(/[*_`#]/g, "")));
    }
    if (this.element.open) this.growing.follow(this.item.parts);
  }

  unfold(): void {
    this.opened.set(this.item.id, true);
    this.element.open = true;
    this.update();
  }
}

function drawPlan(target: HTMLElement, { entries }: Plan): void {
  const done = entries.filter((entry) => entry.status === "completed").length;
  target.setAttribute("aria-label", "Plan");
  const bar = el("progress", "plan-bar");
  bar.max = Math.max(1, entries.length);
  bar.value = done;
  bar.setAttribute("aria-label", "Progress of the plan");
  target.append(el("div", "plan-head", el("span", "", "Plan"), el("span", "faint", `${done} of ${entries.length}`)), bar);
  const list = el("ul", "plan-list");
  for (const entry of entries) {
    const status = entry.status ?? "pending";
    const box = el("span", "box");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", plain(status.replace("_", " ")));
    const line = el("li", "", box, el("span", "", shown(entry.content, "line")));
    line.dataset.status = status;
    list.append(line);
  }
  target.append(list);
}

const LONGEST_ABOUT = 160;

const STOPS: Record<string, string> = {
  cancelled: "Stopped by you",
  refusal: "The agent refused to continue",
  max_tokens: "Stopped: token limit reached",
  max_turn_requests: "Stopped: request limit reached",
};

function drawEnd(target: HTMLElement, end: End): void {
  if (end.error) {
    target.className = "end bad";
    target.append(el("p", "", "The turn failed: ", shown(end.error.message || "the agent gave no reason")));
    const words = end.error.data?.stderr;
    if (typeof words === "string" && words.includes("\n")) {
      const text = el("pre", "", shown(words.trim()));
      text.tabIndex = 0;
      target.append(el("details", "end-words", el("summary", "", "Last output of the agent"), text));
    }
    return;
  }
  const word = STOPS[end.stopReason ?? ""];
  const parts = [word ?? "", took(end), tokens(end), end.time ? hours(new Date(end.time)) : ""].filter(Boolean);
  target.classList.toggle("told", Boolean(word));
  target.append(el("span", "", parts.join(" · ") || "Done"));
}

function took(end: End): string {
  const seconds = end.started && end.time ? (end.time - end.started - (end.waited ?? 0)) / 1000 : 0;
  if (seconds < 1) return "";
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

function tokens(end: End): string {
  return end.usage?.totalTokens ? `${grouped(end.usage.totalTokens)} tokens` : "";
}

/** The command that would allow it, the key that does the same, and the one for its next try. */
export function remedyLine(remedy: string, mayRule: boolean, once = false): HTMLElement {
  const line = el("div", "remedy", el("code", "", shown(remedy, "exact line")), copyButton(() => remedy, "Copy", "Copy this command"));
  if (!mayRule) return line;
  const keys = [button("Allow in this project …", "small", () => null, "See the rule, then write it")];
  if (once) {
    keys.unshift(button("Allow next try …", "small", () => null, "See the whole action, then allow it once"));
    keys[0].dataset.once = "yes";
  }
  for (const key of keys) key.dataset.remedy = remedy;
  line.append(...keys);
  return line;
}

function drawNote(target: HTMLElement, note: Note, reader: Reader): void {
  target.append(el("strong", "", shown(note.title, "line")));
  const { text, remedy = "" } = note;
  if (text) target.append(" ", shown(remedy && text.endsWith(remedy) ? text.slice(0, -remedy.length) : text));
  if (remedy) target.append(remedyLine(remedy, Boolean(reader.mayRule), note.once));
}

/** A question and its answer in one line. While it is open, its card shows what it is about. */
function drawQuestion(target: HTMLElement, question: Question, reader: Reader): void {
  target.dataset.outcome = question.outcome ?? "open";
  const { verb, title, who } = answerWords(question, reader.by);
  const about = shortenPaths(title, reader);
  const words = el("span", "", el("strong", "verdict", verb));
  if (question.outcome !== undefined) words.append(": ", titled(about.length > LONGEST_ABOUT ? `${about.slice(0, LONGEST_ABOUT)}…` : about));
  if (who) words.append(el("span", "faint", shown(` (${who})`, "exact line")));
  words.title = plain(title, "exact line");
  target.append(iconNode("ask"), words);
}
