/** Sessions: choosing one, starting one in a folder of the workspace, and what a selection becomes as a prompt. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { ContentBlock, SessionInfo } from "../../../packages/hub/web/src/model/types";
import { plain } from "../../../packages/hub/web/src/text/reveal";
import type { HubModel } from "./hub";

/** A longer selection is named and not copied: the agent reads the file. */
const LONGEST = 100_000;
const STATES: Record<string, string> = { running: "$(loading~spin)", waiting: "$(question)", failed: "$(error)", idle: "$(circle-outline)", closed: "$(circle-slash)", archived: "$(archive)" };

export function nameOfSession(session: SessionInfo): string {
  return plain(session.title || "Untitled session", "line");
}

/** Folders of the workspace that an agent could work in: those on a disk. */
export function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file").map((folder) => folder.uri.fsPath);
}

/** Sessions of this workspace come first. Undefined if nothing was chosen; `null` stands for a new one. */
export async function pickSession(hub: HubModel, options: { title: string; fits?: (session: SessionInfo) => boolean; offerNew?: boolean }): Promise<SessionInfo | null | undefined> {
  const folders = workspaceFolders();
  const isHere = (session: SessionInfo): boolean => folders.includes(session.cwd);
  const sessions = hub.sessions.filter((session) => options.fits?.(session) ?? session.state !== "archived");
  if (!sessions.length && !options.offerNew) {
    void vscode.window.showInformationMessage("No session fits this command.");
    return undefined;
  }
  const items = [...sessions.filter(isHere), ...sessions.filter((session) => !isHere(session))].map((session) => ({
    label: `${STATES[session.state] ?? ""} ${nameOfSession(session)}`,
    description: plain(session.agent, "line"),
    detail: isHere(session) ? undefined : plain(session.cwd, "exact line"),
    session: session as SessionInfo | null,
  }));
  if (options.offerNew) items.unshift({ label: "$(add) New session", description: "", detail: undefined, session: null });
  return (await vscode.window.showQuickPick(items, { title: options.title, matchOnDescription: true, matchOnDetail: true }))?.session;
}

/** The id of a session that was made; undefined if somebody thought better of it. */
export async function newSession(hub: HubModel): Promise<string | undefined> {
  const cwd = await pickFolder();
  const agent = cwd && (await pickAgent(hub));
  if (!cwd || !agent) return undefined;
  return vscode.window.withProgress({ location: { viewId: "dragoman.sessions" }, title: "New session" }, () => hub.newSession(cwd, agent));
}

async function pickFolder(): Promise<string | undefined> {
  const folders = workspaceFolders();
  if (folders.length > 1) return vscode.window.showQuickPick(folders, { title: "Choose a folder for the new session" });
  if (!folders.length) void vscode.window.showWarningMessage("A session needs a folder on the hub's machine. Open such a folder, or start the session in the view and choose another folder there.");
  return folders[0];
}

async function pickAgent(hub: HubModel): Promise<string | undefined> {
  if (hub.agents.length <= 1) return hub.agents[0]?.name ?? hub.defaultAgent;
  const isDefault = (name: string): boolean => name === hub.defaultAgent;
  const agents = [...hub.agents].sort((first, second) => Number(isDefault(second.name)) - Number(isDefault(first.name)));
  const items = agents.map((agent) => ({ label: plain(agent.title || agent.name, "line"), description: plain(agent.description ?? "", "line"), name: agent.name }));
  return (await vscode.window.showQuickPick(items, { title: "Choose an agent for the new session" }))?.name;
}

/** What somebody says about a selection: their words, the lines, and a link to the file, which every agent takes. */
export function selectionPrompt(words: string, document: vscode.TextDocument, selection: vscode.Range): ContentBlock[] {
  const [first, last] = [selection.start.line + 1, selection.end.line + 1];
  const place = `${vscode.workspace.asRelativePath(document.uri)}:${first}${last > first ? `-${last}` : ""}`;
  const text = document.getText(selection);
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const quoted = text.length > LONGEST ? `${place} (too long to copy)` : `${place}\n\n${fence}${document.languageId}\n${text.replace(/\n?$/, "\n")}${fence}`;
  const link = { type: "resource_link", uri: document.uri.toString(), name: basename(document.uri.path), description: `lines ${first} to ${last}` };
  const said: ContentBlock = { type: "text", text: words ? `${words}\n\n${quoted}` : quoted };
  return document.uri.scheme === "file" ? [said, link] : [said];
}
