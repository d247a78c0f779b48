import asyncio

import pytest

from dragoman.testing.models import (
    ModelRequest,
    ModelTurn,
    NoTurnLeft,
    begin,
    call,
    cut,
    endless,
    fail,
    garbage,
    hold,
    huge,
    refuse,
    say,
    scripted_model,
    turn,
)
from tests.testing.models.client import CHAT, MESSAGES, asked, opened, post, read, said, send, written

STREAM = asked(stream=True)


async def test_turns_are_used_in_their_order() -> None:
    async with scripted_model(["one", "two"]) as model:
        answers = [await post(model, asked()) for _ in range(2)]
    assert [answer.json["choices"][0]["message"]["content"] for answer in answers] == ["one", "two"]
    assert [request.turn for request in model.requests] == [0, 1]
    assert [request.outcome for request in model.requests] == ["answered", "answered"]


async def test_a_turn_that_was_made_for_a_request_comes_before_the_next_in_order() -> None:
    script = [turn("next"), turn("made for it", when=lambda request: "special" in request.text)]
    async with scripted_model(script) as model:
        answers = [await post(model, asked(text, stream=True)) for text in ("special", "plain", "special")]
    assert [said(answer) for answer in answers] == ["made for it", "next", "made for it"]


async def test_a_turn_can_be_used_a_number_of_times() -> None:
    script = [turn("twice", times=2), turn("then")]
    async with scripted_model(script) as model:
        answers = [await post(model, STREAM) for _ in range(3)]
    assert [said(answer) for answer in answers] == ["twice", "twice", "then"]


async def test_a_request_without_a_turn_is_an_error_that_is_not_tried_again_and_fails_the_test() -> None:
    with pytest.raises(NoTurnLeft, match="1 turns, none left for <chat to m"):  # noqa: PT012
        async with scripted_model(["one"]) as model:
            await post(model, asked())
            assert (await post(model, asked())).status == 400
    assert [request.turn for request in model.requests] == [0, None]


async def test_too_many_requests_do_not_hide_what_failed_in_the_block() -> None:
    with pytest.raises(KeyError):  # noqa: PT012
        async with scripted_model([]) as model:
            await post(model, asked())
            raise KeyError


async def test_who_does_not_mind_may_ask_too_often() -> None:
    async with scripted_model([], strict=False) as model:
        assert (await post(model, asked())).status == 400
    assert model.unanswered_requests == model.requests


async def test_the_last_message_can_be_said_again() -> None:
    async with scripted_model([turn("You said: $text.")]) as model:
        assert said(await post(model, asked("No", stream=True))) == "You said: No."


