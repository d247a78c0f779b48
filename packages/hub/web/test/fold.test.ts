import assert from "node:assert/strict";
import test from "node:test";
import { Fold } from "../src/model/fold";
import { prepend } from "../src/model/joining";
import { type Item, textOf } from "../src/model/items";
import type { Message } from "../src/model/types";
import { effort } from "./effort";
import { chance } from "./random";

const S = "s";
const update = (sessionUpdate: string, more: object): Message => ({ method: "session/update", params: { sessionId: S, update: { sessionUpdate, ...more } } });
const say = (text: string): Message => update("agent_message_chunk", { content: { type: "text", text } });
const think = (text: string): Message => update("agent_thought_chunk", { content: { type: "text", text } });
const echo = (text: string, key: string): Message => update("user_message_chunk", { content: { type: "text", text }, messageId: `prompt-${key}` });
const event = (name: string, more: object): Message => ({ method: "_dragoman/hub/event", params: { sessionId: S, event: name, ...more } });
const started = (key: string, text: string): Message => event("turn_started", { key, by: "me", prompt: [{ type: "text", text }] });
const ended = (key: string, more: object = { stopReason: "end_turn" }): Message => event("turn_ended", { key, ...more });
const tool = (id: string, more: object): Message => update("tool_call", { toolCallId: id, ...more });
const toolUpdate = (id: string, more: object): Message => update("tool_call_update", { toolCallId: id, ...more });

const STORY: Message[] = [
  echo("hello", "k1"), started("k1", "hello"), think("hm"), think(" yes"), say("I "), say("look"),
  tool("t1", { title: "Read", kind: "read", status: "pending" }), toolUpdate("t1", { status: "in_progress" }),
  update("plan", { entries: [{ content: "a", status: "pending" }] }),
  toolUpdate("t1", { status: "completed", content: [{ type: "content", content: { type: "text", text: "done" } }] }),
  update("plan", { entries: [{ content: "a", status: "completed" }] }),
  event("asked", { request: "9", method: "session/request_permission", params: { toolCall: { toolCallId: "t2" }, options: [] } }),
  event("settled", { request: "9", outcome: "answered", by: "me", result: { outcome: { outcome: "selected", optionId: "y" } } }),
  say("good"), ended("k1"), echo("more", "k2"), started("k2", "more"), say("and "), say("more"), ended("k2"),
];

function folded(messages: Message[], first = 1): Fold {
  const fold = new Fold(S);
  messages.forEach((message, at) => fold.apply(message, String(first + at), at));
  return fold;
}

function shape(items: Item[]): unknown[] {
  return items.map((item) => {
    if ("parts" in item) return [item.kind, textOf(item.parts)];
    if (item.kind === "tool") return ["tool", item.call.title, item.call.status, item.call.content?.length ?? 0];
    if (item.kind === "plan") return ["plan", item.entries.map((entry) => entry.status).join()];
    if (item.kind === "question") return ["question", item.outcome];
    return [item.kind];
  });
}

test("a session becomes what a person reads", () => {
  assert.deepEqual(shape(folded(STORY).items), [
    ["user", "hello"], ["thought", "hm yes"], ["agent", "I look"], ["tool", "Read", "completed", 1], ["plan", "completed"],
    ["question", "answered"], ["agent", "good"], ["end"], ["user", "more"], ["agent", "and more"], ["end"],
  ]);
});

test("pages of history, however they are cut, give the same items", () => {
  const whole = shape(folded(STORY).items);
  for (let seed = 1; seed <= 80; seed += 1) {
    const next = chance(seed);
    let at = STORY.length - 1 - next(5);
    const fold = folded(STORY.slice(at), at + 1);
    while (at > 0) {
      const from = Math.max(0, at - 1 - next(6));
      prepend(fold, folded(STORY.slice(from, at), from + 1));
      at = from;
    }
    assert.deepEqual(shape(fold.items), whole, `seed ${seed}`);
  }
});

test("a prompt of this page comes without an echo, one of another page with it; both are shown once", () => {
  const own = folded([started("k", "hi"), say("x")]);
  const other = folded([echo("hi", "k"), started("k", "hi"), say("x")]);
  assert.deepEqual(shape(own.items), shape(other.items));
});

test("the queue is what the events say", () => {
  const prompt = (text: string) => [{ type: "text", text }];
  const fold = folded([
    event("queued", { key: "a", prompt: prompt("1") }), event("queued", { key: "b", prompt: prompt("2") }),
    event("edited", { key: "b", prompt: prompt("3") }), started("a", "1"), event("queued", { key: "c", prompt: prompt("4") }), event("withdrawn", { key: "c" }),
    ended("c", { stopReason: "cancelled" }),
  ]);
  assert.deepEqual(fold.queue.map((one) => [one.key, one.prompt[0].text]), [["b", "3"]]);
  assert.deepEqual(fold.turn?.key, "a");
  assert.ok(fold.items.every((item) => item.kind !== "end"));
  assert.ok(["a", "b", "c"].every((key) => fold.taken.has(key)));
});

