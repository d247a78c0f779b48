"""The table of methods that a client may call, and of who may call each. It is checked before any effect.

A row names the scope that a token needs, the parameters that name places on the hub's machine, and what the
method does. Every request and notification of every client passes `check`, whatever its transport and its
dialect, before it is handled and before anything of it reaches an agent. What an agent understands and the
hub does not (extensions, and unknown methods about a session) is a row too, under which every parameter
that looks like a place is checked. What no row covers is refused.

Which sessions a token reaches depends on the session, which is found first: see `engine.session_reach`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from msgspec import Raw, Struct

from dragoman.errors import ErrorAnswer
from dragoman.schema.own_names import UNREADABLE, may_hold, stripped
from dragoman.schema.steering import INJECT, STEERING
from dragoman.wire.codes import invalid_params, method_not_found
from dragoman_hub.gate.admission import Grant, Scope
from dragoman_hub.session.frames import ours_in, value_of

FORBIDDEN = -32003

Effect: TypeAlias = Literal["introduce", "look", "open", "drive", "end", "answer", "log in", "administer"]
"""The effect of a method: it only reads, or what it changes."""

Place: TypeAlias = Literal["folder", "folders", "servers", "blocks", "anything"]
"""How a parameter names places: a path, a list of paths, MCP servers, content blocks, or any of these inside
it.
"""


class GateRow(Struct, frozen=True, kw_only=True):
    """The required scope and the effect of one method."""

    scopes: tuple[Scope, ...]
    """Any of these is enough; empty: any admitted client. `prompt` and `admin` include `observe`."""
    effect: Effect
    besides: Scope | None = None
    """A further required scope: the answer reveals more of a session than a question, or it changes settings
    for others.
    """
    places: tuple[tuple[str, Place], ...] = ()
    """The parameters with places, and their form."""
    names_agent: bool = False
    """Whether it is about an agent: a named one, or otherwise the client's."""
    agent_param: str = ""
    """The parameter with the agent's name; other methods name it in `_meta`."""


_FOLDERS: tuple[tuple[str, Place], ...] = (
    ("cwd", "folder"),
    ("additionalDirectories", "folders"),
    ("mcpServers", "servers"),
)

HUB = "_dragoman/hub/"
"""The prefix of the hub's own methods."""

