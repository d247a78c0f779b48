"""The official OpenAI client, over a socket, in front of ACP agents."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from dragoman.testing.pace import patience
from tests.apps.gateway.stage import MORTAL, make_gateway
from tests.apps.openai.stage import EVIL, OTHER_TOKEN, BenchAgent, OpenaiStage, official_client

PNG = base64.b64encode(b"\x89PNG picture").decode()


@pytest.fixture(scope="module")
def echo(stage: OpenaiStage, folder: Path) -> Iterator[openai.OpenAI]:
    with official_client(stage.serve(lambda: make_gateway(folder), folder)) as client:
        yield client


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def ask(client: openai.OpenAI, *messages: Any, **more: Any) -> Any:
    """A completion; a plain text is a message of the user, and the next one the assistant's."""
    roles = ("user", "assistant")
    listed = [
        {"role": roles[at % 2], "content": message} if isinstance(message, str) else message
        for at, message in enumerate(messages)
    ]
    return client.chat.completions.create(model="echo", messages=listed, **more)


def text_of(completion: Any) -> str:
    return str(completion.choices[0].message.content)


def details_of(completion: Any) -> dict[str, Any]:
    details: dict[str, Any] = completion.model_extra["dragoman"]
    return details


def lines_of(client: openai.OpenAI, text: str) -> list[str]:
    """The lines of a stream as they are on the wire."""
    with client.chat.completions.with_streaming_response.create(
        model="echo", messages=[user(text)], stream=True
    ) as response:
        return [line for line in response.iter_lines() if line]


def test_a_completion_has_text_reason_and_session(echo: openai.OpenAI) -> None:
    completion = ask(echo, "hello", temperature=0.2, max_tokens=5, tools=[], user="somebody", seed=1)
    assert text_of(completion) == "You said: hello"
    assert (completion.model, completion.object) == ("echo", "chat.completion")
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is None
    assert details_of(completion)["session"]
    assert details_of(completion)["stop_reason"] == "end_turn"


def test_the_agent_is_the_only_model(echo: openai.OpenAI) -> None:
    assert [model.id for model in echo.models.list()] == ["echo"]
    assert echo.models.retrieve("echo").owned_by == "dragoman"
    with pytest.raises(openai.NotFoundError, match="the only model is 'echo'"):
        echo.models.retrieve("gpt-5")
    with pytest.raises(openai.NotFoundError, match="the only model is 'echo'") as caught:
        echo.chat.completions.create(model="gpt-5", messages=[user("hello")])
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError, match="/v1/chat/completions, /v1/responses and /v1/models"):
        echo.embeddings.create(model="echo", input="words")


