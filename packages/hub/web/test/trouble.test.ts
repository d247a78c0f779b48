import assert from "node:assert/strict";
import test from "node:test";
import type { Item } from "../src/model/items";
import { troubleOf } from "../src/model/trouble";

function failed(message: string, code = -32603, data?: { stderr?: unknown }): Item {
  return { kind: "end", id: 1, cursor: "1", revision: 0, error: { code, message, data } } as Item;
}

test("why an agent cannot go on is told by its error", () => {
  const cases: [Item | undefined, boolean, string][] = [
    [failed("no credit is left on this account", -32000), false, "The agent is out of quota."],
    [failed("429 Too Many Requests"), false, "The agent is out of quota."],
    [failed("Authentication required", -32000), false, "The agent is logged out."],
    [failed("You are logged out: please log in"), false, "The agent is logged out."],
    [failed("agent guide ended with status 3", -32603, { stderr: "gone\n" }), false, "The agent stopped."],
    [failed("no such tool"), false, "The last turn failed."],
    [undefined, true, "The agent stopped."],
  ];
  for (const [item, isGone, words] of cases) assert.equal(troubleOf(item, isGone)?.words, words);
});

test("nothing is wrong after a turn that ended well, or before the first", () => {
  assert.equal(troubleOf(undefined, false), null);
  assert.equal(troubleOf({ kind: "end", id: 1, cursor: "1", revision: 0, stopReason: "end_turn" } as Item, false), null);
});
