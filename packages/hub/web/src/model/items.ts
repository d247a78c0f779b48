/** What a conversation looks like: a list of items that only ever grows, each of which may still change. */

import type { SteerOutcome } from "./steering";
import type { Asked, ContentBlock, PlanEntry, ToolCall, ToolContent } from "./types";

interface Common {
  id: number;
  /** Grows with every change: whoever drew revision 3 has to draw again at 4. */
  revision: number;
  cursor: string;
  time?: number;
}

/** The number of the entry in the hub's journal that a message was told by; NaN for what was told without. */
export function entryOf(cursor: string): number {
  return Number.parseInt(cursor, 10);
}

export type Part = { text: string } | { block: ContentBlock };

export interface Speech extends Common {
  kind: "user" | "agent" | "thought";
  parts: Part[];
  messageId?: string;
  key?: string;
  by?: string;
  /** What became of a message into a running turn. */
  outcome?: SteerOutcome;
}
export interface Tool extends Common {
  kind: "tool";
  call: ToolCall;
  /** Output of terminals that came with updates, by terminal. */
  output: Map<string, string>;
  exit: Map<string, string>;
  /** Made of an update alone: the call itself stands in a page of history that is not here yet. */
  stub: boolean;
  stopped: boolean;
  /** How many open questions are about it: each of their cards shows what the call would do. */
  asking: number;
}
export interface Plan extends Common {
  kind: "plan";
  entries: PlanEntry[];
}
export interface End extends Common {
  kind: "end";
  stopReason?: string;
  error?: { code?: number; message: string; data?: { stderr?: unknown } };
  usage?: { totalTokens?: number; inputTokens?: number; outputTokens?: number } | null;
  started?: number;
  /** Milliseconds in which the turn did nothing but wait for a person. */
  waited?: number;
}
export interface Note extends Common {
  kind: "note";
  tone: "info" | "warn" | "bad";
  title: string;
  text: string;
  /** The kind of update that this page has no face for, and how many of it came in a row. */
  unknown?: { kind: string; count: number };
  /** The command that would allow what was denied. */
  remedy?: string;
  /** Whether its next try could be allowed when it was denied. */
  once?: boolean;
  /** The child session that this is about, as its agent last described it. */
  subagent?: { title: string; state: string; stopReason: string };
  /** A message between this session and another one. */
  message?: { isOwn: boolean; other: string };
}
export interface Question extends Common {
  kind: "question";
  asked: Asked;
  outcome?: string;
  by?: string;
  result?: any; // the answer, in the shape of its method
}
export type Item = Speech | Tool | Plan | End | Note | Question;

/** One line for updates that this page does not know: they are named, and never fill the screen. */
export function nameUnknown(note: Note): void {
  const { kind, count } = note.unknown!;
  note.title = `This page can't show ${count === 1 ? "an update" : `${count} updates`} from the agent:`;
  note.text = kind;
}

const ENDS: Record<string, string> = { cancelled: "cancelled", error: "failed", refusal: "refused" };

/** How a subagent stands, in a word or two. */
export function standingOf(state: string, stopReason: string): string {
  if (state === "requires_action") return "waiting for an answer";
  if (state === "idle") return ENDS[stopReason] ?? "done";
  return state.replaceAll("_", " ") || "started";
}

export function nameSubagent(note: Note): void {
  const { title, state, stopReason } = note.subagent!;
  note.title = title ? `Subagent ${title}` : "Subagent";
  note.text = standingOf(state, stopReason);
}

/** Whoever is no subagent of this session is the one that it works for. */
export function nameMessage(note: Note, subagents: Map<string, Note>): void {
  const { isOwn, other } = note.message!;
  const child = subagents.get(other);
  const name = child ? child.subagent!.title || "a subagent" : "the main agent";
  note.title = `Message ${isOwn ? "to" : "from"} ${name}`;
}

export function textOf(parts: Part[]): string {
  return parts.map((part) => ("text" in part ? part.text : "")).join("");
}

export function promptText(blocks: ContentBlock[]): string {
  return blocks.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
}

/** What somebody gets who copies an item: the text as it was sent, without our words around it. */
export function textOfItem(item: Item): string {
  switch (item.kind) {
    case "tool":
      return [item.call.title ?? item.call.name ?? "", ...(item.call.content ?? []).map(textOfContent), ...item.output.values()].filter(Boolean).join("\n");
    case "plan":
      return item.entries.map(({ content, status }) => `- [${status === "completed" ? "x" : " "}] ${content}`).join("\n");
    case "note":
      return [item.title, item.text].filter(Boolean).join(" ");
    case "question":
      return String(item.asked.params.toolCall?.title ?? item.asked.params.message ?? "");
    case "end":
      return item.error?.message ?? "";
    default:
      return textOf(item.parts);
  }
}

function textOfContent(part: ToolContent): string {
  if (part.type === "diff") return `${part.path ?? ""}\n${part.newText ?? ""}`;
  return part.content?.text ?? "";
}
