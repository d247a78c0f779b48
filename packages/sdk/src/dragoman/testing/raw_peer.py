"""A child process whose three pipes a test reads and writes directly.

`RawPeer` sends bytes as they are and hands over lines as they came: it does not know JSON, ids or the
protocol, so it can drive a peer with anything and witness everything. Each pipe can be stopped and closed by
itself, signals go to the program alone, and what the program leaves behind is left alone too, until the
block is left: then its whole tree is ended, whatever state it is in.

Every wait has a deadline, and tells what the peer said on standard error when it passes.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, TypeVar

import msgspec

from dragoman.errors import DeadlineExceeded, LinkClosed, LocalMistake
from dragoman.testing.pace import deadline
from dragoman.transport import tree
from dragoman.transport.contract import DEFAULT_LIMITS
from dragoman.transport.program_output import StderrTail
from dragoman.transport.reader import Reader, open_reader
from dragoman.transport.waiters import Waiters
from dragoman.transport.writer import FrameWriter, open_writer
from dragoman.wire.envelope import Json

PATIENCE = 5.0
"""The default seconds for each wait."""

ENDING = 1.0
"""The seconds from the end of the input to the kill when the block is left. To see a peer end by itself, wait
for it inside the block.
"""

T = TypeVar("T")

Frame = bytes | Mapping[str, Json]


class RawPeer:
    """Run a command with `async with RawPeer(command) as peer:`; constructing starts nothing.

        async with RawPeer("dragoman agent echo") as peer:
            await peer.send(b'{"half":\\n')
            assert b"-32700" in await peer.read_line()

    Leaving the block ends the program and whatever it has started.
    """

    def __init__(
        self,
        command: Sequence[str] | str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.returncode: int | None = None
        """How the program ended, negative for a signal; None while it runs."""
        self.pid = 0
        self._cwd = cwd
        self._env = env
        self._mark = secrets.token_hex(8)
        self._start = 0
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._output_ended = False
        self._change_waiters = Waiters()
        self._reader: Reader | None = None
        self._writer: FrameWriter | None = None
        self._stderr: StderrTail | None = None

    # What it is told.

    async def send(self, *frames: Frame, seconds: float = PATIENCE) -> None:
        """Send bytes unchanged, and each mapping as one line of JSON; returns when the system has accepted
        all bytes.
        """
        writer = _require(self._writer)
        for frame in frames:
            writer.write(frame if isinstance(frame, bytes) else msgspec.json.encode(frame) + b"\n")
        await self._in_time(writer.drain(0), "take its input", seconds)

    def send_soon(self, block: bytes) -> None:
        """Send without waiting: for a peer that does not read."""
        _require(self._writer).write(block)

    def close_stdin(self) -> None:
        """Close the program's input after all bytes sent so far."""
        _require(self._writer).close()

    def send_signal(self, number: int) -> None:
        """Send a signal to the program alone, not to its children."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    # What it says.

    async def read_line(self, *, seconds: float = PATIENCE) -> bytes:
        """Return the next line without its newline. Raises `LinkClosed` at the end of the output."""
        if self._lines:
            return self._lines.popleft()
        return await self._in_time(self._next(), "say a line", seconds)

    async def read_lines(self, count: int, *, seconds: float = PATIENCE) -> list[bytes]:
        """Return this many lines, all within the time."""
        return await self._in_time(self._read(count), f"say {count} lines", seconds)

    async def read_until(self, matches: Callable[[bytes], bool], *, seconds: float = PATIENCE) -> list[bytes]:
        """Return all lines up to the first that `matches`, including that line."""
        return await self._in_time(self._read_up_to(matches), "say what was waited for", seconds)

    async def read_rest(self, *, seconds: float = PATIENCE) -> list[bytes]:
        """Return all lines to the end of its output; an unfinished last line is in `partial_line`."""
        await self._in_time(self._until(lambda: self._output_ended), "close its output", seconds)
        lines = list(self._lines)
        self._lines.clear()
        return lines

    @property
    def waiting(self) -> int:
        """The lines that have arrived and were not read yet."""
        return len(self._lines)

    @property
    def partial_line(self) -> bytes:
        """The bytes after the last newline."""
        return bytes(self._rest)

    @property
    def stderr(self) -> str:
        """The end of its standard error."""
        return _require(self._stderr).text

    def pause(self) -> None:
        """Stop reading its output, so that its pipe fills up."""
        _require(self._reader).pause()

    def resume(self) -> None:
        """Read its output again."""
        _require(self._reader).resume()

    def close_stdout(self) -> None:
        """Close our end of its standard output: its later writes fail."""
        _require(self._reader).close()
        self._output_ended = True
        self._change_waiters.wake()

    def close_stderr(self) -> None:
        """Close our end of its standard error."""
        _require(self._stderr).close()

    # Its life.

    async def wait(self, *, seconds: float = PATIENCE) -> int:
        """Wait until the program has ended by itself; return its exit status, negative for a signal."""
        await self._in_time(self._until(lambda: self.returncode is not None), "end", seconds)
        assert self.returncode is not None
        return self.returncode

    def processes(self) -> list[int]:
        """The living processes of the program and its descendants, oldest first."""
        members = tree.members(self.pid, start=self._start, mark=self._mark)
        return [process.pid for process in members]

    async def __aenter__(self) -> RawPeer:
        env = dict(os.environ if self._env is None else self._env)
        env[tree.MARK] = ",".join(filter(None, (env.get(tree.MARK), self._mark)))
        process = _start_process(self.command, cwd=self._cwd, env=env)
        self.pid = process.pid
        record = tree.look_up(self.pid)
        self._start = record.start if record else 0
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._writer = open_writer(
            _take_descriptor(process.stdin), limits=DEFAULT_LIMITS, on_broken=lambda _: None
        )
        self._reader = open_reader(_take_descriptor(process.stdout), intake=self, on_end=self._on_output_end)
        self._stderr = StderrTail(_take_descriptor(process.stderr), limit=1024 * 1024)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._bury, args=(process, loop), daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close_stdin()
            self.resume()
            with suppress(DeadlineExceeded):
                await self.wait(seconds=ENDING if error is None else 0)
        finally:
            self._kill()
            _require(self._reader).close()
            _require(self._stderr).close()
        await self.wait()

    # Inside.

    def feed(self, chunk: bytes) -> None:
        """Receive output of the program."""
        self._rest += chunk
        if b"\n" in chunk:  # otherwise a line of a hundred megabytes would be looked through at every chunk
            *lines, self._rest = self._rest.split(b"\n")
            self._lines.extend(map(bytes, lines))
            self._change_waiters.wake()

    def finish(self) -> None:
        """Note that the program prints nothing more."""
        self._output_ended = True

    def _on_output_end(self, _: OSError | None) -> None:
        self._change_waiters.wake()

    def _bury(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        status = process.wait()
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            loop.call_soon_threadsafe(self._on_exit, status)

    def _on_exit(self, status: int) -> None:
        self.returncode = status
        self._change_waiters.wake()

    def _kill(self) -> None:
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.pid)], capture_output=True, check=False)
        else:
            tree.kill_tree(self.pid, start=self._start, mark=self._mark)

    async def _read(self, count: int) -> list[bytes]:
        return [await self._next() for _ in range(count)]

    async def _read_up_to(self, matches: Callable[[bytes], bool]) -> list[bytes]:
        lines = [await self._next()]
        while not matches(lines[-1]):
            lines.append(await self._next())
        return lines

    async def _next(self) -> bytes:
        await self._until(lambda: bool(self._lines) or self._output_ended)
        if not self._lines:
            raise LinkClosed(f"{self.command[0]} has closed its output{self._complaint()}")
        return self._lines.popleft()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._change_waiters.wait()

    async def _in_time(self, work: Awaitable[T], what: str, seconds: float) -> T:
        try:
            async with deadline(seconds):
                return await work
        except TimeoutError:
            raise DeadlineExceeded(
                f"waiting for {self.command[0]} to {what}{self._complaint()}", seconds
            ) from None

    def _complaint(self) -> str:
        status = "" if self.returncode is None else f", exit status {self.returncode}"
        error_output = self.stderr.strip()
        return status + (f", standard error {error_output[-2000:]!r}" if error_output else "")


def _require(part: T | None) -> T:
    if part is None:
        raise LocalMistake("this peer was not started: use it as `async with`")
    return part


def _start_process(
    command: list[str], *, cwd: str | os.PathLike[str] | None, env: dict[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        bufsize=0,
        start_new_session=True,
    )


def _take_descriptor(pipe: IO[bytes]) -> int:
    """The pipe's descriptor, which is ours from now on."""
    fd = os.dup(pipe.fileno())
    pipe.close()
    if os.name != "nt":
        os.set_blocking(fd, False)
    return fd
