from typing import Any

from dragoman.testing.models.chat import ChatFormat, duration, error_of, limit_headers
from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelEvent, ModelOutput, ModelToolCall
from tests.every import every

NOTHING = TokenUsage(0, 0)


def voice(*, counts: bool = False, refuses: bool = False) -> ChatFormat:
    body = {"model": "m", "stream_options": {"include_usage": True}} if counts else {"model": "m"}
    return ChatFormat(ModelRequest("chat", "/", {}, body), number=1, refuses=refuses)


def deltas(events: list[ModelEvent]) -> list[Any]:
    return [event.data["choices"][0]["delta"] for event in events]


def test_the_first_chunk_says_who_speaks() -> None:
    assert deltas([*voice().begin(NOTHING)]) == [{"role": "assistant", "content": ""}]


def test_parallel_calls_are_told_apart_by_their_index() -> None:
    speaking = voice()
    events = [
        *speaking.call(ModelToolCall("a", "read", '{"x":1}'), ['{"x"', ":1}"]),
        *speaking.call(ModelToolCall("b", "read", "{}"), ["{}"]),
    ]
    calls = [delta["tool_calls"][0] for delta in deltas(events)]
    assert [(made["index"], made.get("id"), made["function"]["arguments"]) for made in calls] == [
        (0, "a", ""),
        (0, None, '{"x"'),
        (0, None, ":1}"),
        (1, "b", ""),
        (1, None, "{}"),
    ]


def test_usage_comes_last_and_only_for_those_who_asked() -> None:
    said = ModelOutput(stop="stop", usage=TokenUsage(3, 2))
    plain = [event.data for event in voice().end(said)]
    counted = [event.data for event in voice(counts=True).end(said)]
    assert len(plain) == 2
    assert "usage" not in plain[0]
    assert [chunk["usage"] and chunk["usage"]["total_tokens"] for chunk in counted[:-1]] == [None, 5]
    assert counted[1]["choices"] == []
    assert plain[-1] == counted[-1] == "[DONE]"


def test_a_refusal_is_no_content() -> None:
    speaking = voice(refuses=True)
    assert deltas([*speaking.text("No")]) == [{"refusal": "No"}]
    (choice,) = speaking.whole(ModelOutput(parts=[("text", "No")], stop="refusal"))["choices"]
    assert (choice["message"]["refusal"], choice["message"]["content"]) == ("No", None)
    assert choice["finish_reason"] == "stop"


@every(("seconds", "text"), [(0.5, "0.5s"), (1, "1s"), (90, "1m30s"), (3600, "1h0m0s"), (7265, "2h1m5s")])
def test_a_duration_is_written_as_the_vendor_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_error_has_the_words_of_the_script_or_of_its_status() -> None:
    assert error_of(FailStep(401))["error"]["code"] == "invalid_api_key"
    error = error_of(FailStep(429, "Wait", "tokens", "c"))["error"]
    assert (error["message"], error["type"], error["code"]) == ("Wait", "tokens", "c")
    assert error_of(FailStep(418))["error"]["message"] == "Something went wrong."


def test_headers_say_only_what_the_script_says() -> None:
    assert limit_headers(FailStep(429)) == {}
    assert limit_headers(FailStep(429, retry_after=0.5)) == {"retry-after": "0.5"}
    assert limit_headers(FailStep(429, reset=2))["x-ratelimit-reset-tokens"] == "2s"
