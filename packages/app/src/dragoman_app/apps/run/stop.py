"""The ways to end a run early: signals, the deadline, a closed output.

The first Ctrl-C cancels the turn and waits for the agent; the second ends the agent and all that it started.
The deadline does the same by itself, with little patience. SIGTERM and SIGHUP wait for nobody. Whatever the
reason, the run ends within bounds: when the orderly way takes too long, the process ends on the spot, and
what it owns ends with it (see `transport.guard`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from dragoman_app.apps.run.exits import EXITS

CANCEL_PATIENCE = 30.0
"""The seconds that an agent has to end a turn that the user cancelled; a second Ctrl-C ends the wait."""

DEADLINE_STEPS = 1.5
"""The same after the deadline, in steps (see `RunStop`)."""

END_STEPS, END_SECONDS = 2, 4.0
"""From the decision to end to the end of the process: the steps for the agent, and the seconds for everything
else.
"""


class RunStop:
    """Ends one run. `reason` is the resulting outcome, if any; `step` is the seconds that an agent has for
    each step of being ended.
    """

    def __init__(self, note: Callable[[str], None], *, step: float) -> None:
        self.reason: str | None = None
        self._step = step
        self._task: asyncio.Task[Any] | None = None
        self._note = note
        self._loop = asyncio.get_running_loop()
        self._cancel_turn: Callable[[], None] | None = None
        self._kill: Callable[[], None] = lambda: None
        self._interrupts = 0
        self._ending = False
        self._timers: list[asyncio.TimerHandle] = []
        self._watch: threading.Timer | None = None

    # What the run tells.

    def owns(self, kill: Callable[[], None]) -> None:
        """Note the agent that must be ended."""
        self._kill = kill

    def turn(self, cancel: Callable[[], None] | None) -> None:
        """Note how to cancel the turn that begins; None when it is over."""
        self._cancel_turn = cancel

    # What happens.

    def watch(self, task: asyncio.Task[object], *, timeout: float | None) -> None:
        """Let everything that can happen end this task from now on."""
        self._task = task
        handlers = {signal.SIGINT: self._on_interrupt, signal.SIGTERM: self._on_terminate}
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = self._on_terminate
        for number, handler in handlers.items():
            # What the starter of a background job ignores stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C cancels the task by itself
                    self._loop.add_signal_handler(number, handler)
        if timeout:
            self._timers.append(self._loop.call_later(timeout, self._timed_out, timeout))

    def ask(self, reason: str, *, patience: float) -> None:
        """End the turn in an orderly way, and after `patience` seconds in any way."""
        self.reason = self.reason or reason
        cancel, self._cancel_turn = self._cancel_turn, None
        if cancel is None or patience <= 0:
            if cancel is not None:
                cancel()
            self.end()
            return
        cancel()
        self._timers.append(self._loop.call_later(patience, self.end))

    def question_left_open(self) -> None:
        """End the run after a question that nobody can answer: continuing would be guessing."""
        self._note("the agent asked a question, and there is no terminal to answer it in")
        self.ask("question_open", patience=DEADLINE_STEPS * self._step)

    @property
    def is_ending(self) -> bool:
        """Whether the run ends without further waiting."""
        return self._ending

    def end(self) -> None:
        """End the run at once."""
        if not self._ending:
            self._ending = True
            self._guard()
            if self._task is not None:
                self._task.cancel()

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._watch is not None:
            self._watch.cancel()

    def _on_interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1 and self._cancel_turn is not None:
            self._note("cancelling the turn and waiting for the agent; Ctrl-C again ends it")
            self.ask("cancelled", patience=CANCEL_PATIENCE)
            return
        self.reason = self.reason or "cancelled"
        if self._interrupts > 1:
            self._note("ending the agent")
            self._kill()
        self.end()

    def _on_terminate(self) -> None:
        self.ask("terminated", patience=0)

    def _timed_out(self, seconds: float) -> None:
        if self.reason is None:
            self._note(f"the run took longer than {seconds:g} seconds")
            self.ask("timeout", patience=DEADLINE_STEPS * self._step)

    def _guard(self) -> None:
        status = EXITS[self.reason or "failed"].status
        within = END_STEPS * self._step + END_SECONDS
        self._watch = threading.Timer(within, os._exit, (status,))
        self._watch.daemon = True
        self._watch.start()
