"""A program that is a fork ends as one that was started, and those beside it do not matter to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.every import every
from tests.forked_programs import NAME, Program, imports_package, run_programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there is forked")


LATE = """
import atexit, threading, time

atexit.register(print, "the exit")
threading.Thread(target=lambda: (time.sleep(0.1), print("a thread"))).start()
"""
"""What is said when the last line has run."""


def test_each_program_has_its_own_folder_variables_output_and_status(tmp_path: Path) -> None:
    shown = "import os, sys\nprint(os.environ['WHO'], os.getcwd(), sys.path[0], sys.argv, sys.stdin.read())\n"
    texts = {
        "early": "import sys\nprint('dragoman.sdk.agent' in sys.modules)\nfrom dragoman import Agent\n",
        "shown": shown,
        "left": "import sys\nsys.exit('no ink')\n",
        "lost": "from nowhere import ink\n",
        "late": LATE,
    }
    programs = []
    for name, text in texts.items():
        folder = tmp_path / name / "empty"
        folder.mkdir(parents=True)
        (folder / NAME).write_text(text)
        programs.append(Program(folder, {"WHO": name}))
    ends = {
        folder.parent.name: end
        for folder, end in run_programs(Path(sys.executable), programs, dict(os.environ)).items()
    }
    assert {name: end.status for name, end in ends.items()} == {
        "early": 0,
        "shown": 0,
        "left": 1,
        "lost": 1,
        "late": 0,
    }
    assert ends["early"].output == "True\n", "what a package loads late is there before the fork"
    folder = tmp_path / "shown" / "empty"
    assert ends["shown"].output == f"shown {folder} {folder} ['{NAME}'] \n"
    assert ends["left"].output == "no ink\n"
    assert ends["late"].output == "a thread\nthe exit\n"
    assert "No module named 'nowhere'" in ends["lost"].output


@every(
    ("text", "expected"),
    [
        ("import dragoman\n", True),
        ("import dragoman.testing\n", True),
        ("import os.path\n", True),
        ("import os\nfrom dragoman import testing\n", False),
    ],
)
def test_a_package_is_told_from_what_is_in_it(text: str, expected: bool) -> None:
    assert imports_package(text) is expected