test("a snapshot opens questions, and a later page does not double them", () => {
  const fold = folded([say("x")], 10);
  const asked = { sessionId: S, request: "5", method: "session/request_permission", params: { options: [] } };
  fold.begin({ requests: [asked], turn: { key: "k" }, queue: [{ key: "q", prompt: [] }] });
  prepend(fold, folded([event("asked", asked), say("before ")], 5));
  assert.equal(fold.items.filter((item) => item.kind === "question").length, 1);
  assert.equal(fold.open.size, 1);
  fold.apply(event("settled", { request: "5", outcome: "cancelled" }), "20");
  assert.deepEqual(shape(fold.items), [["question", "cancelled"], ["agent", "before x"]]);
  assert.equal(fold.open.size, 0);
});

test("tools that a turn left behind are stopped with it", () => {
  const fold = folded([started("k", "x"), tool("t", { title: "Run", status: "in_progress" }), ended("k", { stopReason: "cancelled" })]);
  const left = fold.items.find((item) => item.kind === "tool");
  assert.ok(left?.kind === "tool" && left.stopped);
  assert.equal(fold.turn, null);
});

const spawned = update("subagent_update", { sessionId: "kid", title: "Count leaves", state: { state: "running" } });
const FAMILY: Message[] = [
  started("k", "go"), spawned,
  update("session_message", { messageId: "m", senderSessionId: S, recipientSessionId: "kid", content: [{ type: "text", text: "Count them" }] }),
  update("session_message_chunk", { messageId: "m", content: { type: "text", text: " all" } }),
  update("session_message", { messageId: "r", senderSessionId: "kid", recipientSessionId: S, content: [{ type: "text", text: "Seven" }] }),
  update("subagent_update", { sessionId: "kid", state: { state: "idle", stopReason: "cancelled" } }), ended("k"),
];
const notes = (fold: Fold): string[] => fold.items.flatMap((item) => (item.kind === "note" ? [`${item.title}: ${item.text}`] : []));

test("a subagent has one line with its name, and messages say who wrote to whom", () => {
  const whole = ["Subagent Count leaves: cancelled", "Message to Count leaves: Count them all", "Message from Count leaves: Seven"];
  assert.deepEqual(notes(folded(FAMILY)), whole);
  for (let at = 1; at < FAMILY.length; at += 1) {
    const fold = folded(FAMILY.slice(at), at + 1);
    prepend(fold, folded(FAMILY.slice(0, at), 1));
    assert.deepEqual(notes(fold), whole, `cut at ${at}`);
  }
});

test("a message of the session that a subagent works for says so", () => {
  const task = update("session_message", { messageId: "m", senderSessionId: "parent", recipientSessionId: S, content: [{ type: "text", text: "Count" }] });
  assert.deepEqual(notes(folded([task])), ["Message from the main agent: Count"]);
});

test("what a search found is found again after pages were put in front", () => {
  const fold = folded(STORY.slice(5), 6);
  prepend(fold, folded(STORY.slice(0, 5), 1));
  assert.equal(fold.find("5"), fold.find("6"));
  assert.ok(fold.items.includes(fold.find("8")!));
});

test("a part of an entry that was heard live is found in the archive, which knows the entry alone", () => {
  const fold = new Fold(S);
  fold.apply(update("agent_message_chunk", { content: { type: "text", text: "words" } }), "17");
  assert.equal(fold.find("17.1"), fold.items[0]);
  assert.equal(fold.find("18.1"), undefined);
});

test("every message that shows something can be found by its cursor", () => {
  const fold = folded(STORY);
  const unseen = STORY.map((_, at) => String(at + 1)).filter((cursor) => !fold.find(cursor));
  assert.deepEqual(unseen, []);
});

test("only what changed has to be drawn", () => {
  const fold = folded(STORY);
  fold.takeChanged();
  fold.apply(toolUpdate("t1", { title: "Read it again" }), "90");
  fold.apply(say("once more"), "91");
  fold.apply(say(" and more"), "92");
  assert.deepEqual(shape([...fold.takeChanged()]), [["tool", "Read it again", "completed", 1], ["agent", "once more and more"]]);
  assert.equal(fold.takeChanged().size, 0);
});

test("a tool of an earlier page is stopped with the turn that runs", () => {
  const fold = folded([say("x")], 3);
  fold.begin({ turn: { key: "k" } });
  prepend(fold, folded([started("k", "go"), tool("t", { title: "Run", status: "in_progress" })], 1));
  fold.apply(ended("k", { stopReason: "cancelled" }), "9");
  assert.ok(fold.tools.get("t")?.stopped);
});

