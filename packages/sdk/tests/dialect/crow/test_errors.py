"""Invalid params say which field and why, in both directions."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect import EdgeSettings, Ledger, Translator, make_edge
from tests.dialect.crow.stage import answer, crow_agent, crow_client, request
from tests.every import every

HELLO = request(0, "initialize", {"protocol_version": 1, "client_capabilities": {}})


def errors_of(said: Any) -> Any:
    ((toward, frame),) = said
    assert (toward, frame["error"]["code"]) == ("peer", -32602)
    return frame["error"]["data"]["errors"]


REFUSED = {
    "a prompt without a session": (
        request(1, "session/prompt", {"prompt": []}),
        [{"field": "session_id", "reason": "is missing"}],
    ),
    "everything missing": (
        request(1, "session/prompt", {}),
        [{"field": "session_id", "reason": "is missing"}, {"field": "prompt", "reason": "is missing"}],
    ),
    "a block without its text": (
        request(1, "session/prompt", {"session_id": "s", "prompt": [{"type": "text"}]}),
        [{"field": "prompt[0].text", "reason": "is missing"}],
    ),
    "a folder that is a number": (
        request(1, "session/new", {"cwd": 5, "mcpServers": []}),
        [{"field": "cwd", "reason": "expected string, got number"}],
    ),
    "a load without a session": (
        request(1, "session/load", {"cwd": "/srv"}),
        [{"field": "session_id", "reason": "is missing"}],
    ),
    "a cancel without a session": (
        request(1, "cancel", {}),
        [{"field": "session_id", "reason": "is missing or no string"}],
    ),
    "a choice for no question": (
        request(1, "permission_response", {"session_id": "s", "tool_call_id": "t", "option_id": "approve"}),
        [{"field": "tool_call_id", "reason": "names no open permission request"}],
    ),
}


@every(("asked", "errors"), REFUSED.values(), ids=REFUSED)
def test_a_refused_request_names_each_field_and_why(asked: Any, errors: Any) -> None:
    assert errors_of(crow_client().hear(asked)) == errors


def test_an_option_that_was_not_offered_is_named() -> None:
    side = crow_client()
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    side.take(
        request(
            9,
            "session/request_permission",
            {"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "Look"}, "options": options},
        )
    )
    chosen = {"session_id": "s", "tool_call_id": "t", "option_id": "maybe"}
    _, (_, refused) = side.hear(request(1, "permission_response", chosen))
    assert [one["field"] for one in refused["error"]["data"]["errors"]] == ["option_id"]


SAID_BY_AGENTS = {
    "a sentence": ("Invalid params: $.sessionId: is missing", None, [("session_id", "is missing")]),
    "no more than the name": ("Invalid params", None, [("params", "not accepted")]),
    "a sentence in its data": ("Invalid params", "prompt: too long", [("prompt", "too long")]),
    "details": ("Invalid params", {"details": "no such session"}, [("params", "no such session")]),
    "a list of loc and msg": (
        "Invalid params",
        [{"loc": ["prompt", 0, "mimeType"], "msg": "Field required", "type": "missing"}],
        [("prompt.0.mime_type", "Field required")],
    ),
    "a tree of errors": (
        "Invalid params",
        {"_errors": [], "sessionId": {"_errors": ["Required"]}},
        [("session_id", "Required")],
    ),
}


@every(("text", "data", "errors"), SAID_BY_AGENTS.values(), ids=SAID_BY_AGENTS)
def test_a_crow_client_learns_the_field_from_an_agent_of_v1(text: str, data: Any, errors: Any) -> None:
    side = crow_client()
    side.hear(request(1, "session/prompt", {"session_id": "s", "prompt": []}))
    error = {"code": -32602, "message": text, **({} if data is None else {"data": data})}
    told = errors_of(side.take({"jsonrpc": "2.0", "id": 1, "error": error}))
    assert [(one["field"], one["reason"]) for one in told] == errors


def test_errors_that_an_agent_lists_keep_everything_but_the_spelling_of_their_fields() -> None:
    listed = [{"loc": ["sessionId"], "msg": "Field required", "type": "missing", "input": {}}, "odd"]
    error = {"code": -32602, "message": "Invalid params", "data": {"errors": listed, "more": 1}}
    client = crow_client()
    client.hear(request(1, "session/new", {"cwd": "/srv", "mcpServers": []}))
    ((_, told),) = client.take({"jsonrpc": "2.0", "id": 1, "error": error})
    assert told["error"]["data"] == {"errors": [{**listed[0], "loc": ["session_id"]}, "odd"], "more": 1}  # type: ignore[dict-item]
    agent = crow_agent()
    agent.take(request(1, "session/new", {"cwd": "/srv", "mcpServers": []}))
    ((toward, back),) = agent.hear(told)
    assert (toward, back["error"]) == ("inside", error)


def test_raw_lines_of_a_crow_client_that_is_found_out_are_refused_with_their_field() -> None:
    ledger = Ledger()
    translator = Translator([make_edge("auto", "client", EdgeSettings(cwd="/srv"), ledger)], ledger)
    translator.from_peer(json.dumps(HELLO).encode() + b"\n")
    translator.from_inside(json.dumps(answer(0, {"protocolVersion": 1})).encode() + b"\n")
    passed = translator.from_peer(
        b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"prompt":[]}}\n'
    )
    assert passed.inside == b""
    assert json.loads(passed.peer)["error"]["data"] == {
        "errors": [{"field": "session_id", "reason": "is missing"}]
    }
