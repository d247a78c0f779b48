from typing import Any

from dragoman.testing.models import TokenUsage, call, fail, say, scripted_model, think, turn
from dragoman.testing.models.gemini import error_of
from dragoman.testing.models.requests import Image
from dragoman.testing.models.turns import FailStep
from tests.testing.models.client import post, send, written

WHOLE = "/v1beta/models/small:generateContent"
STREAM = "/v1beta/models/small:streamGenerateContent?alt=sse"
QUESTION: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def parts_of(answer: Any) -> list[Any]:
    parts: list[Any] = answer["candidates"][0]["content"]["parts"]
    return parts


async def test_a_whole_answer_has_thoughts_text_and_calls_as_parts() -> None:
    steps = (think("A file."), say("I ", "read."), call("read", path="a.py"))
    async with scripted_model([turn(*steps, usage=TokenUsage(100, 20, 40, 5))]) as model:
        answer = (await post(model, QUESTION, WHOLE)).json
    assert parts_of(answer) == [
        {"text": "A file.", "thought": True},
        {"text": "I read."},
        {"functionCall": {"id": "call_1_1", "name": "read", "args": {"path": "a.py"}}},
    ]
    assert answer["candidates"][0]["finishReason"] == "STOP"
    assert answer["modelVersion"] == "small"
    assert answer["usageMetadata"] == {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 15,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 120,
    }


async def test_a_stream_sends_a_candidate_for_each_piece_and_the_reason_to_stop_last() -> None:
    async with scripted_model([turn(say("a", "b"), call("read", path="x"), stop="length")]) as model:
        events = (await post(model, QUESTION, STREAM)).events
        assert model.requests[0].streams
    pieces = [part for event in events for part in parts_of(event)]
    assert pieces[:2] == [{"text": "a"}, {"text": "b"}]
    assert pieces[2]["functionCall"]["args"] == {"path": "x"}
    reasons = [event["candidates"][0].get("finishReason") for event in events]
    assert reasons == [None, None, None, "MAX_TOKENS"]


async def test_a_request_reads_the_same_as_in_other_formats() -> None:
    schema = {"type": "object"}
    body = {
        "systemInstruction": {"parts": [{"text": "Be short."}]},
        "tools": [
            {"functionDeclarations": [{"name": "read", "description": "d", "parametersJsonSchema": schema}]}
        ],
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": "eA=="}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "Hm", "thought": True},
                    {"functionCall": {"name": "read", "args": {"a": 1}}},
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "read", "response": {"error": "none"}}}],
            },
        ],
    }
    async with scripted_model(["Done"]) as model:
        await post(model, body, WHOLE, {"x-goog-api-key": "k"})
    request = model.requests[0]
    assert (request.model, request.key, request.system, request.streams) == ("small", "k", "Be short.", False)
    assert request.tools["read"].parameters == schema
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    assert request.images == [Image("image/png", b"x")]
    assert request.messages[1].thoughts == "Hm"
    assert request.messages[1].calls[0].arguments == {"a": 1}
    assert request.results["read"].is_error
    assert request.text == "none"


async def test_an_error_has_googles_words_before_a_stream_and_within_it() -> None:
    async with scripted_model([turn(fail(429, retry_after=2)), turn("a", fail(503))]) as model:
        before = await post(model, QUESTION, STREAM)
        within = await post(model, QUESTION, STREAM)
    assert (before.status, before.json["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert before.json["error"]["details"][0]["retryDelay"] == "2s"
    assert within.events[-1]["error"]["status"] == "UNAVAILABLE"
    assert error_of(FailStep(418, "Tea", "KETTLE")) == {
        "error": {"code": 418, "message": "Tea", "status": "KETTLE"}
    }


async def test_models_are_listed_and_tokens_are_counted() -> None:
    async with scripted_model([]) as model:
        listed = await send(model, written("/v1beta/models", None, method="GET"))
        counted = await post(model, QUESTION, "/v1beta/models/small:countTokens")
    assert [entry["name"] for entry in listed.json["models"]] == ["models/scripted"]
    assert counted.json["totalTokens"] > 0


async def test_arguments_that_are_no_json_are_sent_as_text() -> None:
    async with scripted_model([turn(call("read", "{oh"))]) as model:
        answer = (await post(model, QUESTION, WHOLE)).json
    assert parts_of(answer)[0]["functionCall"]["args"] == "{oh"
