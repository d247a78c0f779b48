"""What process trees use: of real processes, and of a folder that looks like `/proc`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman_hub.api.observability.processes import PROC, Root, TreeUse, trees_use

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc on this system")

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def tree_use(root: Root, *, proc: str = PROC) -> TreeUse | None:
    return trees_use({"": root}, proc=proc)[""]


def put(
    proc: Path,
    pid: int,
    *,
    parent: int,
    group: int = 1,
    state: str = "S",
    start: int = 10,
    ticks: tuple[int, int, int, int] = (0, 0, 0, 0),
    pages: int = 0,
    descriptors: int = 0,
    name: str = "some",
) -> None:
    """One process of a made-up system."""
    fields = [state, parent, group, group, 0, 0, 0, 0, 0, 0, 0, *ticks, 0, 0, 1, 0, start, 0, pages, 0, 0]
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} ({name}) {' '.join(map(str, fields))}\n")
    for number in range(descriptors):
        (folder / "fd" / str(number)).touch()


def test_a_tree_is_its_root_its_group_and_all_descendants(tmp_path: Path) -> None:
    proc = str(tmp_path)
    put(tmp_path, 100, parent=50, group=100, ticks=(1, 2, 3, 4), pages=10, descriptors=3)
    put(tmp_path, 101, parent=100, group=101, ticks=(100, 0, 0, 0), pages=1, name="a ) b (")
    put(tmp_path, 102, parent=101, group=101, pages=2, descriptors=1)
    put(tmp_path, 103, parent=1, group=100, pages=4)  # an orphan that stayed in the group
    put(tmp_path, 104, parent=100, state="Z", pages=64)  # dead, and not buried yet
    put(tmp_path, 200, parent=50, group=200, pages=1000)
    assert tree_use(Root(100), proc=proc) == TreeUse(
        processes=4, rss=17 * PAGE, cpu=110 / TICKS, descriptors=4
    )


def test_a_root_may_be_meant_alone(tmp_path: Path) -> None:
    put(tmp_path, 100, parent=50, group=100, pages=10, descriptors=3)
    put(tmp_path, 101, parent=100, group=100, pages=1)
    assert tree_use(Root(100, alone=True), proc=str(tmp_path)) == TreeUse(
        processes=1, rss=10 * PAGE, cpu=0.0, descriptors=3
    )
    assert tree_use(Root(102, alone=True), proc=str(tmp_path)) is None


def test_several_trees_are_read_in_one_look(tmp_path: Path) -> None:
    put(tmp_path, 100, parent=50, group=100, pages=1)
    put(tmp_path, 200, parent=50, group=200, pages=2)
    found = trees_use({"a": Root(100), "b": Root(200), "gone": Root(300)}, proc=str(tmp_path))
    assert {name: use and use.rss // PAGE for name, use in found.items()} == {"a": 1, "b": 2, "gone": None}


def test_a_number_that_is_in_use_again_is_somebody_else(tmp_path: Path) -> None:
    put(tmp_path, 100, parent=50, group=100, start=900)
    put(tmp_path, 101, parent=1, group=100, start=905)
    assert tree_use(Root(100, start=10), proc=str(tmp_path)) is None
    assert tree_use(Root(100, start=900), proc=str(tmp_path)) is not None


def test_what_is_older_than_the_tree_is_not_in_it(tmp_path: Path) -> None:
    put(tmp_path, 100, parent=50, group=100, start=900)
    put(tmp_path, 90, parent=1, group=100, start=5)
    use = tree_use(Root(100, start=900), proc=str(tmp_path))
    assert use is not None
    assert use.processes == 1


@pytest.mark.parametrize("pid", [0, 1, -1])
def test_the_whole_system_is_nobodys_tree(pid: int, tmp_path: Path) -> None:
    put(tmp_path, 1, parent=0, group=0)
    put(tmp_path, 7, parent=1, group=0)
    assert tree_use(Root(pid), proc=str(tmp_path)) is None


def test_processes_that_vanish_or_make_no_sense_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, 100, parent=50, group=100, pages=1, descriptors=1)
    (tmp_path / "101").mkdir()  # listed, and gone when it is read
    (tmp_path / "102").mkdir()
    (tmp_path / "102" / "stat").write_text("")
    put(tmp_path, 103, parent=100, pages=1)
    (tmp_path / "103" / "fd").rmdir()  # gone between two looks
    assert tree_use(Root(100), proc=str(tmp_path)) == TreeUse(
        processes=2, rss=2 * PAGE, cpu=0.0, descriptors=1
    )


def test_without_a_process_table_nothing_is_known(tmp_path: Path) -> None:
    assert tree_use(Root(100), proc=str(tmp_path / "none")) is None


@linux
def test_a_real_tree_is_seen_while_it_lives_and_not_afterwards() -> None:
    # The child prints once its own child is there; both then wait for the end of their input.
    inner = "import sys; sys.stdin.read()"
    program = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-S', '-c', {inner!r}])\n"
        "sum(range(2_000_000)); print('up', flush=True); child.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-S", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"up\n"
        use = tree_use(Root(started.pid))
        started.communicate()
    assert use is not None
    assert use.processes == 2
    assert use.rss > 2 * 1024 * 1024
    assert use.cpu > 0
    assert use.descriptors is not None
    assert use.descriptors >= 6
    assert tree_use(Root(started.pid)) is None


@linux
def test_a_look_costs_far_less_than_a_millisecond_a_process() -> None:
    """Beside reading one file of each process in the same moment."""
    root = Root(os.getpid())
    trees_use({"us": root})
    pairs = [(_seconds(lambda: trees_use({"us": root})), _seconds(_read_all)) for _ in range(5)]
    look, reading = map(min, zip(*pairs, strict=True))
    assert look < 5 * reading


def _seconds(work: Callable[[], object]) -> float:
    begun = time.thread_time()  # ours alone: what others do meanwhile is not our price
    work()
    return time.thread_time() - begun


def _read_all() -> None:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            Path(f"/proc/{name}/stat").read_bytes()
