import assert from "node:assert/strict";
import test from "node:test";
import { App, nameOf } from "../src/model/app";
import { latestFirst } from "../src/model/board";
import { Hubs, identityOf, parseHubLink, sessionHash, shortName } from "../src/model/hubs";
import { type HubSearch, searchHubs } from "../src/model/search";
import type { OtherHub } from "../src/model/types";
import { surroundings } from "../src/surroundings";

/** As much of a browser as the model needs. */
function browser(): Map<string, string> {
  const kept = new Map<string, string>();
  surroundings.storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) };
  const place = { hash: "", pathname: "/", search: "", host: "desk.example", origin: "https://desk.example", href: "https://desk.example/" };
  Object.assign(globalThis, { location: place, window: { addEventListener() {}, setTimeout() {}, clearTimeout() {} }, document: { visibilityState: "visible" } });
  return kept;
}

function hubsOf(): { hubs: Hubs; kept: Map<string, string> } {
  const kept = browser();
  const connection = { needsToken: true, rpc: null as any, start() {}, stop() {}, hurry() {} }; // nothing is asked
  const make = (hub: OtherHub | null): App => Object.assign(new App(() => {}, () => {}, () => {}, () => {}, hub), { connection });
  const hubs = new Hubs(make(null), make);
  return { hubs, kept };
}

const asks = (sessionId: string, more: object = {}): any => ({ request: { sessionId, request: "7", method: "session/request_permission", params: {}, ...more } });

test("a link brings an address and a secret, and other things are no links", () => {
  assert.deepEqual(parseHubLink(" https://studio.example/#pair=ab.c-d "), { address: "https://studio.example", code: "ab.c-d", token: "" });
  assert.deepEqual(parseHubLink("http://127.0.0.1:8765/x?y#token=a%2Fb"), { address: "http://127.0.0.1:8765", code: "", token: "a/b" });
  for (const text of ["studio.example", "javascript:alert(1)", "file:///etc", "https://", ""]) assert.equal(parseHubLink(text), null, text);
  assert.deepEqual(["studio.tail.ts.net", "127.0.0.1:8765", "[::1]:80", "localhost:1"].map(shortName), ["studio", "127.0.0.1:8765", "[::1]:80", "localhost:1"]);
});

test("a session is told from one of the same name at another hub", () => {
  const { hubs } = hubsOf();
  hubs.add("https://studio.example", "secret", "");
  const other = hubs.all()[1];
  assert.equal(hubs.nameOf(other.key), "studio");
  for (const app of hubs.all()) app.heard({ method: "_dragoman/hub/asked", params: asks("same") });
  const waiting = [...hubs.inbox().values()];
  assert.equal(waiting.length, 2);
  assert.deepEqual(waiting.map((asked) => hubs.find(identityOf(asked))), [[hubs.home, "same"], [other, "same"]]);
  assert.deepEqual(hubs.all().map((app) => app.hashOf("same")), ["#/s/same", sessionHash(other.key, "same")]);
});

test("a hub cannot speak for another one", () => {
  const { hubs } = hubsOf();
  hubs.add("https://studio.example", "secret", "studio");
  const [home, other] = hubs.all();
  home.heard({ method: "_dragoman/hub/asked", params: asks("mine") });
  other.heard({ method: "_dragoman/hub/asked", params: asks("mine", { hub: "" }) });
  home.heard({ method: "_dragoman/hub/asked", params: asks("theirs", { hub: other.key }) });
  assert.deepEqual([...home.inbox.values()].map((asked) => asked.hub ?? ""), ["", ""]);
  assert.deepEqual([...other.inbox.values()].map((asked) => asked.hub), [other.key]);
  other.heard({ method: "_dragoman/hub/settled", params: { sessionId: "mine", request: "7" } });
  assert.ok(home.inbox.has(nameOf({ sessionId: "mine", request: "7" })));
  assert.equal(other.inbox.size, 0);
});

test("tokens of other hubs go when one signs out, and that of one hub with that hub", () => {
  const { hubs, kept } = hubsOf();
  hubs.add("https://studio.example", "secret-1", "");
  hubs.add("https://attic.example", "secret-2", "");
  hubs.add("https://studio.example", "secret-3", "");
  assert.deepEqual(hubs.all().map((app) => app.token).sort(), ["", "secret-2", "secret-3"]);
  hubs.remove(hubs.all().find((app) => app.token === "secret-2")!.key);
  assert.deepEqual([...kept.values()].join().match(/secret-\d/g), ["secret-3"]);
  hubs.home.onSignOut();
  assert.equal(hubs.hasOthers, false);
});

/** What was told of a search, one after the other; each hub answers as it is told to. */
function searchAt(answers: (() => Promise<object>)[]): { told: HubSearch[]; hubs: Hubs } {
  const { hubs } = hubsOf();
  for (let at = 1; at < answers.length; at += 1) hubs.add(`https://hub${at}.example`, "secret", `hub${at}`);
  hubs.all().forEach((app, at) => Object.assign(app, { health: "live", connection: { ...app.connection, rpc: { call: answers[at] } } }));
  const told: HubSearch[] = [];
  searchHubs(hubs, "word", (search) => told.push(structuredClone(search)));
  return { told, hubs };
}

const finds = (...cursors: string[]) => async () => ({ found: cursors.map((cursor) => ({ sessionId: "same", hub: "claimed", cursor, kind: "message", excerpt: "" })) });

test("a search asks all hubs, names what each has found, and says of whom it has nothing", async () => {
  const fails = async (): Promise<object> => Promise.reject(new Error("the connection was lost"));
  const { told, hubs } = searchAt([finds("1", "2", "3"), finds("9"), fails]);
  await new Promise((done) => setTimeout(done));
  assert.equal(told.length, 1);
  assert.deepEqual(told[0].found.map(({ hub, cursor }) => [hub, cursor]), [[undefined, "1"], [hubs.all()[1].key, "9"], [undefined, "2"], [undefined, "3"]]);
  assert.deepEqual(told[0].troubles, ["No results from hub2: the connection was lost."]);
  assert.deepEqual(told[0].missing, []);
});

test("a hub that is slow holds nobody up, and what it finds comes below", async () => {
  let answer = (_: object): void => {};
  const slow = (): Promise<object> => new Promise((resolve) => (answer = resolve));
  const { told } = searchAt([finds("1", "2"), slow]);
  await new Promise((done) => setTimeout(done, 600));
  assert.deepEqual(told.map(({ found, missing }) => [found.length, missing]), [[2, ["hub1"]]]);
  answer({ found: [{ sessionId: "other", cursor: "7", kind: "message", excerpt: "" }] });
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(told[1].found.map(({ cursor }) => cursor), ["1", "2", "7"]);
  assert.deepEqual(told[1].missing, []);
});

test("a session that works keeps its place in lists until its turn ends", () => {
  const app = hubsOf().hubs.home;
  const order = (): string[] => [...app.sessions.values()].sort(latestFirst).map(({ sessionId }) => sessionId);
  const tell = (sessionId: string, state: string, minute: number): void =>
    app.heard({ method: "_dragoman/hub/session", params: { session: { sessionId, agent: "a", cwd: "/", state, updatedAt: `2026-01-01T10:0${minute}:00Z` } } });
  tell("one", "running", 1);
  tell("two", "running", 2);
  assert.deepEqual(order(), ["two", "one"]);
  tell("one", "running", 3);
  assert.deepEqual(order(), ["two", "one"]);
  assert.equal(app.sessions.get("one")?.updatedAt, "2026-01-01T10:03:00Z");
  tell("one", "idle", 4);
  assert.deepEqual(order(), ["one", "two"]);
});
