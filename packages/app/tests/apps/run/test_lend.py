"""What a run lends is loaded with the first request, and nobody can tell."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_app.apps.run.lend import LentFolders, LentWorkspace
from dragoman_app.apps.run.output import OutputWriter
from dragoman_app.apps.run.plan import make_plan
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_app.apps.run.views import QuietView
from dragoman_app.cli.parser import make_parser
from dragoman_local.workspace.workspace import Workspace


def lend(folder: Path, *, is_remote: bool = False) -> LentWorkspace:
    words = ["run", "Hello", "--agent", "echo", "--cwd", str(folder)]
    reporter = RunReporter(QuietView(), OutputWriter(1), verbose=False, progress=None)
    return LentWorkspace(
        make_plan(make_parser(words).parse_args(words)),
        reporter,
        on_open_question=lambda: None,
        is_remote=is_remote,
    )


@pytest.mark.parametrize("is_remote", [False, True])
async def test_what_is_advertised_is_what_is_answered(is_remote: bool, tmp_path: Path) -> None:
    lending = lend(tmp_path, is_remote=is_remote)
    advertised = {method for method, _ in lending.client.handlers.items()}
    assert advertised == {*lending.desk.methods, "session/update"}


async def test_a_run_without_requests_has_denied_nothing(tmp_path: Path) -> None:
    lending = lend(tmp_path)
    assert (lending.last_was_denied, lending.last_refusal) == (False, None)
    assert lending.effects.decision_about(str(tmp_path / "a.txt")) == "none"


async def test_folders_of_a_session_are_lent_by_the_workspace_that_comes_later(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside")
    async with LentFolders() as folders:
        with folders.opening(cwd=str(tmp_path)) as opening:
            opening.settle("s-1")
        workspace = Workspace()
        folders.hand_over(workspace)
        assert (await workspace.session("s-1").read(str(tmp_path / "a.txt"))).text == "inside"


async def test_an_agent_may_ask_before_the_id_of_its_session_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside")
    async with LentFolders() as folders:
        with folders.opening(cwd=str(tmp_path)) as opening:
            workspace = Workspace()
            folders.hand_over(workspace)
            assert (await workspace.session("s-1").read(str(tmp_path / "a.txt"))).text == "inside"
            opening.settle("s-1")
        assert (await workspace.session("s-1").read(str(tmp_path / "a.txt"))).text == "inside"


async def test_folders_are_those_that_were_there_when_the_session_was_opened(tmp_path: Path) -> None:
    project, secret = tmp_path / "project", tmp_path / "secret"
    project.mkdir()
    secret.mkdir()
    (secret / "a.txt").write_text("not yours")
    async with LentFolders() as folders:
        folders.open("s-1", cwd=str(project))
        project.rmdir()
        project.symlink_to(secret)
        workspace = Workspace()
        folders.hand_over(workspace)
        with pytest.raises(ErrorAnswer):
            await workspace.session("s-1").read(str(project / "a.txt"))


async def test_a_folder_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    async with LentFolders() as folders:
        with pytest.raises(LocalMistake):
            folders.open("s-1", cwd=str(tmp_path / "missing"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts descriptors in /proc")
async def test_no_descriptor_of_a_folder_is_left(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    async with LentFolders() as folders:
        with folders.opening(cwd=str(tmp_path)):
            pass  # the session was not made
        folders.open("s-1", cwd=str(tmp_path))
        folders.open("s-1", cwd=str(tmp_path))
        with folders.opening(cwd=str(tmp_path)) as opening:
            opening.settle("s-2")
    assert len(os.listdir("/proc/self/fd")) == before
