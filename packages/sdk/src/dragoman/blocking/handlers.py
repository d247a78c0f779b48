"""Runs handlers so that they never block the event loop: coroutines on it, plain functions in threads.

A plain function is called in a thread of the program, and gets the faces that need no `await`; a coroutine
function runs in the loop. Notifications of one session are handled one by one, in the order of their arrival.
"""

from __future__ import annotations

import copy
from collections.abc import Coroutine
from typing import Any, TypeVar

from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.client.client import Client
from dragoman.sdk.handlers import Handler, Handlers
from dragoman.sdk.sync.run import ProgramThreads, in_thread
from dragoman.sdk.sync.turn import faces

A = TypeVar("A", Agent, Client)


def in_threads(original: A, threads: ProgramThreads) -> A:
    """Return the same agent or client, with handlers that never block the event loop."""
    threaded = copy.copy(original)
    threaded.handlers = Handlers()
    for method, handler in original.handlers.items():
        threaded.handlers.replace(method, ThreadHandler(handler, threads))
    return threaded


class ThreadHandler(Handler):
    """Wraps a handler as a coroutine function that takes the peer."""

    __slots__ = ("_handler", "_threads")

    def __init__(self, handler: Handler, threads: ProgramThreads) -> None:
        self.function = handler.function
        self.is_async = self.wants_peer = True
        self._handler = handler
        self._threads = threads

    async def work(self, message: object, peer: object) -> Any:
        """Handle a request after the program has seen the messages before it."""
        await self._threads.until_free()
        return await self.now(message, peer)

    def now(self, message: object, peer: object) -> Coroutine[object, None, Any]:
        """Handle a notification."""
        handler = self._handler
        if handler.is_async:
            return handler.work(message, peer)
        return in_thread(lambda run: handler.now(*faces(message, peer, run)), self._threads)
