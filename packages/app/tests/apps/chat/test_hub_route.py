import asyncio
import socket
from typing import Any

import pytest

from dragoman.errors import LinkClosed
from dragoman.schema import v1
from dragoman.sdk.resumption import ConnectionNotice
from dragoman_app.apps.chat import hub_route
from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.apps.chat.hub_route import PAGE, HubRoute, MissedUpdates, count_missed
from dragoman_app.tui.ports import ChatEvent, ChatRequest, UpdatesBehind
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet

SAID = v1.AgentMessageChunk(content=v1.TextContent(text="x"))
OWN = v1.UserMessageChunk(content=v1.TextContent(text="x"))


def told(*kinds: str, more: bool = False) -> dict[str, Any]:
    """What a hub tells of the end of a session; the cursors are 1, 2, …"""
    messages = [
        {"cursor": str(number), "message": {"params": {"update": {"sessionUpdate": kind}} if kind else {}}}
        for number, kind in enumerate(kinds, 1)
    ]
    return {"messages": messages, "more": more}


PAGE_OF_FIVE = told("user_message_chunk", "agent_message_chunk", "", "tool_call", "agent_message_chunk")


@pytest.mark.parametrize(
    ("answer", "cursor", "count"),
    [
        (PAGE_OF_FIVE, "1", (3, False)),
        (PAGE_OF_FIVE, "3", (2, False)),
        (PAGE_OF_FIVE, "5", (0, False)),
        (PAGE_OF_FIVE, "0", (0, False)),  # one that is not there is no place to count from
        ({**PAGE_OF_FIVE, "more": True}, "0", (3, True)),
        (None, "1", (0, False)),
        ({"messages": "many"}, "1", (0, False)),
        ({"messages": [7, {"cursor": "1"}, {"cursor": "2", "message": 7}]}, "1", (0, False)),
    ],
)
def test_what_stands_behind_the_cursor_is_counted(answer: Any, cursor: str, count: tuple[int, bool]) -> None:
    assert count_missed(answer, cursor) == count


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_route, "SILENCE", 600.0)


async def test_what_is_behind_is_counted_down_until_all_of_it_is_here(patient: None) -> None:
    pages = iter(
        [told("agent_message_chunk", "agent_message_chunk", more=True), told("", "agent_message_chunk")]
    )
    cursors = iter(["far back", "1"])
    asked = asyncio.Event()

    async def history(limit: int) -> Any:
        assert limit == PAGE
        asked.set()
        return next(pages)

    async def page() -> None:
        await asked.wait()
        asked.clear()
        await asyncio.sleep(0)

    arrears = MissedUpdates()
    task = asyncio.create_task(arrears.catch_up(history, lambda: next(cursors)))
    await page()
    assert arrears.behind == UpdatesBehind(updates=2, or_more=True)
    arrears.hear(SAID)
    arrears.hear(OWN)
    assert arrears.behind == UpdatesBehind(updates=1, or_more=True)
    arrears.hear(SAID)
    await page()
    assert arrears.behind == UpdatesBehind(updates=1, or_more=False)
    arrears.hear(SAID)
    await task
    assert arrears.behind is None


async def test_what_does_not_come_is_not_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_route, "SILENCE", 0.0)

    async def history(limit: int) -> Any:
        return told("", "tool_call")

    arrears = MissedUpdates()
    await arrears.catch_up(history, lambda: "1")
    assert arrears.behind is None


async def test_when_a_turn_has_ended_nothing_of_it_is_missing(patient: None) -> None:
    asked = asyncio.Event()

    async def history(limit: int) -> Any:
        asked.set()
        return told("", "tool_call")

    arrears = MissedUpdates()
    task = asyncio.create_task(arrears.catch_up(history, lambda: "1"))
    await asked.wait()
    await asyncio.sleep(0)
    assert arrears.behind is not None
    arrears.settle()
    await task
    assert arrears.behind is None


class Told(Quiet):
    def __init__(self) -> None:
        super().__init__()
        self.happenings: list[ChatEvent] = []
        self.news = asyncio.Event()

    def on_chat_event(self, event: ChatEvent) -> None:
        self.happenings.append(event)
        self.news.set()


def test_whoever_looks_on_hears_how_it_stands() -> None:
    listener, back = Told(), []
    road = HubRoute("ws://hub/acp", {}, listener)
    road.on_back = lambda: back.append(road.reason)
    for notice in (
        ConnectionNotice(kind="unreached", seconds=0.2, reason="nobody"),
        ConnectionNotice(kind="lost", seconds=0.4, reason="it broke"),
        ConnectionNotice(kind="back", seconds=7.0),
    ):
        road.on_notice(notice)
    assert [(one.kind, one.text, one.seconds) for one in listener.happenings] == [
        ("unreached", "nobody", 0.2),
        ("away", "it broke", 0.4),
        ("back", "", 7.0),
    ]
    assert back == [""]
    assert not road.is_open
    assert road.cursor("s") == ""


async def test_an_address_where_nobody_is_is_told_and_a_token_that_is_refused_ends_it() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    place = socket.socket()
    place.bind(("127.0.0.1", 0))  # nobody else's, and nobody listens
    listener = Told()
    url = f"ws://127.0.0.1:{place.getsockname()[1]}/acp"
    house = HubBackend("/far", LocalRules(), url=url, headers={})

    async def chat() -> None:
        async with house.open(ChatRequest(agent="", cwd="/far"), listener, listener):
            pass

    conversing = asyncio.create_task(chat())
    while not any(one.kind == "unreached" for one in listener.happenings):
        listener.news.clear()
        await listener.news.wait()
    assert "cannot be reached" in listener.happenings[-1].text
    async with await asyncio.start_server(refuse, sock=place):
        with pytest.raises(LinkClosed, match="status 401"):
            await conversing
