"""What all conversions to v2 share."""

from __future__ import annotations

from dragoman.dialect import EdgeSettings, Ledger
from dragoman.dialect.v2 import V2Client
from dragoman.dialect.v2.to_v2.ledger_notes import CHUNK_ID, WRONG
from dragoman.dialect.v2.to_v2.writer import V2Writer, is_count, is_text
from tests.dialect.v2.to_v2.judge import make_writer


def test_what_is_noted_stands_in_the_ledger_of_the_edge() -> None:
    ledger = Ledger()
    writer = V2Writer(V2Client(EdgeSettings(), ledger))
    for remark in (WRONG, CHUNK_ID, WRONG):
        writer.note(remark)
    entries = [
        (entry.outcome, entry.dialect, entry.what, entry.done, entry.count) for entry in ledger.entries
    ]
    assert entries == [
        ("lost", "v2", WRONG.what, WRONG.action, 2),
        ("repaired", "v2", CHUNK_ID.what, CHUNK_ID.action, 1),
    ]


def test_only_what_is_known_and_right_is_left() -> None:
    writer, noted = make_writer()
    checks = {"a": is_text, "b": is_count, "c": is_text}
    assert writer.clean({"a": "x", "b": True, "c": None, "d": None}, checks) == {"a": "x"}
    assert noted == {"a value that breaks v1's own rules"}
    writer.clean({"e": 1}, checks)
    assert "a member that v2 has no place for" in noted


def test_a_path_is_absolute() -> None:
    writer, noted = make_writer("/home/ann")
    for path in ("/a", "C:\\a", "c:/a", "\\\\host\\share"):
        assert writer.absolute(path) == path
    assert noted == set()
    assert writer.absolute("b/../a") == "/home/ann/a"
    assert noted == {"a relative path"}
