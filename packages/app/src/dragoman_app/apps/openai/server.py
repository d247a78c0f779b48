"""An ACP agent behind OpenAI's API, chat completions and responses: handles admitted requests, as ASGI.

The agent is the model. A request is a turn of the session that knows the conversation so far, or of a new
session that is told it (`history`). Two requests at once never share a session. Sessions belong to the owner
of the request's token. A client that leaves cancels its turn.

Specification: https://platform.openai.com/docs/api-reference
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import msgspec

from dragoman.errors import DragomanError
from dragoman.transport.http_asgi import IDLE, Receive, Send, read_body, respond, wait_for_disconnect
from dragoman_app.apps.gateway.gateway import Gateway
from dragoman_app.apps.gateway.session import GatewaySession
from dragoman_app.apps.openai.failures import NEVER_AGAIN, ApiFailure, failure_of
from dragoman_app.apps.openai.history import MessageHistory
from dragoman_app.apps.openai.replies import JSON, CompletionReply, StreamedReply
from dragoman_app.apps.openai.requests import read_completion_request
from dragoman_app.apps.openai.responses import ResponsesApi, TurnRequest

MOST_BODY = 16 * 1024 * 1024
"""The most bytes of a request, with images."""

RETRY_SECONDS = 60.0
"""The seconds after a turn in which a client may repeat its request automatically; official clients wait ten
at most.
"""

END_SECONDS = 3.0
"""The most seconds for turns to end when the server ends."""

_BODY_MISTAKES = {
    400: "the body did not arrive",
    408: "the body did not arrive in time",
    413: f"the body is larger than {MOST_BODY} bytes",
}


class OpenaiServer:
    """The server for all clients of a gateway. `cwd` is the folder of all sessions."""

    def __init__(self, gateway: Gateway, *, cwd: str, show_tools: bool = False) -> None:
        self._gateway = gateway
        self._cwd = cwd
        self._show_tools = show_tools
        self._model = gateway.target.agent.name
        self._responses = ResponsesApi(model=self._model, show_tools=show_tools)
        self._created = int(time.time())
        self._running = 0
        self._is_leaving = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._keys: WeakKeyDictionary[GatewaySession, str] = WeakKeyDictionary()
        """What each session knows, by the key of the history that goes on with it."""
        self._begun: dict[tuple[Hashable, str], float] = {}
        """The turns that run, or ended not long ago, by owner and full key; and until when they count."""

    async def aclose(self) -> None:
        """Cancel the running turns, tell their clients, and refuse new requests."""
        self._is_leaving.set()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._is_idle.wait()
        except TimeoutError:
            pass  # whoever still sends a request is ended by the listener

    async def handle(self, scope: Any, receive: Receive, send: Send, owner: Hashable) -> None:
        """Answer an admitted request."""
        method, path = scope["method"], scope["path"].rstrip("/")
        try:
            if path in ("/v1/chat/completions", "/v1/responses"):
                _require(method, "POST")
                read = self._read_completion if path == "/v1/chat/completions" else self._responses.read
                await self._complete(
                    dict(scope["headers"]), receive, lambda body: read(body, send, owner), owner
                )
            elif path.startswith("/v1/responses/"):
                rest = unquote(path.removeprefix("/v1/responses/"))
                await self._responses.on_stored(method, rest, send, owner)
            elif path == "/v1/models" or path.startswith("/v1/models/"):
                _require(method, "GET")
                models = self._models(unquote(path.removeprefix("/v1/models").removeprefix("/")))
                await respond(send, 200, msgspec.json.encode(models), kind=JSON)
            else:
                raise ApiFailure(
                    404, "this server has only /v1/chat/completions, /v1/responses and /v1/models"
                )
        except ApiFailure as failure:
            await respond(send, failure.status, failure.body, kind=JSON, headers=failure.headers)
        except OSError:
            pass  # the client has left

    def _models(self, name: str) -> dict[str, object]:
        self._check_model(name)
        model = {"id": self._model, "object": "model", "created": self._created, "owned_by": "dragoman"}
        return model if name else {"object": "list", "data": [model]}

    def _check_model(self, name: str | None) -> None:
        if name and name != self._model:
            raise ApiFailure(
                404,
                f"there is no model {name[:200]!r}; the only model is {self._model!r}",
                param="model",
                code="model_not_found",
            )

    # A turn.

    async def _complete(
        self,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        read: Callable[[bytes], TurnRequest],
        owner: Hashable,
    ) -> None:
        if self._is_leaving.is_set():
            raise _leaving_failure(has_begun=False)
        if self._running >= self._gateway.rules.most_sessions:
            raise ApiFailure(429, f"{self._running} requests are at work; try again later")
        self._running += 1
        self._is_idle.clear()
        try:
            body = await read_body(dict(headers), receive, MOST_BODY)
            if isinstance(body, int):
                raise ApiFailure(body, _BODY_MISTAKES[body])
            request = read(body)
            self._check_model(request.model)
            self._refuse_repetition(headers, (owner, request.history.full_key))
            await self._answer(request, receive, owner)
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    def _read_completion(self, body: bytes, send: Send, owner: Hashable) -> TurnRequest:
        request = read_completion_request(body)
        reply = CompletionReply(send, model=self._model, show_tools=self._show_tools)
        if request.stream:
            reply = StreamedReply(
                send, model=self._model, show_tools=self._show_tools, usage=request.wants_usage
            )
        return TurnRequest(model=request.model, history=MessageHistory(request.messages), reply=reply)

    def _refuse_repetition(self, headers: Mapping[bytes, bytes], turn: tuple[Hashable, str]) -> None:
        """The official clients send a request again when they have waited for too long. The agent may have
        done half of it, or all.
        """
        now = asyncio.get_running_loop().time()
        self._begun = {turn_key: until for turn_key, until in self._begun.items() if until > now}
        if headers.get(b"x-stainless-retry-count", b"0") != b"0" and turn in self._begun:
            raise ApiFailure(
                409,
                "a turn of this request already started, and its client gave up; the turn is not repeated. "
                "Give the client a longer timeout, or stream",
                code="turn_has_begun",
                headers=[NEVER_AGAIN],
            )

    async def _answer(self, request: TurnRequest, receive: Receive, owner: Hashable) -> None:
        """Take the turn while somebody waits for it."""
        loop, reply = asyncio.get_running_loop(), request.reply
        turn = loop.create_task(self._take_turn(request, owner))
        disconnect = loop.create_task(wait_for_disconnect(receive))
        leaving = loop.create_task(self._is_leaving.wait())
        tasks = (turn, disconnect, leaving)
        try:
            while not any(task.done() for task in tasks):
                finished_tasks, _ = await asyncio.wait(
                    tasks, timeout=IDLE, return_when=asyncio.FIRST_COMPLETED
                )
                if not finished_tasks:
                    await reply.keep_alive()
            is_leaving = leaving.done() and not disconnect.done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not turn.cancelled():
            turn.result()
        elif is_leaving:
            await reply.fail(_leaving_failure(has_begun=reply.has_turn))

    async def _take_turn(self, request: TurnRequest, owner: Hashable) -> None:
        history, reply = request.history, request.reply
        try:
            if history.has_images:
                await self._require_images(history.param)
            session = self._find_session(request, owner)
            blocks = history.blocks(goes_on=session is not None)
            if session is None:
                session = await self._gateway.open_session(cwd=self._cwd, owner=owner)
            # From here to the turn nothing waits: nobody else can take the session, or close it for another.
            self._keys.pop(session, None)
            self._begun[owner, history.full_key] = math.inf
            reply.has_turn = True
            try:
                report = await session.turn(blocks, reply.on_event)
            finally:
                self._keys[session] = history.key_after(reply.text)
                until = asyncio.get_running_loop().time() + RETRY_SECONDS
                self._begun[owner, history.full_key] = until
            await reply.finish(report)
        except ApiFailure as failure:
            await reply.fail(failure)
        except DragomanError as error:
            await reply.fail(failure_of(error, self._gateway, has_begun=reply.has_turn))

    def _find_session(self, request: TurnRequest, owner: Hashable) -> GatewaySession | None:
        """A free session that knows the earlier messages, and no more."""
        key = request.history.key
        matches = [
            session
            for session in (self._gateway.sessions_of(owner) if key else ())
            if self._keys.get(session) == key and not session.is_busy and _has_memory(session)
        ]
        return next((session for session in matches if session.id == request.session_id), None) or next(
            iter(matches), None
        )

    async def _require_images(self, param: str) -> None:
        agent = await self._gateway.agent()
        await agent.living_agent()
        if "promptCapabilities.image" not in agent.handle.capabilities:
            raise ApiFailure(400, "this agent takes no images", param=param, code="image_not_supported")


def _has_memory(session: GatewaySession) -> bool:
    """Whether the agent still knows the session, or can have it back after a restart."""
    life = session.supervised.life
    capabilities = life.handle.capabilities
    return life.is_alive or "loadSession" in capabilities or "sessionCapabilities.resume" in capabilities


def _leaving_failure(*, has_begun: bool) -> ApiFailure:
    return ApiFailure(
        503, "the server is stopping", code="server_ending", headers=[NEVER_AGAIN] if has_begun else []
    )


def _require(method: str, expected_method: str) -> None:
    if method != expected_method:
        raise ApiFailure(
            405, f"the method here is {expected_method}", headers=[(b"allow", expected_method.encode())]
        )