REQUESTS: dict[str, GateRow] = {
    "initialize": GateRow(scopes=(), effect="introduce", names_agent=True),
    "authenticate": GateRow(scopes=("prompt",), effect="log in", names_agent=True),
    "logout": GateRow(scopes=("prompt",), effect="log in", names_agent=True),
    "auth/status": GateRow(scopes=("observe",), effect="look", names_agent=True),
    "providers/list": GateRow(scopes=("prompt",), effect="look", names_agent=True),
    # Where the agent sends everything that it is told, for all sessions alike.
    "providers/set": GateRow(scopes=("admin",), effect="administer", names_agent=True),
    "providers/disable": GateRow(scopes=("admin",), effect="administer", names_agent=True),
    "session/new": GateRow(scopes=("prompt",), effect="open", places=_FOLDERS, names_agent=True),
    "session/load": GateRow(scopes=("observe",), effect="open", places=_FOLDERS),
    "session/resume": GateRow(scopes=("observe",), effect="open", places=_FOLDERS),
    "session/fork": GateRow(scopes=("prompt",), effect="open", places=_FOLDERS),
    "session/list": GateRow(scopes=("observe",), effect="look", places=(("cwd", "folder"),)),
    "session/close": GateRow(scopes=("prompt",), effect="end"),
    "session/delete": GateRow(scopes=("prompt",), effect="end"),
    "session/status": GateRow(scopes=("observe",), effect="look"),
    "session/archive": GateRow(scopes=("prompt",), effect="end"),
    "session/unarchive": GateRow(scopes=("prompt",), effect="drive"),
    "session/set_title": GateRow(scopes=("prompt",), effect="drive"),
    "session/prompt": GateRow(scopes=("prompt",), effect="drive", places=(("prompt", "blocks"),)),
    "session/set_mode": GateRow(scopes=("prompt",), effect="drive"),
    "session/set_config_option": GateRow(scopes=("prompt",), effect="drive"),
    f"{HUB}sessions": GateRow(scopes=("observe",), effect="look", places=(("cwd", "folder"),)),
    # Who only answers sees the questions, and nothing else.
    f"{HUB}inbox": GateRow(scopes=("observe", "approve"), effect="look"),
    f"{HUB}watch": GateRow(scopes=("observe", "approve"), effect="look"),
    # What a device then hears depends on its token: see `push`.
    f"{HUB}push": GateRow(scopes=("observe", "approve"), effect="look"),
    f"{HUB}push/subscribe": GateRow(scopes=("observe", "approve"), effect="look"),
    f"{HUB}push/unsubscribe": GateRow(scopes=("observe", "approve"), effect="look"),
    f"{HUB}attach": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}detach": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}history": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}turns": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}search": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}progress": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}agents": GateRow(scopes=("observe",), effect="look"),
    # It starts a process of the agent.
    f"{HUB}agents/check": GateRow(scopes=("admin",), effect="administer", names_agent=True),
    f"{HUB}agents/registry": GateRow(scopes=("admin",), effect="look"),
    # Agents of the list alone, and only where `agent_installs` lets clients do it: see `InstallMethods`.
    f"{HUB}agents/install": GateRow(
        scopes=("admin",), effect="administer", names_agent=True, agent_param="agent"
    ),
    f"{HUB}agents/install/status": GateRow(scopes=("admin",), effect="look"),
    f"{HUB}agents/install/cancel": GateRow(scopes=("admin",), effect="administer"),
    f"{HUB}agents/uninstall": GateRow(
        scopes=("admin",), effect="administer", names_agent=True, agent_param="agent"
    ),
    f"{HUB}files": GateRow(scopes=("observe",), effect="look"),
    # Below the session's folders, and nowhere that the token may not open: see `read_file`.
    f"{HUB}file": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}blame": GateRow(scopes=("observe",), effect="look"),
    # It names only folders that the token may open: see `folders`.
    f"{HUB}folders": GateRow(scopes=("prompt",), effect="look"),
    f"{HUB}terminal": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}changes": GateRow(scopes=("observe",), effect="look"),
    f"{HUB}answer": GateRow(scopes=("approve",), effect="answer"),
    f"{HUB}revert": GateRow(scopes=("approve",), effect="answer"),
    # Files of the session's folder alone; that the token may use the repository is seen there.
    f"{HUB}commit/preview": GateRow(scopes=("approve",), effect="look", besides="observe"),
    f"{HUB}commit": GateRow(scopes=("approve",), effect="answer", besides="observe"),
    # Files of the folders in which the session's turns ran; that the token may use them is seen there.
    f"{HUB}rewind/preview": GateRow(scopes=("prompt",), effect="look", besides="observe"),
    f"{HUB}rewind": GateRow(scopes=("prompt",), effect="drive", besides="observe"),
    f"{HUB}rewind/undo": GateRow(scopes=("prompt",), effect="drive", besides="observe"),
    # The new folder is beside the old one: that the token may use it is seen there, too.
    f"{HUB}fork": GateRow(scopes=("prompt",), effect="open", besides="observe"),
    # A rule holds in all sessions of the project. The hub itself knows what it allows: see `PolicyMethods`.
    f"{HUB}policy/preview": GateRow(scopes=("approve",), effect="look", besides="admin"),
    f"{HUB}policy/allow": GateRow(scopes=("approve",), effect="administer", besides="admin"),
    f"{HUB}policy/undo": GateRow(scopes=("approve",), effect="administer", besides="admin"),
    f"{HUB}queue/edit": GateRow(scopes=("prompt",), effect="drive", places=(("prompt", "blocks"),)),
    f"{HUB}queue/withdraw": GateRow(scopes=("prompt",), effect="drive"),
    # It names another agent than the session's; the folders are the session's.
    f"{HUB}handover": GateRow(scopes=("prompt",), effect="open", names_agent=True, agent_param="agent"),
    f"{HUB}status": GateRow(scopes=("admin",), effect="administer"),
    f"{HUB}pair": GateRow(scopes=("admin",), effect="administer"),
    f"{HUB}pair/status": GateRow(scopes=("admin",), effect="administer"),
    f"{HUB}pair/withdraw": GateRow(scopes=("admin",), effect="administer"),
}

