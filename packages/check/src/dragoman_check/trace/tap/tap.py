"""The tap: starts an agent, passes its bytes to the client unchanged, and records everything.

The client's hanging up is passed on as the end of the agent's input; the agent then has its grace to end by
itself, as without us. When the agent ends, so do we, with its exit status. Signals go to the agent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from dragoman.errors import LinkClosed, SpawnFailed
from dragoman.transport.child_pipes import close_all, open_pipes
from dragoman.transport.contract import Grace, TransportLimits
from dragoman.transport.launch import start_tree, why_not
from dragoman.transport.owned_tree import OwnedTree, Program
from dragoman.transport.reader import open_reader
from dragoman.transport.writer import open_writer
from dragoman_check.trace.tap.recorder import TapRecorder

LAST_BYTES = 2.0
"""The seconds for bytes in transit when one side has ended."""

PATIENCE = Grace(after_eof=10.0)
"""The seconds for an agent to end after its input. Clients are less patient, and then send us a signal."""

END_WITHIN = 5.0
"""The seconds for an agent to end after a signal that asks for it."""

HELD = 2.0
"""The seconds after which entries are written even if a word in them may be incomplete."""


async def tap(
    command: Sequence[str],
    *,
    stdin: int,
    stdout: int,
    show: Callable[[bytes], None],
    recorder: TapRecorder,
    guard: bool = False,
) -> int:
    """Run the command on these descriptors, which it takes over, until it ends; return its exit status.

    `show` gets what the agent complains about, and what a guard kept off the wire.
    """
    running = _TappedAgent(command, show=show, recorder=recorder)
    sieve = StdoutGuard(running.kept_off) if guard else None
    to_agent = Pump(stdin, running.input_fd, on_block=lambda chunk: recorder.record("to_agent", chunk))
    to_client = Pump(
        running.output_fd, stdout, on_block=lambda chunk: recorder.record("to_client", chunk), sieve=sieve
    )
    complaints = Pump(running.error_fd, os.open(os.devnull, os.O_WRONLY), on_block=running.on_stderr)
    try:
        return await running.until_it_ends(to_agent, to_client, complaints)
    finally:
        for pump in (to_agent, to_client, complaints):
            await pump.aclose(seconds=0.1)
        await running.tree.aclose()


class _TappedAgent:
    def __init__(
        self, command: Sequence[str], *, show: Callable[[bytes], None], recorder: TapRecorder
    ) -> None:
        self._show = show
        self._recorder = recorder
        self._exit_event = asyncio.Event()
        ours, theirs = open_pipes()
        program = Program(command=command, files=theirs)
        try:
            self.tree: OwnedTree = start_tree(program, grace=PATIENCE, on_exit=self._exit_event.set)
        except (OSError, ValueError) as error:
            close_all(ours)
            raise SpawnFailed(why_not(program, error)) from error
        finally:
            close_all(theirs)
        self.input_fd, self.output_fd, self.error_fd = ours
        self._command = list(command)

    async def until_it_ends(self, to_agent: Pump, to_client: Pump, complaints: Pump) -> int:
        began = time.monotonic()
        flushing = asyncio.get_running_loop().create_task(self._flush_now_and_then())
        waiting = [
            asyncio.create_task(self._pass_on_the_end(to_agent)),
            asyncio.create_task(self._exit_event.wait()),
            asyncio.create_task(to_client.target_gone.wait()),
        ]
        with _Signals(self.tree):
            start = {"event": "start", "command": self._command, "cwd": os.getcwd(), "pid": self.tree.pid}
            self._recorder.note(start)
            try:
                await asyncio.wait(waiting[1:], return_when=asyncio.FIRST_COMPLETED)
                if not self._exit_event.is_set():  # nobody reads the agent any more
                    to_agent.stop_reading()
                    await to_agent.aclose(seconds=LAST_BYTES)
                    await self.tree.aclose()
                await _wait_first(LAST_BYTES, to_client.source_ended.wait(), complaints.source_ended.wait())
                await to_client.aclose(seconds=LAST_BYTES)
            finally:
                for task in (*waiting, flushing):
                    task.cancel()
                await asyncio.wait((*waiting, flushing))
        self._recorder.on_end("to_client")
        self._recorder.on_end("note")
        status = self.tree.returncode if self.tree.returncode is not None else 1
        spent = round(time.monotonic() - began, 3)
        self._recorder.note({"event": "exit", "status": status, "seconds": spent})
        return status

    async def _pass_on_the_end(self, to_agent: Pump) -> None:
        """The client hung up: the agent sees the end of its input, and is ended if that does not end it."""
        await to_agent.source_ended.wait()
        await to_agent.aclose(seconds=LAST_BYTES)
        self._recorder.on_end("to_agent")
        self._recorder.note({"event": "end of input"})
        await self.tree.aclose()

    async def _flush_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(HELD)
            if self._recorder.has_backlog:
                self._recorder.flush()

    def on_stderr(self, chunk: bytes) -> None:
        self._show(chunk)
        self._recorder.record_stderr(chunk)

    def kept_off(self, text: bytes) -> None:
        self._show(text)
        self._recorder.note({"event": "noise", "text": text.decode(errors="replace").rstrip("\n")})


_PASSED_ON = [
    number for name in ("SIGTERM", "SIGINT", "SIGHUP") if (number := getattr(signal, name, None)) is not None
]


class _Signals:
    """While it lasts, a signal for us is passed on to the agent. One that asks for the end is followed by the
    end of the agent, if it takes no notice: whoever sent it waits for us, and does not know of the agent.
    """

    def __init__(self, tree: OwnedTree) -> None:
        self._tree = tree
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _PASSED_ON:
            with suppress(NotImplementedError):  # Windows: both are interrupted by the same key
                loop.add_signal_handler(number, self._pass_on, number)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in _PASSED_ON:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
        if self._timer is not None:
            self._timer.cancel()

    def _pass_on(self, number: int) -> None:
        # Not after SIGINT: some agents stop their work at a Ctrl-C and go on.
        if number != signal.SIGINT and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(END_WITHIN, self._tree.kill)
        try:
            os.kill(self._tree.pid, number)
        except ProcessLookupError:
            pass


async def _wait_first(seconds: float, *waits: object) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]  # type: ignore[call-overload]
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)


# Keeps noise out of the protocol: an agent's lines that are not JSON objects are shown elsewhere.
#
# A line is held until its end is there, which is what a client does with it anyway. A line that grows beyond
# all bounds is passed as it is: it is too long to be noise that somebody printed.

BOUND = 1024 * 1024
"""The most bytes of a line to hold until its kind is known."""

_anything = msgspec.json.Decoder()


class StdoutGuard:
    """A filter of standard output. `noise` gets each removed line, with its newline."""

    def __init__(self, noise: Callable[[bytes], None]) -> None:
        self.count = 0
        self._noise = noise
        self._partial_line = bytearray()
        self._passing = False  # in the middle of a line that is known to be no noise

    def take(self, chunk: bytes) -> bytes:
        self._partial_line += chunk
        output = bytearray()
        while (end := self._partial_line.find(b"\n") + 1) > 0:
            line = bytes(self._partial_line[:end])
            del self._partial_line[:end]
            if self._passing or not is_noise(line):
                output += line
            else:
                self._keep_off(line)
            self._passing = False
        if self._passing or len(self._partial_line) > BOUND:
            output += self._partial_line
            self._partial_line.clear()
            self._passing = True
        return bytes(output)

    def finish(self) -> bytes:
        """Handle the end: the last line may lack its newline."""
        rest = bytes(self._partial_line)
        self._partial_line.clear()
        if not rest or self._passing or not is_noise(rest):
            return rest
        self._keep_off(rest + b"\n")
        return b""

    def _keep_off(self, line: bytes) -> None:
        self.count += 1
        self._noise(line)


def is_noise(line: bytes) -> bool:
    """Whether no client could understand this line. Blank lines are harmless."""
    text = line.strip()
    if not text:
        return False
    if not text.startswith(b"{"):
        return True
    try:
        _anything.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return True
    except RecursionError:
        return False
    return False


# Copies bytes from one descriptor to another unchanged, and shows each chunk to an observer afterwards.
#
# A slow reader slows the writer: reading stops while more than a pipe's worth waits to be written. The end
# of the source is passed on as the end of the target, after everything before it. Nothing here knows lines.


class ByteFilter(Protocol):
    """Decides which bytes of a chunk are passed on."""

    def take(self, chunk: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


class Pump:
    """Owns both descriptors. Needs a running loop; starts at once."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        on_block: Callable[[bytes], None],
        sieve: ByteFilter | None = None,
        limits: TransportLimits | None = None,
    ) -> None:
        self.source_ended = asyncio.Event()
        """Nothing more comes."""
        self.target_gone = asyncio.Event()
        """Whoever read from us no longer does."""
        self._limits = limits or TransportLimits()
        self._on_block = on_block
        self._sieve = sieve
        self._draining: asyncio.Task[None] | None = None
        self._writer = open_writer(write_fd, limits=self._limits, on_broken=self._on_target_broken)
        self._reader = open_reader(read_fd, intake=self, on_end=self._on_source_end)

    # The intake of the reader.

    def feed(self, chunk: bytes) -> None:
        self._pass(chunk if self._sieve is None else self._sieve.take(chunk))
        self._on_block(chunk)  # after it went on: who reads the record can wait, who reads the wire cannot

    def finish(self) -> None:
        if self._sieve is not None:
            self._pass(self._sieve.finish())

    def stop_reading(self) -> None:
        """Stop reading from the source; waiting bytes are still written."""
        self._reader.close()
        self.source_ended.set()

    async def aclose(self, *, seconds: float) -> None:
        """Write the waiting bytes, in time, and close both descriptors."""
        self._reader.close()
        try:
            async with asyncio.timeout(seconds):
                await self._writer.drain(0)
        except (TimeoutError, LinkClosed):
            pass  # nobody reads it
        finally:
            self._writer.close()
            if self._draining is not None:
                self._draining.cancel()
                await asyncio.wait([self._draining])

    def _pass(self, chunk: bytes) -> None:
        if not chunk:
            return
        try:
            self._writer.write(chunk)
        except LinkClosed:
            return
        if self._writer.pending > self._limits.high and self._draining is None:
            self._reader.pause()
            self._draining = asyncio.get_running_loop().create_task(self._read_again())

    async def _read_again(self) -> None:
        try:
            await self._writer.drain(self._limits.low)
        except LinkClosed:
            pass  # read on for the record, and to hear the end
        self._draining = None
        self._reader.resume()

    def _on_source_end(self, _: OSError | None) -> None:
        self.source_ended.set()

    def _on_target_broken(self, _: OSError) -> None:
        self.target_gone.set()
