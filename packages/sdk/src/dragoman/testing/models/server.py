"""The server of a scripted model: accepts requests, records them, and answers each with a turn of the script.

    async with scripted_model(script) as model:
        model.openai_url, .anthropic_url, .gemini_url   base URLs, as the vendors' clients want them
        model.env                                  the same as environment variables
        model.requests                             what was asked, in order
        await model.wait_for_request(2)            the second request, as soon as it is there
        await model.wait_for_hold(); model.release()  a turn that stands still at `hold`

A request that no turn is left for is answered with an error that no client tries again, and leaving the block
raises `NoTurnLeft`. It listens on loopback only, and everything it started is gone when the block is left.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from dragoman.testing.models.chat import CREATED, ChatFormat
from dragoman.testing.models.gemini import GeminiFormat, models_of
from dragoman.testing.models.http import LINE_LIMIT, BadRequest, Incoming, ModelConnection
from dragoman.testing.models.messages import MessagesFormat
from dragoman.testing.models.player import JSON, Player
from dragoman.testing.models.requests import Format, ModelRequest, Outcome
from dragoman.testing.models.responses import ResponsesFormat
from dragoman.testing.models.script import ModelScript, ScriptSource
from dragoman.testing.models.turns import FailStep, ModelTurn
from dragoman.testing.models.voice import ModelFormat
from dragoman.wire.envelope import JsonObject

HOST = "127.0.0.1"

PATHS: Mapping[str, Format] = {
    "/chat/completions": "chat",
    "/messages": "messages",
    "/responses": "responses",
}

GEMINI_METHODS = ("generateContent", "streamGenerateContent")
"""In Google's format, the method is in the last part of the path, after the model's name."""


class NoTurnLeft(AssertionError):
    """The model got more requests than the script has turns."""


class ScriptedModel:
    """A running server, made by `scripted_model`."""

    def __init__(self, script: ModelScript, *, port: int = 0) -> None:
        self.script = script
        self.requests: list[ModelRequest] = []
        """What was asked for turns, in order; also what was answered with an error."""
        self.unanswered_requests: list[ModelRequest] = []
        """Those that no turn was left for."""
        self._port = port
        self._used = [0] * len(script.turns)
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], ModelConnection] = {}
        self._relisten: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._holding: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._broken: list[BaseException] = []

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        return self.url

    @property
    def gemini_url(self) -> str:
        return self.url

    @property
    def env(self) -> dict[str, str]:
        """Environment variables that send the vendors' clients to this server."""
        key = self.script.key or "scripted"
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "ANTHROPIC_API_KEY": key,
            "GOOGLE_GEMINI_BASE_URL": self.gemini_url,
            "GEMINI_API_KEY": key,
        }

    async def wait_for_request(self, count: int) -> ModelRequest:
        """Wait for the request of this number, counted from 1."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    def release(self, name: str = "hold") -> None:
        """Continue the turns that wait, or will wait, at this `hold`."""
        self._gates[name].set()

    async def wait_for_hold(self, name: str = "hold") -> None:
        """Wait until a turn waits at this `hold`."""
        await self._holding[name].wait()

    async def listen(self) -> None:
        """Accept connections, also after `refuse`."""
        if self._relisten is not None:
            self._relisten.cancel()
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, HOST, self._port, limit=LINE_LIMIT)
            self._port = self._server.sockets[0].getsockname()[1]

    def refuse(self, seconds: float | None = None) -> None:
        """Drop every connection and refuse new ones, for this time or until `listen`."""
        self._stop()
        if seconds is not None:
            self._relisten = asyncio.get_running_loop().call_later(seconds, self._reopen)

    async def aclose(self) -> None:
        """End all connections and the server; raises errors of the server itself."""
        self._stop()
        if self._relisten is not None:
            self._relisten.cancel()
        tasks = [*self._connections, *([self._opening] if self._opening else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._stop()
        if self._broken:
            raise self._broken[0]

    async def hold(self, name: str) -> None:
        """Make a turn wait until it is released."""
        self._holding[name].set()
        await self._gates[name].wait()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._connections.values():
            connection.abort()

    def _reopen(self) -> None:
        self._opening = asyncio.get_running_loop().create_task(self.listen(), name="scripted model listens")

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ModelConnection(reader, writer)
        task = asyncio.get_running_loop().create_task(self._serve(connection), name="scripted model")
        self._connections[task] = connection
        task.add_done_callback(self._on_connection_end)

    def _on_connection_end(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task).close()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken.append(error)

    async def _serve(self, connection: ModelConnection) -> None:
        try:
            while connection.lasting and (incoming := await connection.receive()) is not None:
                await self._answer(connection, incoming)
        except BadRequest as error:
            connection.lasting = False
            await connection.answer(400, {"content-type": "text/plain"}, f"{error}\n".encode())
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has left; what that meant for a request stands in its outcome

    async def _answer(self, connection: ModelConnection, incoming: Incoming) -> None:
        path = incoming.path.rstrip("/").removeprefix("/v1")
        format = _format(path)
        if incoming.method == "POST" and format is not None:
            await self._turn(connection, format, incoming)
        elif incoming.method == "GET" and path == "/models":
            await _send(connection, 200, self._models(incoming.headers))
        elif incoming.method == "GET" and path == "beta/models":
            await _send(connection, 200, models_of(self.script.models))
        elif incoming.method == "POST" and path == "/messages/count_tokens":
            await _send(connection, 200, {"input_tokens": len(incoming.body) // 4})
        elif incoming.method == "POST" and path.endswith(":countTokens"):
            await _send(connection, 200, {"totalTokens": len(incoming.body) // 4})
        else:
            error = {
                "message": f"a scripted model has no {incoming.method} {incoming.path}",
                "type": "not_found",
            }
            await _send(connection, 404, {"error": error})

    async def _turn(self, connection: ModelConnection, format: Format, incoming: Incoming) -> None:
        try:
            body = json.loads(incoming.body)
        except ValueError:
            raise BadRequest("the body of the request is not JSON") from None
        request = ModelRequest(format, incoming.path, incoming.headers, body)
        turn = self._choose(request)
        self.requests.append(request)
        number = len(self.requests)
        async with self._news:
            self._news.notify_all()
        voice = _voice(request, turn, number=number)
        player = Player(turn, request, voice, connection, self, number=number)
        outcome: Outcome = "abandoned"
        try:
            outcome = await _unless_gone(player, connection)
        finally:
            request.end(outcome)
        if outcome in ("broken off", "abandoned"):
            connection.lasting = False

    def _choose(self, request: ModelRequest) -> ModelTurn:
        """The turn for a request: one that was made for it, or the next in order."""
        if self.script.key is not None and request.key != self.script.key:
            return ModelTurn((FailStep(401),))
        if self.script.answer is not None and (turn := self.script.answer(request)) is not None:
            return turn
        remaining = [
            (index, turn)
            for index, turn in enumerate(self.script.turns)
            if turn.times is None or self._used[index] < turn.times
        ]
        fitting = [(index, turn) for index, turn in remaining if turn.when is not None and turn.when(request)]
        in_order = [(index, turn) for index, turn in remaining if turn.when is None]
        if not (fitting or in_order):
            self.unanswered_requests.append(request)
            return ModelTurn((FailStep(400, "the script has no turn left for this request"),))
        index, turn = (fitting or in_order)[0]
        self._used[index] += 1
        request.turn = index
        return turn

    def _models(self, headers: Mapping[str, str]) -> JsonObject:
        if "anthropic-version" in headers:
            names = self.script.models
            created_at = "2023-11-14T22:13:20Z"
            entries = [
                {"type": "model", "id": name, "display_name": name, "created_at": created_at}
                for name in names
            ]
            return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}
        return {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "created": CREATED, "owned_by": "script"}
                for name in self.script.models
            ],
        }


@asynccontextmanager
async def scripted_model(
    script: ScriptSource,
    *,
    key: str | None = None,
    strict: bool = True,
    port: int = 0,
) -> AsyncIterator[ScriptedModel]:
    """Serve a script: its text, its turns, or a function that chooses the turn for a request.

    With `key`, other keys are answered with 401. `strict=False` does not mind requests that no turn was left
    for.
    """
    model = ScriptedModel(ModelScript.of(script, key=key), port=port)
    await model.listen()
    try:
        yield model
    finally:
        await model.aclose()
    if strict and model.unanswered_requests:
        raise NoTurnLeft(
            f"the script has {len(model.script.turns)} turns, none left for {model.unanswered_requests[0]!r}"
        )


async def _unless_gone(player: Player, connection: ModelConnection) -> Outcome:
    """Play, but not for a client that has left."""
    playing = asyncio.ensure_future(player.play())
    leaving = asyncio.ensure_future(connection.wait_closed())
    try:
        await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return playing.result() if playing.done() else "abandoned"
    except OSError:  # it left while something was sent
        return "abandoned"
    finally:
        for task in (playing, leaving):
            task.cancel()
        await asyncio.gather(playing, leaving, return_exceptions=True)


def _format(path: str) -> Format | None:
    _, colon, method = path.rpartition("/")[2].partition(":")
    return "gemini" if colon and method in GEMINI_METHODS else PATHS.get(path)


def _voice(request: ModelRequest, turn: ModelTurn, *, number: int) -> ModelFormat:
    if request.format == "gemini":
        return GeminiFormat(request, number=number)
    if request.format == "messages":
        return MessagesFormat(request, number=number)
    if request.format == "responses":
        return ResponsesFormat(request, number=number, refuses=turn.stop == "refusal")
    return ChatFormat(request, number=number, refuses=turn.stop == "refusal")


async def _send(connection: ModelConnection, status: int, body: object) -> None:
    await connection.answer(status, JSON, json.dumps(body).encode())
