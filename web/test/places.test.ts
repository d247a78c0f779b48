import assert from "node:assert/strict";
import test from "node:test";
import { placeInCode, placeOfLink, ruleOfLink } from "../src/text/places";

test("links to lines of files are understood in all the ways in which agents write them", () => {
  const links = ["src/a.py:12", "src/a.py:12:5", "/w/a%20b.py#L12", "file:///w/a.py#L3-L9", "file:/w/a.py", "README.md", "a.ts:3-9"];
  assert.deepEqual(links.map((link) => Object.values(placeOfLink(link)!).join(" ")), [
    "src/a.py 12", "src/a.py 12", "/w/a b.py 12", "/w/a.py 3", "/w/a.py 0", "README.md 0", "a.ts 3",
  ]);
});

test("what leads elsewhere is no place in a file", () => {
  for (const link of ["https://a.example/b.py:1", "javascript:alert(1)", "mailto:a@b", "//host/a", "#top", "file://host/etc/passwd", "data:text/html,x", ""]) {
    assert.equal(placeOfLink(link), null, link);
  }
});

test("code is a place only if it names a line of a file", () => {
  assert.deepEqual(placeInCode("src/parser.py:12"), { path: "src/parser.py", line: 12 });
  for (const code of ["x:1", "12:30", "a.b", "localhost:8080", "foo(a.py:1)", "dict[key]:3"]) assert.equal(placeInCode(code), null, code);
});

test("a link to the package's page of rules leads to the hub's own, and no other file does", () => {
  assert.equal(ruleOfLink("file:///usr/lib/x/data/review-rules.md#flow-ssrf"), "/rules#flow-ssrf");
  for (const link of ["file:///w/review-rules.md", "https://a.example/review-rules.md#x", "file:///w/a.md#x", "file:///w/review-rules.md#a\"b"]) {
    assert.equal(ruleOfLink(link), null, link);
  }
});
