import assert from "node:assert/strict";
import test from "node:test";
import { parseInline } from "../src/text/inline";
import { type Block, MarkdownStream, parseMarkdown } from "../src/text/markdown";
import { effort } from "./effort";
import { chance } from "./random";

const DOCUMENT = `# Title

Some *text* with **strong _and em_ words** and \`code\`,
going on. https://example.org/a(b) is bare.

- one
- two
  - nested

  a paragraph of two
- [x] done

3. three
4. four

> quoted
> more

| a | b |
|:--|--:|
| 1 | \`x|y\` |

\`\`\`python
def f():
    return "# no heading"
\`\`\`

Under
-----

---
last`;

test("blocks are what they look like", () => {
  const kinds = parseMarkdown(DOCUMENT).map((block) => block.t);
  assert.deepEqual(kinds, ["h", "p", "list", "list", "quote", "table", "code", "h", "hr", "p"]);
});

test("a list keeps its nesting, its tasks and its numbers", () => {
  const [first, second] = parseMarkdown(DOCUMENT).filter((block) => block.t === "list") as (Block & { t: "list" })[];
  assert.deepEqual(first.items.map((item) => item.task), [null, null, true]);
  assert.deepEqual(first.items[1].c.map((block) => block.t), ["p", "list", "p"]);
  assert.equal(second.start, 3);
});

test("a stream gives the same blocks as the whole text, wherever it is cut", () => {
  const whole = parseMarkdown(DOCUMENT);
  for (let seed = 1; seed <= 60; seed += 1) {
    const next = chance(seed);
    const stream = new MarkdownStream();
    for (let at = 0; at < DOCUMENT.length; ) {
      const until = at + 1 + next(seed % 3 === 0 ? 2 : 40);
      stream.push(DOCUMENT.slice(at, until));
      at = until;
    }
    assert.deepEqual(stream.blocks, whole, `seed ${seed}`);
  }
});

test("what has settled never changes again", () => {
  const stream = new MarkdownStream();
  let settled: string[] = [];
  for (const character of DOCUMENT) {
    stream.push(character);
    const now = stream.blocks.slice(0, stream.settled).map((block) => JSON.stringify(block));
    assert.deepEqual(now.slice(0, settled.length), settled);
    settled = now;
  }
});

test("an open fence is code from its first line on", () => {
  const stream = new MarkdownStream();
  stream.push("```js\nlet a = 1;\n");
  assert.deepEqual(stream.blocks, [{ t: "code", lang: "js", s: "let a = 1;\n", open: true }]);
});

test("markup of HTML is text", () => {
  assert.deepEqual(parseInline("<b>x</b> <script>y</script>"), [{ t: "text", s: "<b>x</b> <script>y</script>" }]);
});

test("links keep where they lead, whatever they say", () => {
  assert.deepEqual(parseInline("[https://good.example](https://evil.example/x \"t\")"), [
    { t: "link", href: "https://evil.example/x", c: [{ t: "text", s: "https://good.example" }] },
  ]);
  assert.deepEqual(parseInline("![alt](x.png)"), [{ t: "image", href: "x.png", alt: "alt" }]);
});

test("words with underscores and lone stars stay as they are", () => {
  for (const text of ["snake_case_name", "2 * 3 * 4", "a ** b", "`open", "[no link] here", "* x"]) {
    const inlines = parseInline(text);
    assert.deepEqual(inlines, [{ t: "text", s: text }], text);
  }
});

test("hostile lines cost linear time", () => {
  const pieces = ["*", "[", "`", "_a", "**a", "![", "](", "<", "> ", "- ", "|-", "\\"];
  const taken = effort(() => pieces.forEach((piece) => parseMarkdown(piece.repeat(30_000))));
  assert.ok(taken < 4000, `${taken} ms`);
});
