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

from dragoman.errors import SpawnFailed
from dragoman.transport.child_pipes import close_all, open_pipes
from dragoman.transport.contract import Grace
from dragoman.transport.launch import start_tree, why_not
from dragoman.transport.owned_tree import OwnedTree, Program
from dragoman_check.trace.tap.guard import StdoutGuard
from dragoman_check.trace.tap.pump import Pump
from dragoman_check.trace.tap.recorder import TapRecorder

LAST_BYTES = 2.0
"""Seconds that bytes on their way get when one side has ended."""

PATIENCE = Grace(after_eof=10.0)
"""How long an agent may take to end when its input has ended. Clients are less patient, and then tell us."""

END_WITHIN = 5.0
"""Seconds that an agent may take to end when it was sent a signal that asks for it."""

HELD = 2.0
"""Seconds after which entries are written although a word in them may not be complete."""


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
