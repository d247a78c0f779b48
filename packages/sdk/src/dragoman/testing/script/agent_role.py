"""A scripted agent: follows the script's rules, and answers ordinary requests by default.

Without a word in the script it can be initialized and gives sessions ids that can be told apart at a
glance. A prompt that no rule is for is refused, because a script that does not foresee it is a mistake.

What a script does not say is done as a good agent does it: nothing before `initialize` and no id twice, which
are the rules of `core`, no params of a wrong shape (see `request_checks`), one turn at a time in a session
(see `prompts`), and no more at once than memory can hold.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from uuid import uuid4

import msgspec
from msgspec import Raw

from dragoman.core import (
    CancellationReceived,
    Connection,
    ErrorReply,
    Event,
    IncomingRequest,
    Lifecycle,
    NotificationReceived,
    RequestReceived,
)
from dragoman.core.connection import CANCEL_REQUEST
from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.sdk.capabilities import AGENT_NOTIFICATIONS, AGENT_REQUESTS
from dragoman.sdk.inbound import read_params
from dragoman.testing.script.body import Body
from dragoman.testing.script.patterns import Names
from dragoman.testing.script.peer import Peer, plain_data
from dragoman.testing.script.prompts import ScriptPrompt, ScriptPrompts
from dragoman.testing.script.scene import Actions, ScriptScene
from dragoman.testing.script.script import Script, ScriptRules, prompt_text
from dragoman.testing.transcript import Party
from dragoman.transport.contract import Transport
from dragoman.wire import Envelope, ErrorObject, Notification, Request, error_object, failure
from dragoman.wire.codes import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    NAMES,
    invalid_params,
    method_not_found,
    session_not_found,
)
from dragoman.wire.envelope import Json, JsonObject

CLOSING_SECONDS = 2.0
"""The seconds that turns of a closed session have to end; a script may say that they never end."""

SCENES = 5000
"""The most requests to play at once: each costs some kilobytes, and a pause would also stop cancels."""

SCENE_BYTES = 256 * 1024 * 1024
"""The most bytes of params for all of them."""

NOTES = 1000
"""The most notifications to play at once; above this limit nothing is read, so that the client slows down."""

BUSY = "notifications are still being played"


class AgentRole:
    """One connection of a scripted agent."""

    party: Party = "agent"

    def __init__(self, script: Script, transport: Transport, *, body: Body, keep: bool = True) -> None:
        self.peer = Peer(transport, role=self, body=body, keep=keep)
        self._script = script
        self._rules = ScriptRules(script.rules)
        self._numbers = itertools.count(1)
        self._connection: Connection[None] = Connection(Lifecycle())
        self._sessions: dict[str, str] = {}  # by id, where each works
        self._prompts = ScriptPrompts(self.peer, withdraw=self._withdraw)
        self._scenes: dict[
            Json, tuple[IncomingRequest, ScriptScene]
        ] = {}  # by the id of the request, until it is answered
        self._bytes = 0  # of their params
        self._notes = 0

    def start(self) -> None:
        self.peer.start()
        if self._script.story:
            self.peer.begin(ScriptScene(self.peer).play(self._script.story))

    # What arrives.

    def on_frame(self, line: bytes, envelope: Envelope) -> None:
        if isinstance(envelope, Request | Notification):
            self.peer.wake_waiters(envelope.method)
        self._consider(self._connection.receive(envelope))
        if isinstance(envelope, Notification) and envelope.method == CANCEL_REQUEST:
            self._on_notification(
                CANCEL_REQUEST, envelope.params
            )  # besides its effect, a script may say something to it

    def on_oversized_frame(self, size: int) -> None:
        limit = self.peer.transport.limits.frame
        why = f"{NAMES[INVALID_REQUEST]}: the message is larger than the limit of {limit} bytes"
        self.peer.tell(failure(None, error_object(INVALID_REQUEST, why)))

    def on_end(self) -> None:
        pass  # whoever runs the peer waits for its end

    def _consider(self, event: Event[None]) -> None:
        match event:
            case RequestReceived(incoming):
                try:
                    self._on_request(incoming)
                except ErrorAnswer as error:
                    self._refuse(incoming, error_object(error.code, error.message, error.data))
            case NotificationReceived(method, params):
                self._on_notification(method, params)
            case CancellationReceived(incoming):
                if not self._prompts.cancel_one(incoming) and incoming.id in self._scenes:
                    self._scenes[incoming.id][1].cancel()
            case ErrorReply(frame):
                self.peer.tell(frame)
            case _:
                pass  # an answer that nobody waits for, a notification before its time

    def _on_notification(self, method: str, raw: Raw | None) -> None:
        if method in AGENT_REQUESTS:
            return  # a request without an id, which nobody would get the answer of
        if method != "session/cancel" and not self._rules.know(method):
            return
        try:
            params = plain_data(raw)
        except ValueError:
            return  # nobody can be told that it makes no sense
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        if method == "session/cancel" and isinstance(session_id, str):
            self._prompts.cancel(session_id)
        names: Names = {"id": None, "text": "", "uuid": str(uuid4()), "session": session_id}
        rule = self._rules.pick(method, params, names)
        if rule is not None:
            self._note(ScriptScene(self.peer, method=method, names=names), rule.actions)

    def _note(self, scene: ScriptScene, actions: Actions) -> None:
        def over(_: object) -> None:
            self._notes -= 1
            if self._notes < NOTES // 2:
                self.peer.listen(BUSY)

        self._notes += 1
        if self._notes > NOTES:
            self.peer.hold(BUSY)
        self.peer.begin(scene.play(actions)).add_done_callback(over)

    # What is asked.

    def _on_request(self, incoming: IncomingRequest) -> None:
        method = incoming.method
        if method in AGENT_NOTIFICATIONS or not (self._rules.know(method) or self._does_by_itself(method)):
            raise method_not_found(method)
        if len(self._scenes) >= SCENES or self._bytes + _size(incoming) > SCENE_BYTES:
            raise ErrorAnswer(INTERNAL_ERROR, f"{NAMES[INTERNAL_ERROR]}: too much is asked at once")
        params = check_params(method, incoming.params, self._script.settings.capabilities)
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        if needs_session(method) and session_id is not None and session_id not in self._sessions:
            raise session_not_found(session_id)
        names: Names = {"id": incoming.id, "text": prompt_text(params), "uuid": str(uuid4())}
        rule = self._rules.pick(method, params, names)
        if method == "session/prompt" and rule is None:
            raise invalid_params("the script has no rule for this prompt")
        on_settled = functools.partial(self._on_answer, incoming)
        scene = ScriptScene(self.peer, method=method, answers=True, names=names, on_settled=on_settled)
        self._set(scene, params if isinstance(params, dict) else {})
        self._scenes[incoming.id] = incoming, scene
        self._bytes += _size(incoming)
        if method == "session/prompt":
            self._prompt(incoming, scene, rule.actions if rule else ())
        elif method == "session/close":
            del self._sessions[scene.session]
            self.peer.begin(self._close(scene, rule.actions if rule else ()))
        elif rule is not None:
            self.peer.begin(scene.play(rule.actions))
        else:
            self._answer(incoming, scene)

    def _does_by_itself(self, method: str) -> bool:
        settings = self._script.settings
        match method:
            case "session/load":
                return bool(settings.capabilities.get("loadSession"))
            case "authenticate":
                return bool(settings.auth_methods)
            case _:
                return method in ("initialize", "session/new", "session/prompt", "session/close")

    def _set(self, scene: ScriptScene, params: JsonObject) -> None:
        """Where the scene plays, and how it usually ends."""
        match scene.method:
            case "initialize":
                scene.outcome = self._introduction()
            case "session/new":
                session_id = f"session-{next(self._numbers)}"
                scene.names.update(session=session_id, cwd=params["cwd"])
                scene.outcome = {"sessionId": session_id}
            case "session/prompt":
                scene.names.update(session=params["sessionId"], cwd=self._sessions[params["sessionId"]])
                scene.outcome = {"stopReason": "end_turn"}
            case _ if "sessionId" in params:
                cwd = params.get("cwd", self._sessions.get(str(params["sessionId"]), ""))
                scene.names.update(session=params["sessionId"], cwd=cwd)

    def _introduction(self) -> JsonObject:
        settings = self._script.settings
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": settings.name, "version": settings.version},
            "agentCapabilities": settings.capabilities,
            "authMethods": list(settings.auth_methods),
        }

    def _prompt(self, incoming: IncomingRequest, scene: ScriptScene, actions: Actions) -> None:
        try:
            self._prompts.ask(scene.session, ScriptPrompt(incoming, scene, actions))
        except ErrorAnswer:
            self._forget(incoming)
            raise

    async def _close(self, scene: ScriptScene, actions: Actions) -> None:
        """The turns are answered first, as by a cancel."""
        await self._prompts.clear(scene.session, seconds=CLOSING_SECONDS)
        await scene.play(actions)

    # What is answered.

    def _answer(self, incoming: IncomingRequest, scene: ScriptScene) -> None:
        """At once, because nothing is to be played before it."""
        self.peer.tell(self._connection.answer(incoming, msgspec.json.encode(scene.outcome)) or b"")
        scene.is_answered = True
        self._finish(incoming, scene, is_accepted=True, result=scene.outcome)

    def _refuse(self, incoming: IncomingRequest, error: ErrorObject) -> None:
        self.peer.tell(self._connection.refuse(incoming, error) or b"")
        self._reconsider(incoming)

    def _withdraw(self, incoming: IncomingRequest) -> None:
        """A prompt that was cancelled while it waited."""
        self.peer.tell(self._connection.answer(incoming, b'{"stopReason":"cancelled"}') or b"")
        self._forget(incoming)

    def _on_answer(
        self, incoming: IncomingRequest, scene: ScriptScene, is_accepted: bool | None, result: object
    ) -> None:
        """A scene has sent its first answer, or never will; then its id stays in use."""
        if is_accepted is None:
            self._forget(incoming)
            return
        if is_accepted:
            self._connection.answer(incoming, b"")
        else:
            self._connection.refuse(incoming, error_object(INTERNAL_ERROR))
        self._finish(incoming, scene, is_accepted=is_accepted, result=result)

    def _finish(
        self, incoming: IncomingRequest, scene: ScriptScene, *, is_accepted: bool, result: object
    ) -> None:
        self._forget(incoming)
        if incoming.method in OPENING and is_accepted:
            session_id = result.get("sessionId") if isinstance(result, dict) else None
            opened_id = session_id if isinstance(session_id, str) else scene.session
            scene.names["session"] = opened_id  # what is said behind the answer is said there
            self._sessions[opened_id] = str(scene.names.get("cwd", ""))
        elif incoming.method == "session/prompt":
            self._prompts.end_prompt(incoming)
        self._reconsider(incoming)

    def _forget(self, incoming: IncomingRequest) -> None:
        if self._scenes.pop(incoming.id, None) is not None:
            self._bytes -= _size(incoming)

    def _reconsider(self, incoming: IncomingRequest) -> None:
        """What waited for `initialize` to be answered."""
        if incoming.method == "initialize":
            for event in self._connection.take_held():
                self._consider(event)


def _size(incoming: IncomingRequest) -> int:
    return 0 if incoming.params is None else memoryview(incoming.params).nbytes


# Checks every request to an agent before its script handles it: the shape, and the advertised capabilities.
#
# A script decides what is answered to a good request. That a bad one is refused, with the code that the
# protocol names for it and without a word of what it said, is nothing that a script should have to say.

OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Requests that create or reopen a session."""

