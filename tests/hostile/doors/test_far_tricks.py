"""An agent elsewhere gets nothing of this machine, however it asks and whatever became of our copy there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.doors.far_tricks import FAR_TRICKS, OTHER_HOST_TRICKS, FarTrick
from tests.hostile.doors.program import Program, environment, started
from tests.hostile.doors.stage import placed, puppet
from tests.hostile.doors.tricks import must_not, parameters
from tests.remote.other_side import make_fake_docker

LENT = ("fs/read_text_file", "fs/write_text_file", "terminal/create")

HONEST: Sequence[dict[str, Any]] = [
    {
        "ask": {
            "jsonrpc": "2.0",
            "id": "h",
            "method": "fs/read_text_file",
            "params": {"sessionId": "$SESSION", "path": "$CWD/notes"},
        }
    },
    {"leak": "$CWD/honest"},
]


class Editor:
    """It lends its own files to whoever asks, as editors do."""

    def __init__(self, program: Program, cwd: Path) -> None:
        self.program = program
        self.cwd = cwd
        capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
        program.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        opened = program.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        self.session: str = opened["result"]["sessionId"]

    def asked(self) -> list[str]:
        methods = [one.get("method") for one in self.program.heard]
        return [method for method in methods if method in LENT]


def lend(message: dict[str, Any]) -> object:
    if message["method"] == "session/request_permission":
        option = message["params"]["options"][0]["optionId"]
        return {"outcome": {"outcome": "selected", "optionId": option}}
    return {"content": "of the editor", "terminalId": "editor-1"}


@contextmanager
def editor(folder: Path, name: str) -> Iterator[Editor]:
    cwd = folder / name
    cwd.mkdir()
    (cwd / "notes").write_text("of the far side\n")
    programs = make_fake_docker(folder, folder / "cache-there")
    env = environment(folder, PATH=f"{programs}:{environment(folder)['PATH']}")
    words = ["ssh", "docker:box", "--cwd", str(cwd), "--approve", "all", "--keep", "1", "--", *puppet("v1")]
    with started(words, env=env, cwd=cwd, answer=lend) as program:
        yield Editor(program, cwd)


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    with editor(tmp_path_factory.mktemp("far"), "plain") as one:
        yield one


def play(at: Editor, trick: FarTrick) -> None:
    before = len(at.asked())
    at.program.prompt(at.session, placed([*trick.steps], at.cwd))
    must_not(at.asked()[before:])


@pytest.mark.parametrize("trick", parameters(FAR_TRICKS))
def test_no_line_of_a_far_side_asks_the_editor(near: Editor, trick: FarTrick) -> None:
    (near.cwd / "honest").unlink(missing_ok=True)
    play(near, trick)
    near.program.prompt(near.session, placed(HONEST, near.cwd))
    assert "of the far side" in (near.cwd / "honest").read_text()


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """The second time, after somebody has changed our copy on the far side."""
    folder = tmp_path_factory.mktemp("changed")
    with editor(folder, "before"):
        pass
    copies = [path for path in (folder / "cache-there").rglob("*") if path.suffix in (".py", ".pyc")]
    assert copies
    for path in copies:
        if path.suffix == ".pyc":
            path.unlink()
            continue
        text = path.read_bytes()
        for method in (b"fs/read_text_file", b"fs/write_text_file", b"terminal/create"):
            text = text.replace(method, b"xx/" + method)
        path.write_bytes(text)
    with editor(folder, "after") as one:
        yield one


@pytest.mark.parametrize("trick", parameters(OTHER_HOST_TRICKS))
def test_no_changed_copy_asks_the_editor(changed: Editor, trick: FarTrick) -> None:
    play(changed, trick)
