"""Tests a client: a stand-in plays the agent, and runs scenes in prompt turns.

The stand-in answers the handshake and sessions, and in the turns that the client begins it does everything
that an agent may do, then some of what no agent should. It records, marks stretches, and judges nothing.

The stand-in itself: hears what the client says, answers, and plays scenes in its turns.

The scenes of a profile stand in a line; every prompt goes on where the last one stopped, and the first one
plays as many as it can. When all are played, turns end in every way that turns end. Slash commands play what
only the client's user can bring about.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from dragoman.transport.contract import Transport
from dragoman.wire.envelope import JsonObject
from dragoman_check.client.answers import StandInAnswers, error
from dragoman_check.client.connection import (
    ClientConnection,
    ClientGone,
    ClientSilence,
    FrameRecorder,
    Stopped,
    is_answer_to,
)
from dragoman_check.client.profiles import ClientProfile
from dragoman_check.client.scenes import ClientScene, hold_permissions, scenes_of
from dragoman_check.client.turn import SHORT, Patience, StandInTurn
from dragoman_check.recording import Frame

ENDINGS: tuple[JsonObject, ...] = (
    {"result": {"stopReason": "max_tokens"}},
    {"result": {"stopReason": "max_turn_requests"}},
    {"result": {"stopReason": "refusal"}},
    error(-31999, "An unknown error, on purpose"),
    error(-32000, "A login is needed, on purpose"),
)
"""The stop reasons of turns after all scenes, in order."""

LAST = 0.2
"""The seconds for events that should already have happened."""

END = {"result": {"stopReason": "end_turn"}}


class StandIn:
    """Use `await StandIn(transport, keeper, profile, patience=…).run()` until the client has gone."""

    def __init__(
        self, transport: Transport, keeper: FrameRecorder, profile: ClientProfile, *, patience: Patience
    ) -> None:
        self.connection = ClientConnection(transport, keeper, self)
        self._transport = transport
        self._patience = patience
        self._answers = StandInAnswers(profile, tell=self._tell)
        self._scenes: deque[ClientScene] = deque(scenes_of(*profile.scenes))
        self._endings = deque(ENDINGS)
        self._turns: dict[str, StandInTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.connection.fact("profile", profile.name)

    async def run(self) -> None:
        """Run until the client's last message."""
        self._transport.start(self.connection)
        await self.connection.has_ended.wait()
        if self._tasks:
            _, running = await asyncio.wait(self._tasks, timeout=LAST)
            for task in running:  # those that wait for something beside the wire
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        await self._transport.aclose()

    async def ask_to_end(self) -> None:
        """End on request. A good client has closed our input before."""
        try:
            async with asyncio.timeout(LAST):
                await self.connection.has_ended.wait()
        except TimeoutError:
            self.connection.on_end(InterruptedError())

    # What the client says.

    def on_frame(self, frame: Frame) -> None:
        try:
            if frame.is_notification:
                self._on_notification(frame)
            elif frame.method == "session/prompt":
                self._start_turn(frame)
            else:
                answer = self._answers.answer(frame)
                self.connection.reply(frame, answer)
                self._answers.after(frame, answer)
        except ClientGone:
            pass  # whoever waits learns of it

    def _on_notification(self, frame: Frame) -> None:
        if frame.method == "session/cancel":
            turn = self._turns.get(str(frame.params.get("sessionId")))
        elif frame.method == "$/cancel_request":
            turn = self._turn_of(frame.params.get("requestId"))
        else:
            return
        if turn is not None and turn.cancel_frame is None:
            turn.cancel_frame = frame
            turn.withdrawn = frame.method == "$/cancel_request"
            self.connection.wake()

    def _turn_of(self, request_id: object) -> StandInTurn | None:
        for turn in self._turns.values():
            prompt_id = turn.prompt.message["id"]
            if type(prompt_id) is type(request_id) and prompt_id == request_id:
                return turn
        return None

    def _start_turn(self, frame: Frame) -> None:
        session = self._answers.sessions.get(str(frame.params.get("sessionId")))
        if session is None or session.id in self._turns:
            why = "No such session" if session is None else "A turn is running"
            self.connection.reply(frame, error(-32002 if session is None else -32600, why))
            return
        turn = StandInTurn(
            self.connection,
            frame,
            folders=[session.folder, *session.further_folders],
            capabilities=self._answers.capabilities,
            patience=self._patience,
        )
        self._turns[session.id] = turn
        task = asyncio.ensure_future(self._play(turn))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Turns.

    async def _play(self, turn: StandInTurn) -> None:
        try:
            answer = await self._answer(turn)
            del self._turns[turn.session]  # the client may prompt again as soon as it is answered
            self.connection.reply(turn.prompt, answer)
            _afterwards(turn)
        except ClientGone:
            pass  # the end of the conversation, in whichever scene

    async def _answer(self, turn: StandInTurn) -> JsonObject:
        text = _text(turn.prompt)
        try:
            if text.startswith("/hold"):
                await hold_permissions(turn)
            elif text.startswith("/refuse"):
                return {"result": {"stopReason": "refusal"}}
            elif text.startswith("/fail"):
                return ENDINGS[3]
            elif not self._scenes and self._endings:
                return self._end_turn(turn)
            while self._scenes:
                await self._scene(turn, self._scenes.popleft())
        except Stopped:
            return await _end_cancelled_turn(turn)
        return END

    def _end_turn(self, turn: StandInTurn) -> JsonObject:
        turn.say("All scenes are played; this turn ends in one of the other ways that there are.")
        return self._endings.popleft()

    async def _scene(self, turn: StandInTurn, scene: ClientScene) -> None:
        name = scene.__name__.replace("_", " ")
        self.connection.fact("scene", name)
        try:
            await scene(turn)
        except ClientSilence as silence:
            self.connection.fact(f"silence in {name}", str(silence))
        except (ClientGone, Stopped):
            raise
        except Exception as mistake:  # noqa: BLE001  # ours: it costs one scene, not the whole turn
            self.connection.fact(f"mistake in {name}", repr(mistake))

    def _tell(self, session: str, update: object) -> None:
        self.connection.notify("session/update", {"sessionId": session, "update": update})