HISTORY: dict[str, GateRow] = {
    "getThreads": GateRow(scopes=("observe",), effect="look"),
    "getThreadEntries": GateRow(scopes=("observe",), effect="look"),
}
"""Questions of the thread protocol, which the hub answers before `initialize`. They are not requests of
version 1: methods with these names are unknown to the hub there, and go to an agent.
"""

NOTIFICATIONS: dict[str, GateRow] = {
    "session/cancel": GateRow(scopes=("prompt",), effect="drive"),
    "$/cancel_request": GateRow(scopes=(), effect="drive"),
}

SESSION_EXTENSION = GateRow(scopes=("prompt",), effect="drive", places=(("", "anything"),))
"""An unknown method about a known session: it is passed on to the session's agent unchanged."""

AGENT_EXTENSION = GateRow(scopes=("prompt",), effect="drive", places=(("", "anything"),), names_agent=True)
"""An extension without a session: it is passed on to the client's agent."""

_PLACE_NAME = re.compile(r"(?:cwd|(?:path|file|dir|directory|folder|root|uri|url)s?|directories)$", re.I)
"""How parameters are called that name places, at their end: `cwd`, `filePath`, `additionalDirectories`."""


def row_of(method: str, params: Mapping[str, Raw], *, is_request: bool = True) -> GateRow:
    """Return the row of a method; raises the error for a method without a row."""
    row = (REQUESTS if is_request else NOTIFICATIONS).get(method)
    if row is not None:
        return row
    is_known_request = not is_request and (method in REQUESTS or method in (INJECT, STEERING))
    if is_known_request or method.startswith(HUB) or not (method.startswith("_") or "sessionId" in params):
        # A request without an id must not reach an agent past the turn, the journal and the rate.
        raise method_not_found(method)
    return SESSION_EXTENSION if "sessionId" in params else AGENT_EXTENSION


class PassedParams(dict[str, Raw]):
    """The params of a message that has passed the gate. Handlers and agents get the checked values: parts
    that another parser could read differently, such as a repeated member, were written again.
    """

    __slots__ = ("agent",)

    def __init__(self, members: Mapping[str, Raw], agent: str) -> None:
        super().__init__(members)
        self.agent = agent
        """Which agent it is about, if it is about one: named in it, or the client's."""


def check(
    grant: Grant, method: str, params: Mapping[str, Raw], *, agent: str = "", is_request: bool = True
) -> PassedParams:
    """Check a token's request or notification; raise the error for the answer if it is refused.

    `agent` is the one that the client means unless the request names another.
    """
    row = row_of(method, params, is_request=is_request)
    _check_scopes(grant, row)
    if row.agent_param:
        name = _text(value_of(params.get(row.agent_param), ""), row.agent_param)
    else:
        name = agent_in(params) or agent
    if row.names_agent and not grant.may_use(name):
        raise ErrorAnswer(FORBIDDEN, f"Forbidden: this token may not use {name}", {"scope": "agents"})
    if grant.roots:
        for path in places_in(row, params):
            if not grant.may_open(path):
                raise ErrorAnswer(
                    FORBIDDEN, "Forbidden: this token may not use that folder", {"scope": "roots"}
                )
    return PassedParams(_as_judged(grant, row, params), name)


def _as_judged(grant: Grant, row: GateRow, params: Mapping[str, Raw]) -> dict[str, Raw]:
    """The params without the hub's names, except in their own `_meta`, which is for the hub. Those that name
    places are written as they were read, and for a token with roots so are all, which may.
    """
    places = {name for name, kind in row.places if kind != "blocks"}
    members: dict[str, Raw] = {}
    for name, raw in params.items():
        if name == "_meta" or row.effect == "introduce":
            members[name] = raw
        elif grant.roots or name in places or may_hold(bytes(raw)):
            try:
                members[name] = Raw(stripped(bytes(raw), edges=True, anew=True))
            except UNREADABLE:
                raise invalid_params(f"{name} has a value that cannot be read") from None
        else:
            members[name] = raw
    return members


