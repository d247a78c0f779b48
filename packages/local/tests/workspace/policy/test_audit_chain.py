"""A changed log is noticed, wherever it was changed; the digests are counted here by hand."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman_local.workspace.policy.audit import AuditLog, verify_audit_log
from tests.workspace.policy.makers import audit_line


def written(folder: Path, count: int = 5, *, most_bytes: int = 1_000_000) -> Path:
    log = AuditLog(str(folder / "audit.jsonl"), most_bytes=most_bytes)
    for number in range(1, count + 1):
        log.append(audit_line(f"git {number}"))
    return Path(log.path)


def test_each_line_has_the_digest_of_the_one_before_it(tmp_path: Path) -> None:
    lines = written(tmp_path).read_bytes().splitlines()
    digest = "0" * 64
    for number, line in enumerate(lines, 1):
        assert (json.loads(line)["n"], json.loads(line)["prev"]) == (number, digest)
        digest = hashlib.sha256(line).hexdigest()
    report = verify_audit_log(str(tmp_path / "audit.jsonl"))
    assert (report.broken, report.chained, report.last_digest) == ("", 5, digest)


Lines = list[bytes]
CHANGES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "a line is changed": (
        lambda lines: [lines[0], lines[1].replace(b"deny", b"allow"), *lines[2:]],
        "line 3",
    ),
    "the last one is": (lambda lines: [*lines[:-1], lines[-1].replace(b"deny", b"allow")], "its last line"),
    "the first one is": (lambda lines: [lines[0].replace(b"deny", b"allow"), *lines[1:]], "line 2"),
    "one is taken out": (lambda lines: [*lines[:2], *lines[3:]], "line 3"),
    "the first one is taken": (lambda lines: lines[1:], ""),
    "one is put in": (lambda lines: [*lines[:2], lines[1], *lines[2:]], "line 3"),
    "two change places": (lambda lines: [lines[1], lines[0], *lines[2:]], "line 2"),
    "the end is cut off": (lambda lines: lines[:-2], "2 lines were cut from the end"),
    "everything is cut off": (lambda lines: [], "5 lines were cut from the end"),
    "a newline is put in": (lambda lines: [lines[0][:40] + b"\n" + lines[0][40:], *lines[1:]], "line 3"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed_at_its_place(name: str, tmp_path: Path) -> None:
    change, place = CHANGES[name]
    log = written(tmp_path)
    log.write_bytes(b"".join(line + b"\n" for line in change(log.read_bytes().splitlines())))
    report = verify_audit_log(str(log))
    assert place in report.broken
    assert bool(report.broken) is bool(place)
    if not place:  # nobody can tell it from a file that was dropped by age, and it says so
        assert report.notes == ["The 1 lines before number 2 are not here: dropped by age, or removed."]


def test_the_chain_goes_on_across_files_and_a_file_that_is_missing_is_noticed(tmp_path: Path) -> None:
    log = written(tmp_path, 30, most_bytes=2000)
    report = verify_audit_log(str(log))
    assert report.broken == ""
    assert report.files == [f"{log}.3", f"{log}.2", f"{log}.1", str(log)]
    assert report.first + report.chained - 1 == 30
    assert verify_audit_log(f"{log}.2").broken == ""
    os.unlink(f"{log}.2")
    os.rename(f"{log}.3", f"{log}.2")
    assert "audit.jsonl.1, line 1" in verify_audit_log(str(log)).broken


def test_a_log_of_an_older_version_is_checked_from_where_its_chain_begins(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    log.write_text('{"time":"2024"}\n{"time":"2025"}\n')
    written(tmp_path, 2)
    report = verify_audit_log(str(log))
    assert (report.broken, report.lines, report.chained) == ("", 4, 2)
    assert report.notes == ["2 lines have no digest: an older version wrote them, or a full disk cut them."]
    log.write_text(log.read_text().replace("2025", "2024"))  # the last of them has one in the chain
    assert "line 3" in verify_audit_log(str(log)).broken


def test_a_line_whose_writer_was_killed_before_the_head_is_no_break(tmp_path: Path) -> None:
    log = written(tmp_path, 3)
    head = log.with_name("audit.jsonl.head")
    before = head.read_bytes()
    written(tmp_path, 1)
    head.write_bytes(before)
    report = verify_audit_log(str(log))
    assert report.broken == ""
    assert report.notes == ["The last line is younger than the head: a process was stopped while it wrote."]
    written(tmp_path, 1)
    assert verify_audit_log(str(log)).notes == []
    assert len(head.read_bytes()) == len(before)


def test_without_its_head_a_log_is_not_whole(tmp_path: Path) -> None:
    log = written(tmp_path, 3)
    log.with_name("audit.jsonl.head").unlink()
    assert "audit.jsonl.head is missing" in verify_audit_log(str(log)).broken


def test_a_line_of_an_older_version_in_between_and_a_torn_one_are_covered_by_the_next(tmp_path: Path) -> None:
    log = written(tmp_path, 2)
    with log.open("a") as file:
        file.write('{"time":"2024"}\n{"time":\n')
    written(tmp_path, 1)
    report = verify_audit_log(str(log))
    assert (report.broken, report.chained) == ("", 3)
    log.write_text(log.read_text().replace('{"time":\n', '{"time";\n'))
    assert "line 5" in verify_audit_log(str(log)).broken
