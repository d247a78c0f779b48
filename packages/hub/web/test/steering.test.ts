import assert from "node:assert/strict";
import test from "node:test";
import { Conversation } from "../src/model/conversation";
import { textOf } from "../src/model/items";
import { DOUBT, sendingLabel } from "../src/model/steering";
import type { ContentBlock, Message, SessionInfo } from "../src/model/types";
import { Gone, RpcError } from "../src/wire/rpc";

const words = (text: string): ContentBlock[] => [{ type: "text", text }];
const event = (name: string, more: object): Message => ({ method: "_dragoman/hub/event", params: { sessionId: "s", event: name, ...more } });
const started = (key: string, text: string): Message => event("turn_started", { key, prompt: words(text) });
const ended = (key: string, stopReason: string): Message => event("turn_ended", { key, stopReason });
const steered = (key: string, text: string, steering: string): Message => ({
  method: "session/update",
  params: { sessionId: "s", update: { sessionUpdate: "user_message_chunk", content: words(text)[0], messageId: `steer-${key}`, _meta: { dragoman: { steering } } } },
});

let count = 0;

/** A conversation with a hub that answers as it is told, in which the turn `k1` runs. */
async function running(steering: SessionInfo["steering"], answer: (method: string) => any = () => new Promise(() => {})) {
  const calls: [string, any][] = []; // params differ by method
  const info: SessionInfo = { sessionId: "s", agent: "a", cwd: "/", state: "running", steering };
  const rpc: any = { // a fake of the connection
    call: async (method: string, params: any) => {
      if (method === "_dragoman/hub/history") return { messages: [] };
      if (method === "_dragoman/hub/attach") return { session: info, snapshot: {} };
      if (method === "_dragoman/hub/changes") return { files: [] };
      calls.push([method, params]);
      return answer(method);
    },
    notify: (method: string, params: any) => calls.push([method, params]),
  };
  const talk = new Conversation(`s${(count += 1)}`, info, () => {});
  await talk.attach(rpc);
  const hear = (...messages: Message[]): void => {
    messages.forEach((message) => talk.hear(message));
    talk.work(() => 0); // however busy the machine is, all of it
  };
  hear(started("k1", "build it"));
  return { talk, rpc, calls, hear };
}

const sent = (calls: [string, any][]): string[] => calls.map(([method, params]) => `${method} ${(params.prompt ?? params.content ?? []).map((block: ContentBlock) => block.text).join("")}`.trim());

test("an agent with steering gets the message under a key, and the stream says that it was delivered", async () => {
  const { talk, rpc, calls, hear } = await running("steering", () => ({ outcome: "injected" }));
  await talk.steer(rpc, words("left"));
  assert.deepEqual(sent(calls), ["_session/steering left"]);
  assert.equal(talk.sending.length, 0);
  hear(steered(calls[0][1]._meta.dragoman.key, "left", "delivered"));
  const last = talk.fold.items.at(-1)!;
  assert.ok("parts" in last && last.outcome === "delivered" && textOf(last.parts) === "left", "right behind the prompt, too");
});

test("a turn can be steered from when it is heard of until it ends, whatever the list of sessions says", async () => {
  const { talk, hear } = await running("steering");
  assert.equal(talk.info?.state, "running");
  assert.ok(talk.canSteer);
  hear(ended("k1", "end_turn"));
  assert.ok(!talk.canSteer, "it would be a prompt, behind the turn that comes");
  hear(started("k2", "build it again"));
  assert.ok(talk.canSteer);
});

test("an agent with inject gets its own method", async () => {
  const { talk, rpc, calls } = await running("inject", () => ({ messageId: "m" }));
  await talk.steer(rpc, words("left"));
  assert.deepEqual(sent(calls), ["session/inject left"]);
  assert.equal(calls[0][1].mode, "steer");
});

test("what no turn takes is a prompt under the same key", async () => {
  const { talk, rpc, calls } = await running("steering", (method) => (method === "session/prompt" ? new Promise(() => {}) : { outcome: "promptRequired" }));
  await talk.steer(rpc, words("left"));
  assert.deepEqual(sent(calls), ["_session/steering left", "session/prompt left"]);
  assert.equal(calls[0][1]._meta.dragoman.key, calls[1][1]._meta.dragoman.key);
});

test("the turn of any other agent is stopped, and begins again once with all that was said", async () => {
  const { talk, rpc, calls, hear } = await running(undefined);
  await talk.steer(rpc, words("left"));
  await talk.steer(rpc, words("slowly"));
  assert.ok(sendingLabel(talk.sending[0]).startsWith("will restart"));
  assert.deepEqual(calls.map(([method, params]) => [method, params._meta.dragoman.prompts]), [["session/cancel", ["k1"]], ["session/cancel", ["k1"]]]);
  hear(ended("k1", "cancelled"));
  assert.deepEqual(sent(calls).slice(2), ["session/prompt build it\n\nleft\n\nslowly"]);
  hear(started(calls[2][1]._meta.dragoman.key, "build it\n\nleft\n\nslowly"));
  assert.equal(talk.sending.length, 0);
});

test("a slash command that is stopped does not take the message for its argument", async () => {
  const { talk, rpc, calls, hear } = await running("restart");
  hear(ended("k1", "end_turn"), started("k2", "/review src"));
  await talk.steer(rpc, words("leave the tests alone"));
  hear(ended("k2", "cancelled"));
  assert.deepEqual(sent(calls), ["session/cancel", "session/prompt leave the tests alone"]);
});

test("a turn that ended by itself is not run again", async () => {
  const { talk, rpc, calls, hear } = await running("restart");
  await talk.steer(rpc, words("left"));
  hear(ended("k1", "end_turn"), started("k2", "queued before"));
  assert.deepEqual(sent(calls), ["session/cancel", "session/prompt left"]);
});

test("a message that was refused is given back with the reason", async () => {
  const { talk, rpc } = await running("steering", () => Promise.reject(new RpcError(-32603, "nobody knows")));
  await assert.rejects(talk.steer(rpc, words("left")), /nobody knows/);
  assert.equal(talk.sending.length, 0);
});

test("a message whose answer was lost stays until the stream tells that the agent has it", async () => {
  const { talk, rpc, calls, hear } = await running("steering", () => Promise.reject(new Gone("the connection was lost")));
  await talk.steer(rpc, words("left"));
  assert.equal(sendingLabel(talk.sending[0]), DOUBT);
  hear(steered("somebody else's", "right", "delivered"));
  assert.equal(talk.sending.length, 1);
  hear(steered(calls[0][1]._meta.dragoman.key, "left", "delivered"));
  assert.equal(talk.sending.length, 0);
});

test("where no turn runs, it is a prompt", async () => {
  const { talk, rpc, calls, hear } = await running("steering");
  hear(ended("k1", "end_turn"));
  await talk.steer(rpc, words("left"));
  assert.deepEqual(sent(calls), ["session/prompt left"]);
});
