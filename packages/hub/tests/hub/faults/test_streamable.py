"""NHT: Streamable HTTP, from bodies that are none to streams that break."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.hub.faults.stage import Stage, until
from tests.hub.faults.talk import (
    INITIALIZE,
    NEW,
    answer,
    connection,
    head,
    prompt,
    request,
    reset,
    survives,
    text_of,
)

pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("stage")]


async def test_nht_01_initialize_opens_a_connection(stage: Stage) -> None:
    async with connection(stage, initialized=False) as one:
        first = await one.post(INITIALIZE)
        assert (first.status_code, first.json()["id"]) == (200, 0)
        assert first.headers["content-type"] == "application/json"
        one.named = {"acp-connection-id": first.headers["acp-connection-id"]}


async def refused(stage: Stage, body: bytes, *statuses: int) -> None:
    async with connection(stage, initialized=False) as one:
        assert (await one.post(body)).status_code in statuses
    async with connection(stage) as one:
        assert (await one.post(body)).status_code in statuses
        assert await one.new_session()


async def test_nht_02_a_body_that_is_not_json_is_refused(stage: Stage) -> None:
    await refused(stage, b"hello", 400)


async def test_nht_04_a_body_that_is_a_number_is_refused(stage: Stage) -> None:
    await refused(stage, b"7", 400)


async def test_nht_05_an_empty_body_is_refused(stage: Stage) -> None:
    await refused(stage, b"", 400)


async def test_nht_07_a_body_nested_without_end_is_refused(stage: Stage) -> None:
    await refused(stage, b"[" * 100_000 + b"]" * 100_000, 400, 413)
    deep = b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    await refused(stage, deep, 400, 413)


async def test_nht_08_a_message_needs_its_connection(stage: Stage) -> None:
    async with connection(stage, initialized=False) as one:
        assert (await one.post(NEW)).status_code == 400
        assert (await one.get(accept="text/event-stream")).status_code == 400
        assert (await one.http.delete(one.url)).status_code == 400


async def test_nht_10_a_reader_must_want_an_event_stream(stage: Stage) -> None:
    async with connection(stage) as one:
        for wanted in ("application/json", "text/html", ""):
            assert (await one.get(accept=wanted, **one.named)).status_code == 406


async def test_nht_11_an_unknown_connection_is_not_found(stage: Stage) -> None:
    async with connection(stage, initialized=False) as one:
        nobody = {"acp-connection-id": "nobody"}
        assert (await one.get(accept="text/event-stream", **nobody)).status_code == 404
        assert (await one.post(NEW, **nobody)).status_code == 404


@pytest.mark.parametrize("follows", [False, True])
async def test_nht_13_a_prompt_for_an_unknown_session_gets_its_error(stage: Stage, *, follows: bool) -> None:
    async with connection(stage) as one, one.events("" if not follows else "lost") as events:
        assert (await one.post(prompt(3, "lost", "hello"), acp_session_id="lost")).status_code == 202
        heard = await anext(events)
        assert (heard["id"], "error" in heard) == (3, True)


async def test_nht_14_what_is_deleted_is_gone_and_its_work_ends(stage: Stage) -> None:
    async with connection(stage) as one:
        session = await one.new_session()
        async with one.events(session) as events:
            await one.post(prompt(3, session, "wait"), acp_session_id=session)
            assert text_of(await anext(events)) == "waiting"
            assert (await one.http.delete(one.url, headers=one.named)).status_code == 202
            assert [message async for message in events if "method" in message] == []
        await until(stage.ended.is_set)
        assert (await one.post(NEW)).status_code == 404


async def turn(events: Any) -> tuple[list[str], dict[str, Any]]:
    """The words of a turn and the answer at its end."""
    texts: list[str] = []
    async for message in events:
        if "method" not in message:
            return "".join(texts).split(), message
        texts.append(text_of(message))
    raise AssertionError("the stream ended before the turn")


async def test_nht_16_a_whole_turn_comes_in_order_over_the_sessions_stream(stage: Stage) -> None:
    async with connection(stage) as one:
        session = await one.new_session()
        async with one.events(session) as events:
            await one.post(prompt(3, session, "count 200"), acp_session_id=session)
            words, end = await turn(events)
        assert words == [str(number) for number in range(200)]
        assert (end["id"], end["result"]["stopReason"]) == (3, "end_turn")


async def test_nht_17_each_stream_carries_its_own_session_only(stage: Stage) -> None:
    async with connection(stage) as one:
        names = [await one.new_session(), await one.new_session()]

        async def tell(session: str, number: int) -> None:
            async with one.events(session) as events:
                await one.post(prompt(number, session, "count 50"), acp_session_id=session)
                async for message in events:
                    if "method" not in message:
                        assert message["id"] == number
                        return
                    assert message["params"]["sessionId"] == session

        await asyncio.gather(*(tell(session, 10 + at) for at, session in enumerate(names)))


@pytest.mark.parametrize("numbered", [False, True])
async def test_nht_19_a_stream_that_is_opened_again_goes_on(stage: Stage, *, numbered: bool) -> None:
    async with connection(stage) as one:
        session = await one.new_session()
        async with one.events(session) as events:
            await one.post(prompt(3, session, "ask"), acp_session_id=session)
            while (asked := await anext(events))["method"] != "session/request_permission":
                pass
        # Nobody reads now; what the turn says to our answer must wait.
        chosen = {"outcome": {"outcome": "selected", "optionId": asked["params"]["options"][0]["optionId"]}}
        answered = await one.post({"jsonrpc": "2.0", "id": asked["id"], "result": chosen})
        assert answered.status_code == 202
        seen = {"last_event_id": "2"} if numbered else {}
        async with one.events(session, **seen) as events:
            words, end = await turn(events)
        assert " ".join(words) == "you said True"
        assert end["result"]["stopReason"] == "end_turn"


async def test_nht_20_the_same_id_as_number_and_as_string_are_two(stage: Stage) -> None:
    async with connection(stage) as one:
        first, second = await one.new_session(), await one.new_session()
        async with one.events(first) as here, one.events(second) as there:
            await one.post(prompt(5, first, "here"), acp_session_id=first)
            await one.post(prompt("5", second, "there"), acp_session_id=second)
            assert (await turn(here))[1]["id"] == 5
            assert (await turn(there))[1]["id"] == "5"


async def test_nht_x1_a_batch_is_refused_with_an_error_that_a_client_can_read(stage: Stage) -> None:
    async with connection(stage, initialized=False) as one:
        batch = await one.post([INITIALIZE])
        assert (batch.status_code, batch.json()["error"]["code"]) == (400, -32600)


async def test_nht_x2_initialize_comes_once(stage: Stage) -> None:
    async with connection(stage) as one:
        assert (await one.post(INITIALIZE)).status_code == 400
        assert await one.new_session()


async def test_nht_x3_headers_and_bodies_agree_about_the_session(stage: Stage) -> None:
    async with connection(stage) as one:
        session = await one.new_session()
        assert (await one.post(prompt(3, session, "x"), acp_session_id="other")).status_code == 400
        assert (await one.post(prompt(3, session, "x"))).status_code == 400
        assert await one.new_session()


async def test_nht_x4_endless_ids_are_refused(stage: Stage) -> None:
    async with connection(stage) as one:
        long = "x" * 1025
        assert (await one.post(request(long, "_x"))).status_code == 400
        assert (await one.post(prompt(3, long, "x"), acp_session_id=long)).status_code == 400
        reading = {**one.named, "accept": "text/event-stream", "acp-session-id": long}
        assert (await one.get(**reading)).status_code == 400
        assert await one.new_session()


async def test_nht_x5_a_stream_has_one_reader(stage: Stage) -> None:
    async with connection(stage) as one, one.events("s"):
        reading = {**one.named, "accept": "text/event-stream", "acp-session-id": "s"}
        assert (await one.get(**reading)).status_code == 409


async def test_nht_x6_what_was_said_before_anybody_listened_arrives(stage: Stage) -> None:
    async with connection(stage) as one:
        assert (await one.post(NEW)).status_code == 202
        async with one.events() as events:
            session = (await anext(events))["result"]["sessionId"]
        await one.post(prompt(3, session, "count 5"), acp_session_id=session)
        async with one.events(session) as events:
            assert (await turn(events))[0] == list("01234")


async def test_nht_x7_other_methods_are_refused(stage: Stage) -> None:
    async with connection(stage, initialized=False) as one:
        assert (await one.http.put(one.url)).status_code == 405
    await survives(stage)


async def test_nht_x8_resets_harm_nobody_and_a_broken_stream_goes_on(stage: Stage) -> None:
    async with connection(stage) as one:
        post = head("POST", stage, content_type="application/json", content_length="100000", **one.named)
        for part in (post[: len(post) // 2], post, post + b'{"jsonrpc":"2.0",'):
            _, writer = await asyncio.open_connection("127.0.0.1", stage.port)
            writer.write(part)
            await reset(writer)
        session = await one.new_session()
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        writer.write(head("GET", stage, accept="text/event-stream", acp_session_id=session, **one.named))
        assert (await answer(reader))[0] == 200
        await one.post(prompt(3, session, "count 50"), acp_session_id=session)
        await reader.readuntil(b"data:")
        await reset(writer)
        async with one.events(session, last_event_id="0") as events:
            words, end = await turn(events)
        assert words == [str(number) for number in range(50)]
        assert end["result"]["stopReason"] == "end_turn"
    await survives(stage)
