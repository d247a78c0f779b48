/** A tool call: its kind, state and places in a line, and below it what it does, live: output, diffs, what went in. */

import type { Tool } from "../model/items";
import type { ToolCall, ToolContent } from "../model/types";
import { commandOf, cwdOf, scriptOf, titleWith } from "../text/command";
import { diffLines, hunksOf } from "../text/diff";
import { type Viewpoint, shortPath, shortenPaths } from "../text/places";
import { type Mode, plain } from "../text/reveal";
import { blockView } from "./blocks";
import { diffTable, tally } from "./diff";
import { blameLink, el, fileLink, lastPart, shown, titled, unfolding } from "./dom";
import { iconNode } from "./icons";
import { layoutFor } from "./layout";
import { TerminalView } from "./terminal";

const STATES: Record<string, string> = {
  asking: "waiting for you",
  pending: "starting",
  in_progress: "running",
  completed: "done",
  failed: "failed",
};

export class ToolView {
  readonly element = el("details", "tool");
  private summary = el("summary");
  private body = el("div", "tool-body");
  private terminals = new Map<string, TerminalView>();
  private drawn: unknown = null;
  private drawnPlaces: unknown = null;

  constructor(private tool: Tool, private opened: Map<number, boolean>, private viewpoint: Viewpoint) {
    this.element.append(this.summary, this.body);
    this.element.open = opened.get(tool.id) ?? this.wanted();
    this.element.addEventListener("toggle", () => {
      if (this.element.open !== this.wanted()) opened.set(tool.id, this.element.open);
      else opened.delete(tool.id);
      if (this.element.open) this.fill();
    });
    this.update();
  }

  /** Changes and failures are what people look for; finished reading and searching is noise. */
  private wanted(): boolean {
    const { call, output } = this.tool;
    if (this.tool.asking > 0) return false; // the card that asks shows it
    if (call.status === "failed") return true;
    if (call.content?.some((part) => part.type === "diff")) return true;
    return this.state() === "in_progress" && (output.size > 0 || (call.kind === "execute" && hasDetails(call)));
  }

  /** Many agents never say that a call runs: one that prints does. */
  private state(): string {
    const { call, output, stopped, asking } = this.tool;
    const finished = call.status === "completed" || call.status === "failed";
    if (stopped && !finished) return "stopped";
    if (asking > 0 && !finished) return "asking";
    const status = call.status ?? "pending";
    const prints = output.size > 0 || call.content?.some((part) => part.type === "terminal" || call.kind === "execute");
    return status === "pending" && prints ? "in_progress" : status;
  }

  update(): void {
    const { call } = this.tool;
    const state = this.state();
    this.element.dataset.state = state;
    const whole = call.title || call.name || "Tool call";
    const title = el("span", "tool-title", titled(shortenPaths(titleWith(whole, commandOf(call.rawInput)), this.viewpoint)));
    title.title = plain(whole, "exact line");
    const word = el("span", "tool-state", shown(STATES[state] ?? state, "line"));
    this.summary.replaceChildren(el("span", "tool-icon", iconNode(call.kind ?? "other")), title, ...places(call), word);
    if (!this.opened.has(this.tool.id)) this.element.open = this.wanted();
    if (this.element.open) this.fill();
  }

  unfold(): void {
    this.opened.set(this.tool.id, true);
    this.element.open = true;
    this.fill();
  }

  private fill(): void {
    const { call, output, exit } = this.tool;
    // Content is replaced as a whole by updates; only then is it drawn again. Terminals just grow.
    if (this.drawn !== call.content || this.drawnPlaces !== call.locations || !this.body.childNodes.length) this.redraw();
    this.drawn = call.content;
    this.drawnPlaces = call.locations;
    for (const [name, text] of output) this.terminal(name).set(text);
    for (const [name, how] of exit) this.terminal(name).element.dataset.exit = plain(how);
  }

  private terminal(name: string): TerminalView {
    let view = this.terminals.get(name);
    if (!view) {
      view = new TerminalView();
      this.terminals.set(name, view);
    }
    if (!view.element.isConnected && view.element.parentNode !== this.body) this.body.append(view.element);
    return view;
  }

  private redraw(): void {
    const { call } = this.tool;
    const parts = toolParts(call, this.viewpoint, (name, text) => {
      const view = this.terminal(name);
      view.set(text);
      return view.element;
    });
    const places = placeRow((call.locations ?? []).slice(0, MOST_PLACES), this.viewpoint);
    const [place] = call.locations ?? [];
    // Some agents say which file they change, and not how.
    if (place && call.kind === "edit" && !call.content?.some((part) => part.type === "diff")) places?.append(blameLink(place.path));
    this.body.replaceChildren(...(places ? [places] : []), ...parts);
  }
}

const MOST_PLACES = 40;

type Draw = (name: string, text: string) => HTMLElement;

