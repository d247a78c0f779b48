import assert from "node:assert/strict";
import test from "node:test";
import { MOST_LINES, Screen } from "../src/text/ansi";
import { changedPart, diffLines, hunksOf, parseUnified, sideBySide } from "../src/text/diff";
import { type Piece, isBetween, placeToCut, plain, reveal } from "../src/text/reveal";
import { grouped, hours, price, standing } from "../src/view/dom";
import { effort } from "./effort";
import { chance } from "./random";

function lines(screen: Screen): string[] {
  return screen.lines.map((line) => line.map((span) => span.text).join(""));
}

test("a question says since when it stands, and its end only if it has one", () => {
  const now = 1_800_000_000_000;
  const before = (seconds: number): number => now / 1000 - seconds;
  assert.equal(standing({}, now), "");
  assert.equal(standing({ askedAt: before(10) }, now), "Asked just now");
  assert.equal(standing({ askedAt: before(200), expiresAt: null }, now), "Asked 3 min ago");
  assert.equal(standing({ askedAt: before(7200), expiresAt: before(-3600 * 22) }, now), "Asked 2 h ago · refused in 22 h");
});

test("characters that hide are shown", () => {
  assert.equal(plain("a\u202eb\u0007\u200b\ufeff"), "a\\u202eb␇\\u200b\\ufeff");
  assert.deepEqual(reveal("tab\tline\r\nend"), ["tab\tline\nend"]);
  assert.equal(plain("x\ry\nz"), "x␍y␊z");
  assert.equal(plain("\ud800"), "\\ud800");
  assert.deepEqual(reveal("\u034f"), [{ code: 0x34f, label: "U+034F", name: "combining grapheme joiner" }]);
});

test("a blank is a blank in prose, and a mark where somebody approves", () => {
  assert.deepEqual(reveal("voilà\u00a0!"), ["voilà\u00a0!"]);
  assert.equal(plain("rm\u00a0-rf", "exact line"), "rm\\u00a0-rf");
});

test("joiners belong to emoji and not to commands", () => {
  assert.deepEqual(reveal("👩‍💻", "exact"), ["👩‍💻"]);
  assert.equal(reveal("rm\u200d -rf").length, 3);
});

test("a text that is cut at the places for it is shown as the whole", () => {
  const letters = [..."a1é葛م😀👩🏴\u200d\u200c\ufe0f\u20e3\r\n\u202e", "\u{e0067}", "\u{e0100}", "\u{e007f}"];
  const text = (pieces: Piece[]): string => pieces.map((piece) => (typeof piece === "string" ? piece : `[${piece.label}]`)).join("");
  let cuts = 0;
  for (let seed = 1; seed < 400; seed += 1) {
    const next = chance(seed);
    const whole = Array.from({ length: 20 }, () => letters[next(letters.length)]).join("");
    for (let at = 1; at < whole.length; at += 1) {
      const place = placeToCut(whole, at);
      assert.ok(place <= at, `seed ${seed}`);
      if (!isBetween(whole, place)) continue; // there is none nearby
      cuts += 1;
      assert.equal(text(reveal(whole.slice(0, place))) + text(reveal(whole.slice(place))), text(reveal(whole)), `seed ${seed}`);
    }
  }
  assert.ok(cuts > 1000);
});

test("colours are taken apart, wherever the text is cut", () => {
  const text = "\x1b[1;31mred\x1b[0m plain \x1b[38;5;208mfancy\x1b[48;2;1;2;3mback\x1b[m\nnext";
  const whole = new Screen();
  whole.push(text);
  assert.deepEqual(whole.lines[0][0], { text: "red", style: { bold: true, fg: "1" } });
  assert.equal(whole.lines[0][2].style.fg, "#ff8700");
  assert.equal(whole.lines[0][3].style.bg, "#010203");
  for (let seed = 1; seed < 40; seed += 1) {
    const next = chance(seed);
    const screen = new Screen();
    for (let at = 0; at < text.length; ) {
      const until = at + 1 + next(6);
      screen.push(text.slice(at, until));
      at = until;
    }
    assert.deepEqual(lines(screen), lines(whole), `seed ${seed}`);
  }
});

