"""Values of v2 said in v1 and in v2 again: what both versions can say comes back as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.v2.to_v1 import config as config_in_v1
from dragoman.dialect.v2.to_v1.content import block as block_in_v1
from dragoman.dialect.v2.to_v1.diffs import diff as diff_in_v1
from dragoman.dialect.v2.to_v2 import config as config_in_v2
from dragoman.dialect.v2.to_v2.content import block as block_in_v2
from dragoman.dialect.v2.to_v2.tool_call import diff as diff_in_v2
from dragoman.dialect.v2.to_v2.tool_call import git_patch
from dragoman.dialect.v2.to_v2.writer import V2Writer
from tests.dialect.v2.to_v1.told import Told

words = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.text("abcdé ", min_size=1, max_size=5)
uris = st.sampled_from(["file:///pond", "https://example.org/a", "urn:x:1"])
meta = st.dictionaries(names, st.integers(), min_size=1, max_size=2)
notes = st.fixed_dictionaries(
    {}, optional={"audience": st.just(["user"]), "priority": st.floats(0, 1), "_meta": meta}
)
common: dict[str, Any] = {"annotations": notes, "_meta": meta}


def of(kind: str, needed: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **needed}, optional={**optional, **common})


contents = st.fixed_dictionaries({"uri": uris, "text": words}) | st.fixed_dictionaries(
    {"uri": uris, "blob": words}
)
blocks = st.one_of(
    of("text", {"text": words}, {}),
    of("image", {"data": words, "mimeType": names}, {"uri": uris}),
    of("audio", {"data": words, "mimeType": names}, {}),
    of("resource_link", {"name": names, "uri": uris}, {"title": words, "size": st.integers(0, 2**60)}),
    of("resource", {"resource": contents}, {}),
)
values = st.lists(st.fixed_dictionaries({"value": names, "name": words}), min_size=1, max_size=3)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    common = {"configId": draw(names), "name": draw(words)}
    if draw(st.booleans()):
        return {"type": "boolean", **common, "currentValue": draw(st.booleans())}
    listed = draw(values)
    grouped = [{"groupId": draw(names), "name": draw(words), "options": listed}]
    chosen = {"currentValue": listed[0]["value"], "options": grouped if draw(st.booleans()) else listed}
    return {"type": "select", **common, "category": "mode", **chosen}


@given(blocks)
def test_content_comes_back(value: dict[str, Any]) -> None:
    told = Told()
    assert block_in_v2(block_in_v1(value, told), V2Writer(told)) == value
    assert told.losses == []


@given(options())
def test_config_options_come_back(value: dict[str, Any]) -> None:
    told = Told()
    (said,) = config_in_v1.options([value], booleans=True, report=told)
    assert config_in_v2.options([said], V2Writer(told)) == [value]
    assert told.losses == []


@given(st.sampled_from(["/a", "/a b", "/é", '/"']), st.text("ab\n\r+-@\\ ", min_size=1, max_size=20))
def test_a_new_file_comes_back(path: str, text: str) -> None:
    told = Told()
    patch = {"format": "git_patch", "text": git_patch(path, None, text)}
    value = {
        "type": "diff",
        "changes": [{"operation": "add", "path": path, "fileType": "text"}],
        "patch": patch,
    }
    (said,) = diff_in_v1(value, told)
    assert (said["path"], said["newText"]) == (path, text)
    assert diff_in_v2(said, V2Writer(told)) == value
    assert told.losses == []
