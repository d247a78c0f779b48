import assert from "node:assert/strict";
import test from "node:test";
import { type Progress, ProgressFeed, columnsOf, duration, stepAcross, stepDown, totalCost, withoutChildren } from "../src/model/board";
import type { SessionInfo, SessionState } from "../src/model/types";
import { fuzzySearch } from "../src/text/fuzzy";

const session = (sessionId: string, state: SessionState, more: Partial<SessionInfo> = {}): SessionInfo => ({ sessionId, state, agent: "a", cwd: "/w", ...more });
const ALL = [
  session("new", "waiting", { updatedAt: "2026-02" }), session("old", "waiting", { updatedAt: "2026-01", title: "Old one" }),
  session("run", "running"), session("idle", "idle", { updatedAt: "2026-03", agent: "b" }), session("shut", "closed", { updatedAt: "2026-04" }),
];
const none = { agent: "", text: "" };
const names = (filter = none): string[] => columnsOf(ALL, filter).map((column) => column.sessions.map((one) => one.sessionId).join());

test("sessions stand in columns by what they need, who waits longest first", () => {
  assert.deepEqual(names(), ["old,new", "run", "shut,idle", ""]);
  assert.deepEqual(names({ agent: "b", text: "" }), ["", "", "idle", ""]);
  assert.deepEqual(names({ agent: "", text: "one OLD" }), ["old", "", "", ""]);
});

test("keys move through columns and across them, and stop at the edges", () => {
  const columns = columnsOf(ALL, none);
  assert.equal(stepDown(columns, "", 1), "old");
  assert.deepEqual(["old", "new", "run", "idle"].map((id) => stepDown(columns, id, 1)), ["new", "run", "shut", "idle"]);
  assert.equal(stepDown(columns, "old", -1), "old");
  assert.deepEqual(["old", "new", "run", "shut"].map((id) => stepAcross(columns, id, 1)), ["run", "run", "shut", "shut"]);
  assert.equal(stepAcross(columns, "idle", -1), "run");
  assert.equal(stepAcross(columnsOf([], none), "idle", 1), "");
});

test("costs are added in each currency, and durations are short", () => {
  const cost = (amount: number, currency: string): Progress => ({ sessionId: "s", usage: { cost: { amount, currency } } });
  assert.deepEqual([...totalCost([cost(1, "USD"), cost(2, "EUR"), cost(0.5, "USD"), { sessionId: "t" }])], [["USD", 1.5], ["EUR", 2]]);
  assert.deepEqual([8_900, 245_000, 7_620_000].map(duration), ["8 s", "4:05 min", "2 h 07 min"]);
});

test("only sessions that moved or run are asked about again", async () => {
  const asked: string[][] = [];
  const call = async (_method: string, { sessionIds }: any): Promise<any> => { // as the hub's method is called
    asked.push(sessionIds);
    return { progress: sessionIds.map((sessionId: string) => ({ sessionId, cursor: sessions.get(sessionId)!.cursor })) };
  };
  const sessions = new Map([session("run", "running", { cursor: "1" }), session("idle", "idle", { cursor: "5" })].map((one) => [one.sessionId, one]));
  (globalThis as any).window = { clearTimeout() {}, setTimeout() {} }; // the feed's clock, which is not needed here
  const feed = new ProgressFeed({ sessions, rpc: { call } as any }, () => {}); // a fake of the connection
  await feed.look();
  await feed.look();
  sessions.set("idle", session("idle", "idle", { cursor: "6" }));
  await feed.look();
  assert.deepEqual(asked, [["run", "idle"], ["run"], ["run", "idle"]]);
});

test("a few letters find what is meant, and letters far apart find nothing", () => {
  const items = ["Settings", "New session with review", "Fix the parser", "A rather long title in which letters are spread wide"];
  assert.deepEqual(fuzzySearch("new rev", items, String)[0], "New session with review");
  assert.deepEqual(fuzzySearch("parse", items, String), ["Fix the parser"]);
  assert.deepEqual(fuzzySearch("azzz", items, String), []);
  assert.deepEqual(fuzzySearch("atlwide", items, String), []);
  assert.equal(fuzzySearch("", items, String, 2).length, 2);
});

test("sessions of subagents are not listed beside those that they work for", () => {
  const all = [
    session("main", "idle"), session("kid", "idle", { parent: "main" }), session("asks", "waiting", { parent: "kid", asking: 1 }),
    session("lost", "idle", { parent: "gone" }), session("far", "idle", { parent: "main", hub: "h" }),
  ];
  assert.deepEqual(withoutChildren(all).map((one) => one.sessionId), ["main", "lost", "far"]);
  assert.deepEqual(withoutChildren(all, (one) => !!one.asking).map((one) => one.sessionId), ["main", "asks", "lost", "far"]);
});