test("a progress bar is one line", () => {
  const screen = new Screen();
  screen.push("10 %\r20 %\r\x1b[Kdone\nab\bc\n\x1b[1A\x1b[2Kagain");
  assert.deepEqual(lines(screen), ["done", "again", ""]);
});

test("sequences that do more than colour are dropped", () => {
  const screen = new Screen();
  screen.push("a\x1b]0;title\x07b\x1b[2Jc\x1b[?25ld\x1bPq#0\x1b\\e");
  assert.deepEqual(lines(screen), ["abcde"]);
});

test("only the last lines are kept, and it is said how many went", () => {
  const screen = new Screen();
  screen.push("x\n".repeat(MOST_LINES + 9));
  assert.equal(screen.lines.length, MOST_LINES);
  assert.equal(screen.dropped, 10);
});

test("a diff leads from one text to the other", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const next = chance(seed);
    const text = (): string => Array.from({ length: next(30) }, () => `line ${next(6)}\n`).join("");
    const [before, after] = [text(), text()];
    const rows = diffLines(before, after);
    const side = (skip: string): string => rows.filter((row) => row.kind !== skip).map((row) => `${row.text}\n`).join("");
    assert.equal(side("+"), before, `seed ${seed}`);
    assert.equal(side("-"), after, `seed ${seed}`);
  }
});

test("a diff is as short as it can be", () => {
  const kinds = diffLines("a\nb\nc\nd\n", "a\nc\nd\ne\n").map((row) => row.kind).join("");
  assert.equal(kinds, " -  +");
});

test("texts that share nothing are no endless search", () => {
  const many = (word: string): string => Array.from({ length: 20_000 }, (_, n) => `${word} ${n}`).join("\n");
  const taken = effort(() => assert.equal(diffLines(many("a"), many("b")).length, 40_000));
  assert.ok(taken < 3000, `${taken} ms`);
});

test("hunks hold what is near a change", () => {
  const before = Array.from({ length: 40 }, (_, n) => `l${n}`).join("\n");
  const hunks = hunksOf(diffLines(before, before.replace("l5\n", "five\n").replace("l30\n", "thirty\n")));
  assert.deepEqual(hunks.map((hunk) => hunk.rows.length), [8, 8]);
  assert.deepEqual([hunks[1].rows[0].old, hunks[1].rows[0].now], [28, 28]);
});

test("a unified diff is read back", () => {
  const [hunk] = parseUnified("--- a\n+++ b\n@@ -3,3 +3,3 @@ def f\n same\n-old\n+new\n same2\n\\ No newline at end of file\n");
  assert.equal(hunk.heading, "def f");
  assert.deepEqual(hunk.rows.map((row) => [row.kind, row.old, row.now, row.text]), [
    [" ", 3, 3, "same"], ["-", 4, 3, "old"], ["+", 4, 4, "new"], [" ", 5, 5, "same2"],
  ]);
  assert.deepEqual(sideBySide(hunk.rows).map(([one, other]) => [one?.text, other?.text]), [["same", "same"], ["old", "new"], ["same2", "same2"]]);
  const [added] = parseUnified("@@ -0,0 +1,2 @@\n+a\n+b");
  assert.deepEqual(added.rows.map((row) => row.now), [1, 2]);
});

test("what differs within a line is found", () => {
  assert.deepEqual(changedPart("right = text[at + 1:]", "right = text[at:]"), { from: 15, one: 19, other: 15 });
  assert.equal(changedPart("abc", "xyz"), null);
});

test("hours and counts are written as they are read", () => {
  assert.equal(hours(new Date(2026, 0, 31, 4, 5)), "04:05");
  assert.equal(hours(new Date(2026, 0, 31, 23, 50)), "23:50");
  assert.deepEqual([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
});

test("what is not nothing never looks like it", () => {
  const prices = [0, 0.0004, 0.002, 0.0125, 0.05, 0.0996, 0.5, 12.345, -0.002].map((amount) => price({ amount, currency: "USD" }));
  assert.deepEqual(prices, ["0.00 USD", "< 0.001 USD", "0.002 USD", "0.013 USD", "0.05 USD", "0.10 USD", "0.50 USD", "12.35 USD", "-0.002 USD"]);
});
