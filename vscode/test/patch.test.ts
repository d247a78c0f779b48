/** The text before a change comes back from the text after it. */

import assert from "node:assert/strict";
import test from "node:test";
import { parseUnified } from "../../packages/hub/web/src/text/diff";
import { sideOf, textBefore } from "../src/host/patch";

const BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";
const AFTER = "zero\none\ntwo\nTHREE\nfour\nfive\nsix\nseven\nnine\n";
const DIFF = "--- a\n+++ b\n@@ -1,5 +1,6 @@\n+zero\n one\n two\n-three\n+THREE\n four\n five\n@@ -6,4 +7,3 @@\n six\n seven\n-eight\n nine\n";

test("a change is taken back in every line", () => {
  assert.equal(textBefore(AFTER, parseUnified(DIFF)), BEFORE);
});

test("line endings of Windows stay what they are", () => {
  assert.equal(textBefore(AFTER.replaceAll("\n", "\r\n"), parseUnified(DIFF)), BEFORE.replaceAll("\n", "\r\n"));
});

test("a new file was empty before, and one that lost everything had it", () => {
  assert.equal(textBefore("a\nb\n", parseUnified("@@ -0,0 +1,2 @@\n+a\n+b\n")), "");
  assert.equal(textBefore("", parseUnified("@@ -1,2 +0,0 @@\n-a\n-b\n")), "a\nb\n");
});

test("a text that was changed since is not guessed at", () => {
  assert.equal(textBefore(AFTER.replace("THREE", "3"), parseUnified(DIFF)), null);
  assert.equal(textBefore("zero\n", parseUnified(DIFF)), null);
});

test("a side alone shows its hunks and that something is between them", () => {
  assert.equal(sideOf(parseUnified(DIFF), "before"), "one\ntwo\nthree\nfour\nfive\n⋯\nsix\nseven\neight\nnine\n");
  assert.equal(sideOf(parseUnified(DIFF), "after"), "zero\none\ntwo\nTHREE\nfour\nfive\n⋯\nsix\nseven\nnine\n");
});
