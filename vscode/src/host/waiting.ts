/** What waits for a person, where VS Code shows such things: a list with a badge, the status bar, notifications. */

import * as vscode from "vscode";
import { plain } from "../../../packages/hub/web/src/text/reveal";
import type { Asked, SessionInfo } from "../../../packages/hub/web/src/model/types";
import { setting } from "./access";
import type { HubModel } from "./hub";
import { isPermission, labelOf, originOf } from "./questions";
import { nameOfSession } from "./sessions";

/** Several questions that come at once are one notification. */
const GATHER_MS = 300;

function count(waiting: number): string {
  return waiting === 1 ? "1 open question" : `${waiting} open questions`;
}

/** The list above the sessions; it is there while something waits, and its badge counts on the activity bar. */
export class WaitingList implements vscode.TreeDataProvider<Asked>, vscode.Disposable {
  private change = new vscode.EventEmitter<void>();
  private tree: vscode.TreeView<Asked>;
  private subscription: vscode.Disposable;
  readonly onDidChangeTreeData = this.change.event;

  constructor(private hub: HubModel) {
    this.tree = vscode.window.createTreeView("dragoman.waiting", { treeDataProvider: this });
    this.subscription = hub.onChange(() => this.update());
  }

  private update(): void {
    const waiting = this.hub.questions.length;
    this.tree.badge = waiting ? { value: waiting, tooltip: count(waiting) } : undefined;
    this.change.fire();
  }

  getChildren(parent?: Asked): Asked[] {
    return parent ? [] : this.hub.questions;
  }

  getTreeItem(asked: Asked): vscode.TreeItem {
    const item = new vscode.TreeItem(labelOf(asked));
    item.id = `${asked.sessionId} ${asked.request}`;
    item.description = originOf(asked);
    item.tooltip = `${labelOf(asked)}\n${originOf(asked)}`;
    item.contextValue = isPermission(asked) ? "permission" : "form";
    item.iconPath = new vscode.ThemeIcon(isPermission(asked) ? "question" : "comment");
    item.command = { command: "dragoman.decide", title: "Decide", arguments: [asked] };
    return item;
  }

  dispose(): void {
    this.subscription.dispose();
    this.tree.dispose();
    this.change.dispose();
  }
}

/** How the hub is, in a few letters, and the way to what waits. */
export class StatusItem implements vscode.Disposable {
  private item = vscode.window.createStatusBarItem("dragoman.status", vscode.StatusBarAlignment.Left, 10);
  private subscription: vscode.Disposable;

  constructor(private hub: HubModel) {
    this.item.name = "Dragoman";
    this.subscription = hub.onChange(() => this.update());
    this.update();
    this.item.show();
  }

  private update(): void {
    const { hub, item } = this;
    const waiting = hub.questions.length;
    const running = hub.sessions.filter((session) => session.state === "running").length;
    if (!hub.hasToken) this.set("$(plug) Dragoman", "Connect to a hub", "dragoman.connect");
    else if (hub.health === "refused") this.set("$(error) Dragoman", `The hub refused: ${hub.reason}`, "dragoman.connect");
    else if (!hub.isLive) this.set("$(debug-disconnect) Dragoman", `Not connected to ${hub.hubAddress}: ${hub.reason || "connecting"}`, "dragoman.showView");
    else if (waiting) this.set(`$(bell-dot) ${waiting}`, count(waiting), "dragoman.decide");
    else this.set(running ? `$(loading~spin) ${running}` : "$(comment-discussion)", running ? `${running} running on ${hub.hubAddress}` : `Connected to ${hub.hubAddress}; no open questions`, "dragoman.showView");
    item.backgroundColor = waiting && hub.isLive ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }

  private set(text: string, tooltip: string, command: string): void {
    const words = plain(tooltip, "line");
    Object.assign(this.item, { text, tooltip: `Dragoman: ${words}`, command, accessibilityInformation: { label: `Dragoman: ${words}` } });
  }

  dispose(): void {
    this.subscription.dispose();
    this.item.dispose();
  }
}

/** Notifications, each with a way to what it tells. `isVisible` says whether somebody looks at the view already. */
export class Notices implements vscode.Disposable {
  private gathered: Asked[] = [];
  private timer: NodeJS.Timeout | undefined;
  private subscriptions: vscode.Disposable[];

  constructor(
    private hub: HubModel,
    private isVisible: () => boolean,
    private show: (sessionId: string | null) => void,
  ) {
    this.subscriptions = [hub.onQuestion((asked) => this.gather(asked)), hub.onTurnEnd((session) => this.turnEnded(session))];
  }

  private isWanted(): boolean {
    const when = setting<string>("notifications", "whenHidden");
    return when === "always" || (when === "whenHidden" && !this.isVisible());
  }

  private gather(asked: Asked): void {
    this.gathered.push(asked);
    this.timer ??= setTimeout(() => this.tell(), GATHER_MS);
  }

  private tell(): void {
    this.timer = undefined;
    const open = this.gathered.filter((asked) => this.hub.isOpen(asked));
    this.gathered = [];
    if (!open.length || !this.isWanted()) return;
    const sessions = new Set(open.map((asked) => asked.sessionId));
    const words = open.length === 1 ? `${labelOf(open[0])} (${originOf(open[0])})` : count(open.length);
    void this.notify(words, sessions.size === 1 ? open[0].sessionId : null);
  }

  private turnEnded(session: SessionInfo): void {
    if (!setting("notifyTurnEnds", false) || !this.isWanted()) return;
    const words = session.state === "failed" ? "A turn has failed" : "The agent has finished";
    void this.notify(`${words}: ${nameOfSession(session)}`, session.sessionId);
  }

  private async notify(words: string, sessionId: string | null): Promise<void> {
    if ((await vscode.window.showInformationMessage(words, "Show")) === "Show") this.show(sessionId);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}
