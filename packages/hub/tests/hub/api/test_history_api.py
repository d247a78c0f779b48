"""The history of the thread protocol, over all sessions of all agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger
from dragoman.errors import ErrorAnswer, JournalError
from dragoman.runtime.owner import TaskOwner
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.testing import check_transport
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair
from dragoman.transport.tapped_transport import TappedTransport
from dragoman_hub.api.history_api import AT_ONCE, HistoryApi, HistoryDoor
from dragoman_hub.gate.admission import Grant
from dragoman_local.journal import Direction, Entry, MemoryJournal, StreamInfo

ANYBODY = Grant("anybody")


def frame(direction: Direction, **members: Any) -> Entry:
    return Entry(direction, json.dumps({"jsonrpc": "2.0", **members}).encode(), 0.0)


def prompted(text: str, *, number: int = 1) -> Entry:
    blocks = [{"type": "text", "text": text}, {"type": "image", "data": "", "mimeType": "image/png"}]
    return frame("to_agent", id=number, method="session/prompt", params={"sessionId": "s", "prompt": blocks})


def updated(kind: str, /, **members: Any) -> Entry:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}}
    return frame("to_client", method="session/update", params=params)


def said(text: str, *, kind: str = "agent_message_chunk", message: str = "m") -> Entry:
    return updated(kind, content={"type": "text", "text": text}, messageId=message)


def noted(**members: Any) -> Entry:
    return Entry("note", json.dumps(members).encode(), 0.0)


def ended() -> Entry:
    return noted(hub="turn_ended", key="k", result={"stopReason": "end_turn"})


def message(role: str, *texts: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "chunks": [{"type": "text", "chunk": text} for text in texts]}


async def entries_of(*entries: Entry, most_bytes: int = 1_000_000) -> list[dict[str, Any]]:
    journal = MemoryJournal()
    await journal.append("s", entries)
    await journal.describe("s", state="idle")
    return await HistoryApi(journal, most_bytes=most_bytes).entries("s")


async def filled(names: Sequence[str], *, agents: Sequence[str] = ("review",)) -> MemoryJournal:
    moment = iter(range(1, 100_000))
    journal = MemoryJournal(clock=lambda: float(next(moment)))
    for number, name in enumerate(names):
        agent = agents[number % len(agents)]
        await journal.append(name, [noted(hub="made", agent=agent), prompted("hello")])
        await journal.describe(name, agent=agent, title=f"about {name}", state="idle")
    return journal


# Threads.


async def test_sessions_of_all_agents_are_threads_the_latest_first() -> None:
    journal = await filled(["a", "b", "c"], agents=["review", "code"])
    await journal.append("@agents", [noted(hub="initialized")])
    await journal.append("half made", [noted(hub="made")])  # nobody has described it yet
    threads = await HistoryApi(journal).threads()
    assert [(one["id"], one["title"]) for one in threads] == [
        ("c", "about c"),
        ("b", "about b"),
        ("a", "about a"),
    ]
    assert threads[0]["modifiedAt"] > threads[1]["modifiedAt"]
    assert threads[0]["modifiedAt"].startswith("1970-01-01T00:00:")
    assert threads[0]["modifiedAt"].endswith("Z")


async def test_there_is_no_last_page() -> None:
    journal = await filled([f"s{n}" for n in range(1_234)])
    assert len({one["id"] for one in await HistoryApi(journal).threads()}) == 1_234


async def test_nobody_sees_what_is_not_theirs() -> None:
    async def mine(info: StreamInfo) -> bool:
        return info.agent == "review"

    journal = await filled(["a", "b"], agents=["review", "code"])
    history = HistoryApi(journal, may_see=mine)
    assert [one["id"] for one in await history.threads()] == ["a"]
    assert await history.entries("a") == [message("user", "hello")]
    for hidden in ("b", "never", "@agents", ""):
        with pytest.raises(ErrorAnswer, match="no such thread"):
            await history.entries(hidden)


# Entries.


async def test_a_conversation_becomes_messages() -> None:
    assert await entries_of(
        prompted("What grows here?"),
        said("Pe"),
        said("as."),
        said("hm", kind="agent_thought_chunk"),
        updated("plan", entries=[]),
        said("And beans.", message="n"),
        ended(),
        prompted("When?", number=2),
        said("In May.", message="o"),
    ) == [
        message("user", "What grows here?"),
        message("assistant", "Pe", "as."),
        message("assistant", "And beans."),
        message("user", "When?"),
        message("assistant", "In May."),
    ]


async def test_a_prompt_that_the_agent_tells_back_is_told_once() -> None:
    echo = said("hello", kind="user_message_chunk", message="u")
    assert await entries_of(prompted("hello"), echo, said("hi"), ended(), echo) == [
        message("user", "hello"),
        message("assistant", "hi"),
        message("user", "hello"),  # behind the turn: somebody said it elsewhere
    ]


async def test_a_message_into_a_running_turn_is_told() -> None:
    steered = said("left", kind="user_message_chunk", message="steer-k")
    entries = await entries_of(prompted("go"), said("begun"), steered, said("turned", message="n"))
    assert entries == [
        message("user", "go"),
        message("assistant", "begun"),
        message("user", "left"),
        message("assistant", "turned"),
    ]


async def test_a_turn_also_ends_with_its_answer() -> None:
    answer = frame("to_client", id=1, result={"stopReason": "end_turn"})
    later = said("from elsewhere", kind="user_message_chunk", message="u")
    assert (await entries_of(prompted("hello"), answer, later))[-1] == message("user", "from elsewhere")


async def test_a_file_is_told_as_the_client_handed_it_out() -> None:
    asked = frame("to_client", id=1, method="fs/read_text_file", params={"sessionId": "s", "path": "/x/a"})
    handed = frame("to_agent", id=1, result={"content": "peas\nbeans\n"})
    call = {"toolCallId": "c", "kind": "read", "locations": [{"path": "/x/a"}]}
    shown = [{"type": "content", "content": {"type": "text", "text": "peas …"}}]
    begun = updated("tool_call", **call, title="Read a", status="in_progress")
    over = updated("tool_call_update", toolCallId="c", status="completed", content=shown)
    read = {"type": "readFile", "path": "/x/a", "content": "peas\nbeans\n"}
    assert await entries_of(begun, asked, handed, over) == [read]
    # Without the answer it is what the call shows.
    assert await entries_of(begun, asked, over) == [{**read, "content": "peas …"}]
    # A read without a tool call is a read, and so is the read of a part.
    assert await entries_of(asked, handed) == [read]
    part = frame(
        "to_client", id=1, method="fs/read_text_file", params={"sessionId": "s", "path": "/x/a", "limit": 1}
    )
    one_line = frame("to_agent", id=1, result={"content": "peas\n"})
    assert await entries_of(begun, part, one_line, over) == [{**read, "content": "peas\n"}]


async def test_what_an_agent_tells_while_it_loads_is_known_already() -> None:
    load = frame("to_agent", id=9, method="session/load", params={"sessionId": "s"})
    loaded = frame("to_client", id=9, result={})
    assert await entries_of(
        prompted("hello"),
        said("hi"),
        ended(),
        load,
        said("hi", message="again"),
        loaded,
        said("so", message="x"),
    ) == [message("user", "hello"), message("assistant", "hi"), message("assistant", "so")]


async def test_what_makes_no_sense_is_passed_over() -> None:
    assert await entries_of(
        Entry("note", b"a line of standard error", 0.0),
        Entry("to_client", b"\xff", 0.0),
        Entry("to_client", b"[1]", 0.0),
        Entry("to_agent", b'{"id":[],"result":7}', 0.0),
        frame("to_client", method="session/update", params={"update": 7}),
        frame("to_client", id={}, method="fs/read_text_file", params=None),
        prompted("hello"),
    ) == [message("user", "hello")]


async def test_a_thread_is_told_within_a_bound_without_its_beginning() -> None:
    entries = [said("x" * 1000, message=str(number)) for number in range(100)]
    told = await entries_of(*entries, most_bytes=20_000)
    assert 10 < len(told) < 20


async def test_a_stream_of_many_pages_is_read_to_its_end() -> None:
    told = await entries_of(prompted("go"), *[said(str(number)) for number in range(2_000)])
    assert [chunk["chunk"] for chunk in told[1]["chunks"]] == [str(number) for number in range(2_000)]


# On the wire.


async def answered(history: HistoryApi, **question: Any) -> dict[str, Any]:
    line = json.dumps(question).encode()
    assert history.takes(line)
    answer: dict[str, Any] = json.loads(await history.answer(line))
    return answer


async def test_questions_are_answered_as_that_wire_has_it() -> None:
    history = HistoryApi(await filled(["a"]))
    listed = await answered(history, id=0, method="getThreads", params=None)
    assert listed["id"] == 0
    assert "jsonrpc" not in listed
    assert [one["id"] for one in listed["result"]["threads"]] == ["a"]
    entries = await answered(history, id=1, method="getThreadEntries", params={"threadId": "a"})
    assert entries == {"id": 1, "result": {"entries": [message("user", "hello")]}}
    missing = await answered(history, id=2, method="getThreadEntries", params={"threadId": "b"})
    assert missing == {"id": 2, "error": {"code": -32002, "message": "there is no such thread"}}
    assert (await answered(history, id=3, method="getThreadEntries", params=None))["error"]["code"] == -32602


async def test_a_journal_that_cannot_be_read_is_an_error_without_its_words() -> None:
    class Broken(MemoryJournal):
        async def list(self, **wanted: Any) -> Any:
            raise JournalError("/home/somebody/hub.db: disk I/O error")

    answer = await answered(HistoryApi(Broken()), id=1, method="getThreads", params=None)
    assert answer["error"] == {"code": -32603, "message": "the history cannot be read"}


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1,"method":"openThread","params":{"threadId":"getThreads"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"getThreads","params":null}',
        b'{"method":"getThreads"}',
        b'{"id":1,"result":"getThreads"}',
        b'"getThreads"',
        b"getThreads",
    ],
)
def test_other_questions_are_for_others(line: bytes) -> None:
    assert not HistoryApi(MemoryJournal()).takes(line)


# In front of the dialect.


async def test_history_is_answered_and_the_rest_passes_in_order() -> None:
    owner = TaskOwner("test")
    wire, client = memory_pair()
    ours, sink, heard = (
        HistoryDoor(wire, HistoryApi(await filled(["a"])), owner, grant=ANYBODY),
        SinkRecorder(),
        SinkRecorder(),
    )
    ours.start(sink)
    client.start(heard)
    client.write(
        b'{"id":1,"method":"x"}\n{"id":2,"method":"getThreads","params":null}\n{"id":3,"method":"y"}\n'
    )
    await heard.until_size(20)
    await sink.until_size(40)
    assert sink.stream == b'{"id":1,"method":"x"}\n{"id":3,"method":"y"}\n'
    assert json.loads(heard.stream)["id"] == 2
    await ours.aclose()
    await client.aclose()
    await owner.aclose()


async def test_too_many_questions_at_once_are_refused() -> None:
    held = asyncio.Event()

    class Slow(MemoryJournal):
        async def list(self, **wanted: Any) -> Any:
            await held.wait()
            return await super().list(**wanted)

    owner = TaskOwner("test")
    wire, client = memory_pair()
    ours, heard = HistoryDoor(wire, HistoryApi(Slow()), owner, grant=ANYBODY), SinkRecorder()
    ours.start(SinkRecorder())
    client.start(heard)
    for number in range(AT_ONCE + 1):
        client.write(b'{"id":%d,"method":"getThreads","params":null}\n' % number)
    await heard.until_size(20)
    assert json.loads(heard.stream)["id"] == AT_ONCE
    held.set()
    await heard.until(lambda: heard.stream.count(b"\n") == AT_ONCE + 1)
    await ours.aclose()
    await client.aclose()
    await owner.aclose()


async def test_a_client_that_does_not_read_its_answers_gets_no_more_of_them() -> None:
    written, all_written = 0, asyncio.Event()

    def count(direction: str, block: bytes) -> None:
        nonlocal written
        written += direction == "to_client"
        if written == AT_ONCE:
            all_written.set()

    owner = TaskOwner("test")
    wire, client = memory_pair()
    journal = await filled([f"session {n} " + "x" * 150 for n in range(1_500)])
    ours = HistoryDoor(TappedTransport(wire, count, peer="client"), HistoryApi(journal), owner, grant=ANYBODY)
    ours.start(SinkRecorder())
    heard = SinkRecorder()
    client.start(heard)
    client.pause()
    client.write(b'{"id":1,"method":"getThreads","params":null}\n' * AT_ONCE)
    await all_written.wait()  # and not one of them taken
    client.write(b'{"id":2,"method":"getThreads","params":null}\n')
    client.resume()
    await heard.until(lambda: heard.stream.count(b"\n") == AT_ONCE + 1)
    answers = [json.loads(line) for line in heard.stream.splitlines()]
    assert [(one["id"], "error" in one) for one in answers] == [(1, False)] * AT_ONCE + [(2, True)]
    await ours.aclose()
    await client.aclose()
    await owner.aclose()


async def test_a_client_of_the_dialect_gets_history_from_here_and_turns_from_the_hub() -> None:
    owner = TaskOwner("test")
    wire, client = memory_pair()
    history = HistoryDoor(wire, HistoryApi(await filled(["a"])), owner, grant=ANYBODY)
    hub = speaking("threads", history, position="client", settings=EdgeSettings(cwd="/x"), ledger=Ledger())
    asked, heard = SinkRecorder(), SinkRecorder()
    hub.start(asked)
    client.start(heard)
    client.write(b'{"id":1,"method":"getThreadEntries","params":{"threadId":"a"}}\n')
    await heard.until_size(20)
    assert json.loads(heard.stream)["result"]["entries"] == [message("user", "hello")]
    assert asked.stream == b""  # nobody was asked, and no agent started
    client.write(b'{"id":2,"method":"createThread","params":null}\n')
    await asked.until_size(20)
    assert json.loads(asked.stream)["method"] == "initialize"
    await hub.aclose()
    await client.aclose()
    await owner.aclose()


async def test_it_keeps_the_promises_of_the_transport_behind_it() -> None:
    owner = TaskOwner("test")

    async def pair() -> tuple[HistoryDoor, HistoryDoor]:
        left, right = memory_pair()
        history = HistoryApi(MemoryJournal())
        return HistoryDoor(left, history, owner, grant=ANYBODY), HistoryDoor(
            right, history, owner, grant=ANYBODY
        )

    await check_transport(pair)
