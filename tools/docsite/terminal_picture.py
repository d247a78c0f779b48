"""Draws the moving picture of `dragoman run`: runs it in a pseudo terminal, and draws what it printed when.

    .venv/bin/python tools/docsite/terminal_picture.py      # writes docs/pictures/run.svg

Each piece of text stands in the picture once and appears at its time; the screen scrolls as a terminal does.
Who wants little motion sees the last screen. Nothing is loaded, and no script is in it.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import NamedTuple
from xml.sax.saxutils import escape

from dragoman.text.ansi import output_pieces

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "docs" / "pictures" / "run.svg"
COLUMNS, ROWS = 84, 22
CELL, LINE, MARGIN = 8.4, 19, 16
HOLD = 4.0
"""Seconds that the last screen stays before everything begins again."""
TYPING = 1.8
"""Seconds that it takes to type the command."""
PATIENCE = 60.0

WORDS = [
    "dragoman",
    "run",
    "The test of split fails: fix it",
    "--agent",
    "dragoman agent script fixer.script",
    "--approve",
    "all",
]
PARSER = "def split(text, at):\n    left = text[:at]\n    right = text[at + 1:]\n    return left, right\n"
COLOURS = {
    "ansi_black": "#5c6370", "ansi_red": "#f47067", "ansi_green": "#7ee787", "ansi_yellow": "#f2b765",
    "ansi_blue": "#6cb6ff", "ansi_magenta": "#dcbdfb", "ansi_cyan": "#5ec4b9", "ansi_white": "#e6e6e3",
}  # fmt: skip


class Output(NamedTuple):
    """What a program printed, and when, in seconds since its start."""

    at: float
    data: bytes


class ScreenPiece(NamedTuple):
    """A text of one style that appeared at one time in one line."""

    at: float
    row: int
    column: int
    text: str
    style: str


def record(command: list[str], folder: Path) -> list[Output]:
    """Run a command in a pseudo terminal, and give what it prints with times."""
    near, far = pty.openpty()
    ioctl(far, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    start = time.monotonic()
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=far, stderr=far, env=environment
    ) as process:
        os.close(far)
        try:
            return list(_read(near, start))
        finally:
            os.close(near)
            process.kill()


def _read(near: int, start: float) -> Iterator[Output]:
    while select.select([near], [], [], PATIENCE)[0]:
        try:
            data = os.read(near, 65536)
        except OSError:  # the way in which Linux says that the program has ended
            return
        if not data:
            return
        yield Output(time.monotonic() - start, data)


def pieces(outputs: Iterable[Output], *, first_row: int = 0) -> list[ScreenPiece]:
    """What appears where and when: each output is compared with the screen before it. Lines are wrapped."""
    text, shown = "", [""]
    made: list[ScreenPiece] = []
    for output in outputs:
        text += output.data.decode("utf-8", "replace")
        lines = [line for whole in output_pieces(text) for line in wrapped(whole)]
        for row, line in enumerate(lines):
            known = len(shown[row]) if row < len(shown) else 0
            made += _new_pieces(line, known, at=output.at, row=row + first_row)
        shown = ["".join(piece for piece, _ in line) for line in lines]
    return made


def _new_pieces(line: list[tuple[str, str]], known: int, *, at: float, row: int) -> Iterator[ScreenPiece]:
    column = 0
    for text, style in line:
        new = text[max(0, known - column) :]
        if new.strip():
            yield ScreenPiece(at, row, column + len(text) - len(new), new, style)
        column += len(text)


def wrapped(line: list[tuple[str, str]], width: int = COLUMNS) -> Iterator[list[tuple[str, str]]]:
    """A line in rows of at most `width` cells."""
    row: list[tuple[str, str]] = []
    room = width
    for text, style in line:
        rest = text
        while len(rest) > room:
            yield [*row, (rest[:room], style)]
            row, rest, room = [], rest[room:], width
        row.append((rest, style))
        room -= len(rest)
    yield row


def typed(command: list[str]) -> list[ScreenPiece]:
    """The command line as somebody types it, a few characters at a time."""
    words = (f'"{word}"' if " " in word else word for word in command)
    made = [ScreenPiece(0.0, 0, 0, "$", "ansi_green")]
    rows = list(wrapped([(f"  {' '.join(words)}", "bold")]))
    length = sum(len(text) for row in rows for text, _ in row)
    count = 0
    for number, row in enumerate(rows):
        text = "".join(part for part, _ in row)
        for column in range(0, len(text), 3):
            piece = text[column : column + 3]
            count += len(piece)
            if piece.strip():
                made.append(ScreenPiece(0.3 + TYPING * count / length, number, column, piece, "bold"))
    return made


def svg(shown: list[ScreenPiece], title: str) -> str:
    """The picture of everything that is shown."""
    total = max(piece.at for piece in shown) + HOLD
    height, width = ROWS * LINE + 2 * MARGIN + 26, COLUMNS * CELL + 2 * MARGIN
    times = sorted({round(piece.at, 1) for piece in shown})
    rows = max(piece.row for piece in shown) + 1
    keyframes = [_appearing(number, at, total) for number, at in enumerate(times)]
    keyframes.append(_scrolling(shown, total))
    texts = [_text(piece, times.index(round(piece.at, 1))) for piece in shown]
    final = -LINE * max(0, rows - ROWS)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">
<title>{escape(title)}</title>
<style>
text{{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#dfe3ea;white-space:pre}}
.b{{font-weight:700}}.d{{opacity:.62}}.i{{font-style:italic}}.u{{text-decoration:underline}}
#s{{transform:translateY({final}px);animation:s {total:.1f}s step-end infinite}}
#s g{{animation-duration:{total:.1f}s;animation-timing-function:step-end;animation-iteration-count:infinite}}
{"".join(keyframes)}
@media (prefers-reduced-motion:reduce){{#s,#s g{{animation:none!important}}}}
</style>
<rect width="100%" height="100%" rx="10" fill="#16171a"/>
<circle cx="20" cy="17" r="5" fill="#f47067"/>
<circle cx="37" cy="17" r="5" fill="#f2b765"/>
<circle cx="54" cy="17" r="5" fill="#7ee787"/>
<svg y="{MARGIN + 18}" width="100%" height="{ROWS * LINE + 8}"><g id="s">
{chr(10).join(texts)}
</g></svg>
</svg>
"""