async def test_a_turn_stands_still_until_it_is_released() -> None:
    async with scripted_model([turn(say("before "), hold("door"), say("after"))]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        await model.wait_for_hold("door")
        head = await reader.readuntil(b"before ")
        assert b"200 OK" in head
        assert model.requests[0].outcome == "under way"
        model.release("door")
        assert b"after" in await reader.readuntil(b"[DONE]")
        writer.close()


async def test_a_late_first_byte_is_a_late_head() -> None:
    async with scripted_model([turn(hold(), "late")]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        await model.wait_for_hold()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)
        model.release()
        assert said(await read(reader)) == "late"
        writer.close()


async def test_an_answer_can_begin_before_anything_is_said() -> None:
    async with scripted_model([turn(begin(), hold(), "late")]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        assert b'"role": "assistant"' in await reader.readuntil(b"\n\n\r\n")
        model.release()
        assert b'"late"' in await reader.readuntil(b"[DONE]")
        writer.close()


async def test_a_client_that_leaves_is_noticed_while_nothing_is_sent() -> None:
    async with scripted_model([turn(hold())]) as model:
        _, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        await model.wait_for_hold()
        writer.close()
        assert await model.requests[0].over() == "abandoned"


async def test_an_endless_answer_ends_when_the_client_leaves() -> None:
    async with scripted_model([turn(endless("more ", pace=0))]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        for _ in range(3):
            await reader.readuntil(b"more ")
        writer.transport.abort()
        assert await model.requests[0].over() == "abandoned"


async def test_an_endless_answer_ends_with_the_server() -> None:
    async with scripted_model([turn(endless(pace=0))]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        await reader.readuntil(b"and so on")
    writer.close()
    assert model.requests[0].outcome == "abandoned"


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/responses"])
async def test_a_stream_can_be_cut_in_an_event(path: str) -> None:
    async with scripted_model([turn("Hello", cut())]) as model:
        answer = await post(model, STREAM, path)
    assert not answer.whole
    assert b"Hello" in answer.body
    assert not answer.body.endswith(b"\n\n")
    assert model.requests[0].outcome == "broken off"


async def test_a_stream_can_be_cut_between_events() -> None:
    async with scripted_model([turn("Hello", cut("between"))]) as model:
        answer = await post(model, STREAM)
    assert not answer.whole
    assert said(answer) == "Hello"
    assert answer.body.endswith(b"\n\n")


async def test_a_stream_can_end_as_if_that_had_been_all() -> None:
    async with scripted_model([turn("Hello", cut("quietly"))]) as model:
        answer = await post(model, STREAM)
    assert answer.whole
    assert said(answer) == "Hello"
    assert {event["choices"][0]["finish_reason"] for event in answer.events} == {None}


async def test_an_answer_can_be_cut_before_its_first_byte() -> None:
    async with scripted_model([turn(cut("head"))]) as model:
        with pytest.raises(asyncio.IncompleteReadError) as caught:
            await post(model, STREAM)
    assert caught.value.partial == b""


async def test_a_whole_answer_can_be_cut() -> None:
    async with scripted_model([turn("Hello", cut())]) as model:
        answer = await post(model, asked())
    assert not answer.whole
    assert answer.body.startswith(b'{"id"')


async def test_garbage_stands_between_good_events() -> None:
    async with scripted_model([turn("one", garbage(b"data: {oh\n\n"), "two")]) as model:
        answer = await post(model, STREAM)
    assert answer.body.index(b"one") < answer.body.index(b"data: {oh\n\n") < answer.body.index(b"two")
    assert answer.whole


async def test_garbage_is_a_whole_answer_too() -> None:
    async with scripted_model([turn(garbage(b"<html>"))]) as model:
        assert (await post(model, asked())).body == b"<html>"


async def test_a_piece_can_be_huge() -> None:
    async with scripted_model([turn(huge(3_000_000))]) as model:
        assert len(said(await post(model, STREAM))) == 3_000_000


async def test_a_stream_can_come_byte_by_byte() -> None:
    script = [turn("Grüße", call("read", path="ä")), turn("Grüße", call("read", path="ä"), split=1)]
    async with scripted_model(script) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM))
        whole = await read(reader)
        writer.write(written(CHAT, STREAM))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(6) == b"1\r\nd\r\n"
        writer.close()
    assert said(whole) == "Grüße"


async def test_connections_are_refused_until_it_listens_again() -> None:
    async with scripted_model([turn(refuse()), turn("back")]) as model:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await post(model, STREAM)
        assert model.requests[0].outcome == "broken off"
        with pytest.raises(ConnectionRefusedError):
            await opened(model)
        address = model.url
        await model.listen()
        assert model.url == address
        assert said(await post(model, STREAM)) == "back"


async def test_it_listens_again_after_some_seconds() -> None:
    async with scripted_model(["back"]) as model:
        model.refuse(0.05)
        answer = None
        while answer is None:
            try:
                answer = await post(model, STREAM)
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
    assert said(answer) == "back"


async def test_a_test_may_end_while_connections_are_refused() -> None:
    async with scripted_model([]) as model:
        model.refuse(60)


async def test_an_error_after_the_first_piece_stands_in_the_stream() -> None:
    async with scripted_model([turn("Hel", fail(529, "Too much"))]) as model:
        answer = await post(model, STREAM)
    assert answer.status == 200
    assert answer.events[-1]["error"]["message"] == "Too much"
    assert model.requests[0].outcome == "failed"


async def test_an_error_can_be_a_page_of_somebody_in_between() -> None:
    async with scripted_model(
        [turn(fail(502, body="<h1>Bad gateway</h1>", headers={"Via": "proxy"}))]
    ) as model:
        answer = await post(model, STREAM)
    assert (answer.status, answer.body) == (502, b"<h1>Bad gateway</h1>")
    assert (answer.headers["content-type"], answer.headers["via"]) == ("text/html", "proxy")


async def test_only_the_right_key_is_answered() -> None:
    async with scripted_model(["yes", "yes"], key="right") as model:
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": "Bearer right"}, 200),
            ({"X-API-Key": "right"}, 200),
        ):
            assert (await post(model, asked(), headers=headers)).status == status


async def test_a_connection_is_used_again() -> None:
    async with scripted_model(["one", "two"]) as model:
        reader, writer = await opened(model)
        for text in ("one", "two"):
            writer.write(written(CHAT, STREAM))
            assert said(await read(reader)) == text
        writer.close()


async def test_a_request_that_comes_early_is_answered_later() -> None:
    async with scripted_model(["one", "two"]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM) * 2)
        assert [said(await read(reader)), said(await read(reader))] == ["one", "two"]
        writer.close()


