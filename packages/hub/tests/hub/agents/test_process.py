"""What an agent says goes to its sessions in order, with its numbers, and is acknowledged once stored."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from dragoman.errors import CallFailed
from dragoman.wire.envelope import Id
from dragoman_hub.agents.channel import AgentChannel
from dragoman_hub.agents.process import (
    ABANDONED_NAMES,
    EARLY_BYTES,
    REFUSED_BYTES,
    SAID_STREAMS,
    AgentProcess,
)
from dragoman_hub.engine.bounds import HubBounds
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.ports import Receipt
from dragoman_hub.session.state import new_state


class Heard:
    """Stands where a session stands; notes what it is given, and has it stored at once."""

    def __init__(self, process: AgentProcess, name: str) -> None:
        self.id = name
        self.frames: list[tuple[int, str]] = []
        self.process: AgentProcess | None = process
        self._life = process
        process.sessions[name] = cast(LiveSession, self)

    def on_updates(self, frames: list[bytes], number: int, process: AgentProcess, receipt: Receipt) -> None:
        self.frames += [(number, json.loads(frame)["params"]["update"]["text"]) for frame in frames]
        self._life.on_stored(receipt)

    def on_request(
        self, frame: bytes, request_id: Id, number: int, process: AgentProcess, receipt: Receipt
    ) -> None:
        self.frames.append((number, "request"))
        self._life.on_stored(receipt)


class Quiet:
    pid = 1
    pending = 0

    def __init__(self) -> None:
        self.taken_numbers: dict[str, int] = {}
        self.acknowledged: list[int] = []
        self.written: list[bytes] = []

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        self.written.append(block)

    async def wait_until_taken(self, stream: str, last: int) -> None:
        pass

    def forget(self, stream: str) -> None:
        self.taken_numbers.pop(stream, None)

    def acknowledge(self, number: int) -> None:
        self.acknowledged.append(number)

    def pause(self) -> None: ...

    def resume(self) -> None: ...


async def _found(process: AgentProcess, session: str) -> None: ...


def a_life() -> tuple[AgentProcess, Quiet]:
    line = Quiet()
    return AgentProcess(
        "agent", cast(AgentChannel, line), survives=True, on_end=lambda _: None, find=_found
    ), line


def update(session: str, text: str, **more: Any) -> bytes:
    params = {"sessionId": session, "update": {"sessionUpdate": "agent_message_chunk", "text": text}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params, **more}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


async def test_updates_of_several_sessions_in_one_block_are_sorted_in_order() -> None:
    process, line = a_life()
    one, two = Heard(process, "one"), Heard(process, "two")
    process.feed(
        1, b"".join(update(who, str(n)) for n, who in enumerate(["one", "one", "one", "two", "one"]))
    )
    assert [text for _, text in one.frames] == ["0", "1", "2", "4"]
    assert [text for _, text in two.frames] == ["3"]
    assert line.acknowledged == [5]


async def test_blank_lines_are_nothing_but_have_numbers() -> None:
    process, line = a_life()
    one = Heard(process, "one")
    process.feed(1, update("one", "a") + b"\n" + update("one", "b") + b" \n" + update("one", "c") + b"\n")
    assert one.frames == [(1, "a"), (3, "b"), (5, "c")]
    assert line.acknowledged == [6]


async def test_updates_stay_together_when_the_subject_changes() -> None:
    process, line = a_life()
    one, two = Heard(process, "one"), Heard(process, 'tw"ö')
    who = ["one", "one", 'tw"ö', "two", "one", "one", "one"]
    process.feed(1, b"".join(update(name, str(n)) for n, name in enumerate(who)))
    assert one.frames == [(2, "0"), (2, "1"), (7, "4"), (7, "5"), (7, "6")]
    assert two.frames == [(3, "2")]
    assert not line.acknowledged, "somebody looks for the session that nobody knows"
    await asyncio.sleep(0)


async def test_what_begins_as_an_update_and_wants_an_answer_is_a_request() -> None:
    process, _ = a_life()
    one = Heard(process, "one")
    block = update("one", "a") + update("one", "b", id=1, x={"y": {}}) + update("one", "c")
    process.feed(1, block)
    assert one.frames == [(1, "a"), (2, "request"), (3, "c")]


async def test_a_session_that_was_opened_anew_hears_what_its_predecessor_would_have() -> None:
    process, _ = a_life()
    before = Heard(process, "one")
    process.feed(1, update("one", "a"))
    before.process = None
    after = Heard(process, "one")
    process.feed(2, update("one", "b") + update("one", "c"))
    assert before.frames == [(1, "a")]
    assert [text for _, text in after.frames] == ["b", "c"]


async def test_everything_about_a_session_that_sleeps_waits_until_it_is_awake() -> None:
    found: list[Heard] = []
    awake = asyncio.Event()

    async def find(process: AgentProcess, session: str) -> None:
        await asyncio.sleep(0)
        found.append(Heard(process, session))
        awake.set()

    line = Quiet()
    process = AgentProcess("agent", cast(AgentChannel, line), survives=True, on_end=lambda _: None, find=find)
    for number in (1, 2, 3):
        process.feed(number, update("one", str(number)))
    assert line.acknowledged == []
    await awake.wait()
    await asyncio.sleep(0)
    assert [text for _, text in found[0].frames] == ["1", "2", "3"]
    assert line.acknowledged[-1] == 3


async def answer_of(process: AgentProcess, line: Quiet, method: str, members: dict[str, Any]) -> Any:
    """What the hub makes of an answer to a call of its own."""
    call = asyncio.ensure_future(process.call(method, {}))
    await asyncio.sleep(0)
    message = {"jsonrpc": "2.0", "id": json.loads(line.written[-1])["id"], **members}
    process.feed(1, json.dumps(message).encode() + b"\n")
    return json.loads(bytes(await call))


async def test_an_answer_without_a_result_ends_the_call() -> None:
    process, line = a_life()
    for members in ({}, {"error": None}, {"result": None}):
        assert await answer_of(process, line, "session/close", members) == {}
        with pytest.raises(CallFailed, match="session/new has neither a usable result nor an error"):
            await answer_of(process, line, "session/new", members)


async def test_an_error_beside_a_result_counts() -> None:
    process, line = a_life()
    error = {"code": -32000, "message": "no login"}
    with pytest.raises(CallFailed, match="no login"):
        await answer_of(process, line, "session/close", {"result": None, "error": error})


async def test_a_dropped_line_has_its_number_and_ends_a_run() -> None:
    process, line = a_life()
    one = Heard(process, "one")
    broken = update("one", "lost").replace(b'"lost"', b'"lo\xffst"')
    cut = update("one", "lost")[:60] + b"}}\n"
    process.feed(1, update("one", "a") + update("one", "b") + broken + update("one", "c") + cut)
    process.feed(6, update("one", "d"))
    assert one.frames == [(2, "a"), (2, "b"), (4, "c"), (6, "d")]
    assert line.acknowledged == [5, 6]


async def test_a_block_of_nothing_but_invalid_lines_is_acknowledged() -> None:
    process, line = a_life()
    one = Heard(process, "one")
    process.feed(1, b"Loading the model ...\n" + b"{}\n" + b"[1]\n")
    assert one.frames == []
    assert line.acknowledged == [3]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"path":"\xff"}}', -32700),
        (b'{"id":7,"method":"fs/read_text_file"}', -32600),
        (b'{"jsonrpc":"2.0","id":8,"id":7,"method":"fs/read_text_file"}', -32600),
    ],
)
async def test_an_invalid_request_with_a_readable_id_is_answered_under_it(sent: bytes, code: int) -> None:
    process, line = a_life()
    process.feed(1, sent + b"\n")
    answer = json.loads(line.written.pop())
    assert (answer["id"], answer["error"]["code"]) == (7, code)
    assert line.acknowledged == [1]


@pytest.mark.parametrize("sent", [b"noise", b'{"jsonrpc":"2.0","id":7,"method":"fs/re', b"[]", b'{"id":{}}'])
async def test_an_invalid_line_without_a_readable_id_is_not_answered(sent: bytes) -> None:
    process, line = a_life()
    process.feed(1, sent + b"\n")
    assert line.written == []


async def test_a_call_ends_although_its_answer_is_not_utf8() -> None:
    process, _ = a_life()
    answer = process.promise(41, "session/new")
    process.feed(1, b'{"jsonrpc":"2.0","id":41,"result":{"x":"\xff"}}\n')
    with pytest.raises(CallFailed, match="the agent's answer is invalid: the text is not UTF-8"):
        await answer


async def test_carriage_returns_and_half_pairs_do_not_reach_a_session() -> None:
    process, _ = a_life()
    frames: list[bytes] = []

    class Raw(Heard):
        def on_updates(self, sent: list[bytes], number: int, process: AgentProcess, receipt: Receipt) -> None:
            frames.extend(sent)

    Raw(process, "one")
    text = update("one", "x")[:-1]
    process.feed(
        1, text + b"\r\n" + text.replace(b'"x"', rb'"\ud800"') + b"\n" + text.replace(b",", b",\r") + b"\n"
    )
    assert frames == [text, text.replace(b'"x"', rb'"\ufffd"'), text.replace(b",", b", ")]


class Unread(Quiet):
    """A line whose agent reads nothing until `read` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.read = asyncio.Event()
        self.is_paused = False
        self.resumed = asyncio.Event()

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        super().write(block)
        self.pending += len(block)

    async def drain(self) -> None:
        await self.read.wait()
        self.pending = 0

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.resumed.set()


