"""`dragoman new`: a project passes its own tests as it was made, with the wheel alone."""

from __future__ import annotations

import json
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.testing.pace import patience
from dragoman_app.cli import main
from dragoman_app.cli.new import project_files
from tests.wheel_environment import environment, shared_folder, variables

KINDS = ("agent", "client", "proxy")
PAINTED = ("NAME", "MODULE", "KIND", "TITLE", "ABOUT", "VERSION", ".template")


@pytest.mark.bound(240)
@pytest.mark.in_turn("kind")
@pytest.mark.parametrize("kind", KINDS)
def test_a_project_passes_its_own_tests_as_made(kind: str, tmp_path: Path) -> None:
    made = environment(shared_folder(tmp_path), ["pytest", "pytest-asyncio"])

    def run(*words: str, cwd: Path) -> str:
        done = subprocess.run(
            [made / "bin" / words[0], *words[1:]],
            cwd=cwd,
            env=variables(made, tmp_path),
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Next:" in run("dragoman", "new", kind, "word-counter", cwd=tmp_path)
    folder = tmp_path / "word-counter"
    assert (folder / ".github" / "workflows" / "ci.yml").is_file()
    said = run("python", "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)
    assert " passed" in said
    assert "warning" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_has_everything_and_no_word_of_its_template(kind: str) -> None:
    texts = project_files(kind, "word-counter")
    assert {
        "pyproject.toml",
        "README.md",
        ".gitignore",
        ".github/workflows/ci.yml",
        f"src/word_counter/{kind}.py",
        f"tests/test_{kind}.py",
    } <= texts.keys()
    for path, text in texts.items():
        assert not [word for word in PAINTED if word in text.split() or word in path], path
    settings = tomllib.loads(texts["pyproject.toml"])
    assert settings["project"]["scripts"] == {"word-counter": f"word_counter.{kind}:main"}
    assert f"dragoman check {'client' if kind == 'client' else 'agent'}" in texts[".github/workflows/ci.yml"]


@pytest.mark.parametrize("kind", ["agent", "proxy"])
def test_editors_are_told_how_to_start_it(kind: str) -> None:
    texts = project_files(kind, "word-counter")
    for name in ("zed-settings", "jetbrains-acp"):
        servers = json.loads(texts[f"editors/{name}.json"])["agent_servers"]
        assert servers["Word Counter"]["command"] == "word-counter"


@pytest.mark.parametrize(
    "name", ["", "Word", "../up", "1st", "a--b", "json", "class", "a_b", "dragoman", "pytest", "test"]
)
def test_a_name_that_is_no_module_is_refused(name: str) -> None:
    with pytest.raises(LocalMistake, match="can't name a project"):
        project_files("agent", name)


def test_the_next_command_can_be_pasted_into_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it's here"
    assert main(["new", "agent", "word-counter", "--into", str(folder)]) == 0
    told = capsys.readouterr().out.splitlines()[1]
    assert shlex.split(told)[:2] == ["cd", str(folder)]


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    assert main(["new", "agent", "word-counter", "--into", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]