test("messages that make no sense are passed over", () => {
  const odd: any[] = [
    {}, { method: "session/update" }, { method: "session/update", params: { update: null } }, update("tool_call", {}), update("plan", { entries: 3 }),
    update("agent_message_chunk", { content: null }), event("nonsense", {}), event("settled", { request: 3 }),
  ];
  assert.deepEqual(folded(odd).items, []);
});

test("ten thousand messages are folded in no time", () => {
  const many = Array.from({ length: 10_000 }, (_, n) => (n % 10 ? say("word ") : tool(`t${n}`, { title: "x" })));
  assert.ok(effort(() => folded(many)) < 1500);
});

test("a turn's time does not count the waiting for a person", () => {
  const fold = new Fold(S);
  const asked = { request: "9", method: "session/request_permission", params: { options: [] } };
  fold.apply(started("k", "x"), "1", 1_000);
  fold.apply(event("asked", asked), "2", 3_000);
  fold.apply(event("settled", { request: "9", outcome: "answered" }), "3", 63_000);
  fold.apply(ended("k"), "4", 64_000);
  const end = fold.items.at(-1);
  assert.ok(end?.kind === "end" && end.started === 1_000 && end.waited === 60_000);
});

test("a turn takes as long for who watched it as for who reads it later", () => {
  const request: Message = { id: 1, method: "session/request_permission", params: { sessionId: S, toolCall: {}, options: [], _meta: { dragoman: { request: "7" } } } };
  const asked = event("asked", { time: 12, askedAt: 12, request: "7", method: "session/request_permission", params: { toolCall: {}, options: [] } });
  const at = (time: number, message: Message): Message => ({ ...message, params: { ...message.params, time } });
  const tail = [asked, at(16, event("settled", { request: "7", outcome: "answered" })), at(20, ended("k1"))];
  const taken = (messages: Message[], clock: (at: number) => number | undefined): unknown[] => {
    const fold = new Fold(S);
    messages.forEach((message, place) => fold.apply(message, String(place), clock(place)));
    const end = fold.items.at(-1)!;
    return end.kind === "end" ? [end.started, end.waited, end.time] : [];
  };
  const stored = taken([at(10, started("k1", "go")), ...tail], () => undefined);
  // The clock of the browser goes wrong, and a tab in the background hears everything late.
  const live = taken([at(10, started("k1", "go")), request, ...tail], (place) => 5_000_000 * place);
  assert.deepEqual(stored, [10_000, 4_000, 20_000]);
  assert.deepEqual(live, stored);
});

test("who joins a running turn keeps when it began", () => {
  const fold = folded([event("turn_started", { key: "k1", time: 10, prompt: [] })]);
  fold.begin({ turn: { key: "k1" } });
  assert.equal(fold.turn?.started, 10_000);
  fold.begin({ turn: { key: "k2" } });
  assert.equal(fold.turn?.started, undefined);
});

test("a call that a person is asked about is marked until the answer", () => {
  const asked = { request: "9", method: "session/request_permission", params: { toolCall: { toolCallId: "t" }, options: [] } };
  const fold = folded([started("k", "x"), tool("t", { title: "Run" }), event("asked", asked)]);
  assert.equal(fold.tools.get("t")?.asking, 1);
  fold.apply(event("settled", { request: "9", outcome: "answered" }), "9");
  assert.equal(fold.tools.get("t")?.asking, 0);
});

test("updates of an unknown kind are named once in a row, however the pages are cut", () => {
  const strange = [update("hologram", { depth: 1 }), update("hologram", { depth: 2 }), update("hologram", { depth: 3 })];
  for (const at of [0, 1, 2]) {
    const fold = folded(strange.slice(at), at + 1);
    if (at) prepend(fold, folded(strange.slice(0, at)));
    assert.deepEqual(fold.items.map((item) => item.kind === "note" && [item.unknown, item.text]), [[{ kind: "hologram", count: 3 }, "hologram"]]);
  }
});

test("an agent that notifies what looks like a question has asked nothing", () => {
  const forged = { method: "session/request_permission", params: { sessionId: S, toolCall: { title: "Run ls docs" }, options: [], _meta: { dragoman: { request: "7" } } } };
  const fold = folded([started("k1", "go"), forged]);
  assert.ok(!JSON.stringify(fold.items).includes("ls docs"));
  assert.ok(JSON.stringify(folded([started("k1", "go"), { id: 1, ...forged }]).items).includes("ls docs"));
});

test("a denial has the hub's command that would allow it, and nobody else's", () => {
  const denial = (more: object): Message => update("notice", { severity: "warning", title: "Not allowed:", description: "make. Run: allow make", ...more });
  const [own, other, once] = folded([denial({ _meta: { dragoman: { remedy: "allow make" } } }), denial({}), denial({ _meta: { dragoman: { remedy: "allow ls", once: true } } })]).items;
  assert.ok(own.kind === "note" && own.tone === "warn" && own.remedy === "allow make" && !own.once);
  assert.ok(other.kind === "note" && other.remedy === undefined);
  assert.ok(once.kind === "note" && once.once);
});
