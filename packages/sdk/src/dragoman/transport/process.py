"""A child process as a transport: its standard input and output carry the frames.

`spawn` starts a program as an owned tree (see `owned`) with descriptors 0, 1 and 2 and no others. The link
ends when the program exits, with everything it wrote fed first and `PeerDied` telling how it went; a
program that closes its output and lives on is of no use either, and is ended. `aclose` closes its input and
waits, then asks, then kills, until nothing of the tree is left.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence

from dragoman.errors import InvalidValue, PeerDied, SpawnFailed
from dragoman.transport.child_pipes import close_all, open_pipes
from dragoman.transport.contract import DEFAULT_GRACE, DEFAULT_LIMITS, Grace, Sink, TransportLimits
from dragoman.transport.launch import start_tree, why_not
from dragoman.transport.owned_tree import OwnedTree, Program
from dragoman.transport.pipe import PipeTransport
from dragoman.transport.program_output import StderrTail
from dragoman.transport.waiters import Waiters
from dragoman.transport.writer import Block

HANG_UP = 0.5
"""The most seconds between the end of a program's output and its exit, in either order."""


def spawn(
    command: Sequence[str] | str,
    *,
    launcher: Sequence[str] = (),
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    limits: TransportLimits = DEFAULT_LIMITS,
    grace: Grace = DEFAULT_GRACE,
    on_stderr: Callable[[bytes], None] | None = None,
) -> ChildTransport:
    """Start a program and return the transport to it. A string is split like in a shell, but no shell runs.
    `launcher` are words in front of it, of a program that becomes it, such as a sandbox.

    Needs a running loop. Raises `SpawnFailed` when there is nothing to start.
    """
    asyncio.get_running_loop()  # without one, fail before anything is started
    words = words_of(command)
    ours, theirs = open_pipes()
    program = Program(command=[*launcher, *words], cwd=cwd, env=env, files=theirs)

    def own(on_exit: Callable[[], None]) -> OwnedTree:
        try:
            return start_tree(program, grace=grace, on_exit=on_exit)
        except (OSError, ValueError) as error:
            raise SpawnFailed(why_not(program, error)) from error

    try:
        return ChildTransport(words, ours, own=own, limits=limits, on_stderr=on_stderr)
    except SpawnFailed:
        close_all(ours)
        raise
    finally:
        close_all(theirs)


