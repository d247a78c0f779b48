"""Child processes as transports: how they end, and how the link tells."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from dragoman.errors import LinkClosed, PeerDied, SpawnFailed
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import Grace, TransportLimits
from dragoman.transport.owned_tree import owned_trees
from dragoman.transport.process import ChildTransport, spawn
from tests.transport.programs import alive, eventually, python, shell

QUICK = Grace(after_eof=0.2, after_terminate=0.2, leftovers=0.1)


@asynccontextmanager
async def started(
    command: Sequence[str] | str,
    *,
    grace: Grace = QUICK,
    on_stderr: Callable[[bytes], None] | None = None,
) -> AsyncIterator[tuple[ChildTransport, SinkRecorder]]:
    child = spawn(command, grace=grace, limits=TransportLimits(flush=0.2), on_stderr=on_stderr)
    heard = SinkRecorder()
    child.start(heard)
    try:
        yield child, heard
    finally:
        await child.aclose()
        assert not alive(child.tree.pid)
        assert len(heard.endings) == 1
        assert heard.faults == []


def death(heard: SinkRecorder) -> PeerDied:
    reason = heard.endings[0]
    assert isinstance(reason, PeerDied)
    return reason


async def test_frames_go_to_the_program_and_come_back() -> None:
    async with started("cat") as (child, heard):
        child.write(b'{"id":1}\n')
        await heard.until_size(9)
        assert heard.stream == b'{"id":1}\n'
    assert heard.endings == [None]


async def test_a_program_that_ends_at_eof_is_not_kept_waiting_for() -> None:
    child = spawn("cat", grace=Grace(after_eof=60))
    child.start(heard := SinkRecorder())
    await child.aclose()
    assert child.tree.returncode == 0
    assert heard.endings == [None]


async def test_an_exit_is_told_with_status_and_last_words() -> None:
    async with started(shell("echo first; echo no config >&2; exit 3")) as (_, heard):
        await heard.until_ended()
        assert heard.stream == b"first\n"
        assert death(heard).returncode == 3
        assert death(heard).stderr == "no config\n"
        assert "sh ended with exit status 3; its last output was:\nno config" in str(death(heard))


async def test_a_death_by_signal_is_told_with_its_name() -> None:
    async with started(shell("kill -s SEGV $$")) as (_, heard):
        await heard.until_ended()
        assert death(heard).signal == "SIGSEGV"


async def test_everything_written_before_the_exit_arrives_before_the_end() -> None:
    program = python("import os; os.write(1, b'x' * 60_000 + b'\\n'); os.write(1, b'no newline')")
    async with started(program) as (_, heard):
        await heard.until_ended()
        assert heard.stream == b"x" * 60_000 + b"\nno newline"


async def test_a_paused_reader_gets_the_last_words_of_the_dead_when_it_resumes() -> None:
    async with started(shell("read -r _; echo last words")) as (child, heard):
        child.pause()
        heard.is_paused = True
        child.write(b"go\n")
        await eventually(lambda: child.tree.is_gone)
        await asyncio.sleep(1.2)  # longer than the silence that ends a link whose reader is not paused
        assert heard.endings == []
        heard.is_paused = False
        child.resume()
        await heard.until_ended()
        assert heard.stream == b"last words\n"
        assert death(heard).returncode == 0


async def test_writing_to_the_dead_raises() -> None:
    async with started("true") as (child, heard):
        await heard.until_ended()
        with pytest.raises(LinkClosed):
            child.write(b"anybody?\n")


@pytest.mark.parametrize(
    "script", ["exec >&-; sleep 1000", "exec <&-; echo deaf; sleep 1000"], ids=["mute", "deaf"]
)
async def test_a_program_that_hangs_up_and_lives_on_is_ended(script: str) -> None:
    async with started(shell(script)) as (child, heard):
        if "deaf" in script:
            await heard.until_size(5)
            with pytest.raises(LinkClosed):
                child.write(b"hello?\n")
        await heard.until_ended()
        assert "hung up" in str(death(heard))
        await eventually(lambda: child.tree.is_gone)


async def test_a_program_that_hangs_up_and_ignores_requests_is_killed() -> None:
    async with started(shell("trap '' TERM; exec >&-; while :; do sleep 1000; done")) as (child, heard):
        await heard.until_ended()
        await eventually(lambda: child.tree.is_gone)
        assert child.tree.returncode == -signal.SIGKILL


async def test_a_program_that_ignores_eof_and_sigterm_is_killed() -> None:
    async with started(shell("trap '' TERM; echo up; while :; do sleep 1000; done")) as (child, heard):
        await heard.until_size(3)
        await child.aclose()
        assert child.tree.returncode == -signal.SIGKILL
        assert heard.endings == [None]


async def test_a_stopped_program_is_ended_too() -> None:
    async with started(shell("echo up; kill -s STOP $$; sleep 1000")) as (child, heard):
        await heard.until_size(3)
        await child.aclose()
        assert child.tree.returncode == -signal.SIGTERM


FLOOD = """
import os
for _ in range(160):
    os.write(2, b'e' * 65535 + b'\\n')
