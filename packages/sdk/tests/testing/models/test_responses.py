from dragoman.testing.models.requests import ModelRequest
from dragoman.testing.models.responses import ResponsesFormat
from dragoman.testing.models.turns import FailStep, TokenUsage
from dragoman.testing.models.voice import ModelEvent, ModelOutput, ModelToolCall

CALLED = ModelToolCall("c", "read", "{}")


def voice(*, refuses: bool = False) -> ResponsesFormat:
    return ResponsesFormat(ModelRequest("responses", "/", {}, {"model": "m"}), number=1, refuses=refuses)


def spoken() -> list[ModelEvent]:
    speaking = voice()
    return [
        *speaking.begin(TokenUsage(1, 1)),
        *speaking.thought("Hm"),
        *speaking.text("Hel"),
        *speaking.text("lo"),
        *speaking.call(CALLED, ["{", "}"]),
        *speaking.end(ModelOutput(stop="tool_calls", usage=TokenUsage(3, 2))),
    ]


def test_events_are_numbered_and_items_told_when_they_begin_and_end() -> None:
    events = spoken()
    assert [event.data["sequence_number"] for event in events] == [*range(len(events))]
    assert all(event.name == event.data["type"] for event in events)
    for moment in ("added", "done"):
        told = [event.data for event in events if event.name == f"response.output_item.{moment}"]
        assert [(data["output_index"], data["item"]["type"]) for data in told] == [
            (0, "reasoning"),
            (1, "message"),
            (2, "function_call"),
        ]


def test_the_last_event_tells_everything_again() -> None:
    events = spoken()
    done = [event.data["item"] for event in events if event.name == "response.output_item.done"]
    assert events[-1].name == "response.completed"
    assert events[-1].data["response"]["output"] == done
    assert events[-1].data["response"]["usage"]["total_tokens"] == 5
    assert events[0].data["response"]["output"] == []


def test_whole_it_is_the_same_as_streamed() -> None:
    said = ModelOutput(parts=[("thought", "Hm"), ("text", "Hello"), ("call", CALLED)], stop="tool_calls")
    said.usage = TokenUsage(3, 2)
    assert voice().whole(said) == spoken()[-1].data["response"]


def test_an_error_in_the_stream_is_a_failed_response() -> None:
    (event,) = voice().broken(FailStep(500, "Oh"))
    assert (event.name, event.data["response"]["status"]) == ("response.failed", "failed")
    assert event.data["response"]["error"] == {"code": "server_error", "message": "Oh"}


def test_a_refusal_is_a_part_of_its_own_kind() -> None:
    events = [*voice(refuses=True).text("No")]
    assert events[-1].name == "response.refusal.delta"
    whole = voice(refuses=True).whole(ModelOutput(parts=[("text", "No")]))
    assert whole["output"][0]["content"] == [{"type": "refusal", "refusal": "No"}]