def _percent(at: float, total: float) -> str:
    return f"{100 * at / total:.2f}".rstrip("0").rstrip(".") + "%"


def _appearing(number: int, at: float, total: float) -> str:
    stops = f"0%{{opacity:0}}{_percent(at, total)}{{opacity:1}}"
    return f".t{number}{{animation-name:k{number}}}@keyframes k{number}{{{stops}}}\n"


def _scrolling(shown: list[ScreenPiece], total: float) -> str:
    stops = ["0%{transform:none}"]
    top = 0
    for piece in sorted(shown):
        if piece.row - ROWS + 1 > top:
            top = piece.row - ROWS + 1
            stops.append(f"{_percent(piece.at, total)}{{transform:translateY({-top * LINE}px)}}")
    return f"@keyframes s{{{''.join(stops)}}}\n"


def _text(piece: ScreenPiece, time_number: int) -> str:
    words = piece.style.split()
    names = [word[0] for word in ("bold", "dim", "italic", "underline") if word in words]
    colour = next((COLOURS[word.replace("bright_", "")] for word in words if word.startswith("ansi_")), "")
    text = piece.text.rstrip()
    attributes = [
        f'x="{MARGIN + piece.column * CELL:.1f}" y="{14 + piece.row * LINE}"',
        f'textLength="{len(text) * CELL:.1f}"',
        f'class="{" ".join(names)}"' if names else "",
        f'style="fill:{colour}"' if colour else "",
    ]
    return f'<g class="t{time_number}"><text {" ".join(filter(None, attributes))}>{escape(text)}</text></g>'


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "parser"
        folder.mkdir()
        shutil.copyfile(HERE / "picture.script", folder / "fixer.script")
        (folder / "parser.py").write_text(PARSER)
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        outputs = record(WORDS, folder)
    place = re.escape(str(folder).encode())
    begun = outputs[0].at  # the start of Python is not part of the story
    outputs = [
        Output(output.at - begun + TYPING + 0.8, re.sub(place, b"/home/ann/parser", output.data))
        for output in outputs
    ]
    command = typed(WORDS)
    shown = [*command, *pieces(outputs, first_row=max(piece.row for piece in command) + 1)]
    TARGET.write_text(svg(shown, "dragoman run: an agent fixes a test in the terminal"), "utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
