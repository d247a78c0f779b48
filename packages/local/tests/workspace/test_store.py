"""Private stores, and what happens to those of the dead."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_local.workspace.store import Store

DIES = """
import os, sys
from dragoman_local.workspace.store import Store
print(Store(sys.argv[1]).path, flush=True)
os._exit(0)
"""


def test_only_its_user_can_look_into_a_store(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "base"))
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o700
    (store.path / "file").write_text("text")
    store.close()
    store.close()
    assert not (tmp_path / "base").exists()


NEXT = """
import sys
from dragoman_local.workspace.store import Store
Store(sys.argv[1]).close()
"""


def test_the_first_store_of_a_process_removes_those_of_the_dead_and_no_others(tmp_path: Path) -> None:
    base = str(tmp_path / "base")
    alive = Store(base)
    (alive.path / "file").write_text("text")
    done = subprocess.run([sys.executable, "-c", DIES, base], capture_output=True, text=True, check=True)
    dead = Path(done.stdout.strip())
    assert dead.exists()
    subprocess.run([sys.executable, "-c", NEXT, base], check=True)
    assert not dead.exists()
    assert (alive.path / "file").read_text() == "text"
    alive.close()
    assert not (tmp_path / "base").exists()


def test_a_store_is_made_without_opening_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    open_file = os.open

    def counting_open(path: str | Path, *arguments: int) -> int:
        opened.append(path)
        return open_file(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", counting_open)
        stores = [Store(str(tmp_path / "base")) for _ in range(20)]
    assert len({store.path for store in stores}) == 20
    assert len(opened) == 1
    for store in stores:
        store.close()
    assert not (tmp_path / "base").exists()


def test_a_store_is_made_although_somebody_has_removed_the_temporary_files(tmp_path: Path) -> None:
    first = Store(str(tmp_path / "base"))
    shutil.rmtree(tmp_path / "base")
    second = Store(str(tmp_path / "base"))
    first.close()
    assert second.path.is_dir()
    second.close()
    assert not (tmp_path / "base").exists()


def test_a_folder_that_others_can_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base").chmod(0o777)
    with pytest.raises(PermissionError):
        Store(str(tmp_path / "base"))
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(PermissionError):
        Store(str(tmp_path / "link"))
