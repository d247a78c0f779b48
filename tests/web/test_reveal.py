"""The page shows the invisible characters that terminals show, in the same places and in every mode."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman.text.sanitize import sanitize, sanitize_line
from tests.text.test_sanitize import HOSTILE, ORDINARY

WEB = Path(__file__).parents[2] / "web"
NODE = shutil.which("node")

# Bundles the page's module, and shows each text of its input in every mode. Marks of many lines are written
# as terminals write them. Where node and Python have different versions of Unicode, a character may be new to
# one of them: `unassigned` says so, and such a text is not compared.
SCRIPT = r"""
import { readFileSync } from "node:fs";
import { build } from "esbuild";
const made = await build({ entryPoints: ["src/text/reveal.ts"], bundle: true, format: "esm", write: false });
const source = Buffer.from(made.outputFiles[0].text).toString("base64");
const { plain, reveal } = await import("data:text/javascript;base64," + source);
const digits = (code, count) => code.toString(16).padStart(count, "0");
const escaped = (code) => {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return code <= 0xffff ? "\\u" + digits(code, 4) : "\\U" + digits(code, 8);
};
const written = (piece) => (typeof piece === "string" ? piece : escaped(piece.code));
const shown = JSON.parse(readFileSync(0, "utf8")).map((text) => ({
  text: reveal(text).map(written).join(""),
  exact: reveal(text, "exact").map(written).join(""),
  line: plain(text),
  "exact line": plain(text, "exact line"),
  unassigned: /\p{Cn}/u.test(text),
}));
process.stdout.write(JSON.stringify(shown));
"""

HELD = [*"\u200b\u200c\u200d\u034f\u180b\u180f\ufe00\ufe02\ufe03\ufe0e\ufe0f\u2060\xad\u202e\ue000\x1b\r\n\t"]
HELD += [*"\U000e0001\U000e0067\U000e007f\U000e0100\U000e01ef\U000f0000"]
BEFORE = ["", *"a1#©☃😀葛豈مकᠮ🏴\u200d\ufe0f\u3000\u2800", "😀\ufe0f", "1\ufe0f", "\r"]
BEHIND = ["", *"b😀♂م1\u20e3\u200d\u200c\ufe0f\n"]


def corpus() -> Iterator[str]:
    known = [chr(code) for code in range(0x110000) if _is_known(code)]
    for at in range(0, len(known), 16):
        yield "a".join(known[at : at + 16])
    for before, held, behind in itertools.product(BEFORE, HELD, BEHIND):
        yield f"{before}{held}{behind}"
    for region in ("gbeng", "gbsct", "gbwls", "gbxxx", "gben"):
        tags = "".join(chr(0xE0000 + ord(letter)) for letter in region)
        yield from (f"{flag}{tags}{end}" for flag in ("🏴", "a") for end in ("\U000e007f", ""))
    yield from (text for text, _ in HOSTILE.values())
    yield from ORDINARY.values()
    chance = random.Random(1)
    letters = [*HELD, *"".join(BEFORE), *"ab \t\nü½"]
    yield from ("".join(chance.choices(letters, k=12)) for _ in range(2000))


def _is_known(code: int) -> bool:
    """Whether this Python's Unicode has the character. Of the two planes for private use a part is enough."""
    return unicodedata.category(chr(code)) != "Cn" and (code < 0xF0000 or code % 997 == 0)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.timeout(120)
def test_the_page_and_the_terminal_show_the_same_characters() -> None:
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("the tools of the page are not installed (npm ci in web/)")
    texts = list(corpus())
    done = subprocess.run(
        [str(NODE), "--input-type=module", "--eval", SCRIPT],
        cwd=WEB,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=patience(60),
    )
    shown = json.loads(done.stdout)
    assert len(shown) == len(texts)
    different = [
        (mode, text, expected, page[mode])
        for text, page in zip(texts, shown, strict=True)
        if page["unassigned"] == any(unicodedata.category(character) == "Cn" for character in text)
        for mode, expected in _in_a_terminal(text)
        if page[mode] != expected
    ]
    assert different[:5] == []


def _in_a_terminal(text: str) -> Iterator[tuple[str, str]]:
    yield "text", sanitize(text)
    yield "exact", sanitize(text, exact=True)
    yield "line", sanitize_line(text)
    yield "exact line", sanitize_line(text, exact=True)
