"""The moving picture of the terminal shows, in each frame, what a terminal shows."""

from __future__ import annotations

import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from docsite.terminal_picture import CELL, LINE, MARGIN, ROWS, Frame, Terminal, in_terminal, svg

PICTURE = Path(__file__).parent.parent.parent / "docs" / "pictures" / "run.svg"
SVG = "{http://www.w3.org/2000/svg}"

STEPS = [
    "$ command\r\n",
    "⠋ working · 1 s",
    "\r\x1b[K⠙ working · 12 s",
    "\r\x1b[KA first line, \x1b[1mbold\x1b[0m\r\n",
    "two\r\nthree\x1b[1A\r\x1b[2KTWO\x1b[1B\r\n",
    "left\x1b[40Gright\r\n",
    "".join(f"row {number}\r\n" for number in range(ROWS)),
    "\x1b[3A\x1b[31mred\x1b[0m over it",
    "\x1b[2J\x1b[HNothing is left of it.",
]
"""As programs write them: a line of progress that is erased, a line above that is overwritten, a jump within
the line, scrolling, a clear screen.
"""

PROGRAM = r"""
import os, subprocess, sys, termios, tty

tty.setraw(0)
for number, step in enumerate(eval(sys.argv[1])):
    os.write(1, step.encode() + b"\x1b[6n")  # whoever answers has drawn what stood before the question
    answer = b""
    while not answer.endswith(b"R"):
        answer += os.read(0, 1)
    subprocess.run(["tmux", "wait-for", "-S", f"drawn-{number}"], check=True)
    os.read(0, 1)
"""


def visible_texts(picture: str, at: float) -> list[str]:
    """The rows of a picture at a moment, from its texts and their times."""
    root = ElementTree.fromstring(picture)
    style = root.findtext(f"{SVG}style") or ""
    total = float(re.findall(r"animation-duration:([\d.]+)s", style)[0])
    frames = dict(re.findall(r"@keyframes (k\d+)\{(.*)\}\n", style))
    rows = [""] * ROWS
    for group in root.iter(f"{SVG}g"):
        name = (group.get("class") or "").split()
        if name and _opacity(frames["k" + name[0][1:]], 100 * at / total) == "1":
            text = group.find(f"{SVG}text")
            assert text is not None
            number = round((float(text.get("y") or 0) - 14) / LINE)
            assert rows[number] == "", f"two texts in row {number} at {at:.2f} s"
            for part in text:
                column = round((float(part.get("x") or 0) - MARGIN) / CELL)
                rows[number] = rows[number].ljust(column) + (part.text or "")
    return rows


def _opacity(keyframes: str, percent: float) -> str:
    stops: list[tuple[float, str]] = [
        (float(at), value) for at, value in re.findall(r"([\d.]+)%\{opacity:(\d)\}", keyframes)
    ]
    return [value for at, value in stops if at <= percent + 0.01][-1]


def own_words(terminal: Terminal) -> list[str]:
    """The screen as the terminal itself writes it down, without styles."""
    lines = terminal.tmux("capture-pane", "-p", "-t", "picture").split("\n")[:ROWS]
    return [line.rstrip() for line in lines] + [""] * (ROWS - len(lines))


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_each_frame_is_the_screen_of_the_terminal(tmp_path: Path) -> None:
    frames, screens = [], []
    command = [sys.executable, "-c", PROGRAM, repr(STEPS)]
    with in_terminal(command, tmp_path, {"PYTHONUNBUFFERED": "1"}) as terminal:
        for number in range(len(STEPS)):
            terminal.tmux("wait-for", f"drawn-{number}")
            frames.append(Frame(float(number), terminal.screen()))
            screens.append(own_words(terminal))
            terminal.tmux("send-keys", "-t", "picture", "x")
    assert screens[2][1] == "⠙ working · 12 s"
    picture = svg(frames, "steps")
    for number, screen in enumerate(screens):
        assert visible_texts(picture, number + 0.5) == screen


def test_no_two_texts_of_our_picture_are_in_one_place() -> None:
    picture = PICTURE.read_text("utf-8")
    total = float(re.findall(r"animation-duration:([\d.]+)s", picture)[0])
    shown = [visible_texts(picture, total * part / 400) for part in range(400)]
    spinning = [rows for rows in shown if any("writing ·" in row for row in rows)]
    assert spinning
    last = visible_texts(picture, total - 0.1)
    assert last[0].startswith("$ dragoman run ")
    assert not any(re.search(r"writing ·|thinking ·|starting", row) for row in last)
    assert any(row.startswith("end turn · ") for row in last)


def test_those_who_want_no_motion_see_the_last_screen() -> None:
    root = ElementTree.fromstring(PICTURE.read_text("utf-8"))
    total = float(re.findall(r"animation-duration:([\d.]+)s", PICTURE.read_text("utf-8"))[0])
    still = [
        "".join(group.itertext()).strip()
        for group in root.iter(f"{SVG}g")
        if "gone" not in (group.get("class") or "gone")
    ]
    last = [re.sub(" ", "", row) for row in visible_texts(PICTURE.read_text("utf-8"), total - 0.1) if row]
    assert sorted(re.sub(" ", "", text) for text in still) == sorted(last)
