"""What may be said on the command line, and what is said back."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dragoman.agents import VERSION
from dragoman.cli import main

ROOT = Path(__file__).parent.parent.parent


def test_the_version_is_the_one_that_is_packaged(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert capsys.readouterr().out == f"dragoman {packaged}\n"
    assert packaged == VERSION


@pytest.mark.parametrize("arguments", [["--help"], ["agent", "--help"]])
def test_help_has_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "examples:" in shown
    assert "dragoman agent echo" in shown


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "dragoman: the following arguments are required: COMMAND\nTry: dragoman --help\n"),
        (
            ["agent"],
            "dragoman agent: the following arguments are required: NAME\nTry: dragoman agent --help\n",
        ),
        (["agent", "ehco"], "invalid choice: 'ehco' (choose from "),
        (["agent", "script"], "required: FILE\nTry: dragoman agent script --help\n"),
        (["agent", "echo", "--fast"], "unrecognized arguments: --fast\nTry: dragoman --help\n"),
    ],
)
def test_a_mistake_is_told_with_what_to_do_next(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert why in err
    assert out == ""


@pytest.mark.parametrize("command", [["-m", "dragoman"], ["-c", "import dragoman.cli; dragoman.cli.main()"]])
def test_it_can_be_started_as_a_module_too(command: list[str]) -> None:
    done = subprocess.run([sys.executable, *command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"dragoman {VERSION}\n"


def test_asking_for_the_version_does_not_load_what_agents_need() -> None:
    program = (
        "import sys, dragoman.cli.parser; dragoman.cli.parser.make_parser(); print('asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
