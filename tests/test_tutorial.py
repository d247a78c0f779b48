"""The tutorial works as it is written, for somebody who starts with an empty folder and the wheel.

Pages are played in order, in one folder. A comment above a block, which the site does not show, says what the
reader does with it: `<!-- file: NAME -->` is saved, `<!-- background: until TEXT -->` runs to the end of the
page, `<!-- not run: why -->` is left out. Every other `sh` block is run, and must end well. A `text` block
behind it is what is printed: each line must be part of a line of the output, in that order.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.ports import KeptPort
from tests.test_docs import installs
from tests.wheel_environment import environment, shared_folder, variables

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial"
PAGES = ("index", "agent", "client", "test", "hub")
STEP = re.compile(
    r"^(?:<!-- (?P<act>file|background|not run): (?P<about>.+?) -->\n)?"
    r"```(?P<language>[a-z]+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PORT = "8765"

pytestmark = pytest.mark.timeout(300)


class Reader:
    """Somebody who does what the tutorial says."""

    def __init__(self, folder: Path, environment_variables: dict[str, str]) -> None:
        self.folder = folder
        self._variables = environment_variables
        self._output = ""
        self._port = KeptPort()

    def read(self, page: str) -> None:
        """Do each step of a page."""
        text = (TUTORIAL / f"{page}.md").read_text("utf-8").replace(PORT, str(self._port.number))
        with ExitStack() as background:
            for step in STEP.finditer(text):
                place = f"{page}.md:{text.count(chr(10), 0, step.start('text'))}"
                match step["act"], step["language"]:
                    case "file", _:
                        (self.folder / step["about"]).write_text(step["text"], "utf-8")
                    case "background", _:
                        until = step["about"].removeprefix("until ")
                        self._output = background.enter_context(self._running(step["text"], until))
                    case None, "sh":
                        self._output = self._run(step["text"], place)
                    case None, "text":
                        self._expect(step["text"], place)

    def _run(self, commands: str, place: str) -> str:
        done = subprocess.run(
            ["sh", "-e", "-c", commands],
            cwd=self.folder,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=patience(60),
        )
        assert done.returncode == 0, f"{place} ended with {done.returncode}\n{commands}\n{done.stdout}"
        return done.stdout

    @contextmanager
    def _running(self, command: str, until: str) -> Iterator[str]:
        """What a server prints until it is ready; it is ended with the page."""
        with subprocess.Popen(
            ["sh", "-c", f"exec {command.strip()}"],
            cwd=self.folder,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if until in line:
                    break
            try:
                yield "".join(lines)
            finally:
                process.terminate()
                process.communicate(timeout=patience(30))

    def _expect(self, text: str, place: str) -> None:
        lines = iter(self._output.splitlines())
        for wanted in filter(None, map(str.strip, text.splitlines())):
            assert any(wanted in line for line in lines), f"{place}: {wanted!r} is not in\n{self._output}"


@pytest.mark.slow
def test_a_newcomer_gets_to_the_end(tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), installs("docs/tutorial/index.md"))
    folder = tmp_path / "todo"
    folder.mkdir()
    reader = Reader(folder, {**variables(made, tmp_path), "HOME": str(tmp_path), "NO_COLOR": "1"})
    for page in PAGES:
        reader.read(page)
    assert (folder / "todo.txt").read_text("utf-8").count("call Ann") == 2


def test_every_page_of_the_tutorial_is_read() -> None:
    assert sorted(path.stem for path in TUTORIAL.glob("*.md")) == sorted(PAGES)


def test_a_step_is_known_by_the_comment_above_it(tmp_path: Path) -> None:
    reader = Reader(tmp_path, dict(os.environ))
    with pytest.raises(AssertionError, match="ended with 3"):
        reader._run("exit 3", "page.md:1")
    reader._output = "one\ntwo words\nthree\n"
    reader._expect("one\nwords\n", "page.md:1")
    with pytest.raises(AssertionError, match="'one' is not in"):
        reader._expect("words\none\n", "page.md:1")
