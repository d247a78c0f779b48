/** Addresses, however they were written, and what may be sent to them; places in files; selections as prompts. */

import assert from "node:assert/strict";
import test from "node:test";
import { isSafe, parseAddress } from "../src/host/access";
import { locate } from "../src/host/files";
import { describe } from "../src/host/questions";
import { selectionPrompt } from "../src/host/sessions";
import { Range, Uri, workspace } from "./fake_vscode";

test("an address is understood in every form that people copy", () => {
  const origin = "http://127.0.0.1:8765/";
  for (const text of [origin, "127.0.0.1:8765", "ws://127.0.0.1:8765/acp", " http://127.0.0.1:8765/#/s/1 "]) {
    assert.deepEqual(parseAddress(text), { origin, token: "" }, text);
  }
  assert.deepEqual(parseAddress("https://hub.example/#token=a%2Fb"), { origin: "https://hub.example/", token: "a/b" });
  for (const text of ["", "ftp://a", "http://me:secret@a/", "http://"]) assert.equal(parseAddress(text), null, text);
});

test("a token goes over TLS or stays on this machine", () => {
  for (const origin of ["https://hub.example/", "http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/"]) assert.ok(isSafe(origin), origin);
  for (const origin of ["http://hub.example/", "http://127.0.0.1.example/", "http://10.0.0.1/"]) assert.ok(!isSafe(origin), origin);
});

test("a path is taken below the folder of its session, and never to another machine", () => {
  assert.equal(locate("src/a.py", "/home/ann")?.path, "/home/ann/src/a.py");
  assert.equal(locate("/etc/hosts", "/home/ann")?.path, "/etc/hosts");
  for (const path of ["//host/share/a", "\\\\host\\share"]) assert.equal(locate(path, path.startsWith("/") ? "/home" : ""), null, path);
});

test("a selection becomes words, lines in a fence that holds, and a link", () => {
  const folders = workspace.workspaceFolders;
  workspace.workspaceFolders = [{ uri: Uri.file("/home/ann") }];
  const document = { uri: Uri.file("/home/ann/notes.md"), languageId: "markdown", getText: () => "```\ncode\n```" };
  const [said, link] = selectionPrompt("Why?", document as never, new Range(4, 0, 6, 3) as never);
  workspace.workspaceFolders = folders;
  assert.equal(said.text, "Why?\n\nnotes.md:5-7\n\n````markdown\n```\ncode\n```\n````");
  assert.deepEqual(link, { type: "resource_link", uri: "file:///home/ann/notes.md", name: "notes.md", description: "lines 5 to 7" });
});

test("a command is described whole, with its risks and with hidden characters by name", () => {
  const asked = { sessionId: "s", request: "1", method: "session/request_permission", params: { toolCall: { title: "Clean up" } }, title: "Work", agent: "guide", risks: [{ severity: "high", text: "It deletes." }] };
  const text = describe(asked, { toolCallId: "1", rawInput: { command: "rm -rf build\u202e", cwd: "/home/ann" } });
  assert.ok(text.startsWith("# Clean up\n# Work · guide\n# in /home/ann\n# high: It deletes.\n\nrm -rf build"), text);
  assert.ok(!text.includes("\u202e"));
});
