"""Draws the moving picture of `dragoman run`: runs it in a terminal, and draws the screens that it showed.

    .venv/bin/python tools/docsite/terminal_picture.py      # writes docs/pictures/run.svg

The terminal is tmux, which knows what its screen holds: what was erased or overwritten is gone in the
picture, too. A row stands in the picture once for each time that it looked so. Who wants little motion sees
the last screen. Nothing is loaded, and no script is in it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias
from xml.sax.saxutils import escape

from dragoman.text.ansi import output_pieces

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "docs" / "pictures" / "run.svg"
COLUMNS, ROWS = 84, 22
CELL, LINE, MARGIN = 8.4, 19, 16
HOLD = 4.0
"""Seconds that the last screen stays before everything begins again."""
TYPING = 0.02
"""Seconds for a character of the command."""
LOOK = 0.04
"""Seconds between two looks at the screen."""
PATIENCE = 60.0

WORDS = ["dragoman", "run", "The test of split fails: fix it", "--agent", "fixer", "--approve", "all"]
CONFIG = '[agents.fixer]\ncommand = "dragoman agent script fixer.script"\n'
PARSER = "def split(text, at):\n    left = text[:at]\n    right = text[at + 1:]\n    return left, right\n"
COLOURS = {
    "ansi_black": "#5c6370", "ansi_red": "#f47067", "ansi_green": "#7ee787", "ansi_yellow": "#f2b765",
    "ansi_blue": "#6cb6ff", "ansi_magenta": "#dcbdfb", "ansi_cyan": "#5ec4b9", "ansi_white": "#e6e6e3",
}  # fmt: skip


Row: TypeAlias = tuple[tuple[str, str], ...]
"""Texts with their styles, from the left."""


class Frame(NamedTuple):
    """The screen from this moment on, in seconds."""

    at: float
    rows: tuple[Row, ...]


class ShownRow(NamedTuple):
    """A row that looked the same from one moment to another; `until` is None for what stays."""

    at: float
    until: float | None
    number: int
    row: Row


class Terminal:
    """A command in a window of tmux."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._socket.name, "-f", os.devnull, *words]
        environment = {**os.environ, "TMUX_TMPDIR": str(self._socket.parent)}
        done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
        return done.stdout

    def screen(self) -> tuple[Row, ...]:
        """What tmux says that the screen shows."""
        lines = output_pieces(self.tmux("capture-pane", "-p", "-e", "-t", "picture"))
        return tuple(tuple(line) for line in lines)[:ROWS]

    @property
    def exit_status(self) -> int | None:
        """Of the command; None while it runs."""
        status = self.tmux("display", "-p", "-t", "picture", "#{pane_dead_status}").strip()
        return int(status) if status else None