def check_history(grant: Grant, method: str) -> None:
    """Check the same for a question of the thread protocol about history, which names only a thread."""
    row = HISTORY.get(method)
    if row is None:
        raise method_not_found(method)
    _check_scopes(grant, row)


def places_named(
    grant: Grant, method: str, params: Mapping[str, Raw], *, is_request: bool = True
) -> list[str]:
    """Return the paths that must be resolved before `check`."""
    try:
        row = row_of(method, params, is_request=is_request)
        return grant.paths_to_look_at(places_in(row, params)) if grant.roots else []
    except ErrorAnswer:
        return []  # `check` raises it


def session_refusal() -> ErrorAnswer:
    """Return the error for a session outside the token's scope (`engine.session_reach`)."""
    return ErrorAnswer(FORBIDDEN, "Forbidden: this token may not use this session", {"scope": "sessions"})


def _check_scopes(grant: Grant, row: GateRow) -> None:
    if row.scopes and not any(grant.may(scope) for scope in row.scopes):
        raise forbidden(row.scopes[0])
    if row.besides is not None and not grant.may(row.besides):
        raise forbidden(row.besides)


def forbidden(scope: str) -> ErrorAnswer:
    return ErrorAnswer(FORBIDDEN, f"Forbidden: this token may not {scope}", {"scope": scope})


def agent_in(params: Mapping[str, Raw]) -> str:
    """Return the agent in a request, if it names one."""
    agent = ours_in(params).get("agent")
    return agent if isinstance(agent, str) else ""


# Places.


def places_in(row: GateRow, params: Mapping[str, Raw]) -> Iterator[str]:
    """Return all paths in a request. Raises an error for a path of the wrong type."""
    for name, kind in row.places:
        if kind == "anything":
            yield from _anything({key: value_of(raw) for key, raw in params.items() if key != "_meta"})
            continue
        value = value_of(params.get(name))
        if value is None:
            continue
        if kind == "folder":
            yield _text(value, name)
        elif kind == "folders":
            yield from (_text(item, name) for item in _list(value, name))
        elif kind == "servers":
            yield from _commands(_list(value, name))
        else:
            yield from _links(_list(value, name))


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise invalid_params(f"{name} is of the wrong kind")
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid_params(f"{name} is of the wrong kind")
    return value


def _commands(servers: list[Any]) -> Iterator[str]:
    """The programs of MCP servers over stdio: an agent starts them, unasked. One that is looked for on the
    search path lies in no folder of a token.
    """
    for server in servers:
        command = server.get("command") if isinstance(server, dict) else None
        if isinstance(command, str):
            yield command if os.path.isabs(command) else os.sep


def _links(blocks: list[Any]) -> Iterator[str]:
    """The files that content blocks link to: agents read them."""
    for block in blocks:
        uri = block.get("uri") if isinstance(block, dict) else None
        if isinstance(uri, str) and (path := _file(uri)):
            yield path


def _anything(value: object, name: str = "") -> Iterator[str]:
    """Every text under a name that means a place, and every `file:` address, however deep."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _anything(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _anything(item, name)
    elif isinstance(value, str):
        if path := _file(value):
            yield path
        elif _PLACE_NAME.search(name) and (
            os.path.isabs(value) or os.path.normpath(value).startswith(os.pardir)
        ):
            yield value  # it leaves the folder, also if it looks like an address: `x:` may be a folder


def _file(uri: str) -> str:
    """The path of a `file:` address; empty if it is none. One of another host is a place of nobody."""
    if uri[:5].lower() != "file:":
        return ""
    rest = uri[5:]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path if host in ("", "localhost") else "//"
    return unquote(rest.partition("#")[0].partition("?")[0]) or os.sep
