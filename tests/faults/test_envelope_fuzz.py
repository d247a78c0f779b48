"""Three thousand messages that were good once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.faults.cases import cases
from tests.faults.talk import line, notification, opening, prompt, request
from tests.faults.trial_agents import Command, forked

pytestmark = pytest.mark.bound(60)

COUNT = 3000
ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", "\u0000", [], {}, [[]], 2**70, "é" * 50, {"_meta": {}}]

NAMES = ["id", "method", "params", "result", "error", "_meta", "x"]
SYNTAX = b'"{}[],:\\\0\xff\n'


def good(session: str) -> list[dict[str, Any]]:
    # No `session/close` and no `initialize`: the session must be there at the end.
    return [
        request(1, "session/new", {"cwd": "/tmp", "mcpServers": []}),
        prompt(2, session, "hello"),
        prompt(3, session, "/plan"),
        request(4, "session/set_mode", {"sessionId": session, "modeId": "bench"}),
        notification("session/cancel", {"sessionId": session}),
        notification("$/cancel_request", {"requestId": 2}),
        {"jsonrpc": "2.0", "id": 1, "result": {"outcome": {"outcome": "cancelled"}}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x"}},
        request(5, "_vendor/thing", {"a": [1, {"b": None}]}),
    ]


def mutated_value(value: Any, dice: random.Random) -> Any:
    """The same with one member changed, dropped or added somewhere."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        name = dice.choice(sorted(value))
        match dice.randrange(4):
            case 0:
                return {key: inner for key, inner in value.items() if key != name}
            case 1:
                return {**value, name: dice.choice(ODD)}
            case 2:
                return {
                    **value,
                    dice.choice(NAMES): dice.choice(ODD),
                }
            case _:
                return {**value, name: mutated_value(value[name], dice)}
    if isinstance(value, list) and value and dice.random() < 0.8:
        at = dice.randrange(len(value))
        return [*value[:at], mutated_value(value[at], dice), *value[at + 1 :]]
    return dice.choice(ODD)


def mutated_text(text: bytes, dice: random.Random) -> bytes:
    """The same with a few bytes changed, dropped, doubled or swapped."""
    data = bytearray(text)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data))
        match dice.randrange(5):
            case 0:
                data[at] = dice.randrange(256)
            case 1:
                del data[at : at + dice.randint(1, 9)]
            case 2:
                data[at:at] = data[at : at + dice.randint(1, 20)]
            case 3:
                data[at:at] = dice.choice(
                    [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\0", b"\xff", b"\n"]
                )
            case _:
                data[at] ^= 1 << dice.randrange(8)
        if not data:
            return b"\n"
    return bytes(data)


def messages(seed: int, session: str) -> list[bytes]:
    dice = random.Random(seed)
    made = []
    for _ in range(COUNT):
        message = dice.choice(good(session))
        if dice.random() < 0.5:
            made.append(line(mutated_value(message, dice)))
        else:
            made.append(mutated_text(json.dumps(message).encode(), dice) + b"\n")
    return made


@cases({"ENV-29": 1, "ENV-X30": 2})
async def test_mutated_messages_do_no_harm(agent: Command, case: int) -> None:
    async with opening(forked(agent)) as talk:
        fuzz = messages(case, talk.session)
        for at in range(0, COUNT, 500):
            await talk.replies(*fuzz[at : at + 500], seconds=30)
        await talk.replies(
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": talk.session}}
        )
        await talk.turn(
            "last in line"
        )  # prompts among the fuzz have their turns before it, and are heard with it
        await talk.echoes()
        assert talk.peer.returncode is None
        assert "Traceback" not in talk.peer.stderr
