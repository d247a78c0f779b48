"""Recorded conversations of real v1 agents, as a v2 client would have had them: every frame that it gets is
v2, by our own strict reading and by the official validators.

The recorded client spoke v1; what it asked is asked in v2 here.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from dragoman.dialect import Message
from dragoman.dialect.message import Object, as_list, as_object, decode, request, update_of, with_params
from tests.dialect.v2.client_play import Play, deviations, judged, refused_by_typescript
from tests.every import every
from tests.interop.judges import Sent
from tests.interop.programs import needs_node
from tests.interop.recordings import ELSEWHERE, FIXTURES, Conversation, conversations

FOLDER = ELSEWHERE / "agents-v1"
RECORDINGS = sorted(FOLDER.glob("*.ndjson"))
needs_recordings = pytest.mark.skipif(
    not RECORDINGS, reason=f"needs recordings of real agents in {FOLDER.name}"
)


class Replayed(Play):
    """One conversation, told to the edge frame by frame."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self.asked: dict[Any, str] = {}
        for frame in conversation.frames:
            message = None if frame.verbatim else decode(frame.raw)
            if message is None:
                continue  # what is no JSON-RPC is no edge's business
            if frame.to == "client":
                self.agent(message)
            elif (said := self._in_v2(message)) is not None:
                if said.is_request:
                    self.asked[said.id] = str(said.method)
                self.client(said)

    def _in_v2(self, message: Message) -> Message | None:
        params = as_object(message.params)
        match message.method:
            case "initialize":
                told = {"protocolVersion": 2, "info": params.get("clientInfo", {}), "capabilities": {}}
                return with_params(message, told)
            case "authenticate":
                return request(message.id, "auth/login", params)
            case "session/new" | "session/resume" | "session/fork":
                return with_params(message, _setup(params))
            case "session/load":
                replay = {**_setup(params), "replayFrom": {"type": "start"}}
                return request(message.id, "session/resume", replay)
            case "session/set_mode":
                wanted = {"configId": self._mode(params), "type": "id", "value": params.get("modeId")}
                return request(
                    message.id, "session/set_config_option", {"sessionId": params.get("sessionId"), **wanted}
                )
            case "session/set_config_option":
                return with_params(message, {"type": "id", **params})
        return message

    def _mode(self, params: Object) -> str:
        """The option that the session's modes were offered as."""
        session = self.edge._desk.sessions.get(params.get("sessionId", ""))
        offered = session.config.listed_options if session is not None else []
        return next((one["configId"] for one in offered if one.get("category") == "mode"), "mode")


def _setup(params: Object) -> Object:
    listed = [{"type": "stdio", **as_object(server)} for server in as_list(params.get("mcpServers"))]
    return {**params, "mcpServers": listed}


@cache
def replayed(path: Path) -> list[Replayed]:
    return [Replayed(conversation) for conversation in conversations(path)]


def emitted(paths: list[Path]) -> list[Sent]:
    return [
        sent
        for path in paths
        for conversation in replayed(path)
        for sent in judged(conversation.to_client, conversation.asked)
    ]


STORED = sorted(FIXTURES.glob("*.ndjson"))
"""What real agents were seen to do, as we wrote it down ourselves."""


@every("path", STORED, ids=lambda path: path.stem)
def test_what_agents_were_seen_to_do_is_v2_to_our_own_strict_reading(path: Path) -> None:
    assert deviations(emitted([path])) == []


@needs_node
def test_what_agents_send_is_v2_to_the_official_validators() -> None:
    sent = emitted([*STORED, *RECORDINGS])
    assert refused_by_typescript(sent) == []
    assert len(sent) > 60


@needs_recordings
def test_every_frame_from_a_real_agent_is_v2_to_our_own_strict_reading() -> None:
    sent = emitted(RECORDINGS)
    assert deviations(sent) == []
    assert len(sent) > 2_000


@needs_recordings
@every("path", RECORDINGS, ids=lambda path: path.stem)
def test_each_request_that_was_answered_then_is_answered_once_now(path: Path) -> None:
    for conversation, recorded in zip(replayed(path), conversations(path), strict=True):
        answers = Counter(message.id for message in conversation.to_client if message.is_answer)
        messages = [decode(frame.raw) for frame in recorded.frames if frame.to == "client"]
        answered = {message.id for message in messages if message is not None and message.is_answer}
        assert {answers[request_id] for request_id in conversation.asked.keys() & answered} == {1}


@needs_recordings
@every("path", RECORDINGS, ids=lambda path: path.stem)
def test_each_acknowledged_prompt_is_a_message_that_runs_until_it_is_idle(path: Path) -> None:
    for conversation in replayed(path):
        prompts = {one for one, method in conversation.asked.items() if method == "session/prompt"}
        taken = [one for one in conversation.to_client if one.id in prompts and one.result is not UNSET]
        updates = [update_of(one) for one in conversation.to_client]
        said = [
            one["messageId"]
            for one in updates
            if one.get("sessionUpdate") == "user_message" and one["content"]  # a replay empties it first
        ]
        assert said == [one.result["messageId"] for one in taken]
        ends = [one for one in updates if one.get("state") == "idle" and "stopReason" in one]
        assert len(ends) == len(taken)
