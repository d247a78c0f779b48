"""Runs turns of a v1 client at a threads agent: one at a time in each thread.

The dialect has no cancel. A turn that is cancelled is over for the client at once; the agent goes on without
knowing, what it still says is left out, and the next turn waits until it is done.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from msgspec import UnsetType

from dragoman.dialect.message import Id, Object

MOST_WAITING = 64
"""The most prompts that wait in one thread."""


@dataclass
class ThreadPrompt:
    """A prompt of the client that has no answer yet."""

    request_id: Id | UnsetType
    chunks: list[Object]
    is_cancelled: bool = False


@dataclass
class ThreadPrompts:
    """The prompts of one thread: the running prompt, and the waiting ones."""

    running: ThreadPrompt | None = None
    waiting: deque[ThreadPrompt] = field(default_factory=deque)

    @property
    def is_cancelled(self) -> bool:
        return self.running is not None and self.running.is_cancelled

    def admit(self, prompt: ThreadPrompt) -> bool:
        """Add a prompt to the queue; return False if the queue is full."""
        if len(self.waiting) >= MOST_WAITING:
            return False
        self.waiting.append(prompt)
        return True

    def next(self) -> ThreadPrompt | None:
        """The prompt to start now, if none is running."""
        if self.running is not None or not self.waiting:
            return None
        self.running = self.waiting.popleft()
        return self.running

    def end(self) -> ThreadPrompt | None:
        """End the running prompt, and return it if it still needs an answer; a cancelled prompt has its
        answer.
        """
        prompt, self.running = self.running, None
        return None if prompt is None or prompt.is_cancelled else prompt

    def cancel(self) -> list[ThreadPrompt]:
        """Cancel all prompts, and return those that need an answer now."""
        prompts = list(self.waiting)
        self.waiting.clear()
        if self.running is not None and not self.running.is_cancelled:
            self.running.is_cancelled = True
            prompts.insert(0, self.running)
        return prompts

    def holds(self, request_id: object) -> bool:
        prompts = [self.running, *self.waiting]
        return any(prompt is not None and prompt.request_id == request_id for prompt in prompts)
