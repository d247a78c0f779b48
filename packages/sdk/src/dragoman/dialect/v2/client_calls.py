"""Translates a v2 client's requests into v1 and the answers into v2, except prompts."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Message, Object, answer, as_list, as_object, as_text
from dragoman.dialect.v2.client_desk import PendingCall, PendingCalls, only_meta, refuse
from dragoman.dialect.v2.client_session import V2ClientSession
from dragoman.dialect.v2.to_v1.config import UnknownTransport, servers
from dragoman.dialect.v2.to_v2.ledger_notes import NO_LIST, NO_LOGOUT, NO_PLACE, WRONG
from dragoman.dialect.v2.to_v2.updates import time
from dragoman.dialect.v2.to_v2.writer import V2Writer, error_in_v2, is_flag, is_object, is_text, is_texts
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

Handler = Callable[[Message, Object], list[Out]]
ResultConverter = Callable[[PendingCall, Object], list[Out]]

_LISTED = {
    **dict.fromkeys(("sessionId", "cwd", "title", "updatedAt"), is_text),
    "additionalDirectories": is_texts,
    "archived": is_flag,
    "_meta": is_object,
}
_SETUP = {"sessionId", "modes", "configOptions", "_meta"}


class V2ClientCalls:
    """Translates calls: `ask` takes a request of the client, `on_answer` the agent's answer to it."""

    def __init__(self, desk: PendingCalls) -> None:
        self._desk = desk
        self._handlers: dict[str, Handler] = {
            "auth/login": self._login,
            "auth/logout": self._logout,
            "session/new": self._new,
            "session/fork": self._new,
            "session/list": self._list,
            "session/delete": self._delete,
            "session/set_config_option": self._set,
        }
        self._results: dict[str, ResultConverter] = {
            "session/new": self._on_session_opened,
            "session/fork": self._on_session_opened,
            "session/list": self._on_list,
            "session/delete": self._on_delete,
            "session/set_config_option": self._on_option_set,
        }

    def ask(self, message: Message) -> list[Out]:
        handler = self._handlers.get(str(message.method), self._pass)
        return handler(message, as_object(message.params))

    def on_answer(self, call: PendingCall, message: Message) -> list[Out]:
        if message.error is not UNSET:
            error = error_in_v2(message.error, call.session or None)
            if call.method == "session/set_config_option" and error["code"] == METHOD_NOT_FOUND:
                # Version 2 has the method wherever it has sessions: what is missing is the option.
                error = {"code": INVALID_PARAMS, "message": "Invalid params: no such option"}
            return [("peer", Message("2.0", call.id, error=error))]
        convert = self._results.get(call.method)
        if convert is not None:
            return convert(call, as_object(message.result))
        if call.method in ("auth/login", "auth/logout"):
            return [("peer", answer(call.id, only_meta(as_object(message.result))))]
        return [("peer", answer(call.id, message.result))]

    def _pass(self, message: Message, params: Object) -> list[Out]:
        method = str(message.method)
        call = PendingCall(message.id, method, params, as_text(params.get("sessionId")))
        return [self._desk.forward(call, method, message.params)]

    def _login(self, message: Message, params: Object) -> list[Out]:
        if as_text(params.get("methodId")) not in self._desk.can.logins:
            return refuse(message, INVALID_PARAMS, "Invalid params: no such login, or one in a terminal")
        return [self._desk.forward(PendingCall(message.id, "auth/login", params), "authenticate", params)]

    def _logout(self, message: Message, params: Object) -> list[Out]:
        if self._desk.can.logout:
            return [self._desk.forward(PendingCall(message.id, "auth/logout", params), "logout", params)]
        if not self._desk.can.has_logins:
            return refuse(message, METHOD_NOT_FOUND, "Method not found")
        self._desk.note(NO_LOGOUT)
        return refuse(message, INTERNAL_ERROR, "The agent cannot log out")

    def _new(self, message: Message, params: Object) -> list[Out]:
        plain = setup_in_v1(message, params)
        if type(plain) is list:
            return plain
        call = PendingCall(message.id, str(message.method), params)
        return [self._desk.forward(call, call.method, plain)]

    def _on_session_opened(self, call: PendingCall, result: Object) -> list[Out]:
        session_id = result.get("sessionId")
        if type(session_id) is not str:
            return refuse(call, INTERNAL_ERROR, "The agent named no session")
        session = self._desk.session(session_id)
        session.writer = V2Writer(self._desk.report, as_text(call.params.get("cwd")) or "/")
        return [("peer", answer(call.id, {"sessionId": session_id, **setup_in_v2(session, result)}))]

    def _list(self, message: Message, params: Object) -> list[Out]:
        if self._desk.can.list:
            return self._pass(message, params)
        self._desk.note(NO_LIST)
        cwd, can = params.get("cwd"), self._desk.can
        candidates = [
            session
            for session in self._desk.sessions.values()
            if can.load or can.resume or not session.is_closed
        ]
        sessions = [
            _session_result(candidate)
            for candidate in candidates
            if cwd is None or candidate.writer.cwd == cwd
        ]
        return [("peer", answer(message.id, {"sessions": sessions}))]

    def _on_list(self, call: PendingCall, result: Object) -> list[Out]:
        writer = V2Writer(self._desk.report)
        items = [writer.clean(as_object(item), _LISTED) for item in as_list(result.get("sessions"))]
        sessions = []
        for item in items:
            if "sessionId" not in item or "cwd" not in item:
                writer.note(WRONG)
                continue
            when = time(item.pop("updatedAt"), writer) if "updatedAt" in item else None
            sessions.append({**item, "updatedAt": when} if when is not None else item)
        v2_result: Object = {"sessions": sessions}
        if is_text(result.get("nextCursor")):
            v2_result["nextCursor"] = result["nextCursor"]
        return [("peer", answer(call.id, {**v2_result, **only_meta(result)}))]

    def _delete(self, message: Message, params: Object) -> list[Out]:
        if self._desk.can.delete:
            return self._pass(message, params)
        return refuse(message, METHOD_NOT_FOUND, "Method not found")

    def _on_delete(self, call: PendingCall, result: Object) -> list[Out]:
        self._desk.sessions.pop(call.session, None)
        return [("peer", answer(call.id, only_meta(result)))]

    def _set(self, message: Message, params: Object) -> list[Out]:
        session_id, config_id = params.get("sessionId"), params.get("configId")
        kind, value = params.get("type"), params.get("value")
        if type(session_id) is not str or type(config_id) is not str:
            return refuse(message, INVALID_PARAMS, "Invalid params: sessionId or configId is missing")
        if not ((kind == "id" and is_text(value)) or (kind == "boolean" and is_flag(value))):
            return refuse(message, INVALID_PARAMS, "Invalid params: no such type of value")
        call = PendingCall(message.id, str(message.method), params, session_id)
        if self._desk.session(session_id).config.is_made(config_id):
            return [self._desk.forward(call, "session/set_mode", {"sessionId": session_id, "modeId": value})]
        plain = {name: param for name, param in params.items() if name != "type" or kind == "boolean"}
        return [self._desk.forward(call, call.method, plain)]

    def _on_option_set(self, call: PendingCall, result: Object) -> list[Out]:
        session = self._desk.session(call.session)
        if session.config.is_made(call.params["configId"]):
            session.config.set_mode(call.params["value"])
        elif type(result.get("configOptions")) is list:
            session.config.replace(result["configOptions"], session.writer)
        else:
            session.writer.note(WRONG)
            session.config.set_value(call.params["configId"], call.params["value"])
        return [
            ("peer", answer(call.id, {"configOptions": session.config.listed_options, **only_meta(result)}))
        ]


