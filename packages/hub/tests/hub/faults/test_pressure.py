"""NBP: too much, too fast, too many, and peers that do not read or are gone without a word."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import resource
import struct
import zlib
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dragoman.transport.http_server import Bounds
from dragoman_hub.api.listener import Keepalive
from tests.faults.watch import limit_memory
from tests.hub.faults.hub_stage import HubStage
from tests.hub.faults.stage import MEBIBYTE, Stage, descriptors, memory, staged, until
from tests.hub.faults.talk import (
    DROPPED,
    INITIALIZE,
    NEW,
    TEXT,
    UPGRADE,
    Connection,
    Socket,
    answer,
    connection,
    drop,
    head,
    prompt,
    raw,
    socket,
    survives,
)
from tests.hub.outside.process import leave, running_hub

pytestmark = [pytest.mark.bound(40), pytest.mark.in_turn("stage")]

PIECE = bytes(65536)


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for the descriptors of a thousand clients and of their server, which are in one process here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY_FILES:
        pytest.skip(f"this machine gives a process {hard} files at most")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY_FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


MANY_FILES = 4096


async def pour(writer: asyncio.StreamWriter, size: int, *, chunked: bool = False) -> None:
    """Send this much, or as much as is taken before the other side closes."""
    try:
        for _ in range(size // len(PIECE)):
            writer.write(b"10000\r\n%b\r\n" % PIECE if chunked else PIECE)
            await writer.drain()
    except OSError:
        pass  # as it should be


async def test_nbp_01_a_websocket_message_without_measure_ends_its_connection(stage: Stage) -> None:
    before = memory()
    async with socket(stage) as one:
        one.writer.write(struct.pack("!BBQ", 0x81, 0xFF, 128 * MEBIBYTE) + bytes(4))
        pouring = asyncio.create_task(pour(one.writer, 128 * MEBIBYTE))
        assert await one.closed() in (1009, DROPPED)
        pouring.cancel()
        await asyncio.wait((pouring,))
    assert memory() - before <= 64 * MEBIBYTE
    await survives(stage)


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
async def test_nbp_02_a_post_without_measure_is_refused(stage: Stage, *, chunked: bool) -> None:
    before = memory()
    async with connection(stage) as one:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        length = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(128 * MEBIBYTE)}
        writer.write(head("POST", stage, content_type="application/json", **one.named, **length))
        pouring = asyncio.create_task(pour(writer, 128 * MEBIBYTE, chunked=chunked))
        assert (await answer(reader))[0] == 413
        pouring.cancel()
        await asyncio.wait((pouring,))
        await drop(writer)
        assert await one.new_session()
    assert memory() - before <= 64 * MEBIBYTE


async def test_nbp_04_compression_is_not_negotiated(stage: Stage) -> None:
    before = memory()
    packed = zlib.compressobj(wbits=-15)
    bomb = b"".join(packed.compress(bytes(MEBIBYTE)) for _ in range(64)) + packed.flush()
    offer: dict[str, str | None] = {**UPGRADE, "sec-websocket-extensions": "permessage-deflate"}
    status, answered = await raw(stage, head("GET", stage, **offer))
    assert (status, b"permessage-deflate" in answered) == (101, False)
    async with socket(stage) as one:
        await one.frame(TEXT, bomb, reserved=0x40)
        assert await one.closed() in (1002, 1009, DROPPED)
    assert memory() - before <= 64 * MEBIBYTE


async def test_nbp_05_a_packed_body_is_not_unpacked(stage: Stage) -> None:
    before = memory()
    bomb = gzip.compress(bytes(32 * MEBIBYTE), compresslevel=1)
    async with connection(stage) as one:
        assert (await one.post(bomb, content_encoding="gzip")).status_code == 415
        assert await one.new_session()
    del bomb
    assert memory() - before <= 64 * MEBIBYTE  # the bomb was made here


async def begin_to_read(one: Connection, stage: Stage, session: str) -> asyncio.StreamWriter:
    """Opens a session's stream, and reads no more than its headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.port, limit=1024)
    writer.write(head("GET", stage, accept="text/event-stream", acp_session_id=session, **one.named))
    assert (await answer(reader))[0] == 200
    return writer


