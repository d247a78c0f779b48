/** Puts the extension together: the hub, what shows it, and the commands. */

import * as vscode from "vscode";
import type { Asked, SessionInfo } from "../../../packages/hub/web/src/model/types";
import { HubAccess, setting } from "./access";
import { openChanges } from "./changes";
import { type Target, askStart, askTarget } from "./connecting";
import { SCHEME, TextDocuments } from "./documents";
import { HubModel } from "./hub";
import { pairPhone } from "./local_hub";
import { type Wish, decide, isPermission, pickQuestion } from "./questions";
import { newSession, pickSession, selectionPrompt } from "./sessions";
import { SessionsView, VIEW } from "./view";
import { Notices, StatusItem, WaitingList } from "./waiting";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const extension = new Extension(context);
  context.subscriptions.push(...extension.parts());
  if (setting("connectAtStart", true)) await extension.connectAgain();
}

class Extension {
  private log = vscode.window.createOutputChannel("Dragoman", { log: true });
  private access: HubAccess;
  private hub: HubModel;
  private view: SessionsView;
  private documents = new TextDocuments();
  private lastHealth = "";

  constructor(context: vscode.ExtensionContext) {
    this.access = new HubAccess(context.secrets);
    this.hub = new HubModel(String(context.extension.packageJSON.version));
    this.view = new SessionsView(this.hub, context.extensionUri);
  }