STORED = frozenset(
    {"session/delete", "session/archive", "session/unarchive", "session/status", "session/set_title"}
)
"""Requests that may name a session that is not open here."""

_CONTENT: tuple[tuple[type, str, str], ...] = (
    (v1.ImageContent, "image", "image"),
    (v1.AudioContent, "audio", "audio"),
    (v1.EmbeddedResource, "embeddedContext", "resource"),
)


def check_params(method: str, raw: Raw | None, capabilities: Mapping[str, Json]) -> Json:
    """Return the params as plain data; raises `ErrorAnswer` for params that no agent with these capabilities
    accepts.
    """
    if method in AGENT_REQUESTS:
        request: Json = read_params(raw, AGENT_REQUESTS[method].params)
        if method in OPENING:
            _check_setup(request, capabilities)
        elif method == "session/prompt":
            _check_blocks(request, _part(capabilities, "promptCapabilities"))
    try:
        return plain_data(raw)
    except ValueError:
        raise invalid_params("the params cannot be read") from None


def needs_session(method: str) -> bool:
    """Whether the session in such a request must be open."""
    return method in AGENT_REQUESTS and method not in OPENING | STORED


def _check_setup(request: Json, capabilities: Mapping[str, Json]) -> None:
    folders = list(request.additional_directories or ())
    if folders and "additionalDirectories" not in _part(capabilities, "sessionCapabilities"):
        raise invalid_params("additionalDirectories were not advertised")
    for folder in (request.cwd, *folders):
        if not (folder.startswith(("/", "\\\\")) or folder[1:3] in (":\\", ":/")):
            raise invalid_params("cwd and additionalDirectories must be absolute paths")
    mcp_capabilities = _part(capabilities, "mcpCapabilities")
    for server in request.mcp_servers or ():
        kind = server.__struct_config__.tag
        if kind in ("http", "sse", "acp") and not mcp_capabilities.get(kind):
            raise invalid_params(f"MCP servers of type {kind} were not advertised")


def _check_blocks(request: v1.PromptRequest, prompt_capabilities: Mapping[str, Json]) -> None:
    for block in request.prompt:
        if isinstance(block, Unknown):
            raise invalid_params("the prompt holds a content block of an unknown type")
        for kind, capability, name in _CONTENT:
            if isinstance(block, kind) and not prompt_capabilities.get(capability):
                raise invalid_params(f"content of type {name} was not advertised")


def _part(capabilities: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    part = capabilities.get(name)
    return part if isinstance(part, Mapping) else {}
