"""Leases: held by one, dropped with the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dragoman_local.kit.session_lock import SessionFileLock

HOLD = """
import sys, time
from pathlib import Path
from dragoman_local.kit.session_lock import SessionFileLock
assert SessionFileLock(Path(sys.argv[1]), "s").take()
lease = SessionFileLock(Path(sys.argv[1]), "t")
assert lease.take()
print("held", flush=True)
time.sleep(600)
"""


def test_a_lease_is_held_by_one(tmp_path: Path) -> None:
    ours, theirs, other = (
        SessionFileLock(tmp_path, "s"),
        SessionFileLock(tmp_path, "s"),
        SessionFileLock(tmp_path, "t"),
    )
    assert ours.take()
    assert ours.take()
    assert not theirs.take()
    assert theirs.is_held_elsewhere()
    assert not ours.is_held_elsewhere()
    assert other.take()
    ours.drop()
    assert not theirs.is_held_elsewhere()
    assert theirs.take()
    assert not ours.take()
    for lease in (theirs, other):
        lease.drop()
        lease.drop()
    assert list(tmp_path.iterdir()) == []


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    assert not SessionFileLock(tmp_path / "none", "s").is_held_elsewhere()
    assert not (tmp_path / "none").exists()


def test_without_a_folder_there_is_nobody_else() -> None:
    lease = SessionFileLock(None, "s")
    assert lease.take()
    assert not SessionFileLock(None, "s").is_held_elsewhere()
    lease.drop()


def test_a_lease_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert SessionFileLock(tmp_path, "t").is_held_elsewhere()
    finally:
        holder.kill()
        holder.communicate()
    assert not SessionFileLock(tmp_path, "t").is_held_elsewhere()
    ours = SessionFileLock(tmp_path, "t")
    assert ours.take()
    ours.drop()


def test_the_name_of_a_session_is_no_path(tmp_path: Path) -> None:
    lease = SessionFileLock(tmp_path / "turns", "../../../etc/passwd")
    assert lease.take()
    assert len(list((tmp_path / "turns").iterdir())) == 1
    lease.drop()
