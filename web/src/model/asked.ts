/** A request for permission: all that its agent has told about the call, its options in the order of a form, its title. */

import type { Rpc } from "../wire/rpc";
import { commandOf, titleWith } from "../text/command";
import { Fold } from "./fold";
import type { Question } from "./items";
import type { Asked, Message, PermissionOption, ToolCall } from "./types";

/** Whether the request names a call and says nothing else about it. */
export function isBare(call: ToolCall): boolean {
  return !call.content?.length && call.rawInput === undefined && Boolean(call.toolCallId);
}

/** Many agents announce a call first and ask with its name alone: what they announced stands in the history. */
export async function wholeCall(rpc: Rpc, asked: Asked): Promise<ToolCall> {
  const call: ToolCall = asked.params.toolCall ?? {};
  if (!isBare(call)) return call;
  const page = await rpc.call<{ messages: { message: Message }[] }>("_dragoman/hub/history", { sessionId: asked.sessionId, limit: 200 }).catch(() => null);
  const fold = new Fold(asked.sessionId);
  for (const { message } of page?.messages ?? []) fold.apply(message, "");
  const known = fold.tools.get(call.toolCallId)?.call;
  return known ? { ...known, ...call, content: known.content, rawInput: known.rawInput } : call;
}

const ORDER = ["allow_once", "allow_always", "reject_once", "reject_always"];

export function orderedOptions(options: PermissionOption[]): PermissionOption[] {
  const place = (option: PermissionOption): number => (ORDER.indexOf(option.kind) + 1) || 9;
  return [...options].sort((first, second) => place(first) - place(second));
}

/** What is asked, with its command as a person reads it; with `words`, those stand in the place of the command. */
export function titleOf({ params }: Pick<Asked, "params">, words?: string): string {
  const title = String(params.toolCall?.title || params.message || "The agent asks for permission");
  return titleWith(title, commandOf(params.toolCall?.rawInput), words);
}

const VERBS: Record<string, string> = {
  allow_once: "Allowed", allow_always: "Always allowed", reject_once: "Refused", reject_always: "Always refused",
  accept: "Answered", decline: "Declined", cancel: "Dismissed",
};
const OUTCOMES: Record<string, string> = { cancelled: "Withdrawn", expired: "No answer in time", agent_gone: "Not answered, because the agent ended" };

/** A question and its answer: what was decided, about what, and by whom; `me` is the name under which this page answers. */
export function answerWords({ asked, outcome, by, result }: Question, me: string): { verb: string; title: string; who: string } {
  const title = titleOf(asked);
  if (outcome === undefined) return { verb: "Waiting for an answer", title, who: "" };
  const options: PermissionOption[] = Array.isArray(asked.params.options) ? asked.params.options : [];
  const chosen = options.find(({ optionId }) => optionId === result?.outcome?.optionId);
  // Of several options of one kind, the kind does not tell which.
  const isAmbiguous = options.filter(({ kind }) => kind === chosen?.kind).length > 1;
  const verb = VERBS[chosen?.kind ?? result?.action] ?? OUTCOMES[outcome] ?? (chosen ? "Answered" : "Settled");
  const whoever = by === "policy" ? "by your rules" : by === "hub" ? "by the hub" : by && by === me ? "by you" : by ? `by “${by}”` : "";
  return { verb, title, who: [chosen && isAmbiguous ? `“${chosen.name}”` : "", whoever].filter(Boolean).join(", ") };
}
