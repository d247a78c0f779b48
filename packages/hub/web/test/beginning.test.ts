import assert from "node:assert/strict";
import test from "node:test";
import { sessionTitle, suggestionsFor, underTitle } from "../src/model/beginning";
import type { SessionInfo } from "../src/model/types";
import { aboutAgent, offeredFolders, orderedAgents } from "../src/view/new_session";

const session = (cwd: string, title = ""): SessionInfo => ({ sessionId: "s", agent: "review", cwd, title, state: "idle" });

test("the default agent is offered first, and the one for testing last", () => {
  const agents = ["echo", "review", "code", "claude"].map((name) => ({ name }));
  assert.deepEqual(orderedAgents(agents, "review").map(({ name }) => name), ["review", "code", "claude", "echo"]);
  assert.deepEqual(orderedAgents(agents, "echo").map(({ name }) => name)[0], "echo", "who made it the default wants it");
});

test("what stands below the name of an agent does not repeat it", () => {
  assert.equal(aboutAgent({ name: "mine", title: "mine" }), "");
  assert.equal(aboutAgent({ name: "review", title: "Review", description: "reviews code, offline" }), "reviews code, offline");
  assert.equal(aboutAgent({ name: "a", title: "Ann's", place: "ssh box" }), "Ann's · ssh box");
});

test("the first session is offered in the folder in which the hub was started", () => {
  const hub = { folder: "/home/ann/shop", home: "/home/ann" };
  assert.deepEqual(offeredFolders([], [], hub), ["/home/ann/shop", "/home/ann"]);
  assert.deepEqual(offeredFolders(["/w"], [session("/x"), session("/w")], hub), ["/w", "/x", "/home/ann/shop", "/home/ann"]);
  assert.deepEqual(offeredFolders([], [], { folder: "", home: "" }), [], "of a hub that does not tell");
});

test("every agent has first prompts, whatever its name", () => {
  assert.equal(suggestionsFor("review")[0], "Review my uncommitted changes");
  for (const name of ["claude", "", "constructor", "__proto__"]) assert.ok(suggestionsFor(name).length >= 3, name);
});

test("a session without a title is called by its agent and folder, and the line below says what that does not", () => {
  assert.equal(sessionTitle(session("/home/ann/shop/", "Review of shop.py")), "Review of shop.py");
  assert.equal(underTitle(session("/home/ann/shop", "Review of shop.py"), "/home/ann"), "review · shop");
  assert.equal(sessionTitle(session("/home/ann/shop/")), "review in shop");
  assert.equal(underTitle(session("/home/ann/shop"), "/home/ann"), "~/shop");
});
