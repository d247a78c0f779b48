"""The prompts of a scripted agent: one at a time in each session, the others wait.

A cancel ends what is being played and what waits at that moment. A turn is over when it was answered, or when
its scene has ended without an answer; what a scene says behind its answer is said beside the next turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from dragoman.core import IncomingRequest
from dragoman.core.turns import RunningTurn, TurnQueue, TurnState
from dragoman.testing.script.peer import Peer
from dragoman.testing.script.scene import Actions, ScriptScene
from dragoman.wire import Id
from dragoman.wire.codes import invalid_request


class ScriptPrompt(NamedTuple):
    """One prompt, with the script's rule for it."""

    request: IncomingRequest
    scene: ScriptScene
    actions: Actions


class ScriptPrompts:
    """All prompts of one connection. `withdraw` answers a prompt that was cancelled before it began."""

    def __init__(self, peer: Peer, *, withdraw: Callable[[IncomingRequest], None]) -> None:
        self._peer = peer
        self._withdraw = withdraw
        self._turns = TurnQueue()
        self._open: dict[RunningTurn, ScriptPrompt] = {}
        self._by_id: dict[Id, RunningTurn] = {}
        self._tasks: dict[RunningTurn, asyncio.Task[None]] = {}

    def ask(self, session_id: str, prompt: ScriptPrompt) -> None:
        """Play a prompt when its turn comes; raises `ErrorAnswer` when too many wait already."""
        turn = self._turns.ask(session_id)
        if turn is None:
            raise invalid_request("too many prompts wait in this session")
        self._open[turn], self._by_id[prompt.request.id] = prompt, turn
        if turn.state is TurnState.RUNNING:
            self._begin(turn)

    def end_prompt(self, incoming: IncomingRequest) -> None:
        """Let the next prompt begin."""
        turn = self._by_id.get(incoming.id)
        if turn is not None:
            self._over(turn)

    def cancel(self, session_id: str) -> None:
        """Handle `session/cancel`: cancel every prompt so far."""
        for turn in self._turns.cancel(session_id):
            self._cancel(turn)

    def cancel_one(self, incoming: IncomingRequest) -> bool:
        """Handle `$/cancel_request`: cancel this prompt alone. False if there is no such prompt."""
        turn = self._by_id.get(incoming.id)
        if turn is not None:
            turn.is_cancelled = True
            self._cancel(turn)
        return turn is not None

    async def clear(self, session_id: str, *, seconds: float) -> None:
        """Cancel all prompts, and wait for their answers, but not for a script that never ends."""
        self.cancel(session_id)
        tasks = [task for turn, task in self._tasks.items() if turn.session_id == session_id]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _begin(self, turn: RunningTurn) -> None:
        _, scene, actions = self._open[turn]
        # A task by itself, so that a cancel in the same block finds a scene that has begun.
        task = self._tasks[turn] = self._peer.begin(scene.play(actions))
        task.add_done_callback(lambda _: self._on_task_end(turn))

    def _on_task_end(self, turn: RunningTurn) -> None:
        self._tasks.pop(turn, None)
        if not self._peer.closing:
            self._over(turn)

    def _over(self, turn: RunningTurn) -> None:
        prompt = self._open.pop(turn, None)
        if prompt is not None:
            self._by_id.pop(prompt.request.id, None)
            following = self._turns.end(turn, "")
            if following is not None:
                self._begin(following)

    def _cancel(self, turn: RunningTurn) -> None:
        prompt = self._open[turn]
        if turn.state is TurnState.WAITING:
            self._over(turn)
            self._withdraw(prompt.request)
        else:
            prompt.scene.cancel()
