"""What a person sees of a recording that grows."""

from __future__ import annotations

import json
from typing import Any

from dragoman_check.trace.live import Live
from dragoman_local.journal.contract import Direction, Entry


def entry(direction: Direction, message: Any, *, at: float = 0.0) -> Entry:
    return Entry(direction, message if isinstance(message, bytes) else json.dumps(message).encode(), at)


def told(*entries: Entry) -> list[str]:
    live = Live()
    lines = [line for one in entries for line in live.tell(one)]
    return [line.split(" ", 1)[1] if line[2:3] == ":" else line.strip() for line in [*lines, *live.rest()]]


def chunk(text: str) -> Entry:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return entry("to_client", {"method": "session/update", "params": {"sessionId": "s", "update": update}})


def test_requests_are_shown_with_their_answers_and_how_long_they_took() -> None:
    asked = entry("to_agent", {"id": 1, "method": "session/new", "params": {"cwd": "/p"}}, at=10.0)
    answered = entry("to_client", {"id": 1, "result": {"sessionId": "s1"}}, at=10.25)
    assert told(asked, answered) == [
        "──▶ session/new (id 1): /p",
        "◀── session/new: sessionId s1 after 250 ms",
    ]


def test_streamed_text_is_gathered_into_one_line() -> None:
    done = entry("to_client", {"id": 1, "error": {"code": -32603, "message": "no"}})
    assert told(chunk("Hel"), chunk("lo"), done) == [
        "◀── agent_message: Hello (2 pieces)",
        "◀── an answer: ERROR -32603 no, which was never requested",
    ]


def test_open_permissions_stand_out() -> None:
    asked = entry(
        "to_client",
        {"id": "p", "method": "session/request_permission", "params": {"toolCall": {"title": "rm -r x"}}},
    )
    assert told(asked) == [
        "◀── session/request_permission (id p): PERMISSION for rm -r x",
        "still open: session/request_permission (id p)",
    ]


def test_nothing_that_was_said_can_command_the_terminal() -> None:
    lines = told(chunk("\x1b]0;evil\x07\x1b[2J\nnext"), entry("to_client", b"\x1b[31m not json"))
    assert all(line.isprintable() for line in lines)


def test_anything_may_be_in_a_recording() -> None:
    odd: list[Any] = [
        1,
        [],
        {"id": {}},
        {"method": 5, "id": []},
        {"method": "session/update", "params": {"update": 3}},
    ]
    for message in odd:
        for direction in ("to_agent", "to_client", "note"):
            told(entry(direction, message))
    told(entry("note", b"\xff"))
