/**
 * The view in the side bar: the hub's page. Its scripts and styles are ours and carry a nonce; it reaches no network, sees no
 * token, and its wishes are taken from a short list.
 */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { type HostMessage, VIEW_COMMANDS, type ViewMessage } from "../protocol";
import { openFile } from "./files";
import type { HubModel } from "./hub";
import { ViewPipe } from "./pipe";
import { workspaceFolders } from "./sessions";

export const VIEW = "dragoman.sessions";

export class SessionsView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private pipe: ViewPipe | undefined;
  private isReady = false;
  private route = "";

  constructor(
    private hub: HubModel,
    private extension: vscode.Uri,
  ) {}

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    this.view = view;
    this.isReady = false;
    this.pipe = new ViewPipe({ open: () => this.hub.openSocket(), send: (message) => this.send(message), isTrusted: () => vscode.workspace.isTrusted });
    view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.extension, "dist"), vscode.Uri.joinPath(this.extension, "media")] };
    view.webview.onDidReceiveMessage((message: ViewMessage) => this.receive(message));
    view.onDidDispose(() => {
      this.pipe?.dispose();
      this.view = undefined;
    });
    view.webview.html = await this.html(view.webview);
  }

  /** Shows the view, and in it a session or the inbox. */
  async reveal(hash: string): Promise<void> {
    this.route = hash;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    if (this.isReady) this.sendRoute();
  }

  revealSession(sessionId: string): Promise<void> {
    return this.reveal(`#/s/${encodeURIComponent(sessionId)}`);
  }

  /** The hub, the token or the trust has changed. */
  reconnect(): void {
    this.pipe?.dispose();
    if (this.isReady) this.send({ kind: "reconnect" });
  }

  private send(message: HostMessage): void {
    void this.view?.webview.postMessage(message);
  }

  private sendRoute(): void {
    if (this.route) this.send({ kind: "route", hash: this.route });
    this.route = "";
  }

  private receive(message: ViewMessage): void {
    switch (message.kind) {
      case "ready":
        this.isReady = true;
        this.send({ kind: "folders", folders: workspaceFolders() });
        return this.sendRoute();
      case "command":
        if (!VIEW_COMMANDS.includes(message.command)) return;
        return void vscode.commands.executeCommand(`dragoman.${message.command}`, message.sessionId);
      case "file":
        return void this.openFile(message);
      case "save":
        return void save(message.name, message.text);
      default:
        this.pipe?.receive(message);
    }
  }

  private async openFile({ sessionId, path, line, request }: ViewMessage & { kind: "file" }): Promise<void> {
    const isOpen = await openFile(path, line, this.hub.session(sessionId)?.cwd ?? "");
    if (!isOpen) this.send({ kind: "absent", request });
  }

  private async html(webview: vscode.Webview): Promise<string> {
    const nonce = randomBytes(18).toString("base64url");
    const at = (...path: string[]): vscode.Uri => vscode.Uri.joinPath(this.extension, ...path);
    // In the document itself, because a session that is saved takes its styles along, which a page may not read of another origin.
    const style = new TextDecoder().decode(await vscode.workspace.fs.readFile(at("dist", "webview.css")));
    const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src ${webview.cspSource} data: blob:; media-src data: blob:; form-action 'none'; base-uri 'none'`;
    return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Dragoman</title>
    <style nonce="${nonce}">${style.replaceAll("</", "<\\/")}</style>
  </head>
  <body>
    <div id="page" data-icon="${webview.asWebviewUri(at("media", "icon.png"))}"></div>
    <script nonce="${nonce}" src="${webview.asWebviewUri(at("dist", "webview.js"))}"></script>
  </body>
</html>`;
  }
}

async function save(name: string, text: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const file = name.replace(/[\\/:]/g, "-");
  const uri = await vscode.window.showSaveDialog({ defaultUri: folder ? vscode.Uri.joinPath(folder, file) : undefined, filters: { HTML: ["html"] } });
  if (uri) await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
}
