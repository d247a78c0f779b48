"""One command of an agent: its process tree, the end of its output, and its exit status.

Standard output and standard error are one pipe, so their order is the order of writing; standard input is
empty, and there is no terminal device. The tree is owned (see `transport.owned`): whatever the command starts
ends with it, at the latest when this process does. A command is over when its program has exited and its
output has been read to the end, so an exit status always comes with the whole output.

It needs a running loop and stays with that one. It does not know sessions, ids or the protocol.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from dragoman.transport.contract import Grace
from dragoman.transport.launch import start_tree, why_not
from dragoman.transport.owned_tree import Program
from dragoman.transport.reader import open_reader
from dragoman.transport.waiters import Waiters
from dragoman_local.sandbox.reserved import absent, set_aside
from dragoman_local.sandbox.wall import Wall
from dragoman_local.workspace.commands import PlannedCommand
from dragoman_local.workspace.refusals import INTERNAL_ERROR, from_system, refusal
from dragoman_local.workspace.wall_notes import wall_note

HANG_UP = 0.5
"""The seconds of silence after which the output of an exited program counts as complete, although an unknown
process still has it open.
"""

BURST = 4 * 1024 * 1024
PAUSE = 0.02
"""After this many bytes, reading pauses for this many seconds. A faster command waits: only the end of its
output is kept, and the loop has other users.
"""


class ProcessExit(NamedTuple):
    """The end of a program: an exit status or a signal, or neither if unknown."""

    code: int | None
    signal: str | None


class TerminalProcess:
    """A started command."""

    def __init__(
        self,
        command: PlannedCommand,
        *,
        cwd: str,
        env: Mapping[str, str],
        output_bytes: int,
        grace: float,
        wall: Wall | None = None,
    ) -> None:
        """Raises an `ErrorAnswer` with the reason if it can't be started. `cwd` may be a name for an open
        folder; `command.cwd` is for people. In a sandbox (`wall`), errors after the start of its launcher are
        in the output.
        """
        self.command = command
        self._output_bytes = output_bytes
        self._boundary = None if wall is None else wall.boundary
        self._wall_note: str | None = None
        self.ring = OutputBuffer(output_bytes)
        self.has_ended = False
        self.loop = asyncio.get_running_loop()
        self._waiters = Waiters()
        self._timer: asyncio.TimerHandle | None = None
        self._burst = 0
        self._silent = False
        self._reserved = [] if wall is None else absent(wall.boundary.reserved)
        ours, theirs, nothing = _descriptors()
        words = [command.program, *command.words[1:]]
        program = Program(command=words, cwd=cwd, env=env, files=(nothing, theirs, theirs))
        steps = Grace(after_eof=0, after_terminate=grace)
        try:
            started = program if wall is None else _behind(wall, program)
            self.tree = start_tree(started, grace=steps, on_exit=self._settle)
        except (OSError, ValueError) as error:
            os.close(ours)
            raise refusal(INTERNAL_ERROR, "not_started", why_not(program, error)) from error
        finally:
            os.close(theirs)
            os.close(nothing)
        if os.name != "nt":  # there, a thread does the waiting
            os.set_blocking(ours, False)
        self._reader = open_reader(ours, intake=self, on_end=self._output_ended)

    @property
    def exit(self) -> ProcessExit | None:
        """How it ended; None while it runs."""
        if not self.has_ended:
            return None
        code = self.tree.returncode
        if code is None or code >= 0:
            return ProcessExit(code, None)
        return ProcessExit(None, _signal_name(-code))

    @property
    def tail(self) -> OutputTail:
        return self.ring.tail()

    async def wall_note(self) -> str:
        """A line after the output of a failed command about a path in its words that the sandbox protects;
        empty if there is none, or no room for it.
        """
        has_failed = self.exit is not None and self.exit.code not in (0, None)
        if self._boundary is None or not has_failed:
            return ""
        if self._wall_note is None:
            self._wall_note = await asyncio.to_thread(wall_note, self.command, self._boundary)
        text = self.tail.text
        line = f"{'' if text.endswith(chr(10)) or not text else chr(10)}{self._wall_note}\n"
        has_room = len(text.encode()) + len(line.encode()) <= self._output_bytes
        return line if self._wall_note and has_room else ""

    async def wait(self) -> ProcessExit:
        """Wait until it has ended. Any number of callers may wait; one that stops waiting
        affects no other.
        """
        while (process_exit := self.exit) is None:
            await self._waiters.wait()
        return process_exit

    async def kill(self) -> None:
        """End the whole tree: ask, and kill after the grace. A cancellation kills at once."""
        await self.tree.aclose()
        if not self.tree.has_exited:  # not even a kill ends it; we have let it go
            self._end()
        await self.wait()

    def kill_now(self) -> None:
        """Do the same without a step of the loop, even if there is no loop any more."""
        self._silent = True  # what is still in the pipe is not waited for
        self.tree.kill_now()
        self._end()

    # What the reader calls.

    def feed(self, chunk: bytes) -> None:
        self.ring.feed(chunk)
        self._burst += len(chunk)
        if self._burst >= BURST and not self.tree.has_exited:
            self._burst = 0
            self._reader.pause()
            self.loop.call_later(PAUSE, self._reader.resume)

    def finish(self) -> None:
        pass  # `_output_ended` follows

    # Its end.

    def _output_ended(self, _: OSError | None) -> None:
        self._silent = True
        self._settle()

    def _settle(self) -> None:
        if self.has_ended or not self.tree.has_exited:
            return
        if self._silent:
            self._end()
        elif self._timer is None:
            self._await_the_rest(previous_bytes=-1)

    def _await_the_rest(self, *, previous_bytes: int) -> None:
        now = self._reader.read_bytes
        if now == previous_bytes and self.tree.is_gone:
            self._end()
        else:
            self._timer = self.loop.call_later(HANG_UP, lambda: self._await_the_rest(previous_bytes=now))

    def _end(self) -> None:
        if self.has_ended:
            return
        self.has_ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._reader.close()
        if self.tree.returncode == -signal.SIGKILL:  # its launcher could not do it
            for sentence in set_aside(self._reserved, renames=True):
                self.ring.feed(f"{sentence}\n".encode(errors="replace"))
        self.ring.finish()
        self._waiters.wake()


def _descriptors() -> tuple[int, int, int]:
    """Both ends of a pipe for the output, and an input that is empty."""
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            return (*os.pipe(), nothing)
        except OSError:
            os.close(nothing)
            raise
    except OSError as error:
        raise from_system(error) from error


def _behind(wall: Wall, program: Program) -> Program:
    """The same program in a sandbox. Its launcher starts even if the interpreter of a script is missing, so
    that is looked for here: whoever asked for the command hears of it as without a sandbox.
    """
    head = b""
    with suppress(PermissionError), open(program.command[0], "rb") as file:  # to run it is enough
        head = file.read(256)
    words = head[2:].split(b"\n")[0].split()
    if head.startswith(b"#!") and words and not os.path.exists(words[0]):
        raise FileNotFoundError(program.command[0])
    return replace(program, command=wall.command_line(program.command))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has a number only
        return f"SIG{number}"


# Keeps the end of a command's output: bytes in, text out, up to a limit.
#
# The limit counts bytes of UTF-8 and holds for the text as well as for what is kept. What falls off, falls
# off at the beginning, and a cut never goes through a character. Bytes that are no UTF-8 become U+FFFD when
# the text is asked for, not before: the second half of a character may still be on its way.
#
# It knows bytes and nothing of processes.

_SLACK = 256 * 1024
"""Bytes above the limit that are kept until the beginning is cut off: cutting costs a copy."""

_LONGEST = 4
"""Bytes of the longest character."""


class OutputTail(NamedTuple):
    """The part of an output that can be shown."""

    text: str
    is_truncated: bool
    """Whether its beginning is missing."""


class OutputBuffer:
    """Accepts all output, keeps its end."""

    __slots__ = ("_is_finished", "_is_truncated", "_limit", "_tail_bytes")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tail_bytes = bytearray()
        self._is_truncated = False
        self._is_finished = False

    def __len__(self) -> int:
        """The number of bytes in the buffer."""
        return len(self._tail_bytes)

    def feed(self, chunk: bytes) -> None:
        self._tail_bytes += chunk
        if len(self._tail_bytes) > self._limit + min(self._limit, _SLACK):
            self._trim()

    def finish(self) -> None:
        """Note that no more output comes: half a character at the end is dropped."""
        self._trim()
        self._is_finished = True

    def tail(self) -> OutputTail:
        """Return the end of the output as text, at most as long as the limit."""
        self._trim()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self._tail_bytes), self._is_finished)
        # A byte that is not UTF-8 becomes a character of three.
        shorter = _last_bytes(text, self._limit)
        return OutputTail(shorter, self._is_truncated or len(shorter) < len(text))

    def _trim(self) -> None:
        excess = len(self._tail_bytes) - self._limit
        if excess <= 0:
            return
        self._is_truncated = True
        del self._tail_bytes[: excess + _inside_character(self._tail_bytes, excess)]


def _inside_character(data: bytearray, at: int) -> int:
    """How many bytes from `at` on belong to a character that begins before it."""
    begin = at
    while begin > max(0, at - _LONGEST + 1) and _is_continuation(data, begin):
        begin -= 1
    end = at
    while end < min(len(data), begin + _length(data, begin)) and _is_continuation(data, end):
        end += 1
    return end - at


def _is_continuation(data: bytearray, at: int) -> bool:
    return at < len(data) and data[at] & 0xC0 == 0x80


def _length(data: bytearray, at: int) -> int:
    """The length of the character that begins here; 0 if none does."""
    if at >= len(data):
        return 0
    first = data[at]
    return 2 if 0xC2 <= first < 0xE0 else 3 if 0xE0 <= first < 0xF0 else 4 if 0xF0 <= first < 0xF5 else 0


def _last_bytes(text: str, limit: int) -> str:
    if len(text) * _LONGEST <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[len(data) - limit :].decode(errors="ignore") if limit else ""
