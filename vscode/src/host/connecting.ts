/** The questions before a connection: which hub, and with which token. */

import * as vscode from "vscode";
import { type HubAccess, isSafe, parseAddress } from "./access";
import { localHub, makeToken, program, startHub } from "./local_hub";

export interface Target {
  origin: string;
  token: string;
}

/** Where to connect to; undefined if somebody thought better of it. */
export async function askTarget(access: HubAccess): Promise<Target | undefined> {
  const isTrusted = vscode.workspace.isTrusted;
  const local = isTrusted ? await localHub().catch(() => "") : ""; // without the program there is still the other way
  const items = [
    ...(local ? [{ label: "$(vm) The hub of this machine", description: local, way: "local" as const }] : []),
    { label: "$(globe) Another hub…", description: "enter its address and a token", way: "other" as const },
    ...(isTrusted && !local ? [{ label: "$(play) Start a local hub…", description: `${program()} hub`, way: "start" as const }] : []),
  ];
  const choice = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: "Connect to a hub" });
  if (!choice) return undefined;
  if (choice.way === "start") return askStart(access);
  return choice.way === "local" ? askLocalToken(access, local) : askOther(access);
}

/** Starts a hub after a question, and a token for it is made. */
export async function askStart(access: HubAccess): Promise<Target | undefined> {
  const running = await localHub();
  if (running) return askLocalToken(access, running);
  const words = `Run “${program()} hub” in a terminal?`;
  const detail = "The hub keeps your sessions and runs your agents, only on this machine (127.0.0.1). It ends when you close its terminal. To keep it running, use “dragoman hub install”.";
  if ((await vscode.window.showInformationMessage(words, { modal: true, detail }, "Start")) !== "Start") return undefined;
  const origin = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: "Starting the hub …" }, () => startHub());
  return askLocalToken(access, origin);
}

async function askLocalToken(access: HubAccess, origin: string): Promise<Target | undefined> {
  const known = await access.token(origin);
  const items = [
    ...(known ? [{ label: "$(key) Use the stored token", way: "known" as const }] : []),
    { label: "$(add) Create a token for this editor", description: `${program()} hub token add`, way: "make" as const },
    { label: "$(edit) Type a token", way: "type" as const },
  ];
  const choice = await vscode.window.showQuickPick(items, { title: `Choose a token for ${origin}` });
  if (!choice) return undefined;
  const token = choice.way === "known" ? known : choice.way === "make" ? await makeToken() : await askToken(origin);
  return token ? { origin, token } : undefined;
}

async function askOther(access: HubAccess): Promise<Target | undefined> {
  const text = await vscode.window.showInputBox({
    title: "Enter the address of the hub",
    value: access.origin,
    prompt: "https://hub.example/, or the link that “dragoman hub --link” prints",
    ignoreFocusOut: true,
    validateInput: (value) => (parseAddress(value) ? null : "This is not an address. Use http://127.0.0.1:8765/ or https://…"),
  });
  const address = text === undefined ? null : parseAddress(text);
  if (!address || !(await isAccepted(address.origin))) return undefined;
  const token = address.token || (await askToken(address.origin));
  return token ? { origin: address.origin, token } : undefined;
}

/** A token in clear text over a network is everybody's. */
async function isAccepted(origin: string): Promise<boolean> {
  if (isSafe(origin)) return true;
  const detail = `${origin} is on another machine and does not use TLS, so anybody on the network can read your token and use it. To see safe ways: “dragoman hub reach”.`;
  return (await vscode.window.showWarningMessage("Send the token in clear text?", { modal: true, detail }, "Send it")) === "Send it";
}

async function askToken(origin: string): Promise<string> {
  const token = await vscode.window.showInputBox({
    title: `Enter a token for ${origin}`,
    prompt: "Create a token on the hub's machine: “dragoman hub token add NAME”. VS Code keeps it in its secret storage.",
    password: true,
    ignoreFocusOut: true,
  });
  return token?.trim() ?? "";
}
