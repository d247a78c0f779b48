"""Which refusal belongs to which line, and who has read what."""

from __future__ import annotations

from dragoman_check.conversation import Conversation
from dragoman_check.replies import (
    client_capability_at,
    has_fallen_silent,
    is_no_json,
    proof,
    refusals_without_line,
    restarts,
    strays,
)
from tests.check.conversations import Said, agent, client, make_recording
from tests.check.rules.talks import Talk, breaks

ASK, TOLD = client("session/list", {}, id=1), agent(id=1, result={})
BROKEN: Said = ("to_agent", b"{")


def refusal(code: int) -> Said:
    return agent(id=None, error={"code": code, "message": "No."})


def conversation(*said: Said, **facts: object) -> Conversation:
    return Conversation(make_recording(*said, facts=dict(facts)))


def matched(*said: Said) -> list[int | None]:
    """The number of the reply to each stray line to the agent."""
    return [stray.reply.number if stray.reply else None for stray in strays(conversation(*said), "agent")]


def test_refusals_are_matched_in_order() -> None:
    assert matched(BROKEN, BROKEN, refusal(-32700), refusal(-32700)) == [3, 4]
    assert matched(BROKEN, refusal(-32700), BROKEN) == [2, None]
    assert matched(refusal(-32700), BROKEN) == [None]


def test_a_line_waits_until_a_later_request_is_answered() -> None:
    second: Said = ("to_agent", b"42")
    assert matched(BROKEN, ASK, TOLD, second, refusal(-32600)) == [None, 5]
    assert matched(BROKEN, ASK, refusal(-32700), TOLD) == [3]
    assert matched(BROKEN, ASK, TOLD, refusal(-32700)) == [4], "overtaken"


def test_a_refusal_of_a_method_is_about_a_notification() -> None:
    told = conversation(client("nope", {}), BROKEN, refusal(-32601), refusal(-32700))
    assert [stray.reply.number for stray in strays(told, "agent") if stray.reply] == [4]
    assert [frame.number for frame in refusals_without_line(told, "agent")] == [3]


def test_an_answer_shows_that_everything_before_it_was_read() -> None:
    late = client("session/list", {}, id=2)
    known = proof(conversation(ASK, late, BROKEN, agent(id=2, result={}), TOLD), "agent")
    assert known.after(1) == 4
    assert known.after(2) is None, "the line after the last request may not have been read"


def test_another_connection_proves_nothing() -> None:
    hello, there = client("initialize", {}, id=0), agent(id=0, result={})
    told = conversation(hello, there, BROKEN, hello, there)
    assert restarts(told) == [4]
    assert proof(told, "agent").after(3) is None


def test_silence_counts_when_somebody_was_asked_and_the_recording_is_whole() -> None:
    frames = (BROKEN, ASK)
    assert has_fallen_silent(conversation(*frames, exit=1), "agent", conversation(*frames).frames[0])
    assert not has_fallen_silent(conversation(*frames), "agent", conversation(*frames).frames[0])
    assert not has_fallen_silent(
        conversation(*frames, TOLD, exit=1), "agent", conversation(*frames).frames[0]
    )
    assert not has_fallen_silent(conversation(BROKEN, exit=1), "agent", conversation(BROKEN).frames[0])


def test_what_some_readers_forgive_is_json() -> None:
    assert is_no_json(b"{")
    assert is_no_json(b"Loading models")
    assert is_no_json(b"")
    for forgiven in (b"\xef\xbb\xbf{}", b'"\xff"', rb'"\ud800"', b"1e999", b"[" * 100_000):
        assert not is_no_json(forgiven)


def test_what_counts_was_said_on_the_same_connection() -> None:
    def connection(terminal: bool) -> Talk:
        return (
            Talk(wants={"terminal": terminal})
            .new("s")
            .ask("terminal/create", {"sessionId": "s", "command": "x"})
        )

    both = connection(True)
    both.add(*connection(False).said)
    conversation = Conversation(both.recording)
    first, second = conversation.calls("terminal/create")
    assert client_capability_at(conversation, first.request, "terminal") is True
    assert client_capability_at(conversation, second.request, "terminal") is False
    breaks("TERM-01", both)


def test_another_handshake_on_the_same_connection_changes_nothing() -> None:
    said = [
        client("initialize", {"clientCapabilities": {"terminal": True}}, id=1),
        agent(result={"protocolVersion": 1}, id=1),
        client("initialize", {"clientCapabilities": {}}, id=2),
        agent(result={"protocolVersion": 1}, id=2),
        agent("terminal/create", {}, id=1),
    ]
    conversation = Conversation(make_recording(*said))
    assert client_capability_at(conversation, conversation.frames[-1], "terminal") is True
    assert client_capability_at(conversation, conversation.frames[-1], "terminal", "deeper") is None
