from typing import Any

import pytest

from dragoman_app.tui.conversation import ChatConversation
from dragoman_app.tui.drawing.status import footer, heading
from dragoman_app.tui.model.facts import Facts
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import ChatEvent, UpdatesBehind


class Talk:
    def __init__(self, behind: UpdatesBehind | None) -> None:
        self.behind = behind


def shown(*happenings: ChatEvent, behind: UpdatesBehind | None = None, width: int = 100) -> str:
    conversation = ChatConversation(Transcript(), lambda: None)
    conversation.state = "running"
    chat: Any = Talk(behind)
    conversation.chat = chat
    for event in happenings:
        conversation.on_chat_event(event)
    return footer(conversation, width).plain


def away(seconds: float = 500.0) -> ChatEvent:
    return ChatEvent(kind="away", text="the hub\x1b[31m went", seconds=seconds)


def test_a_cut_connection_is_told_with_its_reason_and_the_next_attempt() -> None:
    line = shown(away())
    assert line.startswith("◌ away ")
    assert "trying again in" in line
    assert "the hub␛[31m went" in line
    assert "working" not in line


def test_an_attempt_that_is_due_is_not_in_zero_seconds() -> None:
    assert ", trying again · " in shown(away(0.0))


def test_a_server_that_was_never_there_was_not_lost() -> None:
    line = shown(ChatEvent(kind="unreached", text="refused", seconds=500.0))
    assert line.startswith("◌ no connection yet, trying again in")


@pytest.mark.parametrize(
    "after",
    [
        ChatEvent(kind="back", text="", seconds=3.0),
        ChatEvent(kind="died", text="the token was taken back"),
    ],
)
def test_when_it_is_over_it_is_not_told_any_more(after: ChatEvent) -> None:
    assert "away" not in shown(away(), after)


def test_since_when_it_is_away_does_not_begin_anew_with_each_attempt() -> None:
    conversation = ChatConversation(Transcript(), lambda: None)
    conversation.on_chat_event(away())
    assert conversation.away is not None
    since = conversation.away.since
    conversation.on_chat_event(away(700.0))
    assert conversation.away.since == since
    assert conversation.away.again > since + 600


def test_what_is_still_to_come_is_counted() -> None:
    assert " · behind by 1,200 updates · " in shown(behind=UpdatesBehind(updates=1200, or_more=False))
    assert "behind by 200 or more updates" in shown(behind=UpdatesBehind(updates=200, or_more=True))
    assert "behind" not in shown()


def test_a_narrow_screen_keeps_what_matters() -> None:
    line = shown(away(), width=40)
    assert len(line) <= 40
    assert line.startswith("◌ away ")
    assert "trying again in" in line


def test_the_heading_keeps_the_title_and_the_end_of_a_long_path() -> None:
    facts = Facts()
    facts.title = "Plums [b]"
    line = heading("claude", "/tmp/" + "deep/" * 30 + "project", facts, 78).plain
    assert line.startswith("claude · …")
    assert line.rstrip().endswith("/project · Plums [b]")
    assert len(line) <= 78
    line = heading("claude", "/project", facts, 78, sandbox="workspace").plain
    assert line.startswith("claude · /project · sandbox workspace · Plums")
