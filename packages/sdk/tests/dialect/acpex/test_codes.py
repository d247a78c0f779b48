"""Error codes by what they mean, never by their number."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.acpex.codes import MEANINGS, read_error, write_error
from dragoman.dialect.acpex.ledger_notes import DENIED, ERROR_CODE
from dragoman.dialect.ledger import LedgerNote
from tests.every import every


def read(error: Any, method: str = "session/prompt") -> tuple[Any, list[LedgerNote]]:
    notes: list[LedgerNote] = []
    return read_error(error, method, notes.append), notes


def write(error: Any) -> Any:
    return write_error(error, lambda phrase: None)


@every(
    ("method", "code", "words", "meaning"),
    [
        ("session/load", -32001, "Session not found", -32002),
        ("fs/read_text_file", -32001, "File not found: api key.txt", -32002),
        ("authenticate", -32001, "No", -32000),
        ("session/prompt", -32001, "Invalid API key", -32000),
        ("session/new", -32001, "Not authenticated", -32000),
        ("fs/read_text_file", -32002, "Permission denied", -32603),
        ("session/prompt", -32003, "Not ready", -32600),
        ("terminal/create", -32004, "No terminals", -32601),
        ("session/prompt", -32000, "Processing failed", -32603),
        ("authenticate", -32000, "Invalid authentication method", -32000),
        ("session/prompt", -32601, "Method not found", -32601),
        ("session/prompt", -32602, "Invalid params", -32602),
    ],
)
def test_a_code_of_acpex_is_read_by_what_it_means(method: str, code: int, words: str, meaning: int) -> None:
    found, _ = read({"code": code, "message": words}, method)
    assert found["code"] == meaning
    assert found["message"] == words


def test_permission_denied_never_becomes_not_found() -> None:
    found, notes = read({"code": -32002, "message": "Permission denied"}, "fs/write_text_file")
    assert found["code"] != -32002
    assert found["data"] == {"acpexCode": -32002}
    assert notes == [DENIED]


@every("code", [-32001, -32002, -32003, -32004])
@every("data", [None, {"path": "/x"}, "text", ["a"], {}])
def test_a_code_of_acpex_comes_back_with_its_data(code: int, data: Any) -> None:
    said = {"code": code, "message": "m", "data": data}
    found, _ = read(said)
    assert found["data"]["acpexCode"] == code
    expected = {"code": code, "message": "m"} if data == {} else said
    assert write(found) == expected


@every(("code", "spoken"), [(-32000, -32001), (-32002, -32001), (-32004, -32603), (-32603, -32603)])
def test_a_code_of_v1_is_said_in_the_overviews_numbers(code: int, spoken: int) -> None:
    assert write({"code": code, "message": "m"})["code"] == spoken


def test_a_made_up_original_code_is_not_believed() -> None:
    assert write({"code": -32603, "message": "m", "data": {"acpexCode": -32001}})["code"] == -32603
    assert write({"code": -32002, "message": "m", "data": {"acpexCode": "-32001"}})["code"] == -32001


def test_no_code_with_another_meaning_passes_either_way() -> None:
    for code in MEANINGS:
        assert read({"code": code, "message": "m"})[0]["code"] not in (-32001, -32003, -32004)
        assert write({"code": code, "message": "m"})["code"] not in (-32000, -32002)


@every("error", [None, [], "no", {"code": "x"}, {"code": True, "message": 3}, {"message": None}])
def test_an_error_of_no_shape_becomes_one(error: Any) -> None:
    found, notes = read(error)
    assert found["code"] == -32603
    assert type(found["message"]) is str
    assert ERROR_CODE not in notes
