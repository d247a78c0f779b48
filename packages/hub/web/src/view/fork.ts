/** Going on from before a message in a new folder, with the same or another agent. */

import type { App } from "../model/app";
import { successors } from "../model/beginning";
import type { Conversation } from "../model/conversation";
import type { Speech } from "../model/items";
import { plain } from "../text/reveal";
import { dialog } from "./dialogs";
import { el, shown } from "./dom";

interface Fork {
  sessionId: string;
  folder: string;
  branch: string;
  left: string[];
}

export function showFork(app: App, open: Conversation, { key, cursor }: Speech, go: (sessionId: string) => void): void {
  const own = open.info?.agent ?? "";
  const agent = el("select");
  agent.id = "fork-agent";
  for (const name of [own, ...successors(app, open.info).map((other) => other.name)]) agent.append(new Option(plain(name, "exact line"), name));
  const label = el("label", "", "Agent");
  label.htmlFor = agent.id;
  const fault = el("p", "fault");
  fault.setAttribute("role", "alert");
  const start = el("button", "choice allow_once", "Fork");
  start.type = "submit";
  const form = el(
    "form",
    "form fork",
    el("p", "", "A new session begins with the files and the conversation as they were before this message, in a folder of its own: in a git repository a worktree on a new branch, else a copy."),
    el("p", "faint", "This session, its folder and your checkout stay as they are."),
    el("div", "field", label, agent),
    fault,
    el("div", "card-actions", start),
  );
  const opened = dialog("Fork into a new folder", form);

  /** The fork is there, whether the other agent takes over or not. */
  const succeeded = async (made: Fork): Promise<void> => {
    const other = agent.value;
    let session = made.sessionId;
    let words = `You are in ${plain(made.folder, "exact line")}${made.branch ? `, on the new branch ${plain(made.branch, "exact line")}` : ""}.`;
    if (made.left.length) words += ` ${made.left.length} ${made.left.length === 1 ? "file is" : "files are"} not there, because Dragoman does not keep their content.`;
    if (other !== own)
      await app.rpc.call<{ sessionId: string }>("_dragoman/hub/handover", { sessionId: session, agent: other }).then(
        (handed) => (session = handed.sessionId),
        (error: Error) => (words += ` ${plain(other)} could not take over: ${error.message}`),
      );
    opened.close();
    go(session);
    app.say(words);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start.disabled = true;
    fault.replaceChildren();
    app.rpc.call<Fork>("_dragoman/hub/fork", { sessionId: open.id, key, before: cursor }).then(succeeded, (error: Error) => {
      start.disabled = false;
      fault.replaceChildren(shown(error.message));
    });
  });
}
