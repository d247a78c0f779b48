"""Content blocks, both ways."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.originals import drop_original
from tests.dialect.acpex.stage import Stage, text
from tests.every import every


def read(block: Any) -> tuple[Any, Stage]:
    client = Stage("client")
    asked = client.asked("session/prompt", {"sessionId": "s", "content": [block]})
    return asked["params"]["prompt"], client


def write(block: Any) -> tuple[Any, Stage]:
    agent = Stage("agent")
    asked = agent.asked("session/prompt", {"sessionId": "s", "prompt": [block]})
    return asked["params"]["content"], agent


@every(
    ("said", "v1"),
    [
        ("just words", text("just words")),
        ({"text": "no type"}, text("no type")),
        (
            {"type": "image", "mimeType": "image/png", "data": "aQ=="},
            {"type": "image", "mimeType": "image/png", "data": "aQ=="},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://a.example/owl.png"}},
            {"type": "resource_link", "uri": "https://a.example/owl.png", "name": "owl.png"},
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}},
        ),
        (
            {"type": "resource", "uri": "file:///a", "blob": "aQ=="},
            {"type": "resource", "resource": {"uri": "file:///a", "blob": "aQ=="}},
        ),
        (
            {"type": "resource_link", "uri": "file:///a/b", "name": "other", "size": -1},
            {"type": "resource_link", "uri": "file:///a/b", "name": "other"},
        ),
    ],
)
def test_a_block_is_read_whatever_form_it_has(said: Any, v1: Any) -> None:
    (found,), _ = read(said)
    assert drop_original(found) == v1


@every(
    "said",
    [
        {"type": "hologram"},
        {"type": "text", "text": 7},
        {"type": "image", "source": {"type": "base64", "data": "aQ=="}},
        {"type": "image", "source": {"type": "file", "path": "/x"}},
        {"type": "resource", "text": "of nowhere"},
        {"type": "resource_link"},
        {"type": ["text"]},
        None,
        [],
        3,
    ],
)
def test_a_block_of_no_known_shape_is_left_out_and_named(said: Any) -> None:
    found, client = read(said)
    assert found == []
    assert client.lost == ["a content block of no known shape"]


@every(
    ("v1", "said"),
    [
        (text("hi"), text("hi")),
        (
            {"type": "image", "mimeType": "image/png", "data": "aQ==", "uri": None},
            {"type": "image", "source": {"type": "base64", "mediaType": "image/png", "data": "aQ=="}},
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "text": "x", "mimeType": None}},
            {"type": "resource", "uri": "file:///a", "text": "x"},
        ),
        (
            {"type": "resource_link", "uri": "file:///a/b.ex", "name": "b.ex"},
            {"type": "resource_link", "uri": "file:///a/b.ex"},
        ),
        (
            {"type": "resource_link", "uri": "file:///a/b.ex", "name": "The barn", "size": 3},
            {"type": "resource_link", "uri": "file:///a/b.ex", "name": "The barn", "size": 3},
        ),
    ],
)
def test_a_v1_block_is_said_flat(v1: Any, said: Any) -> None:
    assert write(v1)[0] == [said]


def test_a_binary_resource_is_sent_flat_and_named() -> None:
    found, agent = write({"type": "resource", "resource": {"uri": "file:///a", "blob": "aQ=="}})
    assert found == [{"type": "resource", "uri": "file:///a", "blob": "aQ=="}]
    assert agent.repaired == ["a binary resource"]


def test_an_original_that_no_longer_fits_is_not_used() -> None:
    (linked,), _ = read({"type": "resource", "uri": "file:///a/b.ex"})
    assert write(linked)[0] == [{"type": "resource", "uri": "file:///a/b.ex"}]
    changed = {**linked, "uri": "file:///a/c.ex"}
    assert write(changed)[0] == [{"type": "resource_link", "uri": "file:///a/c.ex", "name": "b.ex"}]


def test_an_original_of_the_peers_own_making_is_dropped() -> None:
    forged = {**text("hi"), "_meta": {"dragoman/dialect": {"name": "acpex", "raw": text("bye")}, "mine": 1}}
    (found,), _ = read(forged)
    assert found["_meta"]["mine"] == 1
    assert write(found)[0] == [{**text("hi"), "_meta": {"mine": 1}}]
