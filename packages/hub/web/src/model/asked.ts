/** A request for permission: its options in the order of a form, its title, and how it was answered. */

import { commandOf, titleWith } from "../text/command";
import type { Question } from "./items";
import type { Asked, PermissionOption } from "./types";

const ORDER = ["allow_once", "allow_always", "reject_once", "reject_always"];

export function orderedOptions(options: PermissionOption[]): PermissionOption[] {
  const place = (option: PermissionOption): number => (ORDER.indexOf(option.kind) + 1) || 9;
  return [...options].sort((first, second) => place(first) - place(second));
}

const WORDS: Record<string, string> = { allow_once: "Allow once", allow_always: "Always allow", reject_once: "Reject", reject_always: "Always reject" };

/** What the agent calls an option; behind what it does, unless it begins with a word that says so. */
export function optionWords({ name, kind }: PermissionOption): string {
  const says = kind.startsWith("allow") ? /^(always )?(yes|allow|approve|accept|run|proceed)\b/i : /^(always )?(no|reject|deny|decline|refuse|do not|skip|cancel)\b/i;
  return says.test(name) || !WORDS[kind] ? name : `${WORDS[kind]}: ${name}`;
}

/** What the agent calls it, with its command as a person reads it. */
export function titleOf({ params }: Pick<Asked, "params">): string {
  const title = String(params.toolCall?.title || params.message || "The agent asks for permission");
  return titleWith(title, commandOf(params.toolCall?.rawInput));
}

/** Who wants to do what, in the hub's words; in the agent's if the hub says nothing. */
export function headingOf(asked: Asked): string {
  const { act } = asked;
  return act ? `${act.agent || "The agent"} wants to ${act.deed}${act.tool ? ` (${act.tool})` : ""}` : titleOf(asked);
}

/** What that is done with: the command, or the files that it changes or names. */
export function subjectOf({ act }: Asked): string {
  return act?.command || [...new Set([...(act?.changes ?? []), ...(act?.places ?? [])].map(({ path }) => path))].join(", ");
}

const VERBS: Record<string, string> = {
  allow_once: "Allowed", allow_always: "Always allowed", reject_once: "Refused", reject_always: "Always refused",
  accept: "Answered", decline: "Declined", cancel: "Dismissed",
};
const OUTCOMES: Record<string, string> = { cancelled: "Cancelled", expired: "No answer in time", agent_gone: "Not answered: the agent stopped" };

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