class ChildTransport:
    """The frames of one child process. `tree` is its process tree, `stderr` the end of its standard error."""

    def __init__(
        self,
        command: Sequence[str],
        pipes: tuple[int, int, int],
        *,
        own: Callable[[Callable[[], None]], OwnedTree],
        limits: TransportLimits = DEFAULT_LIMITS,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        """`own` returns the tree, and gets the function to call when its program exits; `pipes` are our ends
        of the program's input, output and standard error. Needs a running loop.
        """
        self.limits = limits
        self.tree = own(self._settle)
        self._name = os.path.basename(command[0])
        self._loop = asyncio.get_running_loop()
        self._pipe = PipeTransport(pipes[1], pipes[0], limits=limits)
        self.stderr = StderrTail(pipes[2], show=on_stderr, on_end=self._settle)
        self._sink: Sink | None = None
        self._inlet: _ChildSink | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._silent = self._has_ended = self._is_paused = self._closing = self._is_closed = False
        self._waiters = Waiters()

    def start(self, sink: Sink) -> None:
        if self._sink is not None:
            raise RuntimeError("a transport is started once")
        self._sink = sink
        self._inlet = _ChildSink(sink, on_end=self._output_ended)
        self._pipe.start(self._inlet)
        self._settle()  # it may have come and gone already

    def write(self, block: Block) -> None:
        self._pipe.write(block)

    @property
    def pending(self) -> int:
        return self._pipe.pending

    async def drain(self) -> None:
        await self._pipe.drain()

    def pause(self) -> None:
        self._is_paused = True
        if self._closing:
            self._discard()
        else:
            self._pipe.pause()

    def resume(self) -> None:
        self._is_paused = False
        self._pipe.resume()

    async def close_input(self) -> None:
        """Close the program's input, and continue to read its output."""
        await self._pipe.finish_writing()

    async def aclose(self) -> None:
        if self._closing:
            while not self._is_closed:
                await self._waiters.wait()
            return
        self._closing = True
        if self._is_paused:
            self._discard()
        try:
            await self._pipe.finish_writing()
            await self.tree.aclose()
        finally:
            self._release()

    def _discard(self) -> None:
        """Read on, for nobody: a program that cannot write its last words may never end."""
        if self._inlet is not None:
            self._inlet.discard()
            self._pipe.resume()

    def _release(self) -> None:
        self.tree.kill_now()  # does nothing unless we were cancelled
        self._cancel_timer()
        self._pipe.release()
        self.stderr.close()
        self._is_closed = True
        self._tell(None)
        self._waiters.wake()

    def _output_ended(self, _: BaseException | None) -> None:
        self._silent = True
        self._settle()

    def _settle(self) -> None:
        """The link ends when the program has exited and everything that it said has been heard."""
        if self._sink is None or self._closing or self._has_ended:
            return
        if self.tree.has_exited and self._silent and self.stderr.has_ended:
            self._tell(self._obituary())
        elif (self.tree.has_exited or self._silent) and self._timer is None:
            self._await_the_rest(read_before=-1)

    def _await_the_rest(self, *, read_before: int) -> None:
        """The other signs of an end follow the first one soon, or something is wrong."""
        now = self._pipe.read_bytes + (self.stderr.total if self.tree.has_exited else 0)
        if now != read_before or self._is_paused:
            self._timer = self._loop.call_later(HANG_UP, lambda: self._await_the_rest(read_before=now))
        elif self.tree.has_exited:  # somebody whom we did not find still holds its output
            self._tell(self._obituary())
        else:
            self._hung_up()

    def _hung_up(self) -> None:
        """The program lives on, but does not talk or listen: there is nothing to expect of it any more."""
        self.tree.terminate()
        self._tell(self._obituary(", which had hung up,"))
        self._timer = self._loop.call_later(self.tree.grace.after_terminate, self.tree.kill)

    def _obituary(self, circumstance: str = "") -> PeerDied:
        return obituary(self._name + circumstance, self.tree.returncode, self.stderr.text)

    def _tell(self, reason: BaseException | None) -> None:
        if self._sink is not None and not self._has_ended:
            self._has_ended = True
            self._cancel_timer()
            self._pipe.release()
            self._sink.on_end(reason)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _ChildSink:
    """Stands between the pipe and the sink: the end of the output is not yet the end of the link."""

    __slots__ = ("feed", "on_end", "on_oversized")

    def __init__(self, sink: Sink, *, on_end: Callable[[BaseException | None], None]) -> None:
        self.feed: Callable[[bytes], None] = sink.feed
        self.on_oversized: Callable[[int], None] = sink.on_oversized
        self.on_end = on_end

    def discard(self) -> None:
        self.feed = self.on_oversized = _ignore


def _ignore(_: object) -> None:
    pass


def words_of(command: Sequence[str] | str) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise SpawnFailed(f"cannot start {command!r}: {str(error).lower()}") from error
    if not words:
        raise SpawnFailed("cannot start a program: the command is empty")
    for place, word in enumerate(words):
        if not isinstance(word, str | os.PathLike):
            raise InvalidValue(f"word {place} of the command", word, "must be a string")
    return words


def obituary(what: str, code: int | None, stderr: str) -> PeerDied:
    """Describe how a program ended; a negative code is a signal's."""
    name = None if code is None or code >= 0 else _signal_name(-code)
    return PeerDied(what, returncode=code, signal=name, stderr=stderr)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has a number only
        return str(number)
