"""What may be said on the command line, and what is said back."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman.version import VERSION
from dragoman_app.cli import main

ROOT = Path(__file__).parents[4]


def test_the_version_is_the_one_that_is_packaged(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    packaged = importlib.metadata.version("dragoman")
    assert capsys.readouterr().out == f"dragoman {packaged}\n"
    assert packaged == VERSION


def test_the_version_is_written_in_one_place() -> None:
    sources = [*(ROOT / "packages").glob("*/src/**/*.py"), ROOT / "pyproject.toml"]
    assert [path.name for path in sources if f'"{VERSION}"' in path.read_text("utf-8")] == ["version.py"]


def test_every_extra_bounds_its_packages_above() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(line for extra in extras for line in extra)]
    wanted = [line for line in wanted if not line.startswith("dragoman[")]
    assert [line for line in wanted if "<" not in line and "==" not in line] == []


@pytest.mark.parametrize(
    ("words", "package"), [("chat", "textual"), ("hub", "uvicorn"), ("mcp --http --agent echo", "uvicorn")]
)
def test_a_package_that_is_missing_is_named_with_what_brings_it(
    words: str, package: str, tmp_path: Path
) -> None:
    """As in `dragoman.pyz`, which has the smallest set."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"from dragoman_app.cli import main\nsys.exit(main({words.split()!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(30),
    )
    name = words.partition(" ")[0]
    needs = f"dragoman {name}: needs the package {package}, which is not installed."
    assert (done.returncode, done.stderr) == (2, f"{needs} Try: pip install dragoman\n")


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
        ([], "  run          give any agent one task; the exit status tells how it ended\n"),
        (["agent"], "usage: dragoman agent [-h] NAME ...\n"),
        (["agent", "ehco"], "dragoman agent: unknown command 'ehco'; did you mean echo?\n"),
        (["agent", "script"], "required: FILE\nTry: dragoman agent script --help\n"),
        (["agent", "echo", "--fast"], "unknown option --fast\nTry: dragoman agent echo --help\n"),
        (["agnet"], "dragoman: unknown command 'agnet'; did you mean agent?\nTry: dragoman --help\n"),
        (["zzz"], "dragoman: unknown command 'zzz'\nTry: dragoman --help\n"),
        (["client-tool"], "dragoman: unknown command 'client-tool'\n"),
        (["hub", "token", "x"], "unknown command 'x'. Choose from add, list, revoke, rotate\n"),
        (
            ["run", "--format", "jsno", "x"],
            "dragoman run: argument --format: 'jsno' is not allowed here; did you mean json?\n",
        ),
        (["run", "--aprove", "all"], "dragoman run: unknown option --aprove; did you mean --approve?\n"),
        (["run", "--aprove=all", "hi"], "Try: dragoman run --help\n"),
        (
            ["check", "agent", "--formt", "x", "--", "it"],
            "dragoman check agent: unknown option --formt; did",
        ),
        (["hub", "--lsten", "here"], "dragoman hub: unknown option --lsten; did you mean --listen?\n"),
        (["agents", "show", "one", "two"], "dragoman agents show: too many words: two\n"),
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


@pytest.mark.parametrize(
    "command", [["-m", "dragoman"], ["-c", "import dragoman_app.cli; dragoman_app.cli.main()"]]
)
def test_it_can_be_started_as_a_module_too(command: list[str]) -> None:
    done = subprocess.run([sys.executable, *command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"dragoman {VERSION}\n"


def test_asking_for_the_version_does_not_load_what_agents_need() -> None:
    program = (
        "import sys; from dragoman_app.cli.parser import make_parser; make_parser();"
        " print('asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
