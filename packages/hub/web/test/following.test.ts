import assert from "node:assert/strict";
import test from "node:test";
import { App } from "../src/model/app";
import { Conversation } from "../src/model/conversation";
import { textOf } from "../src/model/items";
import { outboxCounts, store } from "../src/model/outbox";
import type { Message } from "../src/model/types";
import { surroundings } from "../src/surroundings";
import { Gone } from "../src/wire/rpc";

const chunk = (sessionId: string, cursor: string): Message => ({
  method: "session/update",
  params: { sessionId, update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: `${cursor} ` } }, _meta: { dragoman: { cursor } } },
});
const textIn = (open: Conversation): string => open.fold.items.map((item) => ("parts" in item ? textOf(item.parts) : "")).join("");
const settle = (): Promise<void> => new Promise((done) => setTimeout(done));

/** A hub whose answers can be held back, by the session that is asked about. */
class SlowHub {
  isEnded = false;
  asked: string[] = [];
  held = new Map<string, (() => void)[]>();
  history = new Map<string, string[]>();

  hold(sessionId: string): void {
    this.held.set(sessionId, []);
  }

  release(sessionId: string): Promise<void> {
    const answers = this.held.get(sessionId) ?? [];
    this.held.delete(sessionId);
    for (const answer of answers) answer();
    return settle();
  }

  async call(method: string, params: any): Promise<any> {
    const name = method.replace("_dragoman/hub/", "");
    if (["history", "attach", "detach", "session/prompt"].includes(name)) this.asked.push(`${name} ${params.sessionId}`);
    const messages = (this.history.get(params.sessionId) ?? []).map((cursor) => ({ cursor, message: chunk(params.sessionId, cursor) }));
    const held = this.held.get(params.sessionId);
    if (held && name !== "detach") await new Promise<void>((answer) => held.push(answer));
    if (name === "session/prompt") return new Promise(() => {});
    return { initialize: {}, sessions: { sessions: [] }, inbox: { requests: [] }, history: { messages }, attach: { session: null, snapshot: {} }, changes: { files: [] } }[name] ?? {};
  }

  count(what: string): number {
    return this.asked.filter((asked) => asked === what).length;
  }
}

function page(): { app: App; hub: SlowHub; connect: () => Promise<void> } {
  const kept = new Map<string, string>();
  surroundings.storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) };
  const place = { hash: "", pathname: "/", search: "", host: "desk.example", origin: "https://desk.example", href: "https://desk.example/" };
  Object.assign(globalThis, { location: place, window: { addEventListener() {}, setTimeout() {}, clearTimeout() {} }, document: { visibilityState: "visible" } });
  const hub = new SlowHub();
  const connection = { needsToken: false, rpc: hub as any, start() {}, stop() {}, hurry() {} }; // a fake of the connection
  const app = Object.assign(new App(() => {}, () => {}, () => {}, () => {}), { connection });
  const connect = async (): Promise<void> => {
    await app.opened(hub as any);
    app.health = "live";
  };
  return { app, hub, connect };
}

test("a session that is gone to while the connection opens is followed as well", async () => {
  const { app, hub, connect } = page();
  app.show("first");
  hub.hold("first");
  const connecting = connect();
  await settle();
  app.show("second");
  await hub.release("first");
  await connecting;
  assert.equal(app.open!.state, "open");
  assert.equal(hub.count("attach second"), 1);
});

test("a session that is gone to before what waits in it was sent is followed, and its message is sent once", async () => {
  const { app, hub, connect } = page();
  for (const id of ["first", "second"]) store(id, { key: id, prompt: [{ type: "text", text: "go on" }] });
  assert.deepEqual(Object.keys(outboxCounts()), ["first", "second"]);
  hub.hold("first");
  await connect();
  await settle();
  app.show("second");
  await settle();
  await hub.release("first");
  assert.equal(app.open!.state, "open");
  assert.deepEqual(["attach second", "session/prompt second", "session/prompt first"].map((what) => hub.count(what)), [1, 1, 1]);
});

test("who comes back to a session that streams reads nothing twice", async () => {
  const { app, hub, connect } = page();
  hub.history.set("s", ["1"]);
  app.show("s");
  await connect();
  app.show("other");
  hub.hold("s");
  hub.history.set("s", ["1", "2", "3"]);
  app.show("s");
  // Said before the hub heard that nobody follows the session any more; the history has it too.
  for (const cursor of ["2", "3"]) app.heard(chunk("s", cursor));
  const answers = hub.held.get("s")!;
  hub.hold("s");
  answers.forEach((answer) => answer());
  await settle();
  app.heard(chunk("s", "3"));
  const opening = hub.release("s");
  for (const cursor of ["4.1", "4.2", "4", "5"]) app.heard(chunk("s", cursor));
  await opening;
  const open = app.open!;
  open.work(() => 0);
  assert.equal(textIn(open), "1 2 3 4.1 4.2 4 5 ");
  assert.equal(open.cursor, "5");
});

test("a session that was left before its history came is not followed any more", async () => {
  const { app, hub, connect } = page();
  await connect();
  hub.hold("s");
  app.show("s");
  app.show("other");
  await hub.release("s");
  assert.deepEqual([hub.count("detach s"), hub.count("attach s"), hub.count("attach other")], [1, 0, 1]);
});

test("turns that were asked for when the connection was lost are asked for on the next one", async () => {
  const open = new Conversation("s", null, () => {});
  const hub = (turns: object[] | null): any => ({ // a fake of the connection
    call: async (method: string): Promise<object> => {
      if (method.endsWith("/turns") && !turns) throw new Gone("the connection was lost");
      return { messages: [{ cursor: "9", message: chunk("s", "9") }], more: true, session: null, turns };
    },
  });
  await open.attach(hub(null));
  await settle();
  assert.deepEqual(open.history.outline, []);
  await open.attach(hub([{ cursor: "1", title: "", state: "done" }]));
  await settle();
  assert.equal(open.history.outline.length, 1);
});
