"""Paths in every field of both versions: there and back is where it began, and nothing else changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LocalMistake
from dragoman_hub.remote.path_fields import PARAMS, RESULTS
from dragoman_hub.remote.path_map import FolderMap, MappedFolder, convert_uri, parse_map
from tests.schema.published_schemas import needs_schemas

GENERATOR = Path(__file__).parents[4] / "tools" / "generate_path_fields.py"
HERE, THERE = "/home/me/app", "/srv/app"

FIELDS = [
    *((method, "params", field) for method, fields in PARAMS.items() for field in fields),
    *((method, "result", field) for method, fields in RESULTS.items() for field in fields),
]

names = st.text(
    st.characters(exclude_characters="/", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=8
)
rests = st.lists(names, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
neighbours = st.dictionaries(st.text(max_size=6).filter(lambda name: name != "*"), scalars, max_size=3)


def new_map() -> FolderMap:
    return FolderMap([MappedFolder(HERE, THERE)])


def build(way: str, value: Any, others: dict[str, Any]) -> Any:
    """A message in which the field holds this value, with other members beside each step."""
    first, _, rest = way.partition("/")
    inner = build(rest, value, others) if rest else value
    if first == "*":
        return [inner, None, others, inner]
    return {**others, first: inner}


def put(method: str, where: str, value: Any, path_map: FolderMap, *, from_agent: bool) -> Any:
    """What becomes of a message on its way; an answer has a request before it."""
    frame = {"jsonrpc": "2.0", "id": 1, **({"method": method} if where == "params" else {}), where: value}
    if where == "result":
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode() + b"\n"
        (path_map.to_agent if from_agent else path_map.to_client)(asked)
    move = path_map.to_client if from_agent else path_map.to_agent
    line = move(json.dumps(frame).encode() + b"\n")
    assert line.index(b"\n") == len(line) - 1
    return json.loads(line)[where]


@given(rest=rests, others=neighbours)
def test_every_field_is_translated_and_back_again_and_nothing_beside_it(
    rest: str, others: dict[str, Any]
) -> None:
    for method, where, field in FIELDS:
        kind, way = field.split(":", 1)
        here, there = HERE + rest, THERE + rest
        if kind == "uri":
            here, there = "file://" + quote(here), "file://" + quote(there)
        message = build(way, here, others)
        moved = put(method, where, message, new_map(), from_agent=False)
        assert unquoted(moved) == unquoted(build(way, there, others)), field
        assert unquoted(put(method, where, moved, new_map(), from_agent=True)) == unquoted(message), field


def unquoted(value: Any) -> str:
    """Two spellings of a URI are one URI: which characters are escaped, each writer decides."""
    return unquote(json.dumps(value, sort_keys=True))


@given(value=st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_names_no_mapped_path_passes_as_the_bytes_that_it_was(value: Any) -> None:
    for method in ("session/update", "session/new", "_other/thing"):
        frame = {"jsonrpc": "2.0", "method": method, "params": {"rawInput": {"path": HERE}, "x": value}}
        line = json.dumps(frame).encode() + b"\n"
        assert new_map().to_agent(line) == line
        assert new_map().to_client(line) == line


@pytest.mark.parametrize(
    "line", [b"\n", b"{\n", b"[]\n", b'{"method":"session/new","params":7}\n', b"\xff\n"]
)
def test_what_is_no_message_passes_as_it_is(line: bytes) -> None:
    assert new_map().to_agent(line) == line


def test_numbers_and_escapes_beside_a_path_stay_as_they_were_written() -> None:
    params = b'{"cwd":"/home/me/app","n":1.50,"t":"\\u00e9"}'
    line = b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":%b}\n' % params
    moved = new_map().to_agent(line)
    assert b'"cwd":"/srv/app"' in moved
    assert b"1.50" in moved
    assert b'"\\u00e9"' in moved


def test_only_whole_names_are_below_a_folder_and_the_deepest_folder_counts() -> None:
    path_map = FolderMap([MappedFolder("/a", "/x"), MappedFolder("/a/b", "/y")])
    for before, after in {"/a/c": "/x/c", "/a/b/c": "/y/c", "/ab": "/ab", "/a": "/x", "a/b": "a/b"}.items():
        line = json.dumps({"id": 1, "method": "session/new", "params": {"cwd": before}}).encode() + b"\n"
        assert json.loads(path_map.to_agent(line))["params"]["cwd"] == after


def test_a_uri_of_a_file_is_translated_and_any_other_is_not() -> None:
    def convert(path: str) -> str:
        return path.replace(HERE, THERE)

    assert convert_uri(f"file://{HERE}/a%20b%3F.py#L3", convert) == f"file://{THERE}/a%20b%3F.py#L3"
    assert convert_uri(f"https://x{HERE}", convert) == f"https://x{HERE}"
    assert convert_uri(f"file://host{HERE}", convert) == f"file://host{HERE}"


@pytest.mark.parametrize("text", ["", "/a", "=/b", "/a=b", "/a="])
def test_what_is_no_pair_of_folders_is_refused(text: str) -> None:
    with pytest.raises(LocalMistake, match="HERE=THERE"):
        parse_map(text)


@needs_schemas
def test_the_table_of_fields_is_that_of_the_published_schemas() -> None:
    checked = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
