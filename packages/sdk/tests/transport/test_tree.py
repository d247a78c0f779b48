from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman.transport import tree
from tests.transport.programs import BROOD, alive, python, shell


@contextmanager
def brood(mark: str) -> Iterator[tuple[int, int, list[int]]]:
    """A shell in a session of its own that started three others: its number and start, and theirs."""
    env = {**os.environ, tree.MARK: f"outer,{mark}"}
    with subprocess.Popen(
        shell(BROOD), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
    ) as root:
        assert root.stdout is not None
        pids = [int(root.stdout.readline()) for _ in range(3)]
        seen = tree.look_up(root.pid)
        assert seen is not None
        try:
            yield root.pid, seen.start, pids
        finally:
            for pid in (root.pid, *pids):
                with_start = tree.look_up(pid)
                if with_start is not None and not with_start.dead:
                    os.kill(pid, signal.SIGKILL)


def numbers(found: list[tree.Process]) -> set[int]:
    return {process.pid for process in found}


def test_a_process_knows_its_parent_group_and_session() -> None:
    me = tree.look_up(os.getpid())
    assert me is not None
    assert (me.parent, me.group, me.session) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert not me.dead
    assert tree.processes()[os.getpid()] == me


def test_a_name_with_spaces_and_parentheses_is_no_trouble() -> None:
    rename = "import sys; open('/proc/self/comm', 'w').write('a) b (c'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", rename], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as odd:
        assert odd.stdout is not None
        odd.stdout.readline()
        found = tree.look_up(odd.pid)
        assert found is not None
        assert found.parent == os.getpid()


def test_who_is_gone_is_not_found() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert tree.look_up(gone.pid) is None


def test_members_are_found_by_group_descent_and_mark() -> None:
    with brood("m1") as (root, start, pids):
        assert numbers(tree.members(root, start=start, mark="m1")) == {root, *pids}
        assert tree.members(root, start=start, mark="m1")[0].pid == root
        # The orphan in a session of its own is known by its mark alone.
        assert numbers(tree.members(root, start=start)) == {root, *pids[:2]}
        assert numbers(tree.members(0, mark="m1")) == {root, *pids}


def test_a_tree_is_marked_for_its_outer_tree_too_but_never_by_half_a_mark() -> None:
    with brood("m2") as (root, start, pids):
        assert numbers(tree.members(0, start=start, mark="outer")) == {root, *pids}
        assert tree.members(0, mark="m") == []


def test_a_process_is_known_by_its_mark_while_it_becomes_another_program() -> None:
    again = "import os, sys; os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', *sys.argv[1:] * 2])"
    env = {tree.MARK: "m6"}
    with subprocess.Popen([*python(again), again], env=env, start_new_session=True) as restless:
        try:
            # Without the wait for such a moment, about one look in a hundred finds nobody.
            assert all(tree.carries_mark(restless.pid, "m6") for _ in range(3000))
        finally:
            restless.kill()


def test_a_number_that_was_given_to_somebody_else_is_not_the_root() -> None:
    with brood("m3") as (root, start, _):
        assert tree.members(root, start=start - 1) == []
        assert tree.members(root, start=start + 1) == []


def test_a_root_of_zero_means_nobody() -> None:
    assert tree.members(0) == []
    assert tree.kill_tree(0, mark="nobody has this mark")


def test_nobody_is_signalled_who_is_not_the_one_that_was_seen() -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        seen = tree.look_up(other.pid)
        assert seen is not None
        tree.send(signal.SIGKILL, [seen._replace(start=seen.start - 1)])
        assert alive(other.pid)
        tree.send(signal.SIGKILL, [seen])
        assert other.wait() == -signal.SIGKILL
        tree.send(signal.SIGKILL, [seen])  # gone: nothing happens


def test_a_whole_tree_is_killed() -> None:
    with brood("m4") as (root, start, pids):
        assert tree.kill_tree(root, start=start, mark="m4")
        assert not any(map(alive, [root, *pids]))


def test_a_tree_that_stands_still_is_killed_and_not_woken_to_be_asked(tmp_path: Path) -> None:
    polite = f"trap 'echo > {tmp_path}/asked; exit' TERM; echo; while :; do sleep 0.01; done"
    with subprocess.Popen(shell(polite), stdout=subprocess.PIPE, start_new_session=True) as root:
        assert root.stdout is not None
        root.stdout.readline()
        os.killpg(root.pid, signal.SIGSTOP)
        while tree.running(tree.members(root.pid)):
            time.sleep(0.001)
        assert tree.kill_tree(root.pid, grace=10.0)
        assert root.wait() == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_run_as_a_script_it_asks_and_then_kills() -> None:
    with brood("m5") as (root, start, pids):
        began = time.monotonic()
        subprocess.run([sys.executable, "-I", "-S", tree.__file__, str(root), str(start), "m5"], check=True)
        assert not any(map(alive, [root, *pids]))
        assert time.monotonic() - began < patience(5)


def test_without_proc_the_listing_of_ps_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    if not any(os.access(f"{folder}/ps", os.X_OK) for folder in os.get_exec_path()):
        pytest.skip("this system has no ps")
    with subprocess.Popen(
        shell("sleep 1000 & echo; wait"), stdout=subprocess.PIPE, start_new_session=True
    ) as root:
        assert root.stdout is not None
        root.stdout.readline()
        with monkeypatch.context() as bare:
            bare.setattr(os.path, "exists", lambda path: False)
            bare.setattr(tree, "look_up", lambda pid: None)
            found = tree.members(root.pid)
            assert len(found) == 2
            tree.send(signal.SIGKILL, found)
        assert root.wait() == -signal.SIGKILL
