"""To v1 and back is the identity on what both versions can say, and on what is kept of v2 on the way."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.v2.to_v1 import config as commands_in_v1
from dragoman.dialect.v2.to_v1 import config as config_in_v1
from dragoman.dialect.v2.to_v1 import content as content_in_v1
from dragoman.dialect.v2.to_v1 import tool_calls as calls_in_v1
from dragoman.dialect.v2.to_v2 import config, updates
from dragoman.dialect.v2.to_v2.content import block
from dragoman.dialect.v2.to_v2.tool_call import tool_call
from tests.dialect.v2.to_v2.judge import Notes, make_writer

texts = st.text(max_size=6)
words = st.text("abc-_", min_size=1, max_size=4)
metas = st.fixed_dictionaries({}, optional={"_meta": st.dictionaries(words, texts, min_size=1, max_size=2)})
marks = st.fixed_dictionaries(
    {},
    optional={
        "audience": st.lists(st.sampled_from(["user", "assistant"]), max_size=2),
        "priority": st.floats(0, 1),
        "lastModified": texts,
    },
)


def of(kind: str, optional: dict[str, Any], **needed: Any) -> st.SearchStrategy[dict[str, Any]]:
    fields = st.fixed_dictionaries({"type": st.just(kind), **needed}, optional=optional)
    return st.builds(lambda one, meta: {**one, **meta}, fields, metas)


uris = words.map(lambda path: f"file:///{path}")
noted = {"annotations": marks}
blocks = st.one_of(
    of("text", noted, text=texts),
    of("image", {**noted, "uri": uris}, data=words, mimeType=texts),
    of("audio", noted, data=words, mimeType=texts),
    of("resource_link", {**noted, "size": st.integers(0, 9), "title": texts}, name=texts, uri=uris),
    of("resource", noted, resource=st.fixed_dictionaries({"uri": uris, "text": texts})),
    of("_hologram", {}, beams=st.integers(0, 9)),
)
items = st.one_of(
    of("content", {}, content=blocks),
    of("diff", {}, changes=st.just([{"operation": "move", "oldPath": "/a", "path": "/b"}])),
)
calls = st.fixed_dictionaries(
    {"toolCallId": words},
    optional={
        "title": texts,
        "name": texts,
        "kind": st.sampled_from(["read", "edit", "other", "_dream"]),
        "status": st.sampled_from(["pending", "in_progress", "paused", "completed", "failed", "cancelled"]),
        "content": st.lists(items, max_size=2),
        "locations": st.lists(
            st.fixed_dictionaries({"path": st.just("/a")}, optional={"line": st.integers(1, 9)}), max_size=2
        ),
        "rawInput": st.dictionaries(words, texts, max_size=2),
        "rawOutput": texts,
    },
)


@given(blocks)
def test_content_comes_back_as_it_was(value: dict[str, Any]) -> None:
    plain = content_in_v1.block(value, Notes())
    assert plain is not None
    assert plain["type"] in ("text", "image", "audio", "resource_link", "resource")
    assert block(plain, make_writer()[0]) == value


@given(calls)
def test_a_tool_call_comes_back_as_it_was(value: dict[str, Any]) -> None:
    plain = calls_in_v1.changes(value, lambda terminal: "", Notes())
    back = tool_call({"toolCallId": value["toolCallId"], **plain}, make_writer()[0])
    assert back is not None
    if "locations" not in value:
        back.pop("locations", None)  # v1 is told where a diff is
    assert back == value


choices = st.lists(
    st.fixed_dictionaries({"value": words, "name": texts}, optional={"description": texts}),
    min_size=1,
    max_size=3,
)
selects = st.builds(
    lambda name, listed, category: {
        "configId": name,
        "type": "select",
        "name": name,
        "category": category,
        "currentValue": listed[0]["value"],
        "options": listed,
    },
    words,
    choices,
    st.sampled_from(["mode", "model", "_own"]),
)
switches = st.builds(
    lambda name, value: {"configId": name, "type": "boolean", "name": name, "currentValue": value},
    words,
    st.booleans(),
)


@given(st.lists(selects | switches, max_size=3, unique_by=lambda one: one["configId"]))
def test_options_come_back_as_they_were(value: list[dict[str, Any]]) -> None:
    plain = config_in_v1.options(value, booleans=True, report=Notes())
    assert config.options(plain, make_writer()[0]) == value


commands = st.builds(
    lambda name, text, hint: {
        "type": "command",
        "name": name,
        "description": text,
        **({"input": {"type": "text", "hint": hint}} if hint is not None else {}),
    },
    words,
    texts,
    st.none() | texts,
)


@given(st.lists(commands, max_size=3, unique_by=lambda one: one["name"]))
def test_commands_come_back_as_they_were(value: list[dict[str, Any]]) -> None:
    plain = {"sessionUpdate": "available_commands_update"}
    told = {**plain, "availableCommands": commands_in_v1.commands(value, Notes())}
    assert updates.update(told, make_writer()[0]) == {**plain, "availableCommands": value}
