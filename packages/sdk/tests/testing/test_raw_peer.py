"""RawPeer, driving small programs that do one thing each."""

import os
import signal
import sys
from pathlib import Path

import pytest

from dragoman.errors import DeadlineExceeded, LinkClosed, LocalMistake
from dragoman.testing import RawPeer
from tests.transport.programs import BROOD, alive, eventually, python, shell

CAT = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer.raw, sys.stdout.buffer.raw)"


async def test_bytes_go_out_as_they_are_and_lines_come_back_as_they_came() -> None:
    async with RawPeer(python(CAT)) as peer:
        await peer.send(b"\xff\x00 no text\n", {"a": "é"}, b"half ")
        await peer.send(b"a line\r\n\n")
        assert await peer.read_lines(4) == [b"\xff\x00 no text", '{"a":"é"}'.encode(), b"half a line\r", b""]


async def test_a_line_of_many_chunks_is_one_line() -> None:
    async with RawPeer(python(CAT)) as peer:
        await peer.send(b"x" * 3_000_000 + b"\nnext\n")
        assert len(await peer.read_line()) == 3_000_000
        assert await peer.read_line() == b"next"


async def test_reading_up_to_a_wanted_line_gives_all_before_it() -> None:
    async with RawPeer(shell("echo a; echo b; echo c")) as peer:
        assert await peer.read_until(lambda line: line == b"b") == [b"a", b"b"]
        assert await peer.read_rest() == [b"c"]


async def test_the_end_of_the_output_is_told_with_the_reason() -> None:
    async with RawPeer(shell("printf 'whole\\nhalf'; echo 'no model' >&2; exit 3")) as peer:
        assert await peer.read_line() == b"whole"
        assert await peer.wait() == 3
        await eventually(lambda: "no model" in peer.stderr)
        with pytest.raises(
            LinkClosed, match="has closed its output, exit status 3, standard error 'no model'"
        ):
            await peer.read_line()
        assert peer.partial_line == b"half"


async def test_a_deadline_tells_what_was_waited_for() -> None:
    async with RawPeer(shell("echo ready >&2; cat >/dev/null")) as peer:
        await eventually(lambda: peer.stderr != "")
        with pytest.raises(
            DeadlineExceeded, match=r"to say a line, standard error 'ready' took longer than 0.01"
        ):
            await peer.read_line(seconds=0.01)
        with pytest.raises(DeadlineExceeded, match="to end"):
            await peer.wait(seconds=0.01)


async def test_closing_its_input_lets_a_program_end() -> None:
    async with RawPeer(python(CAT)) as peer:
        await peer.send(b"a\n")
        peer.close_stdin()
        assert await peer.read_rest() == [b"a"]
        assert await peer.wait() == 0


async def test_a_signal_goes_to_the_program_alone() -> None:
    async with RawPeer(shell("sleep 1000 & echo $!; wait")) as peer:
        sleeper = int(await peer.read_line())
        peer.send_signal(signal.SIGTERM)
        assert await peer.wait() == -signal.SIGTERM
        assert alive(sleeper)
        assert peer.processes() == [sleeper]
    assert not alive(sleeper)


async def test_nothing_of_the_tree_is_left_when_the_block_is_left() -> None:
    async with RawPeer(shell(BROOD)) as peer:
        pids = [int(line) for line in await peer.read_lines(3)]
        assert set(pids) <= set(peer.processes())
    assert [pid for pid in [*pids, peer.pid] if alive(pid)] == []


async def test_a_program_that_will_not_end_is_killed() -> None:
    async with RawPeer(shell("trap '' TERM HUP; echo up; while :; do sleep 100; done")) as peer:
        await peer.read_line()
    assert peer.returncode == -signal.SIGKILL


async def test_an_error_in_the_block_kills_at_once() -> None:
    peer = RawPeer(shell("cat; sleep 1000"))
    with pytest.raises(ZeroDivisionError):
        async with peer:
            raise ZeroDivisionError
    assert peer.returncode == -signal.SIGKILL


async def test_a_paused_peer_fills_its_pipe_and_waits() -> None:
    async with RawPeer(python("import os\nfor n in range(100): os.write(1, b'x' * 9999 + b'\\n')")) as peer:
        peer.pause()
        with pytest.raises(DeadlineExceeded):
            await peer.wait(seconds=0.1)
        peer.resume()
        assert len(await peer.read_lines(100)) == 100
        assert await peer.wait() == 0


async def test_a_peer_that_does_not_read_does_not_hold_us_up() -> None:
    async with RawPeer(shell("exec sleep 1000")) as peer:
        peer.send_soon(b"x" * 1_000_000)
        with pytest.raises(DeadlineExceeded, match="to take its input"):
            await peer.send(b"more", seconds=0.05)


async def test_hanging_up_makes_its_writes_fail() -> None:
    program = (
        "import sys, os\nsys.stdin.readline()\ntry: os.write(1, b'x')\nexcept BrokenPipeError: os._exit(7)"
    )
    async with RawPeer(python(program)) as peer:
        peer.close_stdout()
        await peer.send(b"now\n")
        assert await peer.wait() == 7
        with pytest.raises(LinkClosed):
            await peer.read_line()


async def test_its_standard_error_can_be_closed() -> None:
    program = (
        "import sys, os\nsys.stdin.readline()\ntry: os.write(2, b'x')\nexcept BrokenPipeError: os._exit(8)"
    )
    async with RawPeer(python(program)) as peer:
        peer.close_stderr()
        await peer.send(b"now\n")
        assert await peer.wait() == 8


async def test_where_and_with_what_it_runs_can_be_said(tmp_path: Path) -> None:
    async with RawPeer(shell("pwd; echo $WORD"), cwd=tmp_path, env={"WORD": "mine"}) as peer:
        assert await peer.read_lines(2) == [os.fsencode(tmp_path), b"mine"]


async def test_a_string_is_split_but_no_shell_runs_it() -> None:
    async with RawPeer(f"{sys.executable} -c \"print('$HOME')\"") as peer:
        assert await peer.read_line() == b"$HOME"


async def test_only_three_descriptors_are_handed_on() -> None:
    async with RawPeer(python("import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])")) as peer:
        assert await peer.read_line() == b"['0', '1', '2']"


async def test_constructing_starts_nothing() -> None:
    peer = RawPeer(["no such program"])
    with pytest.raises(LocalMistake, match="async with"):
        await peer.send(b"x")
    with pytest.raises(FileNotFoundError):
        await peer.__aenter__()
