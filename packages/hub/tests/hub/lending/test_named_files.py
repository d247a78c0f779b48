"""Which files a turn's agent names: by tool calls of every kind and state, and by writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman_hub.lending import named_files
from dragoman_hub.lending.named_files import NamedFiles
from tests.every import every

HERE = "/work"
DIFF = {"type": "diff", "path": "/work/diff.txt", "oldText": "a", "newText": "b"}
PLACE = {"path": "/work/place.txt"}
FILES = {"diff.txt", "place.txt", "other.txt"}


def named(*updates: dict[str, Any], place: str = "there") -> set[str]:
    files = NamedFiles(HERE, place=place)
    for update in updates:
        call = {"toolCallId": "1", **update}
        files.see_tool_call({name: Raw(msgspec.json.encode(value)) for name, value in call.items()})
    return {path.removeprefix("/work/") for path in files.paths(FILES)}


@every(
    ("updates", "expected"),
    [
        (({"kind": "edit", "locations": [PLACE]},), {"place.txt"}),
        (({"kind": "delete", "locations": [PLACE]},), {"place.txt"}),
        (({"kind": "move", "locations": [PLACE]},), {"place.txt"}),
        (({"kind": "read", "locations": [PLACE]},), set()),
        (({"locations": [PLACE]},), set()),
        (({"kind": "read", "content": [DIFF]},), {"diff.txt"}),
        (({"kind": "edit", "content": [DIFF], "locations": [PLACE]},), {"diff.txt", "place.txt"}),
        (({"content": [{"type": "content", "path": "/work/diff.txt"}]},), set()),
        # The kind is said once, and places come later.
        (({"kind": "edit"}, {"locations": [PLACE]}), {"place.txt"}),
        (({"kind": "edit"}, {"kind": None, "locations": [PLACE]}), {"place.txt"}),
        (({"kind": "edit"}, {"toolCallId": "2", "locations": [PLACE]}), set()),
        # What failed has changed nothing; another call of the same file may have.
        (({"kind": "edit", "locations": [PLACE]}, {"status": "failed"}), set()),
        (({"kind": "edit", "locations": [PLACE]}, {"status": "failed", "toolCallId": "2"}), {"place.txt"}),
        (({"status": "failed", "content": [DIFF]},), set()),
        (({"kind": "edit", "locations": [PLACE]}, {"status": "completed"}), {"place.txt"}),
        # What makes no sense names nothing, and costs nothing.
        (({"kind": "edit", "locations": "nowhere"},), set()),
        (({"kind": "edit", "locations": [{"path": 7}]},), set()),
        (({"kind": "edit", "locations": None, "content": [DIFF]},), {"diff.txt"}),
        (({"kind": "edit", "locations": [{"path": ""}, {"path": "/work/place.txt\0"}]},), set()),
        (({"toolCallId": 7, "content": [DIFF]},), set()),
        (({"kind": "edit", "locations": [{"path": "/work/foreign.txt"}]},), set()),
        (({"kind": "edit", "locations": [{"path": "./sub/../other.txt"}]},), {"other.txt"}),
    ],
)
def test_a_tool_call_names_what_it_changes(updates: tuple[dict[str, Any], ...], expected: set[str]) -> None:
    assert named(*updates) == expected


def test_a_path_is_where_a_look_finds_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "end").symlink_to(tmp_path / "elsewhere")
    here, there = NamedFiles(str(tmp_path), place=""), NamedFiles(str(tmp_path), place="ssh:there")
    for files in (here, there):
        files.name("link/end")
        files.name("")
    assert here.paths({"end"}) == {f"{tmp_path}/real/end"}
    assert there.paths({"end"}) == {f"{tmp_path}/link/end"}


def test_a_turn_names_so_many_files_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_files, "PATHS", 2)
    updates = [{"kind": "edit", "locations": [{"path": f"/work/{name}"}]} for name in sorted(FILES)]
    assert named(*updates) == {"diff.txt", "other.txt"}
