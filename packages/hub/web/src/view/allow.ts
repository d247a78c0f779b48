/** The rule that would allow what the hub denied: shown before it is written, and taken back with one key. */

import type { App } from "../model/app";
import { dialog } from "./dialogs";
import { button, el, shown } from "./dom";
import { remedyLine } from "./items";

interface RulePreview {
  rule: string;
  covers: string;
  file: string;
  isKept: boolean;
}

export function showAllow(app: App, sessionId: string, remedy: string): void {
  const named = { sessionId, remedy };
  const body = el("div", "rewind allow", el("p", "faint", "Reading the rule …"));
  const opened = dialog("Allow in this project", body);
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
    app.rpc.call<{ isKept: boolean }>(`_dragoman/hub/policy/${method}`, { ...named, ...params }).then(
      ({ isKept }) => {
        if (isKept) app.onAllowed(sessionId, remedy);
        return look();
      },
    ).catch((error) => look().catch(() => null).then(() => fail(error)));
  };

  function draw({ rule, covers, file, isKept }: RulePreview): void {
    if (!rule) {
      body.replaceChildren(el("p", "", "The hub no longer knows this action. You can still run the command on the hub's machine:"), remedyLine(remedy, false));
      return;
    }
    const words = el("p", "", isKept ? "Allowed from now on: " : "This rule allows ", shown(covers, "exact line"));
    if (isKept) words.setAttribute("role", "status");
    const text = el("pre", "output", shown(rule.trim(), "exact"));
    text.tabIndex = 0;
    text.setAttribute("aria-label", "The rule");
    const where = el("p", "faint", isKept ? "It is in " : "It goes into ", shown(file, "exact line"), " on the hub's machine, and counts at once.");
    const acts = isKept
      ? [button("Take back", "choice", () => change("undo", {})), button("Done", "choice allow_once", () => opened.close())]
      : [button("Write this rule", "choice allow_once", () => change("allow", { rule }))];
    body.replaceChildren(words, text, where, el("div", "card-actions", ...acts));
    body.querySelector<HTMLElement>(".choice.allow_once")?.focus();
  }

  look().catch((error) => {
    body.replaceChildren();
    fail(error);
  });
}
