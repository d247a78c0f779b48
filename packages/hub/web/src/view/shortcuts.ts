/** The list of keyboard shortcuts: loaded when somebody wants to see it. */

import { dialog } from "./dialogs";
import { el } from "./dom";

export const KEYS: [string, string][] = [
  ["?", "show this list"],
  [",", "settings"],
  ["Ctrl K", "commands, sessions and agents"],
  ["/ or Ctrl Shift F", "search all sessions"],
  ["n", "new session"],
  ["b, i, g", "board, inbox, agents"],
  ["j, k", "next, previous session"],
  ["h, l", "next, previous column of the board"],
  ["Enter, Shift Enter", "open the chosen session, open it beside the open one"],
  ["s", "open another session beside this one"],
  ["o", "open a file of this session"],
  ["Shift A", "answer the chosen session's question; Enter confirms"],
  ["m", "write a message"],
  ["a", "go to the next question"],
  ["1 … 9", "choose an answer of the focused question"],
  ["c", "review changes of the last turn"],
  ["Home, End", "go to the start, to the end of the conversation"],
  ["Enter", "send, or queue during a turn; Shift Enter adds a line"],
  ["Ctrl Enter", "send to the running turn"],
  ["/ at the start", "commands of the agent"],
  ["@", "files of the session"],
  ["Ctrl .", "stop the turn"],
  ["Escape", "close, or leave the field"],
];

export function help(): void {
  const list = el("dl", "keys");
  for (const [key, what] of KEYS) list.append(el("dt", "", el("kbd", "", key)), el("dd", "", what));
  dialog("Keyboard shortcuts", list);
}
