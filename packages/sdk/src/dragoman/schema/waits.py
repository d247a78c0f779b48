"""The table of who answers each request: the program, a person, or long work. It decides every call's
deadline.

| answerer | how long a call waits for it |
|---|---|
| `machine` | a bounded time: `Limits.call_seconds` in the SDK, the hub's own bounds in the hub |
| `person` | until it is answered, or until the turn, the session, the connection or the caller ends it |
| `work` | the same: a turn, a command or another's call takes as long as it takes |

A client may put any request for a file or a command before its user, so only those about a terminal that runs
already are a machine's. Requests that are not in the tables, such as extensions, go to a program at an agent;
at a client nobody can tell whether a person answers them. A deadline that is too short costs a person the
turn; one that is missing costs an agent a wait that ends with the turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from .steering import INJECT, STEERING

Answerer: TypeAlias = Literal["machine", "person", "work"]

CLIENT_ANSWERERS: Final[Mapping[str, Answerer]] = {
    "session/request_permission": "person",
    "elicitation/create": "person",
    "fs/read_text_file": "person",
    "fs/write_text_file": "person",
    "terminal/create": "person",
    "terminal/output": "machine",
    "terminal/kill": "machine",
    "terminal/release": "machine",
    "terminal/wait_for_exit": "work",
    "mcp/message": "work",  # it may call a tool, and a tool may ask
}

AGENT_ANSWERERS: Final[Mapping[str, Answerer]] = {
    "initialize": "machine",
    "authenticate": "person",  # who has to find a browser first
    "auth/login": "person",
    "auth/logout": "machine",
    "auth/status": "machine",
    "logout": "machine",
    "providers/list": "machine",
    "providers/set": "machine",
    "providers/disable": "machine",
    "session/new": "machine",
    "session/load": "machine",
    "session/resume": "machine",
    "session/fork": "machine",
    "session/list": "machine",
    "session/delete": "machine",
    "session/archive": "machine",
    "session/unarchive": "machine",
    "session/status": "machine",
    "session/set_title": "machine",
    "session/close": "machine",
    "session/set_mode": "machine",
    "session/set_config_option": "machine",
    "session/prompt": "work",
    "tool_call/cancel": "machine",
    "terminal/cancel": "machine",
    STEERING: "work",  # it is taken when the turn has time for it, which may be waiting for a person
    INJECT: "work",
}

PROXY_ANSWERERS: Final[Mapping[str, Answerer]] = {
    "proxy/initialize": "machine",
    "proxy/successor": "work",  # it carries any request of both tables
}

HUB_ASKS_FIRST: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Requests before which a hub may ask a person about an MCP server. The hub has its own limits for its
agents.
"""


def answerer(method: str, *, receiver: Literal["agent", "client"]) -> Answerer:
    """Return who answers a request."""
    if receiver == "client":
        return CLIENT_ANSWERERS.get(method, "person")
    return AGENT_ANSWERERS.get(method) or PROXY_ANSWERERS.get(method, "machine")


def is_for_person(method: str) -> bool:
    """Whether a client may put this request of an agent before its user."""
    return answerer(method, receiver="client") == "person"


def bound(
    method: str, seconds: float | None, *, receiver: Literal["agent", "client"], is_hub: bool = False
) -> float | None:
    """Return the deadline of a call: `seconds` if a program answers it, else None. `is_hub`: the receiver is
    a hub with agents behind it.
    """
    if is_hub and method in HUB_ASKS_FIRST:
        return None
    return seconds if answerer(method, receiver=receiver) == "machine" else None
