"""Content blocks of v1 in v2."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v2.content import block, blocks, uri
from dragoman.schema.v2 import ContentBlock
from tests.dialect.v2.to_v2.judge import is_v2, make_writer
from tests.every import every

FINE: list[dict[str, Any]] = [
    {"type": "text", "text": ""},
    {
        "type": "text",
        "text": "a",
        "annotations": {"audience": ["user"], "priority": 0.5},
        "_meta": {"a": [1]},
    },
    {"type": "image", "data": "aGk=", "mimeType": "image/png", "uri": "https://example.org/a.png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "name": "a", "uri": "file:///a%20b", "size": 3, "title": "A"},
    {"type": "resource", "resource": {"uri": "file:///a", "text": "a", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "git+ssh://x/y", "blob": "aGk="}},
    {"type": "_hologram", "beams": 3},
]


@every("value", FINE, ids=lambda value: value["type"])
def test_what_is_fine_stays_as_it_is(value: dict[str, Any]) -> None:
    writer, noted = make_writer()
    assert block(value, writer) == value
    assert noted == set()
    assert is_v2(value, ContentBlock)


@every(
    ("given", "made", "remark"),
    [
        ({"annotations": {"priority": 7}}, {"annotations": {}}, "a number outside of v2's bounds"),
        ({"size": -1}, {}, "a number outside of v2's bounds"),
        ({"size": 1.5}, {}, "a number outside of v2's bounds"),
        ({"size": "3"}, {}, "a value that breaks v1's own rules"),
        ({"title": None, "mimeType": None}, {}, None),
        ({"color": "red"}, {}, "a member that v2 has no place for"),
        ({"uri": "notes/a b.txt"}, {"uri": "file:///home/ann/notes/a%20b.txt"}, "a URI that is none"),
        ({"uri": "/abs.txt"}, {"uri": "file:///abs.txt"}, "a URI that is none"),
        ({"uri": "C:\\my files\\a"}, {"uri": "file:///C:/my%20files/a"}, "a URI that is none"),
        ({"uri": "http://"}, {"uri": "unknown:http%3A%2F%2F"}, "a URI that is none"),
        ({"annotations": {"audience": ["user", 3]}}, {"annotations": {"audience": ["user"]}}, None),
        (
            {"icons": [{"src": "data:,x", "sizes": [3, "1x1"]}, 3]},
            {"icons": [{"src": "data:,x", "sizes": ["1x1"]}]},
            None,
        ),
    ],
)
def test_what_v2_would_not_take_is_left_out_or_mended(
    given: dict[str, Any], made: dict[str, Any], remark: str | None
) -> None:
    link = {"type": "resource_link", "name": "a", "uri": "file:///a"}
    writer, noted = make_writer()
    assert block({**link, **given}, writer) == {**link, **made}
    assert (remark in noted) if remark else not noted
    assert is_v2({**link, **made}, ContentBlock)


@every(
    "value",
    [
        None,
        3,
        "text",
        {},
        {"type": 3},
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "image", "data": "aGk="},
        {"type": "resource", "resource": {"uri": "file:///a"}},
        {"type": "resource", "resource": {"text": "a"}},
        {"type": "resource", "resource": "a"},
    ],
)
def test_what_is_no_content_is_left_out(value: Any) -> None:
    writer, noted = make_writer()
    assert blocks([{"type": "text", "text": "a"}, value], writer) == [{"type": "text", "text": "a"}]
    assert "a value that breaks v1's own rules" in noted


@every(
    "text",
    [
        *(
            "https://example.org",
            "http://localhost:8080/a?b#c",
            "https://ann@example.org:443/",
            "http://[::1]/",
        ),
        *("file:///C:/a", "zed:///agent/thread", "data:text/plain,hi", "urn:x:y"),
    ],
)
def test_a_uri_is_left_alone(text: str) -> None:
    writer, noted = make_writer()
    assert uri(text, writer) == text
    assert noted == set()
