/** A request for permission: all that its agent has told about the call, its options in the order of a form, its title. */

import type { Rpc } from "../wire/rpc";
import { Fold } from "./fold";
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

export function titleOf(asked: Asked): string {
  return String(asked.params.toolCall?.title ?? asked.params.message ?? "An agent asks");
}
