/**
 * The view for a browser: the extension host runs here, with a fake editor and the real hub that its environment names, and its
 * view is served as a page. Messages of the view come as requests, and go to it as server-sent events. Ends with its standard input.
 */

import { readFile } from "node:fs/promises";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { join, normalize } from "node:path";
import type { AddressInfo } from "node:net";
import { activate } from "../src/host/extension";
import type { ViewMessage } from "../src/protocol";
import { EventEmitter, Uri, commands, extensionContext, grantTrust, set, shown, workspace } from "./fake_vscode";

const { DRAGOMAN_EXTENSION: folder = "", DRAGOMAN_HUB: hub = "", DRAGOMAN_TOKEN: token = "", DRAGOMAN_WORK: work = "" } = process.env;
const TYPES: Record<string, string> = { js: "text/javascript", png: "image/png", svg: "image/svg+xml" };
const received = new EventEmitter<ViewMessage>();
let events: ServerResponse | undefined;
const view = {
  visible: true,
  onDidDispose: () => {},
  webview: {
    options: {}, html: "", cspSource: "'self'",
    asWebviewUri: (uri: Uri) => uri.path.replace(folder, ""),
    onDidReceiveMessage: received.event,
    postMessage: async (message: unknown) => void events?.write(`data: ${JSON.stringify(message)}\n\n`),
  },
};

async function body(request: IncomingMessage): Promise<any> {
  let text = "";
  for await (const piece of request) text += piece;
  return text ? JSON.parse(text) : {};
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  const json = (value: unknown): void => void response.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
  if (path === "/") {
    await shown.providers.get("dragoman.sessions")!.resolveWebviewView(view);
    // The one exception to the policy of the view: the way to here, which in an editor is no network.
    return void response.setHeader("Content-Type", "text/html").end(view.webview.html.replace("default-src 'none'", "default-src 'none'; connect-src 'self'"));
  }
  if (path === "/events") {
    events = response.setHeader("Content-Type", "text/event-stream");
    return response.flushHeaders();
  }
  if (path === "/message") received.fire(await body(request));
  else if (path === "/shown") return json({ ...shown, contexts: Object.fromEntries(shown.contexts), providers: [] });
  else if (path === "/run") {
    const { command, argument } = await body(request);
    void commands.executeCommand(`dragoman.${command}`, argument);
  } else if (path === "/trust") {
    const { isTrusted } = await body(request);
    workspace.isTrusted = isTrusted;
    if (isTrusted) grantTrust();
  } else return serveFile(path, response);
  json({});
}

async function serveFile(path: string, response: ServerResponse): Promise<void> {
  try {
    const bytes = await readFile(join(folder, normalize(path)));
    response.setHeader("Content-Type", TYPES[path.split(".").pop() ?? ""] ?? "text/plain").end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}

const secrets = new Map(token ? [[`token ${hub}`, token]] : []);
set("dragoman.hub.address", hub);
workspace.workspaceFolders = [{ uri: Uri.file(work) }];
const context = extensionContext(secrets, folder);
await activate(context as never);
const server = createServer((request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
process.stdin.resume().on("end", () => {
  for (const part of context.subscriptions) part.dispose();
  server.close();
  server.closeAllConnections();
});
