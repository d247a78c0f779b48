"""In a sandbox, a command that failed is told which of its words names what the sandbox keeps from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_local.sandbox.boundary import Boundary, place_of
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.wall_notes import wall_note
from dragoman_local.workspace.workspace import Workspace
from tests.sandbox.stage import need_wall
from tests.workspace.command_agent import running


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for name in ("here/.git/hooks", "other", "home/.ssh"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/.ssh/key").touch()
    return tmp_path


def noted(places: Path, *words: str, line: str | None = None) -> str:
    boundary = Boundary(
        profile="workspace",
        writable=(place_of(str(places / "here")),),
        read_only=(str(places / "here/.git/hooks"),),
        hidden=(str(places / "home/.ssh"),),
    )
    command = PlannedCommand(words=words, program="x", shell_line=line, cwd=str(places / "here"))
    return wall_note(command, boundary).replace(str(places), "")


# Where nothing is refused: temporary folders of tests are the command's own `/tmp` in a sandbox.
@pytest.fixture(autouse=True)
def nothing_is_temporary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman_local.workspace.wall_notes._OWN", ("/dev", "/proc"))


def test_a_path_among_the_words_is_named_with_what_would_allow_it(places: Path) -> None:
    other = "[dragoman: /other/x cannot be written in the sandbox (workspace); your user can allow it with "
    assert noted(places, "touch", f"{places}/other/x") == f"{other}--add-dir /other or --sandbox off]"
    assert noted(places, "cp", "a", "../other/x") == f"{other}--add-dir /other or --sandbox off]"
    assert noted(places, "cp", "/etc/passwd", "../other/x") == f"{other}--add-dir /other or --sandbox off]"
    assert noted(places, "", line=f"make && echo x >{places}/other/x").startswith(other)
    assert noted(places, "sh", "-c", f"make; touch {places}/other/x").startswith(other)
    assert noted(places, "tool", f"--into={places}/other").startswith("[dragoman: /other cannot ")
    assert noted(places, "cp", "a", ".git/hooks/pre-commit") == (
        "[dragoman: /here/.git/hooks/pre-commit cannot be written in the sandbox (workspace); "
        "your user can allow it with --sandbox off]"
    )
    assert noted(places, "cat", f"{places}/home/.ssh/key").startswith("[dragoman: /home/.ssh/key is hidden ")


@pytest.mark.parametrize(
    "words",
    [
        ("make", "test"),
        ("touch", "x", "./src/x", "/dev/null"),
        ("grep", "-r", "x", "{root}/other"),
        ("sed", "-i", "s/a/b/", "x"),
        ("git", "commit", "-m", "/all of it"),
        ("git", "clone", "https://localhost/a/b"),
        ("awk", "/x/", "file"),
        ("tool", "--into={root}/none/at/all"),
        ("x", "/", "/" + "x" * 5000, "a/\0"),
    ],
)
def test_nothing_is_said_where_no_word_names_what_is_refused(places: Path, words: tuple[str, ...]) -> None:
    assert noted(places, *(word.replace("{root}", str(places)) for word in words)) == ""


async def test_the_output_of_a_command_that_failed_ends_with_it_and_no_other_does(tmp_path: Path) -> None:
    need_wall()
    async with running(tmp_path, Workspace(terminals=TerminalSettings(sandbox="workspace"))) as agent:
        text = await agent.run("touch", "/etc/dragoman-note")
        assert text.endswith(
            "\n[dragoman: /etc/dragoman-note cannot be written in the sandbox (workspace); "
            "your user can allow it with --add-dir /etc or --sandbox off]\n"
        )
        assert await agent.run("sh", "-c", "touch /etc/dragoman-note 2>/dev/null; echo fine") == "fine\n"
        assert await agent.run("sh", "-c", "exit 3") == ""
        terminal = await agent.start("touch", "/etc/dragoman-note", outputByteLimit=60)
        await agent.wait(terminal)
        assert "[dragoman" not in (await agent.output(terminal))["output"]


async def test_without_a_wall_nothing_is_added(tmp_path: Path) -> None:
    async with running(tmp_path, Workspace(terminals=TerminalSettings(sandbox="off"))) as agent:
        assert await agent.run("sh", "-c", "echo /etc/passwd/x; exit 3") == "/etc/passwd/x\n"
