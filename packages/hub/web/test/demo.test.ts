/** The recorded hub: what it answers at a moment, what it says as time goes on, and that going back forgets. */

import assert from "node:assert/strict";
import test from "node:test";
import { RecordedHub, type Recording } from "../demo/recorded_hub";

const START = 1_000_000;

function recording(): Recording {
  const session = (state: string, cursor: string): object => ({ session: { sessionId: "s", agent: "a", cwd: "/w", state, cursor, updatedAt: new Date(START * 1000).toISOString() } });
  const update = (text: string, cursor: string): object => ({ sessionId: "s", update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } }, _meta: { dragoman: { cursor } } });
  const asked = { sessionId: "s", request: "q", method: "session/request_permission", params: {} };
  const steps: [number, string, object][] = [
    [1, "_dragoman/hub/session", session("running", "1")],
    [1, "_dragoman/hub/event", { sessionId: "s", event: "turn_started", key: "k", by: "ann", _meta: { dragoman: { cursor: "1" } } }],
    [2, "session/update", update("one", "2")],
    [3, "_dragoman/hub/asked", { request: asked }],
    [4, "_dragoman/hub/settled", { sessionId: "s", request: "q" }],
    [5, "session/update", update("two", "3")],
    [6, "_dragoman/hub/event", { sessionId: "s", event: "turn_ended", key: "k", _meta: { dragoman: { cursor: "4" } } }],
  ];
  return { recording: 1, start: START, seconds: 7, hub: {}, agents: [], steps: steps.map(([at, method, params]) => ({ at, message: { method, params } })) };
}

function hubAt(position: number) {
  const said: any[] = [];
  const sought: number[] = [];
  const hub = new RecordedHub(recording(), (text) => said.push(JSON.parse(text)), (to) => sought.push(to), () => START * 1000 + 3_600_000);
  hub.advance(position);
  const ask = (method: string, params: object = {}): any => {
    said.length = 0;
    hub.receive(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    return said[0];
  };
  return { hub, said, sought, ask };
}

test("history holds what had been said by then", () => {
  const { ask } = hubAt(2.5);
  const { messages, more } = ask("_dragoman/hub/history", { sessionId: "s" }).result;
  assert.deepEqual(messages.map((one: any) => one.cursor), ["1", "2"]);
  assert.equal(more, false);
});

test("a snapshot knows the turn and the questions of its moment", () => {
  assert.equal(hubAt(3).ask("_dragoman/hub/attach", { sessionId: "s" }).result.snapshot.requests.length, 1);
  const { turn, requests } = hubAt(4).ask("_dragoman/hub/attach", { sessionId: "s" }).result.snapshot;
  assert.deepEqual([turn, requests], [{ key: "k", by: "ann" }, []]);
  assert.equal(hubAt(7).ask("_dragoman/hub/attach", { sessionId: "s" }).result.snapshot.turn, null);
});

test("a session is heard behind the cursor from which it was followed, and only then", () => {
  const { hub, said, ask } = hubAt(2.5);
  assert.equal(said.filter((one) => one.method === "session/update").length, 0);
  ask("_dragoman/hub/attach", { sessionId: "s", after: "1" });
  hub.advance(7);
  assert.deepEqual(said.filter((one) => one.method === "session/update").map((one) => one.params.update.content.text), ["one", "two"]);
});

test("going back forgets what came later", () => {
  const { hub, ask } = hubAt(7);
  hub.rewind();
  assert.deepEqual(ask("_dragoman/hub/sessions").result.sessions, []);
  assert.equal(ask("_dragoman/hub/attach", { sessionId: "s" }).error.code, -32002);
  hub.advance(3);
  assert.equal(ask("_dragoman/hub/inbox").result.requests.length, 1);
});

test("an answer leads to the moment of the recorded one, and everything else is refused", () => {
  const { sought, ask } = hubAt(3);
  assert.deepEqual(ask("_dragoman/hub/answer", { sessionId: "s", request: "q", result: {} }).result, { settled: true });
  assert.deepEqual(sought, [4]);
  assert.ok(/recording/.test(ask("session/prompt", { sessionId: "s", prompt: [] }).error.message));
});

test("times are told as if it ran now", () => {
  const [session] = hubAt(3).ask("_dragoman/hub/sessions").result.sessions;
  assert.equal(Date.parse(session.updatedAt), START * 1000 + 3_600_000 - 3000);
});

test("a search finds what had been said", () => {
  assert.equal(hubAt(3).ask("_dragoman/hub/search", { text: "two" }).result.found.length, 0);
  assert.equal(hubAt(6).ask("_dragoman/hub/search", { text: "TWO" }).result.found[0].cursor, "3");
});
