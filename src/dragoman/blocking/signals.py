"""How one thread tells another: a gate to wait at, and a signal that a reader works towards.

Plain locks, and no `threading.Event`: a gate is opened from signal handlers too, and whoever interrupts the
owner of an event's inner lock would wait for it forever.
"""

from __future__ import annotations

import threading


class WakeGate:
    """Lets one waiter through for each time it was opened; opening an open gate does nothing."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            pass  # it is open already

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the gate is open, and close it behind us. False when time was up."""
        return self._lock.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class ThreadSignal:
    """Something that a thread waits for while it, or another thread, reads the pipe."""

    __slots__ = ("gate", "is_reached")

    def __init__(self) -> None:
        self.is_reached = False
        self.gate: WakeGate | None = None  # of a thread that waits while another one reads

    def set(self) -> None:
        # In this order: a thread that is about to wait first shows its gate and then looks at `is_reached`.
        self.is_reached = True
        if self.gate is not None:
            self.gate.open()

    def clear(self) -> None:
        self.is_reached = False
