"""The page shows the invisible characters that terminals show, in every mode and wherever it shows a text."""

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
from tests.web.conftest import RunningHub, Visitor, send
from tests.web.page_sight import becomes, says

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


def corpus(*, is_whole: bool) -> Iterator[str]:
    known = [chr(code) for code in range(0x110000) if _is_known(code) and (is_whole or _is_sampled(code))]
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


def _is_sampled(code: int) -> bool:
    """Of the ideographs and of the syllables of Korean, which are two thirds of all characters, a part."""
    return not (0x3400 <= code < 0xD7A4 or 0x20000 <= code < 0xE0000) or code % 61 == 0


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_page_and_the_terminal_show_the_same_characters(is_whole: bool) -> None:
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("the tools of the page are not installed (npm ci in packages/hub/web)")
    texts = list(corpus(is_whole=is_whole))
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


# Every text and every attribute that a person reads or hears, with a character in it that they cannot see.
UNSEEN = r"""() => {
    const unseen = /[\u034f\u202e]/;
    const found = unseen.test(document.title) ? [`title: ${document.title}`] : [];
    const walk = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (unseen.test(walk.currentNode.data)) found.push(walk.currentNode.data);
    const read = /^(title|aria-.*|alt|placeholder|label|data-exit)$/;
    for (const element of document.querySelectorAll("*"))
        for (const { name, value } of element.attributes)
            if (read.test(name) && unseen.test(value)) found.push(`${name}: ${value}`);
    return found;
}"""


@pytest.mark.timeout(240)
def test_nothing_that_a_person_reads_or_approves_hides_a_character(visitor: Visitor, hub: RunningHub) -> None:
    page = visitor.start()
    send(page, "invisible")
    page.wait_for_selector(".dock .card")
    page.evaluate("() => document.querySelectorAll('.timeline details').forEach(one => (one.open = true))")
    page.wait_for_function("() => document.querySelector('.timeline').innerText.includes('out')")
    words = ("asksU+034F forU+00A0it", "rmU+00A0-rfU+034F /", "/homeU+034F", "allowU+034F onceU+202E")
    says(page, ".dock .card", *words)
    shown = (
        "plan",
        "tool",
        "path",
        "old",
        "place",
        "in",
        "out",
        "link",
        "hologram",
        "prose",
        "block",
        "run",
    )
    says(page, ".timeline", *(f"{word}U+034F" for word in shown), "newU+00A0U+202E")
    becomes(lambda: page.inner_text(".diff .removed .text"), "oldU+034F")
    says(page, ".tool .path", "pathU+034FLFfile")
    becomes(lambda: page.title().startswith("(1) session\\u034f title\\u202e"), True)
    says(page, ".settings", "option\\u034f")
    assert page.evaluate(UNSEEN) == []

    page.fill(".composer textarea", "/")
    page.wait_for_selector(".completion .option")
    option = "/commandU+034F\naboutU+202E it · hintU+034F"
    becomes(lambda: page.inner_text(".completion .option"), option)
    assert page.evaluate(UNSEEN) == []
    page.fill(".composer textarea", "")

    page.click(".dock .choice.allow_once")
    page.wait_for_selector(".dock .card form")
    filled = (
        "messageU+034F",
        "fieldU+034F",
        "hintU+202E",
        "filledU+00A0in",
        "listU+034F",
        "entryU+034F",
    )
    says(page, ".dock .card", *filled)
    assert page.evaluate(UNSEEN) == []
    page.click("a.brand")
    page.wait_for_selector(".inbox .card")
    says(page, ".sessions", "session\\u034f title")
    assert page.evaluate(UNSEEN) == []
    page.click(".inbox .choice.reject_once")