  parts(): vscode.Disposable[] {
    const show = (sessionId: string | null): void => void (sessionId ? this.view.revealSession(sessionId) : this.view.reveal("#/"));
    return [
      this.log,
      new WaitingList(this.hub),
      new StatusItem(this.hub),
      new Notices(this.hub, () => this.view.isVisible, show),
      this.hub.onChange(() => this.changed()),
      vscode.window.registerWebviewViewProvider(VIEW, this.view, { webviewOptions: { retainContextWhenHidden: true } }),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this.documents),
      vscode.workspace.onDidCloseTextDocument((document) => this.documents.forget(document.uri)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.view.reconnect()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("dragoman.hub.address") && this.access.origin !== this.hub.hubAddress) void this.connectAgain();
      }),
      ...this.commands(),
      this.hub,
    ];
  }

  private commands(): vscode.Disposable[] {
    const acts: Record<string, (argument?: unknown) => Promise<unknown>> = {
      connect: async () => this.connect(await askTarget(this.access)),
      startHub: async () => this.connect(await askStart(this.access)),
      disconnect: () => this.disconnect(),
      showView: () => this.view.reveal(this.hub.questions.length ? "#/" : ""),
      newSession: () => this.newSession(),
      openSession: () => this.openSession(),
      decide: (asked) => this.decide(asked, "either"),
      approve: (asked) => this.decide(asked, "allow"),
      deny: (asked) => this.decide(asked, "reject"),
      openChanges: (sessionId) => this.openChanges(sessionId),
      sendSelection: () => this.sendSelection(),
      stopTurn: () => this.stopTurn(),
      pairPhone: () => this.pairPhone(),
    };
    return Object.entries(acts).map(([name, act]) => vscode.commands.registerCommand(`dragoman.${name}`, async (argument?: unknown) => {
      try {
        return await act(argument);
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        this.log.error(`${name}: ${words}`);
        void vscode.window.showErrorMessage(`Dragoman: ${words}`);
        return undefined;
      }
    }));
  }

  /** With the token that is stored for the address; without one, nothing is connected. */
  async connectAgain(): Promise<void> {
    const { origin } = this.access;
    const token = origin ? await this.access.token(origin) : "";
    if (token) this.hub.connect(origin, token);
    else this.hub.disconnect();
    this.view.reconnect();
  }

  private async connect(target: Target | undefined): Promise<void> {
    if (!target) return;
    this.hub.connect(target.origin, target.token);
    await this.access.store(target.origin, target.token);
    this.view.reconnect();
    await this.view.reveal("");
  }

  private async disconnect(): Promise<void> {
    await this.access.forget();
    this.hub.disconnect();
    this.view.reconnect();
  }

  /** Health goes to the log, with the address and without a token; commands and menus look at contexts. */
  private changed(): void {
    const contexts = { connected: this.hub.isLive, hasToken: this.hub.hasToken, waiting: this.hub.questions.length > 0 };
    for (const [name, value] of Object.entries(contexts)) void vscode.commands.executeCommand("setContext", `dragoman.${name}`, value);
    const health = `${this.hub.hubAddress} ${this.hub.health} ${this.hub.reason}`.trim();
    if (health !== this.lastHealth) this.log.info(health);
    this.lastHealth = health;
  }

  private async newSession(): Promise<string | undefined> {
    this.need("prompt");
    const sessionId = await newSession(this.hub);
    if (sessionId) await this.view.revealSession(sessionId);
    return sessionId;
  }

  private async openSession(): Promise<void> {
    const session = await pickSession(this.hub, { title: "Choose a session to open" });
    if (session) await this.view.revealSession(session.sessionId);
  }

  private async decide(argument: unknown, wish: Wish): Promise<void> {
    const questions = wish === "either" ? this.hub.questions : this.hub.questions.filter(isPermission);
    const asked = questions.includes(argument as Asked) ? (argument as Asked) : await pickQuestion(questions);
    if (!asked) return void (questions.length || vscode.window.showInformationMessage("No open questions."));
    await decide(this.hub, this.documents, asked, wish, () => void this.view.revealSession(asked.sessionId));
  }

  private async openChanges(argument: unknown): Promise<void> {
    const isIdle = ({ state }: SessionInfo): boolean => state === "idle" || state === "failed" || state === "closed";
    const known = typeof argument === "string" ? this.hub.session(argument) : undefined;
    const session = known ?? (await pickSession(this.hub, { title: "Choose a session to see its last changes", fits: isIdle }));
    if (session) await openChanges(this.hub, this.documents, session);
  }

  private async sendSelection(): Promise<void> {
    this.need("prompt");
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.selection.isEmpty) return void vscode.window.showInformationMessage("No text is selected. Select some lines in an editor first.");
    const { document, selection } = editor;
    const session = await pickSession(this.hub, { title: "Choose a session for the selection", offerNew: true });
    if (session === undefined) return;
    const words = await vscode.window.showInputBox({ title: "What should the agent do with the selection?", prompt: "Sent with the selection, after the running turn", ignoreFocusOut: true });
    if (words === undefined) return;
    const prompt = selectionPrompt(words, document, selection);
    const sessionId = session?.sessionId ?? (await newSession(this.hub));
    if (!sessionId) return;
    await this.view.revealSession(sessionId);
    await this.hub.prompt(sessionId, prompt);
  }

  private async stopTurn(): Promise<void> {
    this.need("prompt");
    const isBusy = ({ state }: SessionInfo): boolean => state === "running" || state === "waiting";
    const busy = this.hub.sessions.filter(isBusy);
    const session = busy.length === 1 ? busy[0] : await pickSession(this.hub, { title: "Choose a turn to stop", fits: isBusy });
    if (session) this.hub.stopTurn(session.sessionId);
  }

  private async pairPhone(): Promise<void> {
    this.need("admin");
    pairPhone(this.hub.hubAddress, this.hub.hubToken);
  }

  private need(scope: "prompt" | "approve" | "admin"): void {
    if (!this.hub.isLive) throw new Error("Not connected to a hub. Run “Dragoman: Connect to a Hub…”.");
    if (!vscode.workspace.isTrusted) throw new Error("You don't trust this folder, so you can only watch.");
    if (!this.hub.may(scope)) throw new Error(`Your token lacks the scope “${scope}”. Create another token: “dragoman hub token add NAME --scope ${scope}”.`);
  }
}