def test_a_stream_has_its_text_in_order_and_ends_with_the_reason(echo: openai.OpenAI) -> None:
    chunks = list(ask(echo, "/usage 1000", stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.total_tokens == 1000
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (900, 100)
    assert chunks[-2].choices[0].finish_reason == "stop"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in ask(echo, "/stream 20 3", stream=True))
    assert text == text_of(ask(echo, "/stream 20 3"))
    chunks = list(ask(echo, "abcdefgh", stream=True))
    pieces = [chunk.choices[0].delta.content for chunk in chunks[:-1]]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert pieces == ["", "You said: ", "ab", "cd", "ef", "gh"]
    assert details_of(chunks[-1])["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [("max_tokens", "length"), ("max_turn_requests", "length"), ("refusal", "content_filter")],
)
def test_stop_reasons_are_finish_reasons(echo: openai.OpenAI, stop_reason: str, finish_reason: str) -> None:
    completion = ask(echo, f"/stop {stop_reason}")
    assert completion.choices[0].finish_reason == finish_reason
    assert details_of(completion)["stop_reason"] == stop_reason


def test_the_usage_is_what_the_agent_tells(echo: openai.OpenAI) -> None:
    usage = ask(echo, "/usage 1000").usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (900, 100, 1000)


def test_thoughts_and_plans_are_no_text_and_tool_calls_are_comments(
    echo: openai.OpenAI, folder: Path
) -> None:
    assert text_of(ask(echo, "/think aloud")) == "I have thought about it."
    assert text_of(ask(echo, "/plan")) == "The plan is done."
    (folder / "known.txt").write_text("words")
    lines = lines_of(echo, "/read known.txt")
    tools = [line for line in lines if line.startswith(": tool ")]
    assert tools[0].startswith(": tool in_progress read ")
    assert tools[-1].startswith(": tool completed read ")
    assert lines[-1] == "data: [DONE]"


def test_tool_calls_stand_in_the_text_if_that_is_asked_for(stage: OpenaiStage, folder: Path) -> None:
    (folder / "known.txt").write_text("words")
    with official_client(stage.serve(lambda: make_gateway(folder), folder, show_tools=True)) as client:
        completion = ask(client, "/read known.txt")
        assert text_of(completion).startswith("[read: Read known.txt]\n\n")
        again = ask(client, "/read known.txt", text_of(completion), "more")
        assert details_of(again)["session"] == details_of(completion)["session"]


def test_a_conversation_goes_on_in_its_session_and_a_changed_one_in_another(echo: openai.OpenAI) -> None:
    rules = {"role": "system", "content": "Be brief."}
    first = ask(echo, rules, user("begin"))
    assert text_of(first) == "You said: Instructions for this conversation:\nBe brief.\n\nbegin"
    answer = {"role": "assistant", "content": f"{text_of(first)}\n"}  # clients change blanks at the ends
    second = ask(echo, rules, user("begin"), answer, user([{"type": "text", "text": "go on"}]))
    assert text_of(second) == "You said: go on"
    assert details_of(second)["session"] == details_of(first)["session"]
    # The session knows more by now than this history does.
    again = ask(echo, rules, user("begin"), answer, user("go on"))
    assert details_of(again)["session"] != details_of(first)["session"]
    assert '{"role":"user","content":"begin"}' in text_of(again)
    changed = ask(echo, user("begun"), answer, user("go on"))
    assert details_of(changed)["session"] not in (details_of(first)["session"], details_of(again)["session"])
    assert text_of(changed).endswith("\n\ngo on")


def test_a_session_belongs_to_its_token(echo: openai.OpenAI) -> None:
    first = ask(echo, "mine")
    other = echo.with_options(api_key=OTHER_TOKEN)
    stolen = ask(other, "mine", text_of(first), "go on")
    assert details_of(stolen)["session"] != details_of(first)["session"]
    again = ask(echo, "mine", text_of(first), "go on")
    assert details_of(again)["session"] == details_of(first)["session"]


def test_what_the_policy_refuses_is_named_in_the_answer(echo: openai.OpenAI, folder: Path) -> None:
    completion = ask(echo, "/ask new.txt")
    assert not (folder / "new.txt").exists()
    assert [refusal["what"] for refusal in details_of(completion)["refused"]] == ["Create new.txt"]
    assert [line for line in lines_of(echo, "/ask new.txt") if line.startswith(": refused Create new.txt (")]


def test_what_the_command_line_approves_is_done(stage: OpenaiStage, folder: Path) -> None:
    url = stage.serve(lambda: make_gateway(folder, approve="all"), folder)
    with official_client(url) as client:
        assert details_of(ask(client, "/ask approved.txt"))["refused"] == []
    assert (folder / "approved.txt").exists()


def test_images_are_for_agents_that_take_them(echo: openai.OpenAI, bench: openai.OpenAI) -> None:
    def picture(url: str) -> dict[str, Any]:
        return user([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}])

    good = picture(f"data:image/png;base64,{PNG}")
    assert text_of(ask(echo, good)) == f"You said: see\n[image image/png, {len(PNG)} characters of base64]"
    with pytest.raises(openai.BadRequestError, match="takes no images"):
        ask(bench, good)
    for url in ("https://pictures.example/1.png", "file:///etc/passwd", "data:text/html;base64,AAAA"):
        with pytest.raises(openai.BadRequestError, match="must be a data URL"):
            ask(echo, picture(url))
    with pytest.raises(openai.BadRequestError, match="base64 of an image is broken"):
        ask(echo, picture("data:image/png;base64,%%%"))


def test_what_an_agent_cannot_keep_is_refused_and_the_rest_is_ignored(echo: openai.OpenAI) -> None:
    function = {"type": "function", "function": {"name": "f", "parameters": {}}}
    assert text_of(ask(echo, "hello", tools=[function], tool_choice="auto")) == "You said: hello"
    for param, more in (
        ("tool_choice", {"tools": [function], "tool_choice": "required"}),
        ("n", {"n": 2}),
        ("response_format", {"response_format": {"type": "json_object"}}),
        ("messages[0].role", {"messages": [{"role": "wizard", "content": "x"}]}),
        ("messages[0].content[0].type", {"messages": [user([{"type": "input_audio"}])]}),
        ("messages", {"messages": []}),
        ("messages", {"messages": [user(" ")]}),
        ("messages", {"messages": [user("x"), {"role": "assistant", "content": "y"}]}),
    ):
        with pytest.raises(openai.BadRequestError) as caught:
            echo.chat.completions.create(**{"model": "echo", "messages": [user("x")], **more})
        assert caught.value.param == param
        assert caught.value.type == "invalid_request_error"


def test_a_body_that_is_too_large_or_no_json_is_refused(echo: openai.OpenAI) -> None:
    for body, status in ((b"{", 400), (b"[" * 100_000, 400), (b" " * (16 * 1024 * 1024 + 1), 413)):
        with pytest.raises(openai.APIStatusError) as caught:
            echo.post("/chat/completions", cast_to=object, content=body)
        assert caught.value.status_code == status


