"""What a conversation tells about itself."""

from __future__ import annotations

import json
from typing import Any

from dragoman_local.journal import Direction, Entry
from dragoman_local.journal.stream_facts import TITLE, StreamFacts
from tests.every import every


def learnt(*frames: tuple[Direction, Any]) -> dict[str, str]:
    learner, known = StreamFacts(), dict[str, str]()
    for direction, value in frames:
        frame = value if isinstance(value, bytes) else json.dumps(value).encode()
        known |= learner.read(Entry(direction, frame, 0.0))
    return known


def asked(method: str, request_id: Any = 1, **params: Any) -> tuple[Direction, Any]:
    return "to_agent", {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def answered(request_id: Any = 1, **result: Any) -> tuple[Direction, Any]:
    return "to_client", {"jsonrpc": "2.0", "id": request_id, "result": result}


PROMPT = asked("session/prompt", 3, sessionId="s1", prompt=[{"type": "text", "text": "Please\n  sing"}])


def test_a_usual_conversation_describes_itself() -> None:
    assert learnt(
        asked("initialize", 0, protocolVersion=1),
        answered(0, protocolVersion=1, agentInfo={"name": "echo", "version": "1"}),
        asked("session/new", 1, cwd="/home", mcpServers=[]),
        answered(1, sessionId="s1"),
        PROMPT,
        answered(3, stopReason="end_turn"),
    ) == {"agent": "echo", "cwd": "/home", "session": "s1", "title": "Please sing", "state": "end_turn"}


def test_a_loaded_session_is_known_by_its_request() -> None:
    assert learnt(asked("session/load", sessionId="s9", cwd="/x")) == {"session": "s9", "cwd": "/x"}


def test_the_agents_own_title_is_better_than_the_prompt() -> None:
    update = {"sessionUpdate": "session_info_update", "title": "About songs"}
    told = "to_client", {"method": "session/update", "params": {"sessionId": "s", "update": update}}
    assert learnt(told, PROMPT)["title"] == "About songs"  # type: ignore[arg-type]
    assert learnt(PROMPT, told)["title"] == "About songs"  # type: ignore[arg-type]


def test_a_conversation_that_goes_on_from_another_keeps_its_title() -> None:
    note = "note", {"continues": {"stream": "first", "title": "About songs"}}
    update = {"sessionUpdate": "session_info_update", "title": "This conversation goes on from an earlier"}
    told = "to_client", {"method": "session/update", "params": {"sessionId": "s", "update": update}}
    assert learnt(note, PROMPT, told)["title"] == "About songs"  # type: ignore[arg-type]
    assert learnt(("note", {"continues": {"stream": "first"}}), PROMPT)["title"] == "Please sing"  # type: ignore[arg-type]


def test_the_first_prompt_gives_the_title_and_a_secret_in_it_does_not_show() -> None:
    second = asked("session/prompt", 4, sessionId="s", prompt=[{"type": "text", "text": "Again"}])
    assert learnt(PROMPT, second)["title"] == "Please sing"
    key = "ghp_" + "a1B2" * 9
    secret = asked("session/prompt", prompt=[{"type": "text", "text": f"use {key}"}])
    assert learnt(secret)["title"] == "use [redacted]"
    long = asked("session/prompt", prompt=[{"type": "text", "text": "word " * 100}])
    assert len(learnt(long)["title"]) == TITLE


def test_a_turn_that_failed_says_so() -> None:
    failure = "to_client", {"id": 3, "error": {"code": -32603, "message": "no"}}
    assert learnt(PROMPT, failure)["state"] == "failed"  # type: ignore[arg-type]


@every(
    "frame",
    [
        b'{"method":"session/new","params":[]}',
        b'{"id":[1],"method":"session/prompt","params":{"prompt":{}}}',
        b'["session/prompt"]',
        b'{"id":1,"method":"initialize","params":{"agentInfo":1}}',
        b'"initialize"',
        b"\xff initialize",
    ],
)
def test_what_makes_no_sense_teaches_nothing(frame: bytes) -> None:
    answer = b'{"id":1,"result":{"agentInfo":[]}}'
    assert learnt(("to_agent", frame), ("to_client", answer)).keys() <= {"state"}
