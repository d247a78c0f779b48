"""What would end the connection to a hub, again and again, is answered on this side of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.sdk.resumption.resumption import Resumption


def introduced(**told: Any) -> Resumption:
    made = Resumption(client="client-1")
    made.on_open()
    made.say(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n')
    ours = {"hub": "0.1.0", **told}
    result = {"protocolVersion": 1, "_meta": {"dragoman": ours}}
    made.hear(json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode() + b"\n")
    made.to_hub.clear()
    made.to_editor.clear()
    return made


def refusal(made: Resumption) -> tuple[Any, int]:
    (answer,) = map(json.loads, made.to_editor)
    return answer["id"], answer["error"]["code"]


@pytest.mark.parametrize(
    ("line", "code"), [(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700), (b"7", -32600)]
)
def test_what_is_no_message_does_not_get_to_the_hub(line: bytes, code: int) -> None:
    made = introduced()
    made.say(line)
    assert made.to_hub == []
    assert refusal(made) == (None, code)


def test_a_request_that_is_too_large_is_refused() -> None:
    made = introduced(message=1000)
    made.say(b'{"jsonrpc":"2.0","id":5,"method":"session/list","params":{"x":"%b"}}' % bytes(b"x" * 1000))
    assert made.to_hub == []
    assert refusal(made) == (5, -32600)
    made.say(b'{"jsonrpc":"2.0","id":6,"method":"session/list","params":{}}')
    assert len(made.to_hub) == 1


def test_an_answer_that_is_too_large_is_an_error_to_the_hub() -> None:
    made = introduced(message=1000)
    asked = {"sessionId": "s", "path": "/x", "_meta": {"dragoman": {"request": "3"}}}
    question = {"jsonrpc": "2.0", "id": 8, "method": "fs/read_text_file", "params": asked}
    made.hear(json.dumps(question).encode() + b"\n")
    number = json.loads(made.to_editor[0])["id"]
    made.say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":"%b"}}' % (number, b"x" * 1000))
    (told,) = map(json.loads, made.to_hub)
    assert (told["id"], told["error"]["code"]) == (8, -32603)


def test_an_id_that_is_in_use_is_refused_and_the_first_request_answered() -> None:
    made = introduced()
    for _ in range(2):
        made.say(b'{"jsonrpc":"2.0","id":9,"method":"session/list","params":{}}')
    assert len(made.to_hub) == 1
    assert refusal(made) == (9, -32600)
    made.hear(b'{"jsonrpc":"2.0","id":9,"result":{"sessions":[]}}\n')
    assert json.loads(made.to_editor[1])["result"] == {"sessions": []}
