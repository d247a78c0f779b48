/**
 * The hub as the extension host sees it: the page's own model (`packages/hub/web/src/model/app.ts`) without a page. It is connected as long as
 * there is a token, tells what changes, and does what commands ask for. A folder that is not trusted can only watch.
 */

import * as vscode from "vscode";
import { App } from "../../../packages/hub/web/src/model/app";
import { uniqueName } from "../../../packages/hub/web/src/model/memory";
import type { AgentInfo, Asked, ContentBlock, FileChange, SessionInfo } from "../../../packages/hub/web/src/model/types";
import { surroundings } from "../../../packages/hub/web/src/surroundings";
import { Connection } from "../../../packages/hub/web/src/wire/connection";
import { type HubSocket, Refused, TicketDoor } from "../../../packages/hub/web/src/wire/door";
import { Gone } from "../../../packages/hub/web/src/wire/rpc";

export interface TurnChanges {
  files: FileChange[];
  others: FileChange[];
  notes: string[];
}

/** Changes are told at most so often: a turn that streams changes its session many times a second. */
const PAUSE_MS = 50;

export class HubModel implements vscode.Disposable {
  private address = "";
  private token = "";
  private door = new TicketDoor(() => this.address, () => this.token);
  private change = new vscode.EventEmitter<void>();
  private question = new vscode.EventEmitter<Asked>();
  private end = new vscode.EventEmitter<SessionInfo>();
  private pending: NodeJS.Timeout | undefined;
  private lastWords = "";
  private app: App;
  readonly onChange = this.change.event;
  readonly onQuestion = this.question.event;
  readonly onTurnEnd = this.end.event;

  constructor(version: string) {
    surroundings.client = { name: "dragoman-vscode", title: "Dragoman for VS Code", version };
    this.app = new App(
      () => this.changed(),
      (asked) => this.question.fire(asked),
      (session) => this.end.fire(session),
      () => {},
    );
    this.app.connection = new Connection(this.door, this.app);
    this.app.health = "refused";
  }

  /** Connects with another token, or to another hub; what was known of the one before is forgotten. */
  connect(address: string, token: string): void {
    this.app.signOut();
    this.address = address;
    this.token = token;
    this.app.signIn(token);
  }

  disconnect(): void {
    this.address = "";
    this.token = "";
    this.app.signOut();
  }

  /** A socket of its own for the view. The token stays here. */
  async openSocket(): Promise<HubSocket> {
    if (!this.hasToken) throw new Refused("");
    return this.door.open();
  }

  get hasToken(): boolean {
    return this.token !== "";
  }

  get isLive(): boolean {
    return this.app.health === "live";
  }

  get health(): App["health"] {
    return this.app.health;
  }

  /** Why it is not connected, in the hub's or the system's words. */
  get reason(): string {
    return this.app.why;
  }

  get hubAddress(): string {
    return this.address;
  }

  get hubToken(): string {
    return this.token;
  }

  get rpc(): App["rpc"] {
    return this.app.rpc;
  }

  get questions(): Asked[] {
    return [...this.app.inbox.values()];
  }

  get sessions(): SessionInfo[] {
    return [...this.app.sessions.values()].sort((first, second) => (second.updatedAt ?? "").localeCompare(first.updatedAt ?? ""));
  }

  get agents(): AgentInfo[] {
    return this.app.agents;
  }

  get defaultAgent(): string {
    return this.app.defaultAgent;
  }

  session(sessionId: string): SessionInfo | undefined {
    return this.app.sessions.get(sessionId);
  }

  may(scope: "prompt" | "approve" | "admin"): boolean {
    return this.isLive && vscode.workspace.isTrusted && this.app.may(scope);
  }

  isOpen(asked: Asked): boolean {
    return this.questions.some((other) => other.sessionId === asked.sessionId && other.request === asked.request);
  }

  /** False when somebody else was faster, or the answer was not taken; the status bar says which. */
  answer(asked: Asked, optionId: string): Promise<boolean> {
    return this.app.answer(asked, { outcome: { outcome: "selected", optionId } });
  }

  async newSession(cwd: string, agent: string): Promise<string> {
    const meta = { dragoman: { agent, key: uniqueName() } };
    const answer = await this.again(() => this.rpc.call<{ sessionId: string }>("session/new", { cwd, mcpServers: [], _meta: meta }));
    return answer.sessionId;
  }

  /** Ends with the turn. A prompt has a key: should the connection break, it is sent again and never run twice. */
  async prompt(sessionId: string, prompt: ContentBlock[]): Promise<void> {
    const meta = { dragoman: { key: uniqueName() } };
    await this.again(() => this.rpc.call("session/prompt", { sessionId, prompt, _meta: meta }));
  }

  stopTurn(sessionId: string): void {
    this.rpc.notify("session/cancel", { sessionId });
  }

  async changes(sessionId: string): Promise<TurnChanges> {
    const answer = await this.rpc.call<Partial<TurnChanges>>("_dragoman/hub/changes", { sessionId });
    return { files: answer.files ?? [], others: answer.others ?? [], notes: answer.notes ?? [] };
  }

  /** Of a call that can be repeated: it is, on the next connection, if this one is lost meanwhile. */
  private async again<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof Gone) || !this.hasToken) throw error;
        await this.live();
      }
    }
  }

  /** Until the hub is there again. Rejects when it is left for good. */
  private live(): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!this.isLive && this.hasToken && this.health !== "refused") return;
        listener.dispose();
        if (this.isLive) resolve();
        else reject(new Gone("you disconnected before the hub answered"));
      };
      const listener = this.onChange(look);
      look();
    });
  }

  private changed(): void {
    if (this.app?.said && this.app.said !== this.lastWords) vscode.window.setStatusBarMessage(`Dragoman: ${this.app.said}`, 6000);
    this.lastWords = this.app?.said ?? "";
    this.pending ??= setTimeout(() => {
      this.pending = undefined;
      this.change.fire();
    }, PAUSE_MS);
  }

  dispose(): void {
    this.disconnect();
    this.change.fire(); // whoever waits for the hub waits no more
    clearTimeout(this.pending);
    for (const emitter of [this.change, this.question, this.end]) emitter.dispose();
  }
}
