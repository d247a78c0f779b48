/**
 * The rule that would allow what the hub denied: shown before it is written, and taken back with one key. Or the whole
 * action, whose next try is allowed: the hub gets back by which identity it was shown.
 */

import type { App } from "../model/app";
import type { ShownAct } from "../model/types";
import { actParts } from "./act";
import { dialog } from "./dialogs";
import { button, el, shown } from "./dom";
import { remedyLine } from "./items";

interface RulePreview {
  rule: string;
  covers: string;
  file: string;
  isKept: boolean;
  /** Missing if the hub could not recognize the next try. */
  act?: ShownAct;
  identity?: string;
}

export function showAllow(app: App, sessionId: string, remedy: string, once: boolean): void {
  const named = { sessionId, remedy };
  const body = el("div", "rewind allow", el("p", "faint", once ? "Reading the action …" : "Reading the rule …"));
  const opened = dialog(once ? "Allow next try" : "Allow in this project", body);
  opened.classList.add("commit");

  const fail = (error: unknown): void => {
    const fault = el("div", "fault", shown(error instanceof Error ? error.message : String(error)));
    fault.setAttribute("role", "alert");
    body.querySelector(".fault")?.remove();
    body.prepend(fault);
  };
  const look = (): Promise<void> => app.rpc.call<RulePreview>("_dragoman/hub/policy/preview", named).then(draw);
  const change = (method: "allow" | "undo", params: object): void => {
    for (const made of body.querySelectorAll("button")) made.disabled = true;
    app.rpc.call<{ isKept?: boolean; isOnce?: boolean }>(`_dragoman/hub/policy/${method}`, { ...named, ...params }).then(
      ({ isKept, isOnce }) => {
        if (isKept || isOnce) app.onAllowed(sessionId, remedy);
        return isOnce ? drawAllowed() : look();
      },
    ).catch((error) => look().catch(() => null).then(() => fail(error)));
  };

  function drawAllowed(): void {
    const words = el("p", "", "Allowed once. The agent is told with your next prompt, and may try again until that turn ends.");
    words.setAttribute("role", "status");
    fill([words], button("Done", "choice allow_once", () => opened.close()));
  }

  function fill(nodes: Node[], ...keys: HTMLElement[]): void {
    body.replaceChildren(...nodes, el("div", "card-actions", ...keys));
    body.querySelector<HTMLElement>(".choice.allow_once")?.focus();
  }

  function draw({ rule, covers, file, isKept, act, identity }: RulePreview): void {
    if (once && act && identity) {
      const words = el("p", "", "The agent may do this once, until its next turn ends. Nothing happens before the agent tries again.");
      fill([words, ...actParts(act, app.readerOf(sessionId))], button("Allow next try", "choice allow_once", () => change("allow", { once, identity })));
      return;
    }
    if (!rule) {
      body.replaceChildren(el("p", "", "The hub no longer knows this action. You can still run the command on the hub's machine:"), remedyLine(remedy, false));
      return;
    }
    const gone = once ? [el("p", "", "The hub can no longer recognize the next try. You can allow this with a rule:")] : [];
    const words = el("p", "", isKept ? "Allowed from now on: " : "This rule allows ", shown(covers, "exact line"));
    if (isKept) words.setAttribute("role", "status");
    const text = el("pre", "output", shown(rule.trim(), "exact"));
    text.tabIndex = 0;
    text.setAttribute("aria-label", "The rule");
    const where = el("p", "faint", isKept ? "It is in " : "It goes into ", shown(file, "exact line"), " on the hub's machine, and counts at once.");
    const acts = isKept
      ? [button("Take back", "choice", () => change("undo", {})), button("Done", "choice allow_once", () => opened.close())]
      : [button("Write this rule", "choice allow_once", () => change("allow", { rule }))];
    fill([...gone, words, text, where], ...acts);
  }

  look().catch((error) => {
    body.replaceChildren();
    fail(error);
  });
}
