import assert from "node:assert/strict";
import test from "node:test";
import { findExcerpt, findWords, plainText } from "../src/text/search";

const found = (text: string, query: string): string[] => findWords(text, query).map(({ from, to }) => text.slice(from, to));

test("words are found from their beginning, without case and accents", () => {
  assert.deepEqual(found("A zebra, ZEBRAS and a_zebra; unzebra", "zebra"), ["zebra", "ZEBRA", "zebra"]);
  assert.deepEqual(found("Café au lait", "cafe"), ["Café"]);
  assert.deepEqual(found("Cafe\u0301 noir", "café"), ["Cafe\u0301"]);
  assert.deepEqual(found("one two three", "three one"), ["one", "three"]);
  assert.deepEqual(found("anything", "  ,; "), []);
});

test("scripts without spaces are found within a sentence", () => {
  assert.deepEqual(found("我喜欢日本料理", "日本"), ["日", "本"]);
});

test("of several matches, the one of the excerpt is meant", () => {
  const text = "First the parser splits the text. Then nothing happens for a while. At last the parser joins what was split.";
  const span = findExcerpt(text, "parser", "…a while. At last the **parser** joins what…");
  assert.equal(span?.from, text.lastIndexOf("parser"));
  assert.equal(findExcerpt(text, "parser", "")?.from, text.indexOf("parser"));
  assert.ok(findExcerpt(text, "last parser", "First the parser splits the text.")!.from >= text.indexOf("last"));
  assert.equal(findExcerpt(text, "absent", "absent"), null);
});

test("an excerpt of markdown reads as it is drawn", () => {
  assert.equal(plainText("## What I found The function `split` **lost one** character"), "What I found The function split lost one character");
  assert.equal(plainText("…```python def split(text, at): ``` See [the notes](https://docs.example/x)…"), "… def split(text, at): See the notes…");
  assert.equal(plainText("…lf** of it | half | before | |---|---| | left | `text[:at]` |"), "…lf of it half before left text[:at]");
  assert.equal(plainText("…the notes](https://docs.example/x) and [more](https://docs.exam…"), "…the notes and more…");
  assert.equal(plainText("a < b, 3 * 4, f_x and C#"), "a < b, 3 * 4, f_x and C#");
});