async def test_nbp_07_a_reader_that_stops_costs_a_bounded_amount(stage: Stage) -> None:
    before = memory()
    async with connection(stage) as one:
        session = await one.new_session()
        writer = await begin_to_read(one, stage, session)
        await one.post(prompt(3, session, "flood"), acp_session_id=session)
        # A hub lets its agent go on: what is not read yet is in the journal.
        await until(lambda: stage.said >= (2 if stage.kind == "serve" else 8) * MEBIBYTE)
        await survives(stage)
        if stage.kind == "serve":
            assert stage.said <= 16 * MEBIBYTE
        assert memory() - before <= 32 * MEBIBYTE
        await drop(writer)
    await until(stage.ended.is_set)


async def test_nbp_08_two_hundred_idle_sockets(stage: Stage) -> None:
    before = memory()
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(socket(stage)) for _ in range(200)]
        assert memory() - before <= 200 * MEBIBYTE // 2
        for one in sockets:
            assert "result" in await one.call(NEW)


@pytest.mark.bound(60)  # a thousand handshakes, ten at a time
async def test_nbp_x10_a_thousand_clients_at_once(many_files: None) -> None:
    with staged(HubStage) as stage:
        await survives(stage)
        await until(lambda: stage.running == 0)
        held = descriptors()
        async with AsyncExitStack() as stack:
            sockets: list[Socket] = []
            for _ in range(100):  # a hub closes the oldest of too many that have not shown a token yet
                entering = (stack.enter_async_context(socket(stage)) for _ in range(10))
                sockets += await asyncio.gather(*entering)
            await until(lambda: stage.running == 1000)
            session = (await sockets[-1].call(NEW))["result"]["sessionId"]
            assert "result" in await sockets[-1].call(prompt(3, session, "count 5"))
        await until(lambda: stage.running == 0 and descriptors() <= held + 5)


async def test_nbp_10_three_hundred_connections_leave_nothing(stage: Stage) -> None:
    await survives(stage)
    await until(lambda: stage.running == 0)
    held, before = descriptors(), memory()
    for _ in range(10):
        async with AsyncExitStack() as stack:
            for _ in range(30):
                await stack.enter_async_context(socket(stage))
    await until(lambda: stage.running == 0 and descriptors() <= held + 5)
    assert memory() - before <= 16 * MEBIBYTE


async def test_nbp_11_a_client_that_has_vanished_is_noticed(stage: Stage) -> None:
    with staged(stage, keepalive=Keepalive(every=1.0, within=1.5)) as watchful:
        async with socket(watchful) as one:
            # A machine without power sends nothing, no pong and no goodbye.
            await one.say(NEW)
            while (session := (await one.hear()).get("result", {}).get("sessionId")) is None:
                pass
            await one.say(prompt(2, session, "wait"))
            await until(watchful.ended.is_set)


async def test_nbp_x1_a_websocket_that_nobody_reads_is_given_up(stage: Stage) -> None:
    with staged(stage, bounds=Bounds(patience=0.2)) as impatient:
        async with socket(impatient) as one:
            session = (await one.call(NEW))["result"]["sessionId"]
            one.reader._transport.pause_reading()  # type: ignore[attr-defined]
            await one.say(prompt(2, session, "flood"))
            await until(impatient.ended.is_set)
            await survives(impatient)


async def test_nbp_x2_a_stream_that_nobody_reads_is_given_up(stage: Stage) -> None:
    with staged(stage, bounds=Bounds(unread=MEBIBYTE, patience=0.2)) as impatient:
        async with connection(impatient) as one:
            session = await one.new_session()
            await one.post(prompt(3, session, "flood"), acp_session_id=session)
            await until(impatient.ended.is_set)
            await until(lambda: impatient.running == 0)
            assert (await one.post(NEW)).status_code == 404


async def test_nbp_x3_a_connection_without_readers_is_forgotten(stage: Stage) -> None:
    with staged(stage, bounds=Bounds(idle=0.1, first=0.1)) as forgetful:
        async with connection(forgetful) as one:
            await until(lambda: forgetful.running == 0)
            assert (await one.post(NEW)).status_code == 404
        async with socket(forgetful, initialized=False) as silent:
            assert await silent.closed() == 1008


