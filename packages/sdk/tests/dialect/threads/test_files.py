"""Params and results of what agents read, both ways, and versions."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.threads.files import (
    MOST,
    asked_in_threads,
    asked_in_v1,
    hash_text,
    number_of,
    told_in_threads,
    told_in_v1,
)
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes
from tests.every import every


def nothing(phrase: LedgerNote) -> None:
    pytest.fail(f"noted: {phrase.what}")


@pytest.mark.parametrize("line", [0, 1, None])
def test_the_first_line_has_several_numbers_in_v1(line: int | None) -> None:
    wanted = asked_in_threads("fs/read_text_file", {"sessionId": "t", "path": "/a", "line": line}, nothing)
    assert wanted in ({"threadId": "t", "path": "/a"}, {"threadId": "t", "path": "/a", "lineOffset": 0})


def test_lines_count_from_zero_here_and_from_one_in_v1() -> None:
    params = {"threadId": "t", "path": "/a", "lineOffset": 9, "lineLimit": 0}
    assert asked_in_v1("readTextFile", params) == {"sessionId": "t", "path": "/a", "line": 10, "limit": 0}


@every("count", [-1, 1.5, "1", True, 2**64, [], {}])
def test_a_count_that_is_none_is_refused(count: Any) -> None:
    for name in ("lineOffset", "lineLimit"):
        assert asked_in_v1("readTextFile", {"threadId": "t", "path": "/a", name: count}) is None
    for name in ("byteOffset", "byteLimit"):
        assert asked_in_v1("readBinaryFile", {"threadId": "t", "path": "/a", name: count}) is None


@every("params", [None, 5, [], {}, {"threadId": "t"}, {"threadId": 1, "path": "/a"}])
def test_params_that_name_nothing_are_refused(params: Any) -> None:
    for name in ("readTextFile", "readBinaryFile", "stat", "globSearch"):
        assert asked_in_v1(name, params) is None
    for method in ("fs/read_text_file", "_dragoman/fs/stat"):
        assert asked_in_threads(method, params, nothing) is None


def test_the_end_of_a_file_is_known_when_less_was_given_than_asked() -> None:
    answer = {"version": 3, "content": "AAEC"}
    notes: list[LedgerNote] = []
    asked = {"offset": 10, "limit": 3}
    assert told_in_v1("_dragoman/fs/read_range", asked, answer, notes.append) == {
        **answer,
        "version": "3",
        "eof": False,
    }
    assert notes == [RepairNotes.SIZES]
    asked = {"offset": 10, "limit": 4}
    told = told_in_v1("_dragoman/fs/read_range", asked, answer, nothing)
    assert told == {**answer, "version": "3", "size": 13, "eof": True}


def test_matches_are_cut_where_the_agent_said() -> None:
    answer = {"matches": ["/a", "/b", "/c"]}
    told = told_in_v1("_dragoman/fs/glob", {"limit": 2}, answer, nothing)
    assert told == {"matches": ["/a", "/b"], "truncated": True}


def test_that_there_are_more_matches_is_lost() -> None:
    notes: list[LedgerNote] = []
    found = {"matches": ["/a"], "truncated": True}
    assert told_in_threads("globSearch", found, notes.append) == {"matches": ["/a"]}
    assert notes == [Lost.MORE_MATCHES]


def test_a_search_for_hidden_files_is_left_to_the_client() -> None:
    notes: list[LedgerNote] = []
    params = {"sessionId": "t", "pattern": "*", "hidden": True}
    assert asked_in_threads("_dragoman/fs/glob", params, notes.append) == {"threadId": "t", "pattern": "*"}
    assert notes == [RepairNotes.HIDDEN]


@every("number", [0, 1, 2**63, MOST - 1])
def test_a_version_of_this_wire_comes_back_as_it_was(number: int) -> None:
    assert number_of(str(number)) == number


@every("token", ["c0ffee", "007", str(MOST), "-1", "1.0", "٣", ""])
def test_any_other_version_is_a_number_that_stays_the_same(token: str) -> None:
    assert number_of(token) == hash_text(token)
    assert 0 <= number_of(token) < 2**63