os.write(2, b'end')
os.write(1, b'done\\n')
os.read(0, 1)
"""

TALKER = """
import os, sys
sys.stdin.read()
for _ in range(40):
    os.write(1, b'w' * 65535 + b'\\n')
os._exit(7)
"""


async def test_a_flood_on_stderr_holds_nothing_up_and_only_its_end_is_kept() -> None:
    seen = 0

    def count(chunk: bytes) -> None:
        nonlocal seen
        seen += len(chunk)

    async with started(python(FLOOD), on_stderr=count) as (child, heard):
        await heard.until_size(5)
        await eventually(lambda: child.stderr.total == 160 * 65536 + 3)
        assert seen == child.stderr.total
        assert len(child.stderr.text) == 65536
        assert child.stderr.text.endswith("e\nend")


async def test_a_program_that_closes_its_stderr_works_on() -> None:
    async with started(shell("exec 2>&-; exec cat")) as (child, heard):
        await eventually(lambda: child.stderr.has_ended)
        child.write(b"still there\n")
        await heard.until_size(12)
        assert heard.endings == []


async def test_closing_does_not_wait_for_a_program_that_never_reads() -> None:
    async with started(shell("echo up; sleep 1000")) as (child, heard):
        await heard.until_size(3)
        child.write(b"x" * 1_000_000)
        assert child.pending > 0
        await child.aclose()
        assert child.pending == 0


async def test_a_program_with_much_to_say_can_end_though_nobody_listens() -> None:
    async with started(python(TALKER), grace=Grace(after_eof=30)) as (child, heard):
        child.pause()
        heard.is_paused = True
        await child.aclose()
        assert child.tree.returncode == 7
        assert heard.blocks == []


async def test_a_cancelled_close_kills_at_once() -> None:
    child = spawn(shell("trap '' TERM; echo up; while :; do sleep 1000; done"), grace=Grace(after_eof=60))
    child.start(heard := SinkRecorder())
    await heard.until_size(3)
    closing = asyncio.ensure_future(child.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert closing.cancelled()
    assert child.tree.is_gone
    assert not alive(child.tree.pid)
    assert heard.endings == [None]


async def test_the_program_inherits_three_descriptors_and_no_more() -> None:
    left_open = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(left_open, True)
    try:
        listing = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))), flush=True)"
        async with started(python(listing)) as (_, heard):
            await heard.until_ended()
            assert heard.stream == b"[0, 1, 2, 3]\n"  # 3 is the listing itself
    finally:
        os.close(left_open)


async def test_the_environment_is_the_given_one_and_the_trees_mark() -> None:
    command = python("import os; print(sorted(os.environ), flush=True)")
    child = spawn(command, env={"LC_CTYPE": "C.UTF-8", "ONE": "1"})
    child.start(heard := SinkRecorder())
    await heard.until_ended()
    await child.aclose()
    assert heard.stream == b"['DRAGOMAN_TREE', 'LC_CTYPE', 'ONE']\n"


async def test_the_working_directory_is_the_given_one(tmp_path: Path) -> None:
    child = spawn("pwd", cwd=tmp_path)
    child.start(heard := SinkRecorder())
    await heard.until_ended()
    await child.aclose()
    assert heard.stream.decode().strip() == str(tmp_path)


async def test_a_program_may_come_and_go_before_anybody_listens() -> None:
    child = spawn(shell("echo here; exit 4"))
    await eventually(lambda: child.tree.is_gone)
    child.start(heard := SinkRecorder())
    await heard.until_ended()
    await child.aclose()
    assert heard.stream == b"here\n"
    assert death(heard).returncode == 4


async def test_a_child_that_was_never_started_on_can_be_closed() -> None:
    child = spawn("cat")
    await child.aclose()
    assert child.tree.is_gone


@pytest.mark.bound(40)
async def test_sixty_programs_leave_no_descriptor_and_no_zombie() -> None:
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    before, others = len(os.listdir("/proc/self/fd")), listed.read_text()  # of a test that failed
    for _ in range(60):
        child = spawn("cat")
        child.start(heard := SinkRecorder())
        child.write(b"1\n")
        await heard.until_size(2)
        await child.aclose()
    assert len(os.listdir("/proc/self/fd")) == before
    assert listed.read_text() == others
    assert owned_trees() == []


async def test_what_cannot_be_started_leaves_nothing_behind(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for command in ("no-such-program --x", str(tmp_path), ["true", "a\0b"], "", [], "an 'unfinished word"):
        with pytest.raises(SpawnFailed, match="cannot start"):
            spawn(command)
    assert len(os.listdir("/proc/self/fd")) == before
    assert owned_trees() == []


async def test_too_many_open_files_are_a_reason_too() -> None:
    before = len(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    with open(os.devnull, "rb") as file:
        lowest = file.fileno()  # the limit is one of numbers: what other tests left open may stand above it
    for limit in range(lowest, highest + 12):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            with suppress(SpawnFailed):
                child = spawn("true")
                break
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert len(os.listdir("/proc/self/fd")) == before
    else:
        pytest.fail("ten descriptors should be enough")
    assert limit > lowest
    await child.aclose()


def test_outside_of_a_loop_nothing_is_started() -> None:
    with pytest.raises(RuntimeError):
        spawn("cat")
    assert owned_trees() == []
