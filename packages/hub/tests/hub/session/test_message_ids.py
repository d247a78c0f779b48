from __future__ import annotations

import json
from typing import Any

from dragoman_hub.session.frames import BlockLines
from dragoman_hub.session.message_ids import MessageIds


def chunk(words: str, kind: str = "agent_message_chunk", **more: Any) -> bytes:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": words}, **more}
    return written({"sessionId": "s", "update": update})


def written(params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def ids(frames: Any) -> list[Any]:
    return [json.loads(frame)["params"]["update"].get("messageId") for frame in frames]


def test_pieces_of_one_kind_in_a_row_are_one_message() -> None:
    messages = MessageIds()
    first = messages.stamp("s", [chunk("a"), chunk("b")], turn="t", sequence=7)
    block = BlockLines(chunk("c") + b"\n" + chunk("d") + b"\n")
    second = messages.stamp("s", block, turn="t", sequence=9)
    assert ids(first) == ids(second) == ["message-7"] * 2
    assert messages.go_on([chunk("e")], turn="t") == messages.stamp("s", [chunk("e")], turn="t", sequence=11)
    thought = messages.stamp("s", [chunk("e", "agent_thought_chunk"), chunk("f")], turn="t", sequence=11)
    assert ids(thought) == ["message-11", "message-12"]


def test_a_tool_call_and_a_turn_begin_another_message() -> None:
    messages = MessageIds()
    call = written(
        {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "x"}}
    )
    usage = written({"sessionId": "s", "update": {"sessionUpdate": "usage_update", "used": 1, "size": 2}})
    told = messages.stamp("s", [chunk("a"), usage, chunk("b"), call, chunk("c")], turn="t", sequence=1)
    assert ids(told) == ["message-1", None, "message-1", None, "message-5"]
    assert told[1] == usage
    assert told[3] == call
    assert ids(messages.stamp("s", [chunk("d")], turn="u", sequence=6)) == ["message-6"]


def test_an_id_of_the_agent_stays() -> None:
    messages = MessageIds()
    own = chunk("a", messageId="mine")
    assert messages.stamp("s", [own], turn="t", sequence=1) == [own]
    assert ids(messages.stamp("s", [chunk("b"), own, chunk("c")], turn="t", sequence=2)) == [
        *("message-2", "mine", "message-4")
    ]
    talkative = chunk('it says "messageId" here')
    assert ids(messages.stamp("s", [talkative], turn="t", sequence=5)) == ["message-4"]


def test_a_frame_that_is_written_in_another_way_gets_its_id_too() -> None:
    messages = MessageIds()
    update = {"content": {"type": "text", "text": "a"}, "sessionUpdate": "agent_message_chunk"}
    odd = json.dumps({"method": "session/update", "params": {"update": update, "sessionId": "s"}}).encode()
    told = messages.stamp("s", [odd, chunk("b")], turn="t", sequence=1)
    assert ids(told) == ["message-1"] * 2
    assert messages.stamp("s", [b"{}"], turn="t", sequence=3) == [b"{}"]