def test_whoever_has_no_token_or_comes_from_elsewhere_is_refused(echo: openai.OpenAI) -> None:
    for more, kind in (
        ({"authorization": "Bearer wrong"}, openai.AuthenticationError),
        ({"authorization": ""}, openai.AuthenticationError),
        ({"origin": "https://evil.example"}, openai.PermissionDeniedError),
    ):
        with pytest.raises(kind) as caught:
            ask(echo, "hello", extra_headers=more)
        assert "server" in str(caught.value) or "origin" in str(caught.value)
        assert set(caught.value.body) == {"message", "type", "param", "code"}
    with pytest.raises(openai.APIStatusError, match="unknown server name"):
        ask(echo, "hello", extra_headers={"host": "evil.example"})


def test_two_requests_at_once_have_two_sessions(bench: openai.OpenAI) -> None:
    with ThreadPoolExecutor(2) as threads:
        left, right = threads.map(lambda text: ask(bench, text), ("meet left", "meet right"))
    assert text_of(left).startswith("meet left in ")
    assert text_of(right).startswith("meet right in ")
    assert details_of(left)["session"] != details_of(right)["session"]


def test_a_client_that_leaves_cancels_its_turn_and_cannot_run_it_again_by_a_retry(
    bench: openai.OpenAI, bench_agent: BenchAgent
) -> None:
    with ask(bench, "wait", stream=True) as stream:
        first = [next(stream) for _ in range(2)]
    assert first[1].choices[0].delta.content == "I wait"
    assert bench_agent.is_cancelled.wait(patience(5))
    before = bench_agent.turns
    with pytest.raises(openai.ConflictError, match="already started") as caught:
        ask(bench, "wait", extra_headers={"x-stainless-retry-count": "1"})
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert bench_agent.turns == before


def test_a_server_that_ends_cancels_its_turns_and_tells_the_clients(stage: OpenaiStage, folder: Path) -> None:
    agent = BenchAgent()
    url = stage.serve(lambda: make_gateway(folder, agent=agent.agent), folder)
    with official_client(url) as client:
        stream = ask(client, "wait", stream=True)
        assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "I wait"]
        stage.close_server(url)
        with pytest.raises(openai.APIError, match="the server is stopping"):
            next(stream)
        assert agent.is_cancelled.is_set()
        with pytest.raises(openai.InternalServerError, match="the server is stopping") as caught:
            ask(client.with_options(max_retries=0), "more")
        assert caught.value.status_code == 503


def test_an_error_in_a_turn_is_not_tried_again(bench: openai.OpenAI, bench_agent: BenchAgent) -> None:
    before = bench_agent.turns
    with pytest.raises(openai.InternalServerError) as caught:
        ask(bench, "fail")
    assert (caught.value.status_code, caught.value.code) == (502, "agent_error")
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert bench_agent.turns == before + 1


def test_hostile_text_is_data(bench: openai.OpenAI) -> None:
    assert EVIL in text_of(ask(bench, "be evil"))
    lines = lines_of(bench, "be evil")
    assert not [line for line in lines if any(sign in line for sign in "\x1b\x07\x9b\u202e\r\x7f")]
    assert lines.count("data: [DONE]") == 1
    assert lines[-1] == "data: [DONE]"
    chunks = list(ask(bench, "be evil", stream=True))
    assert EVIL in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_sessions_are_bounded(bench: openai.OpenAI) -> None:
    first = ask(bench, "first")
    for number in range(4):
        ask(bench, f"other {number}")
    again = ask(bench, "first", text_of(first), "again")
    assert details_of(again)["session"] != details_of(first)["session"]


def test_an_agent_that_dies_is_an_error_and_the_next_request_tells_another(
    stage: OpenaiStage, folder: Path
) -> None:
    with official_client(stage.serve(lambda: make_gateway(folder, command=str(MORTAL)), folder)) as client:
        first = ask(client, "who?")
        with pytest.raises(openai.InternalServerError, match="no will to live") as caught:
            ask(client, "die")
        assert caught.value.response.headers["x-should-retry"] == "false"
        again = ask(client, "who?", text_of(first), "and now?")
        assert text_of(again) != text_of(first)
        assert details_of(again)["notes"] == []
        assert details_of(again)["session"] != details_of(first)["session"]


def test_a_page_that_may_come_may_use_the_official_client(echo: openai.OpenAI) -> None:
    headers = {
        "origin": "https://page.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,x-stainless-os",
    }
    response = echo._client.options(f"{echo.base_url}chat/completions", headers=headers)
    assert response.status_code == 204
    assert response.headers["access-control-allow-headers"] == "authorization,x-stainless-os"
    shared = echo.models.with_raw_response.list(extra_headers={"origin": "https://page.example"})
    assert shared.headers["access-control-allow-origin"] == "https://page.example"
