"""Whether a wall can be held, and what is said if not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.sandbox import wall
from dragoman_local.sandbox.boundary import Boundary
from dragoman_local.sandbox.wall import Wall, can_hold, confined, hold_or_refuse

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wall is Linux's")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    wall._why_not.cache_clear()
    yield
    wall._why_not.cache_clear()


def test_no_wall_can_always_be_held() -> None:
    assert can_hold("off") is None


def test_a_layer_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall, "_try_out", lambda: "Landlock: the kernel has none, or it is off")
    monkeypatch.setattr(wall, "_content", lambda path: "")
    assert can_hold("workspace") == "Landlock: the kernel has none, or it is off"
    with pytest.raises(LocalMistake, match="cannot be held here: Landlock: the kernel has none"):
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
