/**
 * Who wrote the lines of a session's file: at the left of each range its author, who leads to the message that they were
 * written after. Loaded when it is opened first. What agents and files say stays text.
 */

import type { App } from "../model/app";
import { shortPath } from "../text/places";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { button, el, grouped, shown } from "./dom";
import { LINES_IN_PIECE, coloursOf, fileFault, lastName, lineView } from "./file";
import { drawLater } from "./later";

interface Range {
  first: number;
  last: number;
  by: "agent" | "command" | "person" | "unknown";
  sessionId?: string;
  turn?: number;
  cursor?: string;
  prompt?: string;
  agent?: string;
  model?: string;
  answer?: string;
  answeredBy?: string;
  isHidden?: boolean;
}

interface BlameAnswer {
  path: string;
  text: string;
  isCovered: boolean;
  isCut: boolean;
  ranges: Range[];
}

export type GoToTurn = (sessionId: string, cursor: string) => void;

export async function showBlame(app: App, sessionId: string, path: string, go: GoToTurn): Promise<void> {
  const body = el("div", "file-view", el("div", "skeleton", el("i"), el("i"), el("i")));
  const opened = dialog(`Who wrote ${lastName(path)}`, body);
  opened.classList.add("wide", "tall");
  try {
    const answer = await app.rpc.call<BlameAnswer>("_dragoman/hub/blame", { sessionId, path });
    if (opened.open) draw(app, body, answer, sessionId, go);
  } catch (error) {
    body.replaceChildren(fileFault(path, error));
  }
}

function draw(app: App, body: HTMLElement, answer: BlameAnswer, sessionId: string, go: GoToTurn): void {
  const texts = answer.text.replace(/\n$/, "").split("\n");
  const notes: HTMLElement[] = [];
  const note = (words: string): unknown => notes.push(el("p", "faint file-note", words));
  if (answer.isCovered) note("Possible secrets are hidden.");
  if (answer.isCut) note("The record of these sessions is very long, and not all of it was read: more lines are unknown.");
  const lines = el("div", "file-lines blame-lines");
  lines.tabIndex = 0;
  lines.setAttribute("role", "region");
  lines.setAttribute("aria-label", `Lines and authors of ${plain(lastName(answer.path), "exact line")}`);
  lines.style.setProperty("--digits", String(String(texts.length).length));
  const path = el("span", "path", shown(shortPath(answer.path, { cwd: app.sessions.get(sessionId)?.cwd ?? "", home: app.home }), "exact line"));
  path.title = plain(answer.path, "exact line");
  const head = el("div", "file-head", path, el("span", "faint", shareOf(answer.ranges)));
  body.replaceChildren(head, ...notes, lines);
  if (!answer.ranges.length) lines.append(el("p", "faint file-note", "The file is empty."));
  const coloured = coloursOf(answer.path, texts);
  answer.ranges.forEach((range, at) => {
    const size = range.last - range.first + 1;
    const made = el("div", `blame-range by-${range.by}`);
    made.style.setProperty("--lines", String(size));
    const fill = (): void => made.append(authorView(range, sessionId, go), textView(range, coloured));
    if (at < RANGES_AT_ONCE) fill();
    else drawLater(made, fill);
    lines.append(made);
  });
  lines.focus();
}

/** More than a screen has. */
const RANGES_AT_ONCE = 60;

function textView({ first, last }: Range, coloured: Node[]): HTMLElement {
  const made = el("div", "blame-text");
  for (let from = first; from <= last; from += LINES_IN_PIECE) {
    const piece = el("div", "file-piece");
    const size = Math.min(LINES_IN_PIECE, last - from + 1);
    piece.style.setProperty("--lines", String(size));
    const fill = (): void => piece.append(...Array.from({ length: size }, (_, row) => lineView(from + row, coloured[from + row - 1], 0)));
    if (from === first) fill();
    else drawLater(piece, fill);
    made.append(piece);
  }
  return made;
}

function authorView(range: Range, sessionId: string, go: GoToTurn): HTMLElement {
  const [who, ...more] = wordsOf(range, sessionId);
  const words = el("span", "blame-words", el("strong", "", shown(who, "exact line")), ...more.flatMap((each) => [" · ", shown(each, "exact line")]));
  const made = range.cursor && range.sessionId ? button("", "blame-who", () => go(range.sessionId!, range.cursor!)) : el("div", "blame-who");
  made.title = [who, ...more].map((each) => plain(each, "exact line")).join(" · ");
  made.append(words);
  return made;
}

/** Who, and what else is known, the most telling first. */
function wordsOf({ by, isHidden, sessionId: own, turn, agent, prompt, model, answer, answeredBy }: Range, sessionId: string): string[] {
  const name = { agent: agent || "An agent", command: "A command", person: "A person", unknown: "Unknown" }[by];
  if (isHidden) return [by === "agent" ? "An agent" : name, "in another session"];
  if (!own) return [name];
  const place = `turn ${turn}${own === sessionId ? "" : " of another session"}`;
  const known = by === "command" && agent ? `of ${agent}` : by === "unknown" ? "nobody said who wrote this" : "";
  const approval = answer && (answeredBy ? `${answer}, by ${answeredBy}` : answer);
  return [name, place, prompt, known, model, approval].filter((words): words is string => Boolean(words));
}

/** "12 by agents · 3 by people", in lines. */
function shareOf(ranges: Range[]): string {
  const counts = { agent: 0, command: 0, person: 0, unknown: 0 };
  for (const { by, first, last } of ranges) counts[by] += last - first + 1;
  const words = { agent: "by agents", command: "by commands", person: "by people", unknown: "unknown" };
  return (Object.keys(counts) as Range["by"][]).filter((by) => counts[by]).map((by) => `${grouped(counts[by])} ${words[by]}`).join(" · ");
}
