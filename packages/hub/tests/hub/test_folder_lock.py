"""One hub at a time in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.folder_lock import lock_folder


def test_a_second_hub_is_told_who_is_there(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path),
        pytest.raises(LocalMistake, match=f"process {os.getpid()}"),
        lock_folder(tmp_path),
    ):
        pass


def test_the_next_one_may_come_when_the_first_has_gone(tmp_path: Path) -> None:
    for _ in range(2):
        with lock_folder(tmp_path):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
