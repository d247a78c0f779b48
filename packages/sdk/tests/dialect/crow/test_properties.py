"""Crow there and back again is what it was; whatever is said, no edge raises, and v1 stays v1."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.dialect.crow.frames import Frame, update
from tests.dialect.crow.stage import Side, answer, crow_agent, crow_client, judged, notification, request
from tests.interop.judges import refused_by_python

words = st.text(max_size=8)
names = st.sampled_from(["a", "b", "call"])

texts = st.fixed_dictionaries(
    {
        "@type": st.sampled_from(["agent_message_text", "agent_thought_text", "user_message_text"]),
        "text": words,
    }
)
kinds = st.sampled_from(["read", "edit", "execute", "switch_mode", "other"])
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed"])
starts = st.fixed_dictionaries(
    {
        "@type": st.just("tool_call_start"),
        "tool_call_id": names,
        "title": words,
        "kind": kinds,
        "status": statuses,
    }
)
changes = st.fixed_dictionaries(
    {"@type": st.just("tool_call_update"), "tool_call_id": names, "status": statuses}
)
entries = st.fixed_dictionaries(
    {
        "content": words,
        "priority": st.sampled_from(["high", "medium", "low"]),
        "status": st.sampled_from(["pending", "in_progress", "completed"]),
    }
)
plans = st.fixed_dictionaries({"@type": st.just("plan_update"), "entries": st.lists(entries, max_size=3)})
options = st.fixed_dictionaries(
    {"id": st.sampled_from(["approve", "allow", "reject", "deny"]), "title": words},
    optional={"is_primary": st.just(True)},
)
questions = st.fixed_dictionaries(
    {
        "@type": st.just("permission_request"),
        "tool_call_id": names,
        "title": words,
        "arguments": words,
        "permission_options": st.lists(options, min_size=1, max_size=3),
    }
)
sayable = st.one_of(texts, starts, changes, plans, questions)

json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@given(sayable)
def test_what_an_agent_can_say_comes_back_from_v1_and_is_v1_there(fields: Frame) -> None:
    ((toward, canonical),) = crow_agent().hear(update(fields))
    assert toward == "inside"
    assert refused_by_python([judged(canonical)]) == []
    ((toward, back),) = crow_client().take(canonical)
    assert (toward, back) == ("peer", update(fields))


@given(
    st.sampled_from(["session/new", "session/load", "session/prompt", "initialize"]),
    words,
    st.lists(words, max_size=3),
    st.integers() | words,
)
def test_what_a_client_can_ask_comes_back_from_v1_under_its_id(
    method: str, word: str, said: list[str], request_id: Any
) -> None:
    params = {
        "initialize": {
            "protocol_version": 1,
            "client_capabilities": {},
            "client_info": {"name": word, "version": "1"},
        },
        "session/new": {"cwd": word, "mcpServers": []},
        "session/load": {"session_id": word, "cwd": word},
        "session/prompt": {"session_id": word, "prompt": [{"type": "text", "text": text} for text in said]},
    }[method]
    frame = request(request_id, method, params)
    ((_, canonical),) = crow_client().hear(frame)
    assert refused_by_python([judged(canonical)]) == []
    assert crow_agent().take(canonical) == [("peer", frame)]


def bent(fields: st.SearchStrategy[Frame]) -> st.SearchStrategy[Frame]:
    """Updates in which some members are anything, some are missing and some are too many."""
    return st.builds(
        lambda update, wrong, missing: {
            name: value for name, value in {**update, **wrong}.items() if name not in missing
        },
        fields,
        st.dictionaries(
            st.sampled_from(
                [
                    *("text", "tool_call_id", "title", "kind", "status", "entries", "permission_options"),
                    *("content", "locations", "raw_input", "name", "message_id", "_meta", "arguments"),
                    "extra",
                ]
            ),
            json | st.lists(entries | json, max_size=2) | st.lists(options | json, max_size=2),
            max_size=3,
        ),
        st.sets(st.sampled_from(["text", "title", "kind", "status", "permission_options"]), max_size=1),
    )


@given(bent(sayable))
def test_whatever_an_agent_says_the_client_hears_v1_or_nothing(fields: Frame) -> None:
    side = crow_agent()
    said = side.hear(update(fields))
    assert said or side.lost
    values = [judged(frame) for toward, frame in said if toward == "inside"]
    assert refused_by_python(values) == []


methods = st.sampled_from(
    [
        *("initialize", "session/new", "session/load", "session/prompt", "session/update", "session/cancel"),
        *(
            "cancel",
            "permission_response",
            "session/request_permission",
            "$/cancel_request",
            "_x",
            "fs/x",
            "",
        ),
    ]
)
members = st.sampled_from(
    [
        *("session_id", "sessionId", "tool_call_id", "toolCall", "update", "prompt", "option_id", "options"),
        *("outcome", "cwd", "requestId", "client_info", "_meta", "result", "stop_reason", "stopReason"),
    ]
)
anything = json | st.dictionaries(members, json | sayable, max_size=4)
ids = st.sampled_from([1, 2, "x", "crow-1", "crow-permission-1", None])
frames = st.one_of(
    st.builds(request, ids, methods, anything),
    st.builds(notification, methods, anything),
    st.builds(answer, ids, anything),
    st.builds(lambda request_id, error: {"id": request_id, "error": error}, ids, anything),
)


@given(st.sampled_from([crow_client, crow_agent]), st.lists(st.tuples(st.booleans(), frames), max_size=8))
def test_no_edge_raises_and_nobody_is_answered_twice(make: Any, talk: list[tuple[bool, Frame]]) -> None:
    side: Side = make()
    owed: dict[tuple[str, Any], int] = {}
    for from_peer, frame in talk:
        if "method" in frame and "id" in frame:
            whose = ("peer" if from_peer else "inside", frame["id"])
            owed[whose] = owed.get(whose, 0) + 1
        for toward, said in side.hear(frame) if from_peer else side.take(frame):
            count(owed, toward, said)
    for toward, said in side.end():
        count(owed, toward, said)


def count(owed: dict[tuple[str, Any], int], toward: str, said: Frame) -> None:
    if "method" not in said and said["id"] is not None:
        assert owed.get((toward, said["id"]), 0) > 0, "an answer to nobody"
        owed[toward, said["id"]] -= 1


@given(st.lists(st.tuples(names, texts | starts | changes), max_size=8))
def test_order_and_sessions_are_kept(talk: list[tuple[str, Frame]]) -> None:
    front, behind = crow_client(), crow_agent()
    heard = []
    for session, fields in talk:
        for _, canonical in behind.hear(update(fields, session)):
            heard += [frame for _, frame in front.take(canonical)]
    assert heard == [update(fields, session) for session, fields in talk]
