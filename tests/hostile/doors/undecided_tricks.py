"""Clients of which nobody knows yet what they speak, and that say something that is not meant for the agent.

Credentials are for an agent that takes them. A client that is not known to speak the dialect that has them
must not get them to any other agent by being early, ambiguous or odd.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.hostile.doors.tricks import Trick

KEY = "sk-hidden-0123456789abcdef0123456789abcdef"
"""It must be neither in the agent's environment nor in what the agent is told."""


@dataclass(frozen=True, kw_only=True)
class UndecidedTrick(Trick):
    lines: Sequence[str]
    options: Sequence[str] = ()
    """Of `dragoman translate`."""
    is_patient: bool = False
    """Whether the client waits for the answer to `initialize`."""


def request(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


BARE = request(1, "initialize", {"protocolVersion": 1})
EMPTY = request(1, "initialize", {"protocolVersion": 1, "capabilities": {}})
CROW = request(1, "initialize", {"protocol_version": 1, "client_capabilities": {}})
LOGIN = {"methodId": "api_key", "data": {"apiKey": KEY}}


def undecided(name: str, does: str, *lines: str, options: Sequence[str] = (), **more: Any) -> UndecidedTrick:
    said = "the person said --credentials" if options else "the person gave no leave to hand credentials on"
    return UndecidedTrick(
        name=f"an undecided client{' with --credentials' if options else ''}: {name}",
        axis="undecided clients",
        said=said,
        does=does,
        effect="the agent has the key",
        lines=lines,
        options=options,
        **more,
    )


AUTH = request(2, "authenticate", LOGIN)

UNDECIDED_TRICKS = [
    undecided("a key before the introduction", "sends authenticate first of all", AUTH, BARE),
    undecided(
        "a key at once",
        "sends initialize and authenticate together, and says nothing of itself",
        BARE,
        AUTH,
        at_first="succeeded",
    ),
    undecided(
        "a key of a client that may speak two dialects",
        "has empty capabilities",
        EMPTY,
        AUTH,
        at_first="succeeded",
    ),
    undecided("a key of a client of crow", "is a client of crow and sends data", CROW, AUTH),
    undecided(
        "a key as a notification",
        "sends authenticate without an id",
        BARE,
        json.dumps({"jsonrpc": "2.0", "method": "authenticate", "params": LOGIN}),
        at_first="succeeded",
    ),
    undecided(
        "data twice",
        "has an empty data and then a key",
        BARE,
        AUTH.replace('"data": {', '"data": {}, "data": {'),
        at_first="succeeded",
    ),
    undecided("a key in a batch", "sends the login in an array", BARE, f"[{AUTH}]", at_first="succeeded"),
    undecided(
        "a key without jsonrpc",
        "leaves the version out",
        BARE,
        AUTH.replace('"jsonrpc": "2.0", ', ""),
        at_first="succeeded",
    ),
    undecided(
        "a key before the introduction",
        "sends authenticate first of all",
        AUTH,
        BARE,
        options=["--credentials"],
    ),
    undecided(
        "a key behind the answer",
        "waits to be answered, and says nothing of itself",
        BARE,
        AUTH,
        is_patient=True,
        at_first="succeeded",
    ),
    undecided(
        "a key behind the answer, of a client that may speak two dialects",
        "waits to be answered",
        EMPTY,
        AUTH,
        is_patient=True,
        at_first="succeeded",
    ),
]

HONEST = [
    request(
        1,
        "initialize",
        {
            "protocolVersion": 1,
            "capabilities": {"fileSystem": {"readTextFile": True}},
            "clientInfo": {"name": "x", "version": "1"},
        },
    ),
    AUTH,
]
"""A client of acpex, which has a word for credentials: with `--credentials` the agent gets them."""

PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": f"{KEY} []"}]}
V1_LOGIN = {"methodId": "api_key", "_meta": {"api-key": KEY}}

NO_TRICKS = [
    [request(2, "session/prompt", PROMPT), BARE],
    [BARE, request(2, "authenticate", V1_LOGIN)],
]
"""What looks like a trick and is none: a prompt is for the agent in every dialect, and version 1 leaves
`_meta` of `authenticate` to the client and its agent. It has no `data` there, and no names of one's own.
"""
