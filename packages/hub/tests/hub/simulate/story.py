"""What happened in a run: events with their virtual time, as data to be compared and as lines to be read."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tests.hub.simulate.virtual_loop import current


class Happening(NamedTuple):
    time: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.time:9.4f}  {self.who:<14} {self.what}"


class Story:
    """Grows while a seed runs. `faults` counts faults by their kind, `turns` prompts that agents got."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.happenings: list[Happening] = []
        self.faults: Counter[str] = Counter()
        self.turns = 0
        self.findings: list[str] = []
        self.expected_errors: tuple[str, ...] = ()
        """How messages begin with which hubs may log an exception."""
        self._clock = clock

    def tell(self, who: str, what: str) -> None:
        self.happenings.append(Happening(self._clock(), who, what))

    def fault(self, kind: str, who: str, what: str) -> None:
        self.faults[kind] += 1
        self.tell(who, f"FAULT {kind}: {what}")

    def find(self, what: str) -> None:
        """Something that must not be."""
        if what not in self.findings and len(self.findings) < 20:
            self.findings.append(what)
            self.tell("oracle", f"FOUND {what}")

    def digest(self) -> str:
        text = "\n".join(map(str, (*self.happenings, *self.findings)))
        return hashlib.sha256(text.encode()).hexdigest()


class StoryLog(logging.Handler):
    """Puts what the hubs log into the story. An exception that a hub has caught and logged is a finding."""

    def __init__(self, story: Story, *, verbose: bool) -> None:
        super().__init__(logging.DEBUG if verbose else logging.ERROR)
        self._story = story
        self._verbose = verbose

    def emit(self, record: logging.LogRecord) -> None:
        process = current.get()
        if process is not None and not process.is_alive:
            return  # its blocks are closed after the end of the run
        who = "?" if process is None else process.name
        if record.getMessage().startswith(self._story.expected_errors or "\0"):
            self._story.tell(who, f"log {record.getMessage()}")
        elif record.exc_info and record.exc_info[1] is not None:
            self._story.find(f"{who} logs an exception: {record.getMessage()}: {record.exc_info[1]!r}")
        elif self._verbose:
            self._story.tell(who, f"log {record.levelname.lower()}: {record.getMessage()}")
