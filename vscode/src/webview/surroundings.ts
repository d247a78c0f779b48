/** What the page finds in a view of VS Code: a way to the hub through the extension host, a state in place of an address bar. */

import { html } from "lit";
import { remember } from "../../../packages/hub/web/src/model/memory";
import { plain } from "../../../packages/hub/web/src/text/reveal";
import type { App } from "../../../packages/hub/web/src/model/app";
import { surroundings } from "../../../packages/hub/web/src/surroundings";
import type { HostMessage, ViewCommand, ViewMessage } from "../protocol";
import { HostDoor } from "./host_door";
import { followTheme } from "./theme";

interface Kept {
  hash?: string;
  memory?: Record<string, string>;
}

declare function acquireVsCodeApi(): { postMessage(message: ViewMessage): void; getState(): Kept | undefined; setState(state: Kept): void };

const vscode = acquireVsCodeApi();
const kept: Kept = vscode.getState() ?? {};
const memory = new Map(Object.entries(kept.memory ?? {}));
const follow: (() => void)[] = [];
const otherwise = new Map<number, () => void>();
let requests = 0;
let page: App | null = null;

const door = new HostDoor((message) => vscode.postMessage(message));

function keep(): void {
  kept.memory = Object.fromEntries(memory);
  vscode.setState(kept);
}

function go(hash: string): void {
  kept.hash = hash;
  keep();
  for (const act of follow) act();
}

function run(command: ViewCommand, sessionId?: string): void {
  vscode.postMessage({ kind: "command", command, sessionId });
}

Object.assign(surroundings, {
  client: { name: "dragoman-vscode-view", title: "Dragoman in VS Code", version: "1" },
  icon: document.getElementById("page")!.dataset.icon ?? "",
  isEmbedded: true,
  door,
  route: { hash: () => kept.hash ?? "", go, onChange: (act: () => void) => void follow.push(act) },
  storage: {
    getItem: (name: string) => memory.get(name) ?? null,
    setItem: (name: string, value: string) => {
      memory.set(name, value);
      keep();
    },
    removeItem: (name: string) => {
      memory.delete(name);
      keep();
    },
  },
  signIn: (app: App) => {
    page = app;
    return html`<main class="sign-in"><div class="connect">
      <img src=${surroundings.icon} alt="" width="64" height="64" />
      <h1>Dragoman</h1>
      <p>${plain(app.why) || "Connect to a hub to see your sessions and open questions."}</p>
      <button type="button" class="choice allow_once" @click=${() => run("connect")}>Connect to a hub</button>
      <button type="button" class="choice" @click=${() => run("startHub")}>Start a local hub</button>
    </div></main>`;
  },
  openFile: (sessionId: string, { path, line }: { path: string; line: number }, show: () => void) => {
    const request = requests++;
    otherwise.set(request, show);
    vscode.postMessage({ kind: "file", sessionId, path, line, request });
  },
  sessionActs: (sessionId: string): [string, () => void][] => [["Open the changes as differences", () => run("openChanges", sessionId)]],
  saveFile: (file: Blob, name: string) => void file.text().then((text) => vscode.postMessage({ kind: "save", name, text })),
} satisfies Partial<typeof surroundings>);

window.addEventListener("message", ({ data }: MessageEvent<HostMessage>) => {
  switch (data.kind) {
    case "route":
      return go(data.hash);
    case "folders":
      return data.folders.length ? remember("folders", JSON.stringify(data.folders)) : undefined;
    case "absent":
      otherwise.get(data.request)?.();
      return void otherwise.delete(data.request);
    case "reconnect":
      return page ? restart(page) : door.closeAll("you chose another hub");
    default:
      door.receive(data);
  }
});

/** After a refusal nothing is tried again until somebody has connected. */
function restart(app: App): void {
  door.closeAll("you chose another hub");
  app.connection.stop();
  app.connection.start();
}

// VS Code follows links of a view itself, and knows none that only changes what is shown.
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest?.("a[href^='#/']");
  if (!link) return;
  event.preventDefault();
  event.stopPropagation();
  go(link.getAttribute("href")!);
});

followTheme();
// When the page is there, and can be told where to go.
window.addEventListener("load", () => vscode.postMessage({ kind: "ready" }));
