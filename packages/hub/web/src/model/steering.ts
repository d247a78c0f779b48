/**
 * A message into a turn that runs. Agents differ: some take it into the turn, and the turn of any other is stopped
 * and begins again with it. The hub tells which way a session's agent has; nothing is tried to find it out.
 */

import type { Part } from "./items";
import type { ContentBlock } from "./types";

export type SteeringWay = "steering" | "inject" | "restart";
export type SteerOutcome = "delivered" | "queued" | "will restart";

export const OUTCOMES: Record<SteerOutcome, string> = {
  delivered: "delivered: the agent got this message during its turn",
  queued: "queued: runs after this turn",
  "will restart": "will restart: the turn stops and starts again with this message",
};

/** How the `messageId` begins that the hub gives to such a message; the key that the page gave follows. */
const STEERED = "steer-";
/** Between a prompt and what was said later, where both are sent as one: many agents join texts. */
const SEPARATOR: ContentBlock = { type: "text", text: "\n\n" };

export const DOUBT = "The connection broke before the agent confirmed this message. The agent may or may not have it.";

/** A prompt, or a message into a turn, that the hub is not known to have. */
export interface Sending {
  key: string;
  prompt: ContentBlock[];
  /** How it is given to the turn that ran when it was written; absent for a prompt. */
  way?: SteeringWay;
  /** The key of that turn. */
  turn?: string;
  /** The prompt of a turn that was stopped, which begins again with this. */
  base?: ContentBlock[];
  error?: string;
  /** Whether it was given to a connection: then the hub may have it, whatever became of the connection. */
  isTried?: boolean;
  /** Whether it is gone after a reload, because the browser's storage cannot take it. */
  isFleeting?: boolean;
}

/** Method and params that give the agent this message. */
export function steerCall(sessionId: string, { key, prompt, way }: Sending): [string, object] {
  const dragoman = { key };
  if (way === "inject") return ["session/inject", { sessionId, mode: "steer", content: prompt, _meta: { dragoman } }];
  const steering = { idleBehavior: "promptRequired" };
  return ["_session/steering", { sessionId, prompt, _meta: { steering, dragoman } }];
}

/** Whether the agent has the message; else it is still to be sent. */
export function isAccepted(way: SteeringWay | undefined, result: any): boolean { // as the agent answered it
  if (way === "inject") return typeof result?.messageId === "string";
  return result?.outcome === "injected" || result?.outcome === "startedNewTurn";
}

/** The key of a message into a turn, by the `messageId` that it has in the stream. */
export function steeredKey(messageId: string | undefined): string {
  return messageId?.startsWith(STEERED) ? messageId.slice(STEERED.length) : "";
}

/** What became of a message of the stream, if it was one into a turn. */
export function outcomeOf(update: any): SteerOutcome | undefined { // of somebody else, like all updates
  const outcome = update?._meta?.dragoman?.steering;
  return outcome === "delivered" || outcome === "queued" ? outcome : undefined;
}

/**
 * What a turn that was stopped begins again with, before what was said since. A slash command is not repeated, because
 * all that stands behind it would be its argument: the agent has it in its history.
 */
export function baseOf(prompt: ContentBlock[]): ContentBlock[] | undefined {
  return /^\/[\w:.-]+(?=\s|$)/.test(prompt[0]?.text ?? "") ? undefined : prompt;
}

export function joinPrompts(first: ContentBlock[], ...others: ContentBlock[][]): ContentBlock[] {
  return others.reduce((joined, prompt) => [...joined, SEPARATOR, ...prompt], first);
}

/** The content of a message that was read. */
export function blocksOf(parts: Part[]): ContentBlock[] {
  return parts.map((part) => ("block" in part ? part.block : { type: "text", text: part.text }));
}

/** What a person reads below a message that is on its way. */
export function sendingLabel({ error, way, isTried, isFleeting }: Sending, isConnected = true): string {
  if (error) return way ? error : `Not sent: ${error}`;
  if (!isConnected && isTried) return "Sent, but the hub has not confirmed it. The page sends it again when the network is back. It never runs twice.";
  if (!isConnected) return `Waiting for the network${isFleeting ? ". Too large to save: keep this page open." : ""}`;
  return way === "restart" ? OUTCOMES["will restart"] : way ? "Steering …" : "Sending …";
}