@contextmanager
def in_terminal(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """Run a command in a terminal; its screen stays when the command has ended."""
    with tempfile.TemporaryDirectory() as place:
        terminal = Terminal(Path(place) / "tmux")
        variables = [f"{name}={value}" for name, value in env.items()]
        window = ("-d", "-s", "picture", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(folder))
        settings = {"status": "off", "remain-on-exit": "on", "remain-on-exit-format": ""}
        options = [word for name, value in settings.items() for word in ("set", "-g", name, value, ";")]
        try:
            # Several words are run as they are, without a shell that would read its user's profile.
            terminal.tmux(*options, "new-session", *window, "env", *variables, *command)
            yield terminal
        finally:
            terminal.tmux("kill-server")


def record(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> list[Frame]:
    """Every screen that a command shows, until it ends."""
    frames: list[Frame] = []
    with in_terminal(command, folder, env) as terminal:
        start = time.monotonic()
        status = None
        while status is None:
            assert time.monotonic() - start < PATIENCE, "the command does not end"
            status = terminal.exit_status  # before the look: the last one sees everything
            screen = terminal.screen()
            if not frames or frames[-1].rows != screen:
                frames.append(Frame(time.monotonic() - start, screen))
            time.sleep(LOOK)
    assert status == 0, f"the command ended with {status}"
    return frames


def shown_rows(frames: Iterable[Frame]) -> list[ShownRow]:
    """When each row looked like what."""
    made: list[ShownRow] = []
    present: dict[int, ShownRow] = {}
    for frame in frames:
        for number, row in enumerate((*frame.rows, *[()] * (ROWS - len(frame.rows)))):
            before = present.get(number)
            if before is not None and before.row == row:
                continue
            if before is not None:
                made.append(before._replace(until=frame.at))
                del present[number]
            if any(text.strip() for text, _ in row):
                present[number] = ShownRow(frame.at, None, number, row)
    return sorted([*made, *present.values()], key=lambda shown: (shown.at, shown.number))


def svg(frames: list[Frame], title: str) -> str:
    """The picture of these screens."""
    total = frames[-1].at + HOLD
    height, width = ROWS * LINE + 2 * MARGIN + 26, COLUMNS * CELL + 2 * MARGIN
    rows = shown_rows(frames)
    spans = list(dict.fromkeys((row.at, row.until) for row in rows))
    keyframes = [_appearing(number, at, until, total) for number, (at, until) in enumerate(spans)]
    texts = [_text(row, spans.index((row.at, row.until))) for row in rows]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">
<title>{escape(title)}</title>
<style>
text{{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#dfe3ea;white-space:pre}}
.b{{font-weight:700}}.d{{opacity:.62}}.i{{font-style:italic}}.u{{text-decoration:underline}}.gone{{opacity:0}}
#s g{{animation-duration:{total:.2f}s;animation-timing-function:step-end;animation-iteration-count:infinite}}
{"".join(keyframes)}
@media (prefers-reduced-motion:reduce){{#s g{{animation:none!important}}}}
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


def _appearing(number: int, at: float, until: float | None, total: float) -> str:
    gone = "" if until is None else f"{_percent(until, total)}{{opacity:0}}"
    stops = f"0%{{opacity:0}}{_percent(at, total)}{{opacity:1}}{gone}"
    return f".t{number}{{animation-name:k{number}}}@keyframes k{number}{{{stops}}}\n"


def _text(shown: ShownRow, span: int) -> str:
    column = 0
    spans = []
    for text, style in shown.row:
        if text.strip():
            spans.append(_span(text, style, column))
        column += len(text)
    gone = "" if shown.until is None else " gone"
    return f'<g class="t{span}{gone}"><text y="{14 + shown.number * LINE}">{"".join(spans)}</text></g>'


def _span(text: str, style: str, column: int) -> str:
    words = style.split()
    names = [word[0] for word in ("bold", "dim", "italic", "underline") if word in words]
    colour = next((COLOURS[word.replace("bright_", "")] for word in words if word.startswith("ansi_")), "")
    indent = len(text) - len(text.lstrip())
    text = text.strip()
    attributes = [
        f'x="{MARGIN + (column + indent) * CELL:.1f}"',
        f'textLength="{len(text) * CELL:.1f}"',
        f'class="{" ".join(names)}"' if names else "",
        f'style="fill:{colour}"' if colour else "",
    ]
    return f"<tspan {' '.join(filter(None, attributes))}>{escape(text)}</tspan>"


def typed(words: list[str]) -> list[str]:
    """A command that types a command line, as somebody would, and then runs it."""
    line = " ".join(f'"{word}"' if " " in word else word for word in words)
    program = (
        "import sys, time\n"
        "print('\\x1b[32m$\\x1b[0m ', end='', flush=True)\n"
        "time.sleep(0.3)\n"
        f"for character in {line!r}:\n"
        f"    print('\\x1b[1m' + character + '\\x1b[0m', end='', flush=True); time.sleep({TYPING})\n"
        "print(flush=True)"
    )
    python = shlex.quote(sys.executable)
    return ["sh", "-c", f"{python} -c {shlex.quote(program)}; exec {shlex.join(words)} < {os.devnull}"]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "parser"
        folder.mkdir()
        shutil.copyfile(HERE / "picture.script", folder / "fixer.script")
        (folder / "parser.py").write_text(PARSER)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        (Path(name) / ".config/dragoman").mkdir(parents=True)
        (Path(name) / ".config/dragoman/config.toml").write_text(CONFIG)
        frames = record(
            typed(WORDS), folder, {"PATH": path, "HOME": name, "XDG_CONFIG_HOME": f"{name}/.config"}
        )
    begun = next(frame.at for frame in frames if any(frame.rows))
    frames = [Frame(max(0.0, frame.at - begun), _at_home(frame.rows, folder)) for frame in frames]
    TARGET.write_text(svg(frames, "dragoman run: an agent fixes a test in the terminal"), "utf-8")
    print(f"{TARGET}: {len(frames)} screens, {TARGET.stat().st_size} bytes")


def _at_home(rows: tuple[Row, ...], folder: Path) -> tuple[Row, ...]:
    """With the folder of a reader in the place of ours."""
    return tuple(
        tuple((text.replace(str(folder), "/home/ann/parser"), style) for text, style in row) for row in rows
    )


if __name__ == "__main__":
    main()