async def test_nbp_x4_large_posts_at_once_are_taken_one_after_the_other(stage: Stage) -> None:
    async with connection(stage) as one:
        large = {**NEW, "params": {**NEW["params"], "_meta": {"x": "y" * MEBIBYTE}}}
        before = memory()
        async with one.events() as events:
            posts = [asyncio.create_task(one.post({**large, "id": 100 + at})) for at in range(24)]
            answered = {(await anext(events))["id"] for _ in posts}
            assert {(await post).status_code for post in posts} == {202}
        assert answered == {100 + at for at in range(24)}
        assert memory() - before <= 128 * MEBIBYTE


async def test_nbp_x5_a_first_message_without_measure_is_refused(stage: Stage) -> None:
    large = {**INITIALIZE, "params": {"protocolVersion": 1, "_meta": {"x": "y" * 2 * MEBIBYTE}}}
    async with connection(stage, initialized=False) as one:
        assert (await one.post(json.dumps(large).encode())).status_code == 413
    await survives(stage)


@pytest.mark.parametrize("spare", [16, 60, 100])
async def test_nbp_x6_a_large_prompt_and_little_memory_end_nobody_else(tmp_path: Path, spare: int) -> None:
    """At each of these, another step of what becomes of the prompt is the one that has no memory."""
    with running_hub(tmp_path) as hub:
        client = await (await hub.client()).begin()
        session = await client.new(str(hub.work))
        await client.answer(client.prompt(session, "hello"))
        other = await (await hub.client()).begin()
        limit_memory(hub.pid, spare)
        number = client.prompt(session, "x" * (12 * MEBIBYTE))
        answered = asyncio.create_task(
            client.until(lambda message: message.get("id") == number or "error" in message)
        )
        ended = asyncio.create_task(client.until_ended())
        await asyncio.wait((answered, ended), return_when=asyncio.FIRST_COMPLETED)
        assert [task.cancel() for task in (answered, ended)] != [True, True], "it waits for ever"
        await asyncio.wait((answered, ended))
        assert "result" in await other.answer(other.prompt(session, "hello"))
        await leave(client, other)
        assert hub.stop() == 0


class SmallHubStage(HubStage):
    connections = 20


async def test_nbp_x7_posts_that_are_left_alone_keep_nobody_out() -> None:
    with staged(SmallHubStage) as stage:
        async with connection(stage) as used, used.events():
            for _ in range(100):
                async with connection(stage, initialized=False) as one:
                    assert (await one.post(INITIALIZE)).status_code == 200
            await survives(stage)
            assert (await used.post(NEW)).status_code == 202, "who reads a stream stays"
            assert stage.running <= SmallHubStage.connections + 2


async def test_nbp_x8_who_finds_no_room_learns_why_and_the_owner_gets_in() -> None:
    with staged(SmallHubStage) as stage:
        async with AsyncExitStack() as stack:
            narrow = {"authorization": f"Bearer {stage.narrow_token}"}
            for _ in range(20):
                await stack.enter_async_context(socket(stage, authorization=narrow["authorization"]))
            status, text = await raw(stage, head("GET", stage, **{**UPGRADE, **narrow}))
            assert (status, b"retry-after: 5" in text.lower()) == (503, True)
            async with connection(stage, initialized=False) as one:
                refusal = await one.post(INITIALIZE, **narrow)
                assert (refusal.status_code, "20 clients already" in refusal.text) == (503, True)
            await survives(stage)


@pytest.mark.parametrize("half", ["a frame", "a fragment", "fragments"])
async def test_nbp_x9_half_a_message_leaves_with_its_client(stage: Stage, half: str) -> None:
    await survives(stage)
    gc.collect()
    before = memory()
    gc.disable()  # as good as: a hub looks for garbage seldom
    try:
        for _ in range(8):
            async with socket(stage) as one:
                if half == "fragments":
                    for number in range(15):
                        await one.frame(0 if number else TEXT, b" " * MEBIBYTE, fin=False)
                else:
                    first, missing = (0x81, 1) if half == "a frame" else (TEXT, 0)
                    one.writer.write(struct.pack("!BBQ", first, 0xFF, 15 * MEBIBYTE + missing) + bytes(4))
                    await pour(one.writer, 15 * MEBIBYTE)
        # The last connection may end a moment after its client; garbage would not go by itself.
        await until(lambda: stage.running == 0 and memory() - before <= 40 * MEBIBYTE)
    finally:
        gc.enable()
