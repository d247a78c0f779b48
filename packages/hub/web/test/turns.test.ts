import assert from "node:assert/strict";
import test from "node:test";
import type { Item } from "../src/model/items";
import { Turns, bucketsOf } from "../src/model/turns";

let serial = 0;
const common = (): { id: number; revision: number; cursor: string } => ({ id: (serial += 1), revision: 0, cursor: String(serial) });
const user = (text: string): Item => ({ kind: "user", parts: [{ text }], ...common() });
const agent = (): Item => ({ kind: "agent", parts: [{ text: "words" }], ...common() });
const end = (more: object = {}): Item => ({ kind: "end", stopReason: "end_turn", ...more, ...common() });
const brief = (turns: Turns): string[] => turns.marks.map(({ title, state }) => `${title} ${state}`);

test("turns are marked by how they went, and the last by how it goes", () => {
  const turns = new Turns();
  const items = [user("one"), agent(), end(), user("two"), end({ error: { message: "broken" } }), user("three")];
  turns.update(items, "running");
  assert.deepEqual(brief(turns), ["one done", "two failed", "three running"]);
  items.push(agent(), end({ stopReason: "cancelled" }));
  turns.update(items, "done");
  assert.deepEqual(brief(turns), ["one done", "two failed", "three stopped"]);
  assert.equal(turns.turnOf(items[6]), turns.marks[2]);
});

test("a page in front gives the same turns as one list", () => {
  const items = [user("one"), agent(), end(), user("two"), agent(), agent(), end(), user("three"), agent(), end()];
  for (let cut = 1; cut < items.length; cut += 1) {
    const turns = new Turns();
    turns.update(items.slice(cut), "done");
    turns.update([...items], "done");
    assert.deepEqual(brief(turns), ["one done", "two done", "three done"], `cut at ${cut}`);
    for (const item of items) assert.ok(turns.marks.includes(turns.turnOf(item)!), `cut at ${cut}`);
  }
});

test("turns that stand before the list are those that the hub tells, and each turn is there once", () => {
  const items = [user("one"), agent(), end(), user("two"), agent(), agent(), end(), user("three"), agent(), end()];
  const outline = items.filter(({ kind }) => kind === "user").map(({ cursor }, at) => ({ cursor, title: ["one", "two", "three"][at], state: "stopped" as const }));
  for (let cut = 1; cut < items.length; cut += 1) {
    const turns = new Turns();
    const list = items.slice(cut);
    turns.update(list, "done", outline);
    const whole = turns.marks.map(({ title }) => title);
    assert.deepEqual(whole, ["one", "two", "three"], `cut at ${cut}`);
    assert.equal(turns.marks[2].state, cut < 10 ? "done" : "stopped", "what was seen is newer");
    list.push(user("four"), agent());
    turns.update(list, "running", outline);
    turns.update(list, "running", outline);
    assert.deepEqual(turns.marks.map(({ title }) => title), [...whole, "four"], `cut at ${cut}`);
    turns.update([...items.slice(0, cut), ...list], "running", outline);
    assert.deepEqual(brief(turns), ["one done", "two done", "three done", "four running"], `cut at ${cut}`);
    assert.equal(turns.turnOf(items[4]), turns.marks[1]);
  }
});

test("where there are more turns than room, neighbours share a mark and the worst is seen", () => {
  const turns = new Turns();
  turns.update(Array.from({ length: 10 }, (_, at) => [user(`p${at}`), end(at === 7 ? { error: { message: "broken" } } : {})]).flat(), "done");
  const buckets = bucketsOf(turns.marks, 4);
  assert.deepEqual(buckets.map(({ from, turns, state }) => [from, turns.length, state]), [[1, 2, "done"], [3, 3, "done"], [6, 2, "done"], [8, 3, "failed"]]);
  assert.equal(bucketsOf(turns.marks, 40).length, 10);
});
