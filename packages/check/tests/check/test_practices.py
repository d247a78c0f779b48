"""What guides ask for beyond the protocol: for each judge, what keeps it, breaks it, or says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_check import practices
from dragoman_check.conversation import Conversation
from dragoman_check.recording import Direction, Frame
from dragoman_check.rule import Judge
from tests.check.conversations import Said, agent, client, make_recording
from tests.every import every


def update(kind: str, /, **members: Any) -> Said:
    return agent("session/update", {"sessionId": "s", "update": {"sessionUpdate": kind, **members}})


def prompt(id: int = 2) -> Said:
    return client("session/prompt", {"sessionId": "s", "prompt": []}, id=id)


def permission(*, call: str = "t", kind: str = "allow_once") -> list[Said]:
    options = [{"optionId": "o", "name": "n", "kind": kind}]
    asked = {"sessionId": "s", "toolCall": {"toolCallId": call}, "options": options}
    return [
        agent("session/request_permission", asked, id=9),
        client(result={"outcome": {"outcome": "selected", "optionId": "o"}}, id=9),
    ]


def call(kind: str | None = "edit", status: str = "completed", id: str = "t") -> Said:
    return update("tool_call_update", toolCallId=id, status=status, **({"kind": kind} if kind else {}))


MORE = client("session/cancel", {"sessionId": "s"})
ENDED = agent(result={"stopReason": "end_turn"}, id=2)
TOLD = update("agent_message_chunk", content={"type": "text", "text": "hi"})
ASKED_ONE = client("initialize", {"protocolVersion": 1}, id=1)
INFO = {"name": "a", "version": "1"}

KEPT: list[tuple[Judge, list[Said]]] = [
    (
        practices.tool_calls_say_what_they_are,
        [update("tool_call", toolCallId="t", kind="read", status="pending")],
    ),
    (practices.version_one_is_spoken, [ASKED_ONE, agent(result={"protocolVersion": 1}, id=1)]),
    (practices.the_agent_introduces_itself, [ASKED_ONE, agent(result={"agentInfo": INFO}, id=1)]),
    (practices.a_turn_says_something_before_it_ends, [prompt(), TOLD, ENDED]),
    (practices.long_turns_are_streamed, [prompt(), TOLD, *[TOLD] * 5, ENDED]),
    (practices.what_changes_things_is_asked_for, [prompt(), *permission(), call(), ENDED]),
    (
        practices.errors_say_what_is_wrong,
        [prompt(), agent(error={"code": -32603, "message": "No model"}, id=2), MORE],
    ),
    (
        practices.errors_say_what_is_wrong,
        [
            prompt(),
            agent(error={"code": -32603, "message": "Internal error", "data": "no model"}, id=2),
            MORE,
        ],
    ),
]

BROKEN: list[tuple[Judge, list[Said]]] = [
    (practices.tool_calls_say_what_they_are, [update("tool_call", toolCallId="t", kind="read")]),
    (practices.version_one_is_spoken, [ASKED_ONE, agent(result={"protocolVersion": 2}, id=1)]),
    (practices.version_one_is_spoken, [ASKED_ONE, agent(result={"protocolVersion": True}, id=1)]),
    (practices.the_agent_introduces_itself, [ASKED_ONE, agent(result={"agentInfo": {"name": "a"}}, id=1)]),
    (practices.the_agent_introduces_itself, [ASKED_ONE, agent(result={}, id=1)]),
    (practices.a_turn_says_something_before_it_ends, [prompt(), ENDED]),
    (practices.long_turns_are_streamed, [prompt(), *[client("x")] * 6, ENDED]),
    (practices.what_changes_things_is_asked_for, [prompt(), *permission(call="another"), call(), ENDED]),
    (
        practices.errors_say_what_is_wrong,
        [prompt(), agent(error={"code": -32603, "message": "Internal error."}, id=2), MORE],
    ),
]

SILENT: list[tuple[Judge, list[Said]]] = [
    (
        practices.version_one_is_spoken,
        [client("initialize", {"protocolVersion": 2}, id=1), agent(result={}, id=1)],
    ),
    (practices.the_agent_introduces_itself, [ASKED_ONE]),
    (
        practices.a_turn_says_something_before_it_ends,
        [prompt(), agent(result={"stopReason": "refusal"}, id=2)],
    ),
    (practices.long_turns_are_streamed, [prompt(), ENDED]),
    (
        practices.what_changes_things_is_asked_for,
        [prompt(), call("execute"), call(None), call("edit", "failed")],
    ),
    (practices.what_changes_things_is_asked_for, [call()]),
    (practices.errors_say_what_is_wrong, [prompt(), agent(error={"code": -32603, "message": "error"}, id=2)]),
    (
        practices.what_changes_things_is_asked_for,
        [prompt(), *permission(kind="allow_always"), call(id="later")],
    ),
]


def seen(judge: Judge, said: list[Said]) -> list[bool]:
    return [one.is_kept for one in judge(Conversation(make_recording(*said)))]


@pytest.mark.parametrize(("judge", "said"), KEPT, ids=[judge.__name__ for judge, _ in KEPT])
def test_kept(judge: Judge, said: list[Said]) -> None:
    assert seen(judge, said) == [True]


@pytest.mark.parametrize(("judge", "said"), BROKEN, ids=[judge.__name__ for judge, _ in BROKEN])
def test_broken(judge: Judge, said: list[Said]) -> None:
    assert seen(judge, said) == [False]


@pytest.mark.parametrize(("judge", "said"), SILENT, ids=[judge.__name__ for judge, _ in SILENT])
def test_nothing_to_say(judge: Judge, said: list[Said]) -> None:
    assert seen(judge, said) == []


ODD = [b"", b"[]", b"7", b'{"method":"session/update","params":{"update":7}}', b'{"id":1,"result":[]}']
ODD += [
    b'{"method":"session/update","params":{"sessionId":{},"update":{"sessionUpdate":"tool_call","kind":[]}}}',
    b'{"id":1,"method":"initialize","params":[]}',
    b'{"id":3,"method":"session/request_permission","params":{"sessionId":[],"toolCall":7,"options":7}}',
    b'{"id":3,"result":{"outcome":{"optionId":{}}}}',
    b'{"id":3,"error":{"message":[1]}}',
]


@every(
    "judge",
    [
        one
        for one in vars(practices).values()
        if getattr(one, "__module__", "") == practices.__name__ and not one.__name__.startswith("_")
    ],
)
def test_no_frame_makes_a_judge_raise(judge: Judge) -> None:
    ways: tuple[Direction, ...] = ("to_agent", "to_client")
    frames = [Frame(number, ways[number % 2], 0.0, raw) for number, raw in enumerate([*ODD, b"{}", *ODD], 1)]
    recording = make_recording()
    recording.frames = frames
    list(judge(Conversation(recording)))
