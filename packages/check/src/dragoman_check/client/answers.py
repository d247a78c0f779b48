"""The stand-in agent's answers to everything except prompts: the handshake, logins, and sessions.

It remembers sessions as long as it runs. A stored one is there from the beginning, so that a client has
something to list, load, resume and delete.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.client.profiles import (
    BOOLEAN_OPTION,
    BROKEN_METHODS,
    INFO,
    LOGIN,
    METHODS,
    MODE_OPTION,
    MODEL_OPTION,
    MODES,
    ODD_OPTIONS,
    TERMINAL_METHOD,
    ClientProfile,
)
from dragoman_check.recording import Frame

CURSOR = "page 2/\u00e9 \u2713=="
"""Opaque, so that a client which parses or changes it is found."""

COMMANDS = [
    {"name": "hold", "description": "Ask for two permissions at once, and wait to be cancelled"},
    {"name": "refuse", "description": "End the turn with a refusal"},
    {"name": "fail", "description": "Answer with an unknown error", "input": {"hint": "a code"}},
]

Answer = JsonObject


class StandInSession(Struct):
    """One session of the stand-in."""

    id: str
    folder: str
    further_folders: list[str] = []
    """Further folders that the client has named."""
    mode: str = "ask"
    model: str = "small"
    terse: bool = False


class StandInAnswers:
    """Answers requests; other messages are sent through `tell`."""

    def __init__(self, profile: ClientProfile, *, tell: Callable[[str, Json], None]) -> None:
        self.profile = profile
        self.capabilities: Json = {}
        """The client's."""
        self.sessions: dict[str, StandInSession] = {}
        self._tell = tell
        self._is_logged_in = not profile.login
        self._terminal_count = 0
        self._stored_ids = {"stored-1", "stored-2"}
        self._methods: dict[str, Callable[[JsonObject], Answer]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/close": self._close,
            "session/list": self._list,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    def answer(self, frame: Frame) -> Answer:
        method = self._methods.get(frame.method)
        return error(-32601, "Method not found") if method is None else method(frame.params)

    def after(self, frame: Frame, answer: Answer) -> None:
        """Send an agent's messages after its answer."""
        if frame.method in ("session/new", "session/load", "session/resume") and "result" in answer:
            session = str(answer["result"].get("sessionId") or frame.params.get("sessionId"))
            commands = {"sessionUpdate": "available_commands_update", "availableCommands": COMMANDS}
            self._tell(session, commands)
            self._tell(session, {"sessionUpdate": "session_info_update", "title": "Before the first prompt"})

    def options(self, session: StandInSession) -> list[Json]:
        options: list[Json] = [
            {**MODE_OPTION, "currentValue": session.mode},
            {**MODEL_OPTION, "currentValue": session.model},
        ]
        if _at(self.capabilities, "session", "configOptions", "boolean") is not None:
            options.append({**BOOLEAN_OPTION, "currentValue": session.terse})
        return options

    # Introduction and login.

    def _initialize(self, params: JsonObject) -> Answer:
        self.capabilities = params.get("clientCapabilities")
        profile = self.profile
        result: JsonObject = {"protocolVersion": profile.version}
        if profile.capabilities is not None:
            result["agentCapabilities"] = profile.capabilities
        if profile.has_info:
            result["agentInfo"] = INFO
        if profile.login:
            terminal = [TERMINAL_METHOD] if _at(self.capabilities, "auth", "terminal") is True else []
            result["authMethods"] = [*METHODS, *terminal]
        if profile.broken_logins:
            result["authMethods"] = BROKEN_METHODS
        if profile.odd:
            result |= {"someday": [1], "_meta": {"protocolVersion": 7}, "agentInfo": {**INFO, "title": 5}}
        return {"result": result}

    def _authenticate(self, params: JsonObject) -> Answer:
        if params.get("methodId") != LOGIN or not self.profile.login:
            return error(-32602, "No such login")
        self._is_logged_in = True
        return {"result": {}}

    def _logout(self, params: JsonObject) -> Answer:
        if self.profile.capabilities is None or "auth" not in self.profile.capabilities:
            return error(-32601, "Method not found")
        return {"result": {}}

    # Sessions.

    def _new(self, params: JsonObject) -> Answer:
        if not self._is_logged_in:
            return error(-32000, "Authentication required")
        self._terminal_count += 1
        session = self._open(f"session-{self._terminal_count}", params)
        return {"result": {"sessionId": session.id, **self._offer(session)}}

    def _open(self, session_id: str, params: JsonObject) -> StandInSession:
        more = params.get("additionalDirectories")
        more_folders = [str(path) for path in more] if isinstance(more, list) else []
        self.sessions[session_id] = StandInSession(session_id, str(params.get("cwd", "")), more_folders)
        return self.sessions[session_id]

    def _offer(self, session: StandInSession) -> JsonObject:
        if self.profile.odd:
            return {"modes": MODES, "configOptions": ODD_OPTIONS, "someday": {}, "_meta": {"cwd": "/"}}
        if self.profile.polite:
            modes = {**MODES, "currentModeId": session.mode}
            return {"modes": modes, "configOptions": self.options(session)}
        return {}

    def _load(self, params: JsonObject) -> Answer:
        session_id = str(params.get("sessionId"))
        if self.profile.capabilities is None or session_id not in self._stored_ids | self.sessions.keys():
            return missing(session_id)
        session = self._open(session_id, params)
        for kind, text in (("user_message_chunk", "Hello"), ("agent_message_chunk", "Hello yourself")):
            chunk = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
            self._tell(session_id, {**chunk, "messageId": f"{kind}-{id(params)}"})
        return {"result": self._offer(session)}

    def _resume(self, params: JsonObject) -> Answer:
        session_id = str(params.get("sessionId"))
        if session_id not in self._stored_ids | self.sessions.keys():
            return missing(session_id)
        return {"result": self._offer(self._open(session_id, params))}

    def _close(self, params: JsonObject) -> Answer:
        session_id = str(params.get("sessionId"))
        if self.sessions.pop(session_id, None) is None or not self.profile.closes:
            return missing(session_id)
        self._stored_ids.add(session_id)
        return {"result": {}}

    def _list(self, params: JsonObject) -> Answer:
        if params.get("cursor") not in (None, CURSOR):
            return error(-32602, "No such cursor")
        folder = str(params.get("cwd") or "/")
        pages: list[list[Json]] = [[], []]
        for number, session_id in enumerate(sorted(self._stored_ids)):
            pages[min(number, 1)].append({"sessionId": session_id, "cwd": folder, "title": "From before"})
        if params.get("cursor") == CURSOR:
            return {"result": {"sessions": pages[1]}}
        return {"result": {"sessions": pages[0], "nextCursor": CURSOR}}

    def _delete(self, params: JsonObject) -> Answer:
        self._stored_ids.discard(str(params.get("sessionId")))
        return {"result": {}}

    def _set_mode(self, params: JsonObject) -> Answer:
        session = self.sessions.get(str(params.get("sessionId")))
        if session is None:
            return missing(str(params.get("sessionId")))
        if params.get("modeId") not in ("ask", "code"):
            return error(-32602, "No such mode")
        session.mode = params["modeId"]
        return {"result": {}}

    def _set_option(self, params: JsonObject) -> Answer:
        session = self.sessions.get(str(params.get("sessionId")))
        if session is None:
            return missing(str(params.get("sessionId")))
        name, value = params.get("configId"), params.get("value")
        if name == "mode" and value in ("ask", "code"):
            session.mode = value
        elif name == "model" and value in ("small", "large"):
            session.model = value
        elif name == "terse" and type(value) is bool:
            session.terse = value
        else:
            return error(-32602, "No such option, or no such value")
        return {"result": {"configOptions": self.options(session)}}


def error(code: int, message: str, **data: object) -> Answer:
    fields: JsonObject = {"code": code, "message": message}
    return {"error": {**fields, "data": data} if data else fields}


def missing(session_id: str) -> Answer:
    return error(-32002, "No such session", sessionId=session_id)


def _at(tree: object, *path: str) -> Json:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