async def _end_cancelled_turn(turn: StandInTurn) -> JsonObject:
    """End a cancelled turn as a good agent does: end commands, wait for answers, and report it."""
    assert turn.cancel_frame is not None
    connection, first = turn.connection, turn.cancel_frame.number - 1
    if turn.last_call:
        turn.update("tool_call_update", toolCallId=turn.last_call, status="failed", title="Was cancelled")
    for frame in _unanswered_requests(turn):
        request_id = frame.message["id"]
        try:
            await connection.until(
                partial(is_answer_to, request_id=request_id),
                seconds=SHORT,
                since=frame.number,
            )
        except ClientSilence:
            pass  # a rule will see that it was not answered
    connection.mark("cancelled", first)
    if turn.withdrawn:
        return error(-32800, "Request cancelled")
    return {"result": {"stopReason": "cancelled"}}


def _unanswered_requests(turn: StandInTurn) -> list[Frame]:
    """Our requests about its session that have no answer."""
    frames = turn.connection.frames
    requests = [
        frame
        for frame in frames
        if frame.direction == "to_client"
        and frame.is_request
        and frame.params.get("sessionId") == turn.session
    ]
    return [
        frame
        for frame in requests
        if not any(is_answer_to(answer, frame.message["id"]) for answer in frames[frame.number :])
    ]


def _afterwards(turn: StandInTurn) -> None:
    """Late words: a client takes them although the turn is over. Nothing is asked: it may leave now."""
    first = turn.position
    turn.update("session_info_update", title="What was played")
    turn.update("usage_update", used=1200, size=200_000, cost={"amount": 0.02, "currency": "EUR"})
    if turn.last_call:
        turn.update("tool_call_update", toolCallId=turn.last_call, title="Came late")
    turn.say("This came after the answer.")
    turn.mark("updates after the answer", first)


def _text(prompt: Frame) -> str:
    blocks = prompt.params.get("prompt")
    first = blocks[0] if isinstance(blocks, list) and blocks else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""