async def test_a_connection_ends_after_an_answer_when_the_client_wants_that() -> None:
    async with scripted_model(["one"]) as model:
        reader, writer = await opened(model)
        writer.write(written(CHAT, STREAM, {"connection": "close"}))
        assert (await read(reader)).headers["connection"] == "close"
        assert await reader.read() == b""
        writer.close()


async def test_a_body_may_come_in_chunks_and_ask_before() -> None:
    head = f"POST {CHAT} HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n".encode()
    async with scripted_model(["one"]) as model:
        reader, writer = await opened(model)
        writer.write(head)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b'10\r\n{"stream": true}\r\n0\r\n\r\n')
        assert said(await read(reader)) == "one"
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 3\r\n\r\n{{{",
        b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\nx: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused(data: bytes) -> None:
    async with scripted_model([]) as model:
        assert (await send(model, data)).status == 400
    assert model.requests == []


async def test_models_are_listed_in_both_formats() -> None:
    async with scripted_model("model small large") as model:
        chat = await send(model, written("/v1/models", None, method="GET"))
        messages = await send(model, written("/v1/models", None, {"anthropic-version": "x"}, method="GET"))
        unknown = await send(model, written("/v1/embeddings", {}))
    assert [entry["id"] for entry in chat.json["data"]] == ["small", "large"]
    assert (messages.json["first_id"], messages.json["last_id"]) == ("small", "large")
    assert unknown.status == 404


async def test_the_environment_leads_here() -> None:
    async with scripted_model([], key="k") as model:
        assert model.env == {
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "k",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_API_KEY": "k",
        }


async def test_waiting_for_a_request_gives_it() -> None:
    async with scripted_model(["one"]) as model, asyncio.TaskGroup() as group:
        waiting = group.create_task(model.wait_for_request(1))
        await post(model, asked("Hello"))
    assert waiting.result().text == "Hello"


async def test_a_function_can_choose_the_turn_for_a_request() -> None:
    def answer(request: ModelRequest) -> ModelTurn | None:
        return turn(call(next(iter(request.tools)))) if request.tools else None

    tool = {"type": "function", "function": {"name": "read"}}
    async with scripted_model(answer, strict=False) as model:
        chosen = await post(model, asked(tools=[tool]))
        refused = await post(model, asked())
    assert chosen.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "read"
    assert (refused.status, len(model.unanswered_requests)) == (400, 1)
