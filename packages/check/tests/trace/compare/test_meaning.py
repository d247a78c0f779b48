"""Recordings that mean the same although nothing in them is equal, and those that do not."""

from __future__ import annotations

import json
from typing import Any

from dragoman_check.trace.compare.meaning import compare, meaning
from dragoman_local.journal.contract import Direction, Entry


def entry(direction: Direction, message: Any) -> Entry:
    return Entry(direction, json.dumps(message).encode(), 0.0)


def talk(
    *, session: str, cwd: str, pieces: list[str], first: int, option: str = "y", stop: str = "end_turn"
) -> list[Entry]:
    """A session with one turn, in one of many ways to say it."""

    def update(**fields: Any) -> Entry:
        return entry(
            "to_client", {"method": "session/update", "params": {"sessionId": session, "update": fields}}
        )

    ask = {
        "sessionId": session,
        "toolCall": {"toolCallId": f"{session}-c", "title": f"Write {cwd}/a.py"},
        "options": [
            {"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "n", "kind": "reject_once"},
        ],
    }
    return [
        entry("to_agent", {"id": first, "method": "session/new", "params": {"cwd": cwd, "mcpServers": []}}),
        entry("to_client", {"id": first, "result": {"sessionId": session}}),
        entry(
            "to_agent",
            {
                "id": first + 1,
                "method": "session/prompt",
                "params": {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]},
            },
        ),
        *(
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": piece})
            for piece in pieces
        ),
        update(
            sessionUpdate="tool_call", toolCallId=f"{session}-c", title=f"Write {cwd}/a.py", status="pending"
        ),
        entry("to_client", {"id": first + 2, "method": "session/request_permission", "params": ask}),
        entry(
            "to_agent", {"id": first + 2, "result": {"outcome": {"outcome": "selected", "optionId": option}}}
        ),
        update(sessionUpdate="tool_call_update", toolCallId=f"{session}-c", status="completed"),
        entry("to_client", {"id": first + 1, "result": {"stopReason": stop}}),
    ]


ONE = talk(session="abc", cwd="/home/a/project", pieces=["Hello", " there"], first=1)


def test_ids_pieces_and_folders_do_not_count() -> None:
    other = talk(session="xyz", cwd="/tmp/b", pieces=["He", "l", "lo the", "re"], first=500)
    assert compare(ONE, other) == []


def test_what_was_said_decided_and_how_it_ended_counts() -> None:
    other = talk(session="abc", cwd="/p", pieces=["Hello you"], first=1, option="n", stop="refusal")
    assert [(one.side, one.line) for one in compare(ONE, other)] == [
        ("-", "agent_message: Hello there"),
        ("+", "agent_message: Hello you"),
        ("-", "permission: selected allow_once"),
        ("+", "permission: selected reject_once"),
        ("-", "turn ended: end_turn"),
        ("+", "turn ended: refusal"),
    ]


def test_the_meaning_is_readable() -> None:
    assert meaning(ONE) == [
        "# session 1",
        "new session",
        "prompt: go",
        "agent_message: Hello there",
        "tool call 1",
        "  title: Write $CWD/a.py",
        "  status: completed",
        "permission asked: Write $CWD/a.py",
        "permission: selected allow_once",
        "turn ended: end_turn",
    ]


def test_order_between_sessions_does_not_count() -> None:
    two = talk(session="two", cwd="/q", pieces=["Hi"], first=50)
    mixed = [
        ONE[0],
        ONE[1],
        two[0],
        two[1],
        *(entry for pair in zip(ONE[2:], two[2:], strict=False) for entry in pair),
    ]
    mixed += ONE[2 + len(two) - 2 :]
    straight = [*ONE[:2], *two[:2], *ONE[2:], *two[2:]]
    assert compare(mixed, straight) == []


def test_anything_may_be_in_a_recording() -> None:
    odd: list[Any] = [
        5,
        [],
        {"id": {}},
        {"method": "session/update", "params": {"update": {"sessionUpdate": "plan", "entries": [1]}}},
    ]
    for message in odd:
        for direction in ("to_agent", "to_client", "note"):
            meaning([entry(direction, message)])
