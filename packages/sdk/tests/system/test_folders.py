"""Where files of each kind are kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.system.folders import FolderKind, user_folder
from dragoman_hub.settings import settings_path
from dragoman_local.journal.history import history_path
from dragoman_local.workspace.policy.policy_paths import policy_paths

HOME = {"HOME": "/h"}
DEFAULTS: dict[FolderKind, tuple[str, str]] = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_an_absolute_variable_counts_and_any_other_does_not(
    kind: FolderKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    variable, default = DEFAULTS[kind]
    assert user_folder(kind, {**HOME, variable: "/x"}) == Path("/x/dragoman")
    for odd in ({}, {variable: ""}, {variable: "not/absolute"}):
        assert user_folder(kind, {**HOME, **odd}) == Path("/h", default, "dragoman")


def test_systems_with_folders_of_their_own_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert user_folder("cache", HOME) == Path("/h/Library/Caches/dragoman")
    assert user_folder("data", HOME) == Path("/h/.local/share/dragoman")
    monkeypatch.setattr(sys, "platform", "win32")
    assert user_folder("cache", {**HOME, "LOCALAPPDATA": "/local"}) == Path("/local/dragoman")
    assert user_folder("data", {**HOME, "LOCALAPPDATA": "/local"}) == Path("/local/dragoman")


def test_history_settings_and_policy_lie_in_these_folders() -> None:
    assert history_path(HOME).parent == user_folder("data", HOME)
    assert settings_path(HOME).parent == user_folder("config", HOME)
    assert policy_paths(HOME).config == str(user_folder("config", HOME))
    assert policy_paths(HOME).state == str(user_folder("state", HOME))
