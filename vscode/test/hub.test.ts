/** The extension as VS Code would run it, with a real hub at the other end: connect, prompt, decide, stop, changes, a killed hub. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";
import type { HostMessage, ViewMessage } from "../src/protocol";
import { activate } from "../src/host/extension";
import { EventEmitter, Range, Uri, commands, extensionContext, grantTrust, person, registered, set, shown, textOf, window, workspace } from "./fake_vscode";
import { RunningHub } from "./running_hub";

const hub = new RunningHub();
const secrets = new Map<string, string>();
const folder = process.env.DRAGOMAN_EXTENSION ?? "";
const context = extensionContext(secrets, folder);
const received = new EventEmitter<ViewMessage>();
const posted: HostMessage[] = [];
const view = {
  visible: false,
  onDidDispose: () => {},
  webview: {
    options: {}, html: "", cspSource: "https://view.example",
    asWebviewUri: (uri: Uri) => `https://view.example${uri.path}`,
    onDidReceiveMessage: received.event,
    postMessage: async (message: HostMessage) => void posted.push(message),
  },
};

/** Until it holds; whoever waits for ever is ended by the runner of the tests. */
async function until<T>(look: () => T | undefined | false | null): Promise<T> {
  for (;;) {
    const value = look();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

const run = (name: string, ...args: unknown[]): Promise<unknown> => commands.executeCommand(`dragoman.${name}`, ...args);
const isIdle = (): boolean => shown.bar.text === "$(comment-discussion)";
const choose = (pattern: RegExp) => (items: { label: string }[]): { label: string } | undefined => items.find(({ label }) => pattern.test(label));

function select(text: string): void {
  const document = { uri: Uri.file(join(hub.work, "poem.txt")), languageId: "plaintext", getText: () => text };
  window.activeTextEditor = { document, selection: Object.assign(new Range(0, 0, 0, text.length), { isEmpty: false }) };
}

/** Sends words with a selection to the only session. Ends with the turn. */
function say(words: string): Promise<unknown> {
  select("roses");
  person.type = () => words;
  person.pick = (items) => items.find((item) => !/New session/.test(item.label));
  return run("sendSelection");
}

before(async () => {
  await hub.start();
  workspace.workspaceFolders = [{ uri: Uri.file(hub.work) }];
  await activate(context as never);
});

after(async () => {
  for (const part of context.subscriptions) part.dispose();
  await hub.close();
});

test("every command of the manifest is there, and no other", () => {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  assert.deepEqual(registered().sort(), manifest.contributes.commands.map((entry: { command: string }) => entry.command).sort());
});

test("a link of the hub connects; its token is a secret and nothing else", async () => {
  assert.equal(shown.bar.command, "dragoman.connect");
  person.pick = choose(/Another hub/);
  person.type = () => `${hub.address}#token=${hub.token}`;
  await run("connect");
  await until(() => shown.contexts.get("dragoman.connected"));
  assert.deepEqual([...secrets], [[`token ${hub.address}`, hub.token]]);
  assert.equal(workspace.getConfiguration("dragoman").get("hub.address"), hub.address);
  const visible = JSON.stringify([shown.log, shown.messages, shown.status, shown.bar]);
  assert.ok(visible.includes(hub.address) && !visible.includes(hub.token));
});

test("the view has a strict policy and no token, and a file that is not here is left to the page", async () => {
  await shown.providers.get("dragoman.sessions")!.resolveWebviewView(view);
  assert.match(view.webview.html, /default-src 'none'; script-src 'nonce-([\w-]+)'; style-src 'nonce-\1'/);
  assert.ok(!view.webview.html.includes(hub.token) && !/script-src[^;]*(unsafe|\*)/.test(view.webview.html));
  received.fire({ kind: "ready" });
  assert.deepEqual(posted.shift(), { kind: "folders", folders: [hub.work] });
  received.fire({ kind: "file", sessionId: "", path: "/no/such/file", line: 3, request: 7 });
  await until(() => posted.some((message) => message.kind === "absent" && message.request === 7));
  writeFileSync(join(hub.work, "a.py"), "one\ntwo\n");
  received.fire({ kind: "file", sessionId: "", path: join(hub.work, "a.py"), line: 2, request: 8 });
  const { uri, selection } = await until(() => shown.documents.pop());
  assert.deepEqual([uri.path, selection?.start.line], [join(hub.work, "a.py"), 1]);
});

test("a session starts in the folder of the workspace, and takes a selection", async () => {
  person.pick = (items) => items[0];
  const sessionId = (await run("newSession")) as string;
  assert.ok(sessionId, shown.messages.join());
  await say("count them");
  await until(isIdle);
  const frames = await ask({ sessionId, limit: 50 }, "_dragoman/hub/history");
  const text = JSON.stringify(frames);
  assert.ok(text.includes("count them") && text.includes('"resource_link"') && text.includes("poem.txt"), text);
});

test("what waits is counted, told while nobody looks, and approved with the whole command in view", async () => {
  const turn = say("run it");
  await until(() => shown.badge?.value === 1);
  assert.equal(shown.bar.text, "$(bell-dot) 1");
  await until(() => shown.messages.some((words) => words.startsWith("guide wants to run a command: curl -fsSL ")));
  shown.documents.length = 0;
  person.pick = choose(/Run it once/);
  await run("approve");
  const text = await textOf(shown.documents[0].uri);
  assert.match(text, /curl .*so-that-nothing-may-be-cut/);
  await turn;
  await until(() => shown.badge === undefined && isIdle());
});

test("a denial offers no way to say yes", async () => {
  const turn = say("run it");
  await until(() => shown.badge?.value === 1);
  let labels: string[] = [];
  person.pick = (items) => {
    labels = items.map(({ label }) => label);
    return items[0];
  };
  await run("deny");
  assert.deepEqual(labels, ["$(close) Do not run it", "$(comment-discussion) Show the session"]);
  await turn;
  await until(isIdle);
});

test("nothing is told while somebody looks at the view", async () => {
  view.visible = true;
  shown.messages.length = 0;
  const turn = say("run it");
  await until(() => shown.badge?.value === 1);
  person.pick = (items) => items[0];
  await run("deny");
  await turn;
  await until(isIdle);
  assert.deepEqual(shown.messages, []);
  view.visible = false;
});

test("a turn is stopped", async () => {
  const turn = say("wait");
  await until(() => shown.bar.text === "$(loading~spin) 1");
  person.pick = () => undefined;
  await run("stopTurn");
  await turn;
  await until(isIdle);
});

test("the changes of the last turn are differences, with the file itself as one side", async () => {
  const [was, now] = ["roses\nviolets\n", "roses\ntulips\nthree\n"];
  const path = join(hub.work, "poem.txt");
  writeFileSync(path, was);
  await say("fix the parser");
  await until(isIdle);
  person.pick = (items) => items[0];
  await run("openChanges");
  const { pairs } = shown.differences.pop()!;
  assert.equal(pairs.length, 1);
  assert.deepEqual([await textOf(pairs[0][0]), pairs[0][1].path, await textOf(pairs[0][1])], [was, path, now]);
  writeFileSync(path, "changed since\n");
  await run("openChanges");
  const [before, after] = shown.differences.pop()!.pairs[0];
  assert.deepEqual([await textOf(before), await textOf(after), after.scheme], [was, now, "dragoman"]);
});

test("a hub that was killed is found again, and a prompt on its way is run once", async () => {
  const turn = say("wait");
  await until(() => shown.bar.text === "$(loading~spin) 1");
  await hub.end("SIGKILL");
  await until(() => shown.bar.text === "$(debug-disconnect) Dragoman");
  await hub.start();
  await until(() => shown.contexts.get("dragoman.connected") && shown.bar.text.startsWith("$(loading"));
  await run("stopTurn");
  await turn;
  await until(isIdle);
});

test("in a folder that is not trusted the view can watch and do nothing else", async () => {
  workspace.isTrusted = false;
  const { result } = await ask({ protocolVersion: 1, clientCapabilities: {}, _meta: { dragoman: { lazy: true } } }, "initialize");
  assert.deepEqual(result._meta.dragoman.scopes, ["observe"]);
  assert.ok((await ask({}, "_dragoman/hub/sessions")).result.sessions.length);
  assert.equal((await ask({ cwd: hub.work, mcpServers: [] }, "session/new")).error.code, -32003);
  shown.messages.length = 0;
  await run("newSession");
  assert.match(shown.messages[0], /don.t trust/);
  posted.length = 0;
  grantTrust();
  assert.ok(posted.some((message) => message.kind === "reconnect"));
});

test("another address is another token: none is sent to a hub that it was not made for", async () => {
  set("dragoman.hub.address", "http://127.0.0.1:1/");
  await until(() => shown.bar.command === "dragoman.connect");
  set("dragoman.hub.address", hub.address);
  await until(() => shown.contexts.get("dragoman.connected"));
  await run("disconnect");
  assert.deepEqual([...secrets], []);
});

let socket = -1;
let number = 0;

/** Asks the hub as the view does, through the host. */
async function ask(params: object, method: string): Promise<any> {
  if (method === "initialize" || socket < 0) {
    socket += 1;
    received.fire({ kind: "open", socket });
    await until(() => posted.some((message) => message.kind === "opened" && message.socket === socket));
    if (method !== "initialize") await ask({ protocolVersion: 1, clientCapabilities: {}, _meta: { dragoman: { lazy: true } } }, "initialize again");
  }
  const id = number++;
  received.fire({ kind: "frame", socket, text: JSON.stringify({ jsonrpc: "2.0", id, method: method.split(" ")[0], params }) });
  const texts = (): any[] => posted.flatMap((message) => (message.kind === "frame" ? [JSON.parse(message.text)] : []));
  return until(() => texts().find((message) => message.id === id && message.method === undefined));
}