/** Everything that a call shows. */
export function toolParts(call: ToolCall, viewpoint: Viewpoint, terminal: Draw = plainTerminal): Node[] {
  const parts: Node[] = [];
  const command = commandOf(call.rawInput);
  if (command) parts.push(commandView(command, cwdOf(call.rawInput), viewpoint));
  (call.content ?? []).forEach((part, at) => parts.push(contentView(part, call, at, viewpoint, terminal)));
  const printed = outputOf(call.rawOutput);
  if (!call.content?.length && printed) parts.push(terminal("raw", printed));
  if (!command && !call.content?.length && call.rawInput !== undefined) parts.push(jsonView("Input", call.rawInput, "exact"));
  if (!printed && call.rawOutput !== undefined && !call.content?.length) parts.push(jsonView("Output", call.rawOutput, "text"));
  if (!parts.length) parts.push(el("p", "faint", "The agent gave no details."));
  return parts;
}

function hasDetails(call: ToolCall): boolean {
  return Boolean(call.content?.length) || call.rawInput !== undefined || call.rawOutput !== undefined;
}

function contentView(part: ToolContent, call: ToolCall, at: number, viewpoint: Viewpoint, terminal: Draw): Node {
  if (part.type === "diff") return fileDiff(part.path ?? "", part.oldText ?? "", part.newText ?? "", part.oldText == null, viewpoint);
  if (part.type === "terminal") return terminal(part.terminalId ?? "", "");
  const block = part.content;
  if (!block) return el("span");
  const text = block.type === "text" ? (block.text ?? "") : null;
  // Programs write columns and colours; prose is for everything else.
  if (text !== null && (call.kind === "execute" || text.includes("\u001b["))) return terminal(`content-${at}`, unfenced(text));
  return blockView(block);
}

function plainTerminal(_name: string, text: string): HTMLElement {
  const view = new TerminalView();
  view.set(text);
  return view.element;
}

/** Some agents wrap what a program printed into a fence. */
function unfenced(text: string): string {
  const found = /^\s*```[\w-]*\n([\s\S]*?)\n?```\s*$/.exec(text);
  return found ? found[1] : text;
}

export function fileDiff(path: string, before: string, after: string, fresh: boolean, viewpoint: Viewpoint): HTMLElement {
  const hunks = hunksOf(diffLines(before, after));
  const name = fileLink(path, 0, "path", shown(shortPath(path, viewpoint), "exact line"));
  const head = el("div", "file-head", iconNode(fresh ? "new" : "edit"), name, tally(hunks), blameLink(path));
  const made = el("div", "file", head);
  if (!hunks.length) made.append(el("p", "faint", "No differences."));
  for (const hunk of hunks) made.append(diffTable(hunk, layoutFor(hunk)));
  return made;
}

/** The whole command, once: a script without the quotes around it, under the shell that runs it and the folder, if that is another one. */
export function commandView(command: string, cwd: string, viewpoint: Viewpoint): HTMLElement {
  const { shell, script } = scriptOf(command);
  const made = el("pre", "command", el("span", "prompt", "$ "), shown(script, "exact"));
  made.tabIndex = 0;
  const elsewhere = cwd && cwd !== viewpoint.cwd ? `in ${shortPath(cwd, viewpoint)}` : "";
  const around = [elsewhere, shell].filter(Boolean).join(" · ");
  if (around) made.prepend(el("span", "faint", shown(around, "exact line"), "\n"));
  return made;
}

function outputOf(output: unknown): string {
  if (typeof output === "string") return output;
  if (typeof output !== "object" || output === null) return "";
  const { output: text, stdout, stderr, formatted_output: formatted } = output as Record<string, unknown>;
  const found = text ?? formatted ?? stdout;
  if (typeof found !== "string") return "";
  return typeof stderr === "string" && stderr && found === stdout ? `${found}${stderr}` : found;
}

export function jsonView(label: string, value: unknown, mode: Mode): HTMLElement {
  const pre = el("pre", "json");
  pre.tabIndex = 0;
  unfolding(pre, typeof value === "string" ? value : JSON.stringify(value, null, 2), mode);
  return el("div", "labelled", el("div", "label", shown(label, "exact line")), pre);
}

function places(call: ToolCall): HTMLElement[] {
  return (call.locations ?? []).slice(0, 4).map((place) => {
    const line = Number(place.line) || 0;
    // A button in a summary is one in another, which nobody could reach with keys: those have the row below.
    const made = el("span", "chip", shown(lastPart(place.path) + (line ? `:${line}` : ""), "exact line"));
    made.title = plain(place.path, "exact line");
    made.dataset.file = place.path;
    if (line) made.dataset.line = String(line);
    return made;
  });
}

/** The same places as buttons, whole. */
export function placeRow(places: { path: string; line?: number | null; isOutside?: boolean }[], viewpoint: Viewpoint): HTMLElement | null {
  const links = places.map((place) => {
    const line = Number(place.line) || 0;
    const words = shortPath(place.path, viewpoint) + (line ? `:${line}` : "") + (place.isOutside ? " (outside the session's folder)" : "");
    return fileLink(place.path, line, "link", shown(words, "exact line"));
  });
  return links.length ? el("div", "places", ...links) : null;
}