def setup_in_v1(message: Message, params: Object) -> Object | list[Out]:
    """Translate the params of a new session into v1; or return the refusal of params that the agent must not
    see.
    """
    if not is_text(params.get("cwd")):
        return refuse(message, INVALID_PARAMS, "Invalid params: cwd is missing")
    try:
        mcp_servers = servers(params.get("mcpServers"))
    except UnknownTransport as error:
        return refuse(message, INVALID_PARAMS, f"Invalid params: {error}", {"type": error.kind})
    rest = {name: value for name, value in params.items() if name != "replayFrom" and value is not None}
    return {**rest, "mcpServers": mcp_servers}


def setup_in_v2(session: V2ClientSession, result: Object) -> Object:
    """Translate the description of a new session into v2."""
    if result.keys() - _SETUP:
        session.writer.note(NO_PLACE)
    session.config.learn(result, session.writer)
    v2_result: Object = {"configOptions": session.config.listed_options} if session.config.is_known else {}
    return {**v2_result, **only_meta(result)}


def _session_result(session: V2ClientSession) -> Object:
    info: Object = {"sessionId": session.id, "cwd": session.writer.cwd}
    if session.title is not None:
        info["title"] = session.title
    if session.updated_at is not None:
        info["updatedAt"] = session.updated_at
    return info
