"""Whether a sandbox can be held, and what is said if not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import LocalMistake
from dragoman.testing.pace import patience
from dragoman_local.sandbox import wall
from dragoman_local.sandbox.boundary import Boundary, Profile
from dragoman_local.sandbox.plan import boundary_for
from dragoman_local.sandbox.wall import (
    SessionWall,
    Wall,
    agent_launcher,
    can_hold,
    confined,
    hold_or_refuse,
)
from tests.sandbox.stage import need_wall

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    wall._why_not.cache_clear()
    yield
    wall._why_not.cache_clear()


def test_a_folder_for_an_agents_state_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        wall._make_state(str(tmp_path / "state"))
        wall._make_state(str(tmp_path / "state.json"))
        wall._make_state(str(tmp_path / "state.json" / "below"))  # what cannot be made is not granted
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert (tmp_path / "state.json").read_text() == "{}\n"
    (tmp_path / "state.json").write_text("theirs")
    for name in ("state", "state.json"):
        wall._make_state(str(tmp_path / name))
    assert (tmp_path / "state.json").read_text() == "theirs"


def test_no_wall_can_always_be_held() -> None:
    assert can_hold("off") is None


def test_a_layer_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall, "_try_out", lambda **_: "Landlock: the kernel has none, or it is off")
    monkeypatch.setattr(wall, "_content", lambda path: "")
    assert can_hold("workspace") == "Landlock: the kernel has none, or it is off"
    with pytest.raises(LocalMistake, match="can't be used here: Landlock: the kernel has none"):
        hold_or_refuse("workspace")


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("max_user_namespaces", "0", "user.max_user_namespaces"),
        ("unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone"),
        ("apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("status", "Seccomp:\t2", "container"),
    ],
)
def test_which_layer_refused_is_said(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, expected: str
) -> None:
    monkeypatch.setattr(wall, "_content", lambda path: value if path.endswith(setting) else "")
    assert expected in (wall._explain("a user namespace: Operation not permitted [1]") or "")


def test_other_systems_and_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall.os, "uname", lambda: SimpleNamespace(machine="riscv64"))
    assert "riscv64" in (can_hold("workspace") or "")
    wall._why_not.cache_clear()
    monkeypatch.setattr(wall.sys, "platform", "darwin")
    assert "not Linux" in (can_hold("workspace") or "")


def test_a_boundary_that_no_command_line_holds_is_refused() -> None:
    with pytest.raises(LocalMistake, match="too many places"):
        confined(["/bin/true"], Boundary(profile="workspace", hidden=("x" * 200_000,)))


def test_the_temporary_folder_ends_with_the_wall(tmp_path: Path) -> None:
    held = Wall("workspace", folders=[str(tmp_path)])
    folder = Path(held.boundary.temporary)
    (folder / "below").mkdir()
    held.close()
    held.close()
    assert not folder.exists()


def test_the_folder_of_a_wall_whose_process_was_killed_goes_with_the_next_wall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    project = tmp_path / "project"
    project.mkdir()
    left, foreign = tmp_path / "dragoman-wall-left", tmp_path / "dragoman-wall-link"
    (left / "below").mkdir(parents=True)
    foreign.symlink_to(project)
    first = Wall("workspace", folders=[str(project)])
    second = Wall("workspace", folders=[str(project)])
    assert not left.exists()
    assert Path(first.boundary.temporary).is_dir()
    assert project.is_dir()
    assert foreign.is_symlink()
    for each in (first, second):
        each.close()


def test_a_wall_that_is_closed_while_it_is_made_is_removed_by_its_maker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_wall()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    is_begun, may_go_on = threading.Event(), threading.Event()

    def slow_boundary(*arguments: Any, **options: Any) -> Boundary:
        is_begun.set()
        assert may_go_on.wait(patience(20))
        return boundary_for(*arguments, **options)

    monkeypatch.setattr(wall, "boundary_for", slow_boundary)
    session_wall = SessionWall("workspace")
    with ThreadPoolExecutor(1) as thread:
        opening = thread.submit(session_wall.open, [str(tmp_path)])
        assert is_begun.wait(patience(20))
        session_wall.close()  # it does not wait
        assert not opening.done()
        may_go_on.set()
        with pytest.raises(LocalMistake, match="the session is closed"):
            opening.result()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("profile", ["workspace", "read-only"])
def test_an_agent_has_its_own_state_and_login_and_no_secret_of_others(
    profile: Profile, tmp_path: Path
) -> None:
    need_wall()
    home, folder = tmp_path / "home", tmp_path / "project"
    folder.mkdir()
    for name in (".codex/auth.json", ".gemini/oauth_creds.json"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("secret")
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        state = (".codex", ".share/codex", ".codex.json")
        launcher = agent_launcher(profile, "sh", [str(folder)], state=state, environ=environ)
    line = (
        "cd ~; cat .codex/auth.json; cat .gemini/oauth_creds.json; cat .codex.json; "
        "for name in .codex/new .share/codex/new .codex.json .gemini/new; do echo new > $name; done"
    )
    cwd = folder if profile == "workspace" else Path("/")
    done = subprocess.run(
        [*launcher, "sh", "-c", line], cwd=cwd, env=environ, capture_output=True, check=False
    )
    assert done.stdout == b"secret{}\n"
    made = folder / ".envrc"
    if profile == "workspace":  # a person may have made it: an agent runs for hours
        done = subprocess.run([*launcher, "touch", ".envrc"], cwd=cwd, env=environ, capture_output=True)
        assert f"while this agent ran, {made} was made" in done.stderr.decode()
    assert made.exists() is (profile == "workspace")
    new = sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and "new" in path.read_text()
    )
    assert new == [".codex.json", ".codex/new", ".share/codex/new"]


def test_an_agent_without_a_wall_has_nothing_in_front() -> None:
    assert agent_launcher("off", "sh", ["/"], state=(".codex",), environ={}) == ()


def test_an_agent_gets_no_wall_that_cannot_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall, "_try_out", lambda **_: "Landlock: the kernel has none, or it is off")
    with pytest.raises(LocalMistake, match="can't be used here"):
        agent_launcher("workspace", "sh", ["/project"], environ={})