@pytest.mark.parametrize(
    "request_line",
    [
        b'{"jsonrpc":"2.0","id":%d,"method":"fs/read_text_file","params":{"sessionId":"none"}}\n',
        b'{"jsonrpc":"2.0","id":%d,"method":"fs/read_text_file","params":7}\n',
    ],
    ids=["of no session", "invalid"],
)
async def test_an_agent_that_reads_no_refusals_is_not_read_until_it_does(request_line: bytes) -> None:
    line = Unread()
    process = AgentProcess(
        "agent", cast(AgentChannel, line), survives=True, on_end=lambda _: None, find=_found
    )
    process._unknown["none"] = 0
    for number in range(1, 20_000):
        process.feed(number, request_line % number)
        if line.is_paused:
            break
    assert len(line.written) == number
    assert REFUSED_BYTES < line.pending < 2 * REFUSED_BYTES
    line.read.set()
    await line.resumed.wait()


async def test_what_is_said_of_a_session_that_is_being_made_is_bounded_and_stops_nobody() -> None:
    process, line = a_life()
    with process.making():
        large = update("new", "x" * 1024 * 1024)
        for number in range(1, 21):
            process.feed(number, large)
        assert line.acknowledged[-1] == 20, "the agent host would send no more, and the answer is behind them"
        new = Heard(process, "new")
    assert 1 <= len(new.frames) <= EARLY_BYTES // 1024 // 1024
    assert [number for number, _ in new.frames] == list(range(1, len(new.frames) + 1))


