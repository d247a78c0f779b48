"""What has no answer is said again, in its order, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

from dragoman.sdk.resumption.sent_messages import SentMessages
from dragoman.wire import decode
from dragoman.wire.envelope import Notification, Request


def keep(said: SentMessages, number: int, method: str, session: str = "s", **params: Any) -> None:
    frame = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
    request = decode(frame)
    assert isinstance(request, Request)
    said.keep(request, frame, session=session, key=f"k{number}")


def cancel(said: SentMessages, session: str = "s") -> None:
    note = decode(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}')
    assert isinstance(note, Notification)
    said.keep_cancel(note, session=session)


def again(said: SentMessages) -> list[Any]:
    found = [json.loads(frame) for _, frame in said.again()]
    return [one.get("id", one["params"].get("_meta", one["method"])) for one in found]


def test_requests_are_said_again_in_their_order_until_they_are_answered() -> None:
    said = SentMessages()
    for number in (3, 1, 2):
        keep(said, number, "session/list")
    assert again(said) == [3, 1, 2]
    assert said.settle(1) is not None
    assert said.settle(1) is None
    assert again(said) == [3, 2]


def test_a_cancel_is_said_again_while_its_turn_is_open_and_names_it() -> None:
    said = SentMessages()
    keep(said, 1, "session/prompt")
    keep(said, 2, "session/prompt", session="t")
    cancel(said)
    cancel(said)
    keep(said, 3, "session/prompt")
    assert again(said) == [1, 2, {"dragoman": {"prompts": ["k1"]}}, 3]
    said.settle(1)
    assert again(said) == [2, 3]


def test_a_cancel_of_nothing_is_not_kept() -> None:
    said = SentMessages()
    cancel(said)
    assert again(said) == []


def test_a_withdrawal_goes_with_its_request() -> None:
    said = SentMessages()
    note = decode(b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}')
    assert isinstance(note, Notification)
    keep(said, 1, "session/list")
    said.keep_withdrawal(note, 1)
    said.keep_withdrawal(note, 7)
    assert again(said) == [1, "$/cancel_request"]
    said.settle(1)
    assert again(said) == []


def test_methods_of_others_and_what_is_too_much_are_not_said_again() -> None:
    said = SentMessages(room=200)
    keep(said, 1, "_other/do")
    keep(said, 2, "_dragoman/hub/inbox")
    keep(said, 3, "session/prompt", text="x" * 300)
    assert [one.id for one in said.unrepeatable()] == [1, 3]
    assert again(said) == [2]
    keep(said, 4, "session/new", cwd="x" * 300)
    assert again(said) == [2, 4]
