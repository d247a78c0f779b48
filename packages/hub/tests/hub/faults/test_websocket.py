"""NWS: what a client may do to a WebSocket, from texts that are no message to frames that are none."""

from __future__ import annotations

import json
import struct

import pytest

from tests.hub.faults.stage import MEBIBYTE, Stage, memory, staged, until
from tests.hub.faults.talk import (
    BINARY,
    CLOSE,
    DROPPED,
    INITIALIZE,
    NEW,
    PING,
    TEXT,
    Socket,
    handshake,
    prompt,
    request,
    socket,
    survives,
    text_of,
)

pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("stage")]


async def refused(one: Socket, text: bytes) -> int:
    """The code of the error that this text gets; it has no id."""
    await one.say(text)
    heard = await one.hear()
    assert heard["id"] is None
    code: int = heard["error"]["code"]
    return code


@pytest.mark.parametrize("initialized", [False, True])
async def test_nws_01_a_text_that_is_not_json_is_a_parse_error(stage: Stage, *, initialized: bool) -> None:
    async with socket(stage, initialized=initialized) as one:
        assert await refused(one, b"hello") == -32700
        assert "result" in await one.call(NEW if initialized else INITIALIZE)


@pytest.mark.parametrize("text", [b"7", b"null", b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', b'"x"'])
async def test_nws_02_a_value_that_is_no_object_is_an_invalid_request(stage: Stage, text: bytes) -> None:
    async with socket(stage) as one:
        assert await refused(one, text) == -32600
        assert "result" in await one.call(NEW)


async def test_nws_04_a_message_in_a_hundred_fragments_with_pings_between(stage: Stage) -> None:
    async with socket(stage) as one:
        text = b'{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}'
        text += b" " * (1000 - len(text))
        for at in range(100):
            part = text[at * 10 : at * 10 + 10]
            await one.frame(TEXT if at == 0 else 0, part, fin=at == 99)
            await one.frame(PING, b"%d" % at)
        # Pings behind the last fragment are answered at their own time, but in order.
        heard = await one.hear()
        assert heard["id"] == 5
        while len(one.pongs) < 100:
            await one.say(request(6, "_nothing"))
            await one.hear()
        assert one.pongs == [b"%d" % at for at in range(100)]


async def test_nws_05_a_ping_gets_a_pong_with_the_same_bytes(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(PING, b"are you there?")
        await one.call(NEW)
        assert one.pongs == [b"are you there?"]


async def broken(stage: Stage, one: Socket) -> None:
    assert await one.closed() in (1002, DROPPED)
    await survives(stage)


async def test_nws_07_a_reserved_opcode_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(3, b"x")
        await broken(stage, one)


async def test_nws_08_a_reserved_bit_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(TEXT, b"{}", reserved=0x40)
        await broken(stage, one)


async def test_nws_10_a_ping_that_is_too_long_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(PING, b"x" * 126)
        await broken(stage, one)


async def test_nws_11_a_ping_in_fragments_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(PING, b"x", fin=False)
        await broken(stage, one)


async def test_nws_13_a_close_code_that_does_not_exist_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(CLOSE, struct.pack("!H", 999))
        await broken(stage, one)


async def test_nws_14_a_frame_that_claims_to_be_endless_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        one.writer.write(struct.pack("!BBQ", 0x81, 0xFF, 1 << 62) + bytes(4) + b"{")
        assert await one.closed() in (1002, 1009, DROPPED)
        await survives(stage)


@pytest.mark.parametrize("first", [NEW, {"jsonrpc": "2.0", "method": "x"}, {**INITIALIZE, "id": None}])
async def test_nws_16_whoever_does_not_begin_with_initialize_is_sent_away(
    stage: Stage, first: object
) -> None:
    started = stage.accepted
    async with socket(stage, initialized=False) as one:
        await one.say(first)
        assert await one.closed() == 1002
    assert stage.accepted == started  # no agent was started for it
    await survives(stage)


async def test_nws_17_handshakes_that_are_none_are_refused(stage: Stage) -> None:
    assert await handshake(stage, sec_websocket_key=None) == 400
    assert await handshake(stage, sec_websocket_version="12") in (400, 426)
    assert await handshake(stage, method="POST") in (400, 405)
    await survives(stage)


async def test_nws_19_a_thousand_updates_come_in_order_before_the_answer(stage: Stage) -> None:
    async with socket(stage) as one:
        session = (await one.call(NEW))["result"]["sessionId"]
        await one.say(prompt(2, session, "count 1000"))
        texts = []
        while "method" in (heard := await one.hear()):
            texts.append(text_of(heard))
        assert "".join(texts).split() == [str(number) for number in range(1000)]
        assert heard["result"]["stopReason"] == "end_turn"


async def test_nws_x1_an_endless_id_is_answered_with_an_error(stage: Stage) -> None:
    async with socket(stage) as one:
        assert "error" in await one.call(request("x" * 1024, "_nothing"))
        await one.say(request("x" * 1025, "_nothing"))
        assert (heard := await one.hear())["id"] is None
        assert heard["error"]["code"] == -32600
        refused = await one.call(prompt(7, "s" * 5000, "hello"))
        assert (refused["error"]["code"], "sessionId" in refused["error"]["message"]) == (-32602, True)
        assert "result" in await one.call(NEW)


async def test_nws_x2_initialize_comes_once(stage: Stage) -> None:
    async with socket(stage) as one:
        assert (await one.call({**INITIALIZE, "id": 7}))["error"]["code"] == -32600
        assert "result" in await one.call(NEW)


async def test_nws_x3_binary_messages_and_early_answers_mean_nothing(stage: Stage) -> None:
    async with socket(stage, initialized=False) as one:
        await one.frame(BINARY, b"\x00\x01")
        await one.say({"jsonrpc": "2.0", "id": 9, "result": {}})
        assert "result" in await one.call(INITIALIZE)


async def test_nws_x4_a_server_that_goes_says_so(stage: Stage) -> None:
    with staged(stage) as leaving:
        async with socket(leaving) as one:
            leaving.stop()
            assert await one.closed() == 1001
    await survives(stage)


async def test_nws_x5_an_agent_that_ends_is_named_as_the_reason(stage: Stage) -> None:
    async with socket(stage) as one:
        if stage.kind == "hub":
            await started_anew(stage, one)
        else:
            stage.end_agents()
            assert await one.closed() == 1011
    await survives(stage)


async def started_anew(stage: Stage, one: Socket) -> None:
    """A hub says what became of the turn, keeps the connection, and starts its agent again."""
    session = (await one.call(NEW))["result"]["sessionId"]
    await one.say(prompt(2, session, "wait"))
    assert text_of(await one.hear()) == "waiting"
    stage.end_agents()
    ended = await one.hear()
    assert "cut short" in ended["error"]["message"]
    assert (await one.call(prompt(3, session, "there?")))["result"]["stopReason"] == "end_turn"


async def test_nws_x6_a_client_that_leaves_ends_its_turn(stage: Stage) -> None:
    async with socket(stage) as one:
        session = (await one.call(NEW))["result"]["sessionId"]
        await one.say(prompt(2, session, "wait"))
        assert text_of(await one.hear()) == "waiting"
    await until(stage.ended.is_set)


async def test_nws_x7_a_text_that_is_not_utf8_ends_the_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(TEXT, b'{"jsonrpc":"2.0","id":1,"method":"\xff"}')
        assert await one.closed() in (1007, DROPPED)
    await survives(stage)


async def test_nws_x8_a_message_in_too_many_fragments_ends_its_connection(stage: Stage) -> None:
    async with socket(stage) as one:
        await one.frame(TEXT, b"{", fin=False)
        one.writer.write(b"\0\x80\0\0\0\0" * 100_000)
        assert await one.closed() in (1008, DROPPED)
    async with socket(stage) as one:  # a large one may have many
        text = json.dumps(NEW).encode().ljust(600_000)
        for at in range(0, len(text), 300):
            await one.frame(0 if at else TEXT, text[at : at + 300], fin=at + 300 >= len(text))
        assert (await one.hear())["id"] == NEW["id"]
    await survives(stage)


async def test_nws_x9_pings_of_somebody_who_does_not_read_cost_nothing(stage: Stage) -> None:
    before = memory()
    async with socket(stage) as one:
        frame = b"\x89\xfd" + bytes(4 + 125)
        for _ in range(256):
            one.writer.write(frame * 2000)
            await one.writer.drain()
        assert memory() - before <= 16 * MEBIBYTE
    await survives(stage)