class Speaker:
    """A session of which the agent is told something."""

    def __init__(self, name: str) -> None:
        self.id = self.stream = name
        self.state = new_state(name)
        self.bounds = HubBounds().session("agent")


async def test_a_process_remembers_few_streams_that_its_host_has_and_seldom_walks_through_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process, line = a_life()
    walks: list[int] = []
    drop = process._drop_taken_numbers

    def drop_and_count() -> None:
        walks.append(len(process._last_said))
        drop()

    monkeypatch.setattr(process, "_drop_taken_numbers", drop_and_count)
    for number in range(1000):
        session = cast(LiveSession, Speaker(f"s{number}"))
        session.bounds.answers.add(2)
        process.say(session, b"{}", 7)
        assert process.last_number(session.stream) == 7
        line.taken_numbers[session.stream] = 7
    assert len(process._last_said) <= SAID_STREAMS
    assert sum(walks) <= 2 * 1000
    assert process.last_number("s0") == 7


async def test_the_numbers_of_a_closed_session_are_forgotten_when_its_host_has_them() -> None:
    process, line = a_life()
    session = cast(LiveSession, Speaker("s"))
    session.bounds.answers.add(4)
    process.say(session, b"{}", 7)
    line.taken_numbers["s"] = 6
    process.forget_numbers("s")
    assert process.last_number("s") == 7
    line.taken_numbers["s"] = 7
    process._on_taken()
    assert (line.taken_numbers, process.last_number("s"), process._closed_streams) == ({}, 0, set())
    process.say(session, b"{}", 8)
    process.forget_numbers("s")
    process.say(session, b"{}", 9)  # it was opened again
    line.taken_numbers["s"] = 9
    process._on_taken()
    assert process.last_number("s") == 9


async def test_a_hub_that_stops_while_it_looks_for_a_session_leaves_what_was_said_to_the_next_one() -> None:
    async def never(process: AgentProcess, session: str) -> None:
        await asyncio.Event().wait()

    line = Quiet()
    process = AgentProcess(
        "agent", cast(AgentChannel, line), survives=True, on_end=lambda _: None, find=never
    )
    process.feed(1, update("asleep", "one"))
    process.feed(
        2, b'{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"asleep"}}\n'
    )
    await asyncio.sleep(0)
    await process.stop_seeking()
    assert line.written == [], "a request that is refused here is answered twice"
    assert line.acknowledged == []


async def test_an_agent_that_closes_sessions_for_ever_takes_no_more_room() -> None:
    process = AgentProcess(
        "agent", cast(AgentChannel, Quiet()), survives=True, on_end=lambda _: None, find=_found
    )
    for number in range(ABANDONED_NAMES + 10):
        process.forget(cast(LiveSession, Heard(process, f"s{number}")), for_good=True)
    assert len(process.abandoned_ids) == ABANDONED_NAMES
    assert f"s{number}" in process.abandoned_ids
    assert not process.sessions
