from dragoman.testing.models.messages import MessagesFormat, error_of, limit_headers
from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelOutput, ModelToolCall


def voice() -> MessagesFormat:
    return MessagesFormat(ModelRequest("messages", "/", {}, {"model": "m"}), number=1)


def test_a_block_ends_before_another_begins() -> None:
    speaking = voice()
    events = [
        *speaking.begin(TokenUsage(10, 0, 4)),
        *speaking.thought("a"),
        *speaking.thought("b"),
        *speaking.text("c"),
        *speaking.call(ModelToolCall("1", "read", "{}"), ["{}"]),
        *speaking.call(ModelToolCall("2", "read", ""), [""]),
        *speaking.end(ModelOutput(stop="tool_calls", usage=TokenUsage(10, 7))),
    ]
    told = [
        (event.name, event.data.get("index"), event.data.get("delta", {}).get("type"))
        for event in events
        if event.name != "ping"
    ]
    assert all(event.name == event.data["type"] for event in events)
    assert told == [
        ("message_start", None, None),
        ("content_block_start", 0, None),
        ("content_block_delta", 0, "thinking_delta"),
        ("content_block_delta", 0, "thinking_delta"),
        ("content_block_delta", 0, "signature_delta"),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, None),
        ("content_block_delta", 1, "text_delta"),
        ("content_block_stop", 1, None),
        ("content_block_start", 2, None),
        ("content_block_delta", 2, "input_json_delta"),
        ("content_block_delta", 2, "input_json_delta"),
        ("content_block_stop", 2, None),
        ("content_block_start", 3, None),
        ("content_block_delta", 3, "input_json_delta"),
        ("content_block_delta", 3, "input_json_delta"),
        ("content_block_stop", 3, None),
        ("message_delta", None, None),
        ("message_stop", None, None),
    ]
    assert events[0].data["message"]["usage"]["input_tokens"] == 6
    assert events[-2].data["delta"]["stop_reason"] == "tool_use"
    assert events[-2].data["usage"] == {"output_tokens": 7}


def test_arguments_that_are_no_json_are_sent_as_text_in_a_whole_message() -> None:
    whole = voice().whole(ModelOutput(parts=[("call", ModelToolCall("1", "read", "{oh"))], stop="tool_calls"))
    assert whole["content"][0]["input"] == "{oh"


def test_a_word_that_nobody_knows_is_sent_as_it_is() -> None:
    assert voice().whole(ModelOutput(stop="pause_turn"))["stop_reason"] == "pause_turn"


def test_an_error_has_the_words_of_the_script_or_of_its_status() -> None:
    assert error_of(FailStep(529), number=3) == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_3",
    }
    assert error_of(FailStep(418, "Tea", "kettle"), number=3)["error"] == {"type": "kettle", "message": "Tea"}


def test_a_reset_is_a_point_in_time() -> None:
    headers = limit_headers(FailStep(429, retry_after=3, reset=90), now=0)
    assert headers["anthropic-ratelimit-tokens-reset"] == "1970-01-01T00:01:30Z"
    assert headers["retry-after"] == "3"
    assert limit_headers(FailStep(429), now=0) == {}
