"""What a client offered, where a recording holds several connections."""

from __future__ import annotations

from dragoman.check.offers import offered
from dragoman.check.story import Story
from tests.check.conversations import agent, client, conversation
from tests.check.rules.talks import Talk, breaks


def test_what_counts_was_said_on_the_same_connection() -> None:
    def connection(terminal: bool) -> Talk:
        return (
            Talk(wants={"terminal": terminal})
            .new("s")
            .ask("terminal/create", {"sessionId": "s", "command": "x"})
        )

    both = connection(True)
    both.add(*connection(False).said)
    story = Story(both.recording)
    first, second = story.calls("terminal/create")
    assert offered(story, first.request, "terminal") is True
    assert offered(story, second.request, "terminal") is False
    breaks("TERM-01", both)


def test_another_handshake_on_the_same_connection_changes_nothing() -> None:
    said = [
        client("initialize", {"clientCapabilities": {"terminal": True}}, id=1),
        agent(result={"protocolVersion": 1}, id=1),
        client("initialize", {"clientCapabilities": {}}, id=2),
        agent(result={"protocolVersion": 1}, id=2),
        agent("terminal/create", {}, id=1),
    ]
    story = Story(conversation(*said))
    assert offered(story, story.frames[-1], "terminal") is True
    assert offered(story, story.frames[-1], "terminal", "deeper") is None
