"""Answers of JetStream that pass by themselves are asked for again."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from dragoman.errors import JournalError
from dragoman_hub.nats.connection import NatsConnection
from dragoman_hub.nats.jetstream import JetStream
from dragoman_hub.nats.replies import ServerReply


class ScriptedWire:
    """Answers in order; the last answer is repeated."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.count = 0

    async def ask(self, subject: str, data: bytes, *, within: float) -> ServerReply:
        self.count += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return ServerReply(subject, 0, {}, json.dumps(answer).encode())


def error(err_code: int) -> dict[str, Any]:
    return {"error": {"code": 404, "err_code": err_code, "description": "stream not found"}}


async def test_a_stream_that_a_server_does_not_know_yet_is_asked_for_again() -> None:
    wire = ScriptedWire(error(10059), error(10059), {"purged": 3})
    assert await JetStream(cast(NatsConnection, wire)).purge("OBJ_x", "a.>") == 3
    assert wire.count == 3


async def test_a_stream_that_is_really_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman_hub.nats.jetstream.PEER_SECONDS", 0.05)
    with pytest.raises(JournalError, match="stream not found"):
        await JetStream(cast(NatsConnection, ScriptedWire(error(10059)))).purge("OBJ_x", "a.>")
