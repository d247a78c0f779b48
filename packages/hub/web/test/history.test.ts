import assert from "node:assert/strict";
import test from "node:test";
import { Fold } from "../src/model/fold";
import { History, type Stored } from "../src/model/history";
import { textOf } from "../src/model/items";
import { prepend } from "../src/model/joining";
import type { Rpc } from "../src/wire/rpc";

const ENTRIES = 10_000;
const MESSAGE = 7; // entries that tell one message, piece by piece

/** A session in which each entry is a piece of a message. */
const entry = (number: number): Stored => ({
  cursor: String(number),
  message: {
    method: "session/update",
    params: { sessionId: "s", update: { sessionUpdate: "agent_message_chunk", messageId: `m${Math.floor(number / MESSAGE)}`, content: { type: "text", text: `${number} ` } } },
  },
});
const entries = (from: number, until: number): Stored[] => Array.from({ length: Math.max(0, until - from + 1) }, (_, at) => entry(from + at));

class Hub {
  asked: any[] = [];
  isGone = false;
  last = ENTRIES;
  /** Answers wait for this. */
  gate: Promise<unknown> = Promise.resolve();

  async call(method: string, params: any): Promise<any> {
    this.asked.push(params);
    await this.gate;
    if (this.isGone) throw new Error("gone");
    if (method.endsWith("/turns")) return { turns: [{ cursor: "1", title: "", state: "done" }] };
    if (params.after !== undefined) {
      const until = Math.min(this.last, Number(params.after) + params.limit);
      return { messages: entries(Number(params.after) + 1, until), more: until < this.last, cursor: String(until) };
    }
    const end = params.before ? Number(params.before) - 1 : this.last;
    const start = Math.max(1, end - params.limit + 1);
    return { messages: entries(start, end), more: start > 1 };
  }
}

async function opened(): Promise<{ hub: Hub; rpc: Rpc; history: History; end: Fold; words: () => number[] }> {
  const hub = new Hub();
  const rpc = hub as unknown as Rpc;
  let end = new Fold("s");
  const history = new History("s", () => end, () => {}, () => {});
  end = history.folded(await history.open(rpc));
  hub.asked = [];
  const words = (): number[] => history.fold.items.flatMap((item) => ("parts" in item ? textOf(item.parts).trim().split(" ").map(Number) : []));
  return { hub, rpc, history, end, words };
}

const numbers = (from: number, until: number): number[] => Array.from({ length: until - from + 1 }, (_, at) => from + at);

test("the start of a long session costs one request, and the end none", async () => {
  const { hub, rpc, history, end, words } = await opened();
  assert.ok(await history.goTo(rpc, 1));
  assert.equal(hub.asked.length, 1);
  assert.deepEqual(words(), numbers(1, words().length));
  assert.ok(words().length < 1000);
  assert.deepEqual([history.hasEarlier, history.hasLater], [false, true]);
  history.toEnd();
  assert.equal(hub.asked.length, 1);
  assert.equal(history.fold, end);
});

test("a window grows in both directions, and is the whole session when it has met the end", async () => {
  const { hub, rpc, history, end, words } = await opened();
  await history.goTo(rpc, 5000);
  assert.ok(words().includes(5000) && words()[0] < 5000 && words().at(-1)! > 5000);
  while (history.hasLater) assert.ok(await history.later(rpc));
  assert.equal(history.fold, end);
  while (await history.earlier(rpc));
  assert.deepEqual(words(), numbers(1, ENTRIES));
  assert.equal(new Set(history.fold.items).size, Math.floor(ENTRIES / MESSAGE) + 1);
  assert.ok(hub.asked.length < 2 * (ENTRIES / 500));
});

test("what is close to the end is fetched in front of it, and what is here is not fetched", async () => {
  const { hub, rpc, history, words } = await opened();
  await history.goTo(rpc, ENTRIES - 700);
  assert.equal(history.hasLater, false);
  assert.deepEqual(words(), numbers(ENTRIES - 999, ENTRIES));
  await history.goTo(rpc, ENTRIES - 800);
  assert.equal(hub.asked.length, 1);
});

test("who wants to be elsewhere meanwhile is not taken to a former goal", async () => {
  const { hub, rpc, history, end } = await opened();
  let open = (): void => {};
  hub.gate = new Promise<void>((resolve) => (open = resolve));
  const going = history.goTo(rpc, 1);
  history.toEnd();
  open();
  await going;
  assert.equal(history.fold, end);
  const [, isThere] = await Promise.all([history.goTo(rpc, 100), history.goTo(rpc, 4000)]);
  assert.ok(isThere);
  assert.ok(history.fold.find("4000"));
  history.toEnd();
  hub.gate = new Promise<void>((resolve) => (open = resolve));
  const late = history.goTo(rpc, 1);
  history.aim(); // at something that is here
  open();
  await late;
  assert.equal(history.fold, end);
});

test("a hub that cannot be reached leaves everything as it was", async () => {
  const { hub, rpc, history, end, words } = await opened();
  const before = words();
  hub.isGone = true;
  assert.equal(await history.goTo(rpc, 1), false);
  assert.equal(await history.earlier(rpc), false);
  assert.equal(history.fold, end);
  assert.deepEqual(words(), before);
});

test("a tool call that runs where a window ends is told as it ended by a later page, and runs on if the turn does", () => {
  const fold = (...updates: object[]): Fold => {
    const made = new Fold("s");
    updates.forEach((more, at) => made.apply({ method: "session/update", params: { sessionId: "s", update: { toolCallId: "t", ...more } } }, String(at)));
    return made;
  };
  const ends: [Fold, boolean, string][] = [
    [fold({ sessionUpdate: "tool_call_update", status: "completed" }), false, "completed"],
    [fold(), false, "in_progress"],
  ];
  ends[1][0].begin({ turn: { key: "k" } });
  for (const [later, isStopped, status] of ends) {
    const window = fold({ sessionUpdate: "tool_call", title: "Run", status: "in_progress" });
    window.pause();
    const [tool] = window.items;
    assert.ok(tool.kind === "tool" && tool.stopped);
    prepend(later, window);
    assert.deepEqual([later.items, tool.stopped, tool.call.status], [[tool], isStopped, status]);
  }
});
