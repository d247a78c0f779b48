"""A scripted agent: answers what the script has rules for, and the ordinary things by itself.

Without a word in the script it can be initialized and gives sessions ids that can be told apart at a
glance. A prompt that no rule is for is refused, because a script that does not foresee it is a mistake.
"""

from __future__ import annotations

import itertools
from typing import Any

from dragoman.testing.script.body import Body
from dragoman.testing.script.patterns import Names
from dragoman.testing.script.peer import Peer
from dragoman.testing.script.scene import Scene
from dragoman.testing.script.script import Rules, Script, prompt_text
from dragoman.testing.transcript import Party
from dragoman.transport.contract import Transport
from dragoman.wire import Envelope, Malformed, Notification, Request, error_object, failure
from dragoman.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND, NAMES, NOT_FOUND

ORDINARY = ("initialize", "session/new", "session/load", "session/close", "authenticate")


class AgentRole:
    """One connection of a scripted agent."""

    party: Party = "agent"

    def __init__(self, script: Script, transport: Transport, *, body: Body) -> None:
        self.peer = Peer(transport, role=self, body=body)
        self._script = script
        self._rules = Rules(script.rules)
        self._numbers = itertools.count(1)
        self._sessions: dict[str, str] = {}  # by id, where each works
        self._playing: set[Scene] = set()

    def start(self) -> None:
        self.peer.start()
        if self._script.story:
            self.peer.begin(Scene(self.peer).play(self._script.story))

    def received(self, line: bytes, envelope: Envelope, params: Any) -> None:
        match envelope:
            case Request(request_id, method):
                self._play(method, params, request_id)
            case Notification(method):
                if method in ("session/cancel", "$/cancel_request"):
                    self._cancel(params if isinstance(params, dict) else {})
                if method not in (*ORDINARY, "session/prompt"):  # those are requests, and one has no answer
                    self._play(method, params, None, answers=False)
            case Malformed(_, code, why) if code is not None:
                complaint = failure(None, error_object(code, f"{NAMES[code]}: {why}"))
                self.peer.begin(self.peer.send_bytes(complaint))

    def ended(self) -> None:
        pass  # whoever runs the peer waits for its end

    def _play(self, method: str, params: Any, request_id: Any, *, answers: bool = True) -> None:
        names: Names = {"id": request_id, "text": prompt_text(params)}
        rule = self._rules.pick(method, params, names)
        if rule is None and not answers:
            return  # a notification that means nothing to the script
        scene = Scene(self.peer, method=method, answers=answers, names=names)
        refusal = self._set(scene, params if isinstance(params, dict) else {})
        if refusal is None and rule is None and method not in ORDINARY:
            refusal = (
                (INVALID_PARAMS, "the script has no rule for this prompt")
                if method == "session/prompt"
                else (METHOD_NOT_FOUND, NAMES[METHOD_NOT_FOUND])
            )
        if refusal is not None:
            self.peer.begin(scene.refuse(*refusal))
        else:
            self._playing.add(scene)  # now, not when it begins: a cancel may be in the same block
            task = self.peer.begin(scene.play(rule.actions if rule is not None else ()))
            task.add_done_callback(lambda _: self._playing.discard(scene))

    def _set(self, scene: Scene, params: dict[str, Any]) -> tuple[int, str] | None:
        """Where the scene plays, and how it usually ends; or why it cannot be played at all."""
        match scene.method:
            case "initialize":
                scene.outcome = self._introduction()
            case "session/new":
                session_id = f"session-{next(self._numbers)}"
                self._sessions[session_id] = str(params.get("cwd", ""))
                scene.names.update(session=session_id, cwd=params.get("cwd", ""))
                scene.outcome = {"sessionId": session_id}
            case "session/load":
                if not self._script.settings.capabilities.get("loadSession"):
                    return METHOD_NOT_FOUND, NAMES[METHOD_NOT_FOUND]
                self._sessions[str(params.get("sessionId"))] = str(params.get("cwd", ""))
                scene.names["session"] = params.get("sessionId")
            case "session/prompt":
                if params.get("sessionId") not in self._sessions:
                    return NOT_FOUND, "Session not found"
                scene.names.update(session=params["sessionId"], cwd=self._sessions[params["sessionId"]])
                scene.outcome = {"stopReason": "end_turn"}
            case _ if "sessionId" in params:
                scene.names["session"] = params["sessionId"]
        return None

    def _introduction(self) -> dict[str, Any]:
        settings = self._script.settings
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": settings.name, "version": settings.version},
            "agentCapabilities": settings.capabilities,
            "authMethods": list(settings.auth_methods),
        }

    def _cancel(self, params: dict[str, Any]) -> None:
        session, request = params.get("sessionId"), params.get("requestId")
        for scene in list(self._playing):
            of_session = scene.method == "session/prompt" and scene.names.get("session") == session
            if of_session or (request is not None and scene.names.get("id") == request):
                scene.cancel()
