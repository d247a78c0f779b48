import assert from "node:assert/strict";
import test from "node:test";
import { parseInline } from "../src/text/inline";
import { cutAtPlaces, placeInCode, placeOfLink, ruleOfLink, shortPath, shortenPaths } from "../src/text/places";

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

test("a bare name of a line of a file is a link, and a host with its port is none", () => {
  const links = (text: string): string[] => parseInline(text).flatMap((inline) => (inline.t === "link" ? [inline.href] : []));
  assert.deepEqual(links("See shop.py:22, src/app/main.ts:3:5 and ./a-b.go:1."), ["shop.py:22", "src/app/main.ts:3:5", "./a-b.go:1"]);
  for (const text of ["example.com:8080", "at 12:30", "localhost:80", "https://a.example/x.py:1/y", "a.py", "v1.2:3", "x@b.py:1", "shop.py:22abc"]) {
    assert.deepEqual(cutAtPlaces(text), [text], text);
  }
  assert.deepEqual(links("[here shop.py:2](b.py#L1)"), ["b.py#L1"], "no link in a link");
  assert.equal(cutAtPlaces(`${"a/".repeat(50_000)}:`).length, 1, "in no time");
});

test("a path is shown from the session's folder or from home, and any other one whole", () => {
  const from = { cwd: "/home/ann/shop", home: "/home/ann" };
  const paths = ["/home/ann/shop/src/a.py", "/home/ann/other/b.py", "/home/ann", "/home/anna/x", "/etc/passwd", "src/a.py", "/home/ann/shop"];
  assert.deepEqual(paths.map((path) => shortPath(path, from)), ["src/a.py", "~/other/b.py", "~", "/home/anna/x", "/etc/passwd", "src/a.py", "~/shop"]);
  assert.equal(shortPath("/a", { cwd: "", home: "" }), "/a", "of a hub that does not tell");
  assert.equal(shortPath("C:\\w\\a.py", { cwd: "C:\\w", home: "" }), "a.py");
  assert.equal(shortenPaths("Write /home/ann/shop/a.txt, then `/home/ann/b`", from), "Write a.txt, then `~/b`");
  assert.equal(shortenPaths("https://a.example/home/ann/shop/a", from), "https://a.example/home/ann/shop/a");
});
