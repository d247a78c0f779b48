/**
 * What waits for a person, with the command or the change in an editor and the answers in a list above it. The list goes when
 * somebody else has answered. Forms are answered in the view.
 */

import * as vscode from "vscode";
import { headingOf, optionWords, orderedOptions, subjectOf, titleOf } from "../../../packages/hub/web/src/model/asked";
import type { Asked, PermissionOption, ToolCall } from "../../../packages/hub/web/src/model/types";
import { commandOf, cwdOf } from "../../../packages/hub/web/src/text/command";
import { plain } from "../../../packages/hub/web/src/text/reveal";
import { type TextDocuments, showDifferences } from "./documents";
import type { HubModel } from "./hub";

export type Wish = "allow" | "reject" | "either";

export function isPermission(asked: Asked): boolean {
  return asked.method === "session/request_permission";
}

export function labelOf(asked: Asked): string {
  const label = plain([headingOf(asked), subjectOf(asked)].filter(Boolean).join(": "), "exact line");
  return label.length > 120 ? `${label.slice(0, 119)}…` : label;
}

export function originOf(asked: Asked): string {
  return plain([asked.requester, asked.title || "Untitled session", asked.agent].filter(Boolean).join(" · "), "line");
}

/** Which of several is meant; the only one without asking. */
export async function pickQuestion(questions: Asked[]): Promise<Asked | undefined> {
  if (questions.length <= 1) return questions[0];
  const items = questions.map((asked) => ({ label: labelOf(asked), description: originOf(asked), asked }));
  return (await vscode.window.showQuickPick(items, { title: "Open questions" }))?.asked;
}

/** Shows what is asked, and takes the answer. `showInView` is for what cannot be answered here. */
export async function decide(hub: HubModel, documents: TextDocuments, asked: Asked, wish: Wish, showInView: () => void): Promise<void> {
  if (!isPermission(asked) || !hub.may("approve")) return showInView();
  const call: ToolCall = asked.params.toolCall ?? {};
  await showCall(documents, asked, call);
  const option = await chooseOption(hub, asked, call, wish);
  if (option === "view") showInView();
  else if (option) await hub.answer(asked, option.optionId);
}

async function showCall(documents: TextDocuments, asked: Asked, call: ToolCall): Promise<void> {
  const announced = (call.content ?? []).filter((part) => part.type === "diff").map(({ path = "", oldText, newText }) => ({ path, old: oldText ?? "", new: newText }));
  const changes = asked.act ? (asked.act.changes ?? []).filter((change) => change.new !== undefined) : announced;
  const pairs = changes.map((change) => ({ before: documents.add(change.path, change.old ?? ""), after: documents.add(change.path, change.new ?? "") }));
  if (pairs.length) return showDifferences(`Open question: ${labelOf(asked)}`, pairs);
  const uri = documents.add(commandIn(asked, call) ? "Open question.sh" : "Open question.txt", describe(asked, call));
  await vscode.window.showTextDocument(uri, { preview: true, preserveFocus: true });
}

/** All of it as a text: nothing is cut, and characters that hide are shown by name. */
export function describe(asked: Asked, call: ToolCall): string {
  const command = commandIn(asked, call);
  const cwd = asked.act?.folder ?? cwdOf(call.rawInput);
  const comments = [headingOf(asked), asked.act ? `title from the agent: “${titleOf(asked)}”` : "", originOf(asked), cwd ? `in ${cwd}` : "", ...judged(asked), ...risksOf(asked)].filter(Boolean);
  const body = command || texts(call) || (call.rawInput === undefined ? "The agent gave no details." : JSON.stringify(call.rawInput, null, 2));
  return [...comments.map((line) => `# ${plain(line, "exact line")}`), "", ...body.split("\n").map((line) => plain(line, "exact line")), ""].join("\n");
}

/** The command that was judged; a hub that does not say it has judged the request as it stands. */
function commandIn({ act }: Asked, call: ToolCall): string {
  return act ? act.command ?? "" : commandOf(call.rawInput);
}

function texts(call: ToolCall): string {
  return (call.content ?? []).map((part) => part.content?.text ?? "").filter(Boolean).join("\n\n");
}

/** What the hub has judged beside the command and the texts. */
function judged({ act }: Asked): string[] {
  if (!act) return [];
  const changes = (act.changes ?? []).filter((change) => change.new === undefined && change.patch === undefined);
  return [
    ...(act.variables ?? []).map((variable) => `with ${variable}`),
    ...(act.places ?? []).map(({ path, isOutside }) => `${path}${isOutside ? " (outside the session)" : ""}`),
    ...changes.map(({ path }) => `the new content of ${path} is unknown`),
    ...(act.input ?? []).map(({ name, text }) => `${name || "input"}: ${text}`),
    ...(act.unknownTexts ?? []).map((text) => `further text: ${text}`),
    ...(act.doubts ?? []).map((doubt) => `caution: ${doubt}`),
    act.always ?? "",
  ];
}

function risksOf(asked: Asked): string[] {
  const risks = (asked.risks ?? []).map((risk) => `${risk.severity ?? "note"}: ${risk.text ?? risk.rule ?? ""}`);
  return asked.risksNote ? [...risks, asked.risksNote] : risks;
}

interface Choice extends vscode.QuickPickItem {
  option?: PermissionOption;
}

function chooseOption(hub: HubModel, asked: Asked, call: ToolCall, wish: Wish): Promise<PermissionOption | "view" | undefined> {
  const options = orderedOptions(Array.isArray(asked.params.options) ? asked.params.options : []);
  const fitting = options.filter((option) => wish === "either" || String(option.kind).startsWith(wish));
  const pick = vscode.window.createQuickPick<Choice>();
  pick.title = labelOf(asked);
  pick.placeholder = plain([...risksOf(asked).slice(0, 1), commandIn(asked, call) || originOf(asked)].join(" — "), "exact line");
  pick.ignoreFocusOut = true; // the change is there to be looked at meanwhile
  pick.items = [
    ...fitting.map((option) => ({ label: `$(${String(option.kind).startsWith("allow") ? "check" : "close"}) ${plain(optionWords(option), "exact line")}`, detail: option.kind === "allow_always" ? plain(asked.act?.always ?? "", "exact line") : undefined, option })),
    { label: "$(comment-discussion) Show the session" },
  ];
  return new Promise((resolve) => {
    const listener = hub.onChange(() => {
      if (hub.isOpen(asked)) return;
      vscode.window.setStatusBarMessage("Dragoman: this question is closed. It was answered elsewhere, or its turn has ended.", 6000);
      pick.hide();
    });
    pick.onDidAccept(() => {
      const [choice] = pick.selectedItems;
      if (choice) resolve(choice.option ?? "view");
      pick.hide();
    });
    pick.onDidHide(() => {
      listener.dispose();
      pick.dispose();
      resolve(undefined);
    });
    pick.show();
  });
}
