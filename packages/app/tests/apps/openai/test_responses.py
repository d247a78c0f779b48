"""The Responses API, with the official OpenAI client over a socket, in front of ACP agents."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent

from dragoman.testing.pace import patience
from dragoman_app.apps.openai.requests import ChatMessage
from dragoman_app.apps.openai.responses import StoredResponse, StoredResponses
from tests.apps.gateway.stage import make_gateway
from tests.apps.openai.stage import EVIL, OTHER_TOKEN, TOKEN, BenchAgent, OpenaiStage, official_client

PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}


@pytest.fixture(scope="module")
def url(stage: OpenaiStage, folder: Path) -> str:
    return stage.serve(lambda: make_gateway(folder), folder)


@pytest.fixture(scope="module")
def echo(url: str) -> Iterator[openai.OpenAI]:
    with official_client(url) as client:
        yield client


def ask(client: openai.OpenAI, text: Any, **more: Any) -> Response:
    response: Response = client.responses.create(model="echo", input=text, **more)
    return response


def events_of(client: openai.OpenAI, text: str, **more: Any) -> list[ResponseStreamEvent]:
    return list(client.responses.create(model="echo", input=text, stream=True, **more))


def session_of(response: Response) -> str:
    assert response.model_extra is not None
    return str(response.model_extra["dragoman"]["session"])


def strict(response: Response) -> None:
    """The official client reads leniently; its own types are the judge."""
    Response.model_validate(response.model_dump(), strict=False)


def test_a_response_has_text_status_and_session(echo: openai.OpenAI) -> None:
    response = ask(echo, "hello", temperature=0.2, metadata={"a": "b"})
    strict(response)
    assert response.output_text == "You said: hello"
    assert (response.status, response.model, response.store) == ("completed", "echo", True)
    assert (response.metadata, response.usage, response.error) == ({"a": "b"}, None, None)
    assert session_of(response)
    usage = ask(echo, "/usage 1000").usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (900, 100, 1000)


def test_a_streamed_response_has_the_events_of_the_official_client_in_order(echo: openai.OpenAI) -> None:
    events = events_of(echo, "abcd")
    assert list(dict.fromkeys(event.type for event in events)) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    for event in events:
        type(event).model_validate(event.model_dump())
    assert [event.sequence_number for event in events] == list(range(len(events)))
    with echo.responses.stream(model="echo", input="abcd") as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(pieces) == final.output_text == "You said: abcd"
    strict(final)


@pytest.mark.parametrize(
    ("stop_reason", "why"),
    [
        ("max_tokens", "max_output_tokens"),
        ("max_turn_requests", "max_output_tokens"),
        ("refusal", "content_filter"),
    ],
)
def test_stop_reasons_make_responses_incomplete(echo: openai.OpenAI, stop_reason: str, why: str) -> None:
    response = ask(echo, f"/stop {stop_reason}")
    assert response.incomplete_details is not None
    assert (response.status, response.incomplete_details.reason) == ("incomplete", why)
    assert events_of(echo, f"/stop {stop_reason}")[-1].type == "response.incomplete"


def test_a_previous_response_goes_on_in_its_session(bench: openai.OpenAI) -> None:
    first = ask(bench, "one")
    second = ask(bench, "two", previous_response_id=first.id)
    assert second.output_text == f"two in {session_of(first)}"
    assert second.previous_response_id == first.id
    streamed = events_of(bench, "three", previous_response_id=second.id)[-1]
    assert streamed.type == "response.completed"
    assert session_of(streamed.response) == session_of(first)
    branch = ask(bench, "another two", previous_response_id=first.id)
    assert session_of(branch) != session_of(first)


def test_a_session_that_went_on_is_not_disturbed_by_a_branch_which_is_told_what_was_said(
    echo: openai.OpenAI,
) -> None:
    first = ask(echo, "first words")
    ask(echo, "second words", previous_response_id=first.id)
    branch = ask(echo, "other words", previous_response_id=first.id)
    assert '{"role":"user","content":"first words"}' in branch.output_text
    assert '{"role":"assistant","content":"You said: first words"}' in branch.output_text
    assert "second words" not in branch.output_text


def test_instructions_are_told_once_and_again_when_they_change(echo: openai.OpenAI) -> None:
    first = ask(echo, "one", instructions="Be brief.")
    assert "Instructions for this conversation:\nBe brief." in first.output_text
    second = ask(echo, "two", instructions="Be brief.", previous_response_id=first.id)
    assert second.output_text == "You said: two"
    third = ask(echo, "three", instructions="Be long.", previous_response_id=second.id)
    assert "Be long." in third.output_text
    assert "Be brief." not in third.output_text
    assert len({session_of(response) for response in (first, second, third)}) == 1


def test_a_client_that_sends_the_whole_conversation_goes_on_in_its_session(bench: openai.OpenAI) -> None:
    items: list[Any] = [{"role": "user", "content": "where am I"}]
    first = ask(bench, items, store=False, instructions="Be brief.")
    items += [item.model_dump() for item in first.output]
    items.append({"role": "user", "content": [{"type": "input_text", "text": "and now"}]})
    second = ask(bench, items, store=False, instructions="Be brief.")
    assert second.output_text == f"and now in {session_of(first)}"


def test_what_is_stored_can_be_read_deleted_and_belongs_to_its_token(echo: openai.OpenAI, url: str) -> None:
    response = ask(echo, "keep this")
    assert echo.responses.retrieve(response.id).output_text == response.output_text
    items = echo.responses.input_items.list(response.id).data
    assert [item.content[0].text for item in items] == ["keep this"]
    with openai.OpenAI(base_url=url, api_key=OTHER_TOKEN, max_retries=0) as other:
        with pytest.raises(openai.NotFoundError):
            other.responses.retrieve(response.id)
        with pytest.raises(openai.BadRequestError, match="is not kept here"):
            ask(other, "steal", previous_response_id=response.id)
    echo.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        echo.responses.retrieve(response.id)


def test_what_is_not_stored_cannot_be_named(echo: openai.OpenAI) -> None:
    response = ask(echo, "forget this", store=False)
    assert response.store is False
    with pytest.raises(openai.NotFoundError):
        echo.responses.retrieve(response.id)
    with pytest.raises(openai.BadRequestError, match="`store` false") as caught:
        ask(echo, "go on", previous_response_id=response.id)
    assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")


def test_tool_calls_are_comments_of_the_stream_and_members_of_the_response(
    echo: openai.OpenAI, folder: Path
) -> None:
    (folder / "notes.txt").write_text("words\n")
    with echo.responses.with_streaming_response.create(
        model="echo", input="/read notes.txt", stream=True
    ) as answer:
        lines = [line for line in answer.iter_lines() if line.startswith(":")]
    assert ": tool completed read Read notes.txt" in lines
    response = ask(echo, "/ask new.txt")
    assert response.model_extra is not None
    details = response.model_extra["dragoman"]
    assert [call["title"] for call in details["tools"]] == ["Create new.txt"]
    assert [refusal["what"] for refusal in details["refused"]] == ["Create new.txt"]
    assert [item.type for item in response.output] == ["message"]


@pytest.mark.parametrize(
    ("more", "explanation"),
    [
        ({"background": True}, "`background` is not supported"),
        ({"conversation": "conv_1"}, "`conversation` is not supported"),
        ({"prompt": {"id": "p"}}, "templates are not supported"),
        ({"tool_choice": "required"}, "cannot demand a call"),
        ({"text": {"format": {"type": "json_object"}}}, "`text.format` is not supported"),
        ({"input": []}, "nothing to answer"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "items are not stored"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "unknown message role 'nobody'"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "parts are input_text"),
        ({"model": "gpt-5"}, "the only model is 'echo'"),
    ],
)
def test_what_a_response_cannot_keep_is_refused(
    echo: openai.OpenAI, more: dict[str, Any], explanation: str
) -> None:
    with pytest.raises(openai.APIStatusError, match=explanation) as caught:
        echo.responses.create(**{"model": "echo", "input": "x", **more})
    assert caught.value.status_code in (400, 404)


def test_images_of_a_response_are_for_agents_that_take_them(
    echo: openai.OpenAI, bench: openai.OpenAI
) -> None:
    items = [{"role": "user", "content": [{"type": "input_text", "text": "see"}, PICTURE]}]
    assert "see" in ask(echo, items).output_text
    with pytest.raises(openai.BadRequestError, match="takes no images") as caught:
        ask(bench, items)
    assert caught.value.param == "input"


def test_items_that_a_model_leaves_behind_are_skipped_and_results_are_told(echo: openai.OpenAI) -> None:
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "blue"},
        {"role": "user", "content": "which colour"},
    ]
    text = ask(echo, items).output_text
    assert "The result of a tool of the client:\nblue" in text
    assert "which colour" in text


def test_a_response_that_fails_says_so_and_hostile_text_is_data(bench: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        ask(bench, "fail")
    assert caught.value.status_code == 502
    assert "not for clients" not in str(caught.value)
    assert EVIL in ask(bench, "be evil").output_text


def test_a_client_that_leaves_cancels_its_response(bench: openai.OpenAI, bench_agent: BenchAgent) -> None:
    bench_agent.is_cancelled = threading.Event()
    stream = bench.responses.create(model="echo", input="wait", stream=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()
    assert bench_agent.is_cancelled.wait(patience(10))


def test_a_turn_that_fails_in_its_middle_ends_the_stream_with_a_failed_response(
    stage: OpenaiStage, folder: Path
) -> None:
    agent = BenchAgent()
    address = stage.serve(lambda: make_gateway(folder, agent=agent.agent), folder)
    with openai.OpenAI(base_url=address, api_key=TOKEN, max_retries=0) as client:
        stream = iter(client.responses.create(model="echo", input="wait", stream=True))
        while next(stream).type != "response.output_text.delta":
            pass
        stage.close_server(address)
        last = list(stream)[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.message == "the server is stopping"


def test_stored_responses_are_bounded_and_those_in_use_stay() -> None:
    stored = StoredResponses(most_responses=3)
    for name, previous in (("a", None), ("x", None), ("b", "a")):
        stored.add(stored_response(name, previous))
    last = stored.find("b", owner="me")
    assert last is not None
    assert [message.content for message in stored.conversation(last)] == ["a", "b"]
    stored.add(stored_response("c", "b"))
    assert stored.find("x", owner="me") is None
    assert stored.find("a", owner="me") is not None
    assert stored.find("a", owner="you") is None
    small = StoredResponses(most_bytes=1200)
    for name in "ab":
        small.add(stored_response(name, None))
    small.add(stored_response("c", "a"))
    assert [small.find(name, owner="me") is not None for name in "abc"] == [False, True, True]


def stored_response(name: str, previous: str | None) -> StoredResponse:
    return StoredResponse(
        id=name,
        owner="me",
        previous_id=previous,
        instructions=None,
        messages=[ChatMessage(role="user", content=name)],
        session_id="s",
        body=b"",
    )
